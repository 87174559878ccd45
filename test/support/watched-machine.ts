// The machine of document sessions, watched: which of its arrows are taken, by whatever session is
// started with it.

import { documentSession } from '../../machines/document-session.ts';

type Machine = typeof documentSession;

interface Transition {
  readonly source: { readonly id: string };
  readonly eventType: string;
  readonly target: readonly { readonly id: string }[] | undefined;
}

export const arrowOf = ({ source, eventType, target = [] }: Transition): string =>
  `${source.id} ${eventType || 'always'} ${target.map(({ id }) => id).join()}`.trim();

/** Every arrow of the machine. */
export function declaredArrows(): ReadonlySet<string> {
  const found = new Set<string>();
  const visit = (node: Machine['root']): void => {
    for (const transition of [...node.transitions.values(), node.always ?? []].flat()) {
      found.add(arrowOf(transition));
    }
    for (const child of Object.values(node.states)) visit(child);
  };
  visit(documentSession.root);
  return found;
}

/** A machine that notes the arrows which its sessions take. */
export function watched(machine: Machine, taken: Set<string>): Machine {
  const watch = (each: Machine): Machine => {
    const provide = each.provide.bind(each);
    const begin = each.getInitialSnapshot.bind(each);
    return Object.assign(each, {
      provide: (parts: Parameters<typeof provide>[0]) => watch(provide(parts)),
      getInitialSnapshot: (...[scope, input]: Parameters<typeof begin>) => {
        scope.system.inspect((event) => {
          if (event.type !== '@xstate.microstep') return;
          for (const transition of event._transitions) taken.add(arrowOf(transition));
        });
        return begin(scope, input);
      },
    });
  };
  return watch(machine.provide({}));
}
