// What a declaration says, counted from its plain data and by nothing that the generators or the
// compiler use: the numbers against which the generated suites assert their own size.

import type { Machine } from '../../machines/status-machine.ts';

interface PlainEdge {
  readonly target: string;
}
type PlainStates = Readonly<
  Record<string, { readonly on?: Readonly<Record<string, PlainEdge | readonly PlainEdge[]>> }>
>;

/** Each arrow as "from event place to", where place counts the branches of one status and event. */
export function declaredArrows(machine: Machine): readonly string[] {
  const states = JSON.parse(JSON.stringify(machine.states)) as PlainStates;
  const arrows: string[] = [];
  for (const from in states) {
    for (const event in states[from]?.on) {
      const edges = states[from]?.on?.[event] ?? [];
      const branches = Array.isArray(edges) ? edges : [edges];
      branches.forEach(({ target }: PlainEdge, place: number) => {
        arrows.push(`${from} ${event} ${place} ${target}`);
      });
    }
  }
  return arrows.sort();
}

export const declaredPairs = (machine: Machine): readonly string[] =>
  Object.keys(machine.states)
    .flatMap((status) => Object.keys(machine.events).map((event) => `${status} ${event}`))
    .sort();
