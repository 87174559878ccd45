// A document session runs as XState would run its machine: whatever happens, in whatever order, the
// two are in the same states, with the same facts and timers, and ask for the same effects. SEED
// changes what happens.

import fc from 'fast-check';
import { expect, it } from 'vitest';
import { createActor, SimulatedClock } from 'xstate';
import type { ReadDocument, SessionEvent } from '../../machines/session-events.ts';
import type { Facts } from '../../machines/session-facts.ts';
import { changes, delaysMs, type Effects, retryMs } from '../../machines/session-setup.ts';
import { besideXState, declaredArrows } from '../support/beside-xstate.ts';
import { seedOfRun } from '../support/properties.ts';

type Event<T extends SessionEvent['type']> = Extract<SessionEvent, { type: T }>;

const few = fc.constantFrom(1, 1, 1, 0, 2);
const text = fc.constantFrom('a', 'b');
const content = text.map((a) => ({ attributes: { a } }));
const problem = fc.constant({ code: 'no', detail: 'no' });
const save = fc.constantFrom(0, 0, 0, 1);
const document: fc.Arbitrary<ReadDocument> = fc.record({
  ...{ version: fc.integer({ min: 1, max: 4 }), content, name: text },
  access: fc.constantFrom('owner', 'editor', 'reader'),
  ...{ updatedAt: text, updatedBy: text },
});
const foreign = fc.record({ version: few, by: text, at: text });
const conflict = fc.record({
  ...{ version: few, by: text, at: text, writer: text, saveId: text },
  ...{ baseKnown: fc.boolean(), contentUnchanged: fc.boolean(), plan: fc.constant(null) },
});
const base = fc.record({ version: few, content });

const bare = <T extends SessionEvent['type']>(...types: readonly T[]) =>
  fc.constantFrom(...types).map((type) => ({ type }) as unknown as SessionEvent);

const event = <T extends SessionEvent['type']>(
  type: T,
  data: { [K in keyof Omit<Event<T>, 'type'>]: fc.Arbitrary<Event<T>[K & keyof Event<T>]> },
): fc.Arbitrary<SessionEvent> =>
  fc.record(data as object).map((each) => ({ type, ...each }) as unknown as SessionEvent);

/** Time that passes is a number of milliseconds. */
const happening: fc.Arbitrary<SessionEvent | number> = fc.oneof(
  { arbitrary: fc.constantFrom(250, 800, 1000, 5000, 30_000), weight: 4 },
  { arbitrary: event('edit', { content }), weight: 4 },
  { arbitrary: event('document.read', { sequence: few, document }), weight: 6 },
  bare('flush', 'hold', 'release', 'cancel', 'discard', 'signed.in', 'close', 'reopen'),
  bare('hide', 'show', 'sleep', 'wake', 'online', 'offline', 'document.missed'),
  bare('stream.opened', 'stream.lost', 'abandon.failed'),
  event('choose', {
    ...{ why: fc.constantFrom('adopt', 'rebase', 'undo', 'discard'), content, base },
    stored: fc.boolean(),
  }),
  event('copy.stored', { generation: few }),
  event('draft.written', { generation: few, base: few }),
  event('draft.failed', { because: text }),
  event('read.failed', { sequence: few }),
  { arbitrary: event('save.stored', { save, version: few, current: few }), weight: 3 },
  event('save.overtaken', { save }),
  event('save.conflicted', { save, conflict }),
  event('save.refused', { save, problem }),
  event('save.unclear', { save, waitMs: few }),
  event('save.announced', { save }),
  event('version.announced', { foreign }),
  event('signed.out', { save, problem }),
  event('access.lost', { save, problem }),
  event('document.gone', { problem }),
  event('saves.abandoned', { committed: fc.array(fc.record({ save, version: few })) }),
);

/** The event with numbers that mean something to a session with these facts. */
function fitted(event: SessionEvent, { unanswered, reads, generation, base }: Facts): SessionEvent {
  const near = (n: number, small: number) => Math.max(1, n + 1 - small);
  return {
    ...event,
    ...('save' in event && { save: unanswered[event.save ?? 0]?.number ?? event.save }),
    ...('sequence' in event && { sequence: near(reads, event.sequence) }),
    ...('generation' in event && { generation: near(generation, event.generation) }),
    ...('base' in event && typeof event.base === 'number' && { base: base.version }),
    ...('version' in event && { version: base.version + event.version }),
  } as SessionEvent;
}

const nothing = () => {};
const effects: Effects = {
  ...{ put: nothing, read: nothing, abandon: nothing, writeDraft: nothing, removeDraft: nothing },
};

it('a session runs as XState would run its machine', () => {
  const taken = new Set<string>();
  const agrees = fc.property(
    fc.array(happening, { minLength: 30, maxLength: 120, size: 'max' }),
    (happenings) => {
      const clock = new SimulatedClock();
      const delays = { ...delaysMs, retry: retryMs };
      const actor = createActor(besideXState(taken)({ changes, effects, delays }), { clock });
      let problem: unknown;
      actor.subscribe({
        error(error) {
          problem = error;
        },
      });
      actor.start();
      for (const each of happenings) {
        if (typeof each === 'number') clock.increment(each);
        else actor.send(fitted(each, actor.getSnapshot().context));
      }
      actor.stop();
      if (problem) throw problem;
    },
  );
  fc.assert(agrees, { seed: seedOfRun('session logic'), numRuns: 150 });
  const declared = declaredArrows();
  process.stdout.write(`${taken.size} arrows of ${declared.size}\n`);
  expect(taken.size).toBeGreaterThan(0.6 * declared.size);
});
