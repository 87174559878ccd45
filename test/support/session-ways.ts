// The shortest ways through the machine of document sessions, as XState's graph finds them, and how
// to go them on machine and real session at once.
//
// - A way is a list of events; each is made by the move of session-model.ts that brings it about.
// - States are told apart by lane, connection and holding, and by whether something is unsaved.

import { isDeepStrictEqual } from 'node:util';
import type { SnapshotFrom } from 'xstate';
import { documentSession } from '../../machines/document-session.ts';
import { waysTo } from './graph.ts';
import { makeMove, moves, type Pair } from './session-model.ts';

type State = SnapshotFrom<typeof documentSession>;

const longest = 7;

const problem = { code: 'no', detail: 'no' };

interface Named {
  readonly move: string;
  readonly event: { readonly type: string };
}

const pause = (timer: string, state: string): Named => ({
  move: timer === 'retry' ? 'the time of a retry' : 'a pause',
  event: { type: `xstate.after.${timer}.documentSession.lane.${state}` },
});

/** What can happen in a state, and the move that it is. */
function movesIn({ context }: State): readonly Named[] {
  const { base, generation, reads, unanswered } = context;
  const save = unanswered.find(({ phase }) => phase === 'sent')?.number ?? 0;
  const named = (move: string, event: object): Named => ({ move, event: event as Named['event'] });
  const conflict = { version: base.version + 1, by: 'bob', at: null, writer: null, saveId: null };
  const document = { version: Math.max(1, base.version), content: {}, access: 'owner', name: '' };
  const read = { ...document, updatedAt: '', updatedBy: '' };
  const simple = ['hide', 'show', 'sleep', 'wake', 'online', 'offline', 'flush', 'close', 'reopen'];
  const answers: readonly Named[] = [
    named('the save is stored', {
      ...{ type: 'save.stored', save, version: base.version + 1, current: base.version + 1 },
    }),
    named('somebody saved first', { type: 'save.conflicted', save, conflict }),
    named('the save is lost', { type: 'save.unclear', save, waitMs: 0 }),
    named('the save is refused', { type: 'save.refused', save, problem }),
    named('nobody is signed in', { type: 'signed.out', save, problem }),
    named('the right is gone', { type: 'access.lost', save, problem }),
    named('the document is gone', { type: 'document.gone', problem }),
  ];
  const edit = named('edit', { type: 'edit', content: { attributes: { a: generation } } });
  const again = named('a read comes', { type: 'document.read', sequence: reads, document: read });
  return [
    ...simple.map((type) => named(type, { type })),
    ...(save > 0 ? answers : []),
    ...(base.version > 0 ? [edit] : []),
    again,
    named('a read fails', { type: 'read.failed', sequence: reads }),
    pause('debounce', 'dirty.pending.typing'),
    ...['unconfirmed', 'loading.waiting', 'clean.behind', 'dirty.unchecked'].map((state) =>
      pause('retry', state),
    ),
  ];
}

function keyOf({ value, context }: State): string {
  const { lane, connection, holding } = value as Record<string, unknown>;
  const unsaved = context.generation > context.savedGeneration;
  return JSON.stringify([lane, connection, holding, unsaved, context.unanswered.length]);
}

export interface Way {
  readonly moves: readonly string[];
  readonly lane: unknown;
}

/** The shortest way to every state that is at most seven events away. */
export function sessionWays(): readonly Way[] {
  const names = new Map<string, string>();
  const eventsIn = (state: State) =>
    movesIn(state).map(({ move, event }) => {
      names.set(event.type, move);
      return event;
    });
  return waysTo(documentSession, { eventsIn, keyOf, longest }).map(({ events, state }) => ({
    moves: events.map(({ type }) => names.get(type) ?? type),
    lane: (state.value as Record<string, unknown>)['lane'],
  }));
}

/** Goes a way on both, and says whether it led where the graph says, in the world too. */
export async function goWay(pair: Pair, way: Way, check: () => void): Promise<boolean> {
  await makeMove(pair, { name: 'start', make: () => true });
  for (const name of way.moves) {
    const move = moves.find((each) => each.name === name);
    if (!move) throw new Error(`There is no move called ${name}.`);
    if (!(await makeMove(pair, move))) return false;
    check();
  }
  return isDeepStrictEqual(pair.model.getSnapshot().value.lane, way.lane);
}
