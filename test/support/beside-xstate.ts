// Sessions beside XState's machine of the same states: each event that a session gets goes to both,
// and then they must be in the same states, with the same facts and timers, and have asked for the
// same effects. Besides, it is noted which arrows were taken.

import { isDeepStrictEqual } from 'node:util';
import { createActor, SimulatedClock } from 'xstate';
import type { Parts } from '../../client/session.ts';
import { documentSession } from '../../machines/document-session.ts';
import type { Facts } from '../../machines/session-facts.ts';
import { type SessionState, sessionLogic } from '../../machines/session-logic.ts';
import { type Effects, told } from '../../machines/session-setup.ts';

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

type System = ReturnType<typeof xstate>['system'];

const timersOf = (system: System): readonly string[] =>
  Object.values(system.getSnapshot()._scheduledEvents)
    .map(({ event }) => event.type)
    .toSorted();

/** Notes every timer that is started, also where it runs already and starts anew. */
function noteStarts({ scheduler }: System, started: string[]): void {
  const schedule = scheduler.schedule.bind(scheduler);
  scheduler.schedule = (...timer) => {
    started.push(timer[2].type);
    schedule(...timer);
  };
}

function agree(what: string, own: unknown, theirs: unknown): void {
  if (isDeepStrictEqual(own, theirs)) return;
  throw new Error(`${what}\n${JSON.stringify(own)}\nXState: ${JSON.stringify(theirs)}`);
}

type Asked = readonly [effect: string, told: unknown];
type EffectName = keyof typeof told;

const effectNames = Object.keys(told) as EffectName[];

/** Effects as they are, each noted before it runs. */
function noting(effects: Effects, asked: Asked[]): Effects {
  const noted = effectNames.map((name) => {
    const run = (word: unknown): void => {
      asked.push([name, word]);
      effects[name](word as never);
    };
    return [name, run] as const;
  });
  return Object.fromEntries(noted) as unknown as Effects;
}

function xstate(taken: Set<string>, asked: Asked[]) {
  const noted = effectNames.map((name) => {
    const run = ({ context }: { context: Facts }) => asked.push([name, told[name](context)]);
    return [name, run] as const;
  });
  return createActor(documentSession.provide({ actions: Object.fromEntries(noted) }), {
    clock: new SimulatedClock(),
    inspect: (event) => {
      if (event.type !== '@xstate.microstep') return;
      for (const transition of event._transitions) taken.add(arrowOf(transition));
    },
  });
}

/** The logic of sessions, with XState beside it. It throws where they do not agree. */
export function besideXState(taken = new Set<string>()): Parts['logic'] {
  return (parts) => {
    const [asked, askedBeside]: [Asked[], Asked[]] = [[], []];
    const own = sessionLogic({ ...parts, effects: noting(parts.effects, asked) });
    const beside = xstate(taken, askedBeside);
    const [started, startedBeside]: [string[], string[]] = [[], []];
    noteStarts(beside.system, startedBeside);
    const compared = (after: string, state: SessionState): SessionState => {
      const { value, context, tags } = beside.getSnapshot();
      agree(`The states after ${after}`, state.value, value);
      agree(`The facts after ${after}`, state.context, context);
      const untold = [...tags].filter((tag) => !state.hasTag(tag));
      agree(`The tags after ${after}`, untold, []);
      return state;
    };
    return {
      ...own,
      getInitialSnapshot(scope, input) {
        beside.start();
        noteStarts(scope.system, started);
        return compared('the start', own.getInitialSnapshot(scope, input));
      },
      transition(state, event, scope) {
        const before = `before ${event.type}`;
        // Its clock stands still: a timer ran out here.
        beside.system.scheduler.cancel(beside, event.type);
        agree(`The timers ${before}`, timersOf(scope.system), timersOf(beside.system));
        agree(`The timers started ${before}`, started.splice(0), startedBeside.splice(0));
        agree(`The effects ${before}`, asked.splice(0), askedBeside.splice(0));
        agree(`What is possible ${before}`, state.can(event), beside.getSnapshot().can(event));
        beside.send(event);
        return compared(event.type, own.transition(state, event, scope));
      },
    };
  };
}
