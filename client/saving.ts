// `flush` and `close`: waiting until the work is where it can go.

import { isDrafted, isUnsaved } from '../machines/session-facts.ts';
import type { Place } from '../machines/session-setup.ts';
import type { Core } from './session.ts';
import { type Safety, type Status, safetyOf, statusOf } from './status.ts';

export type Flushed =
  | { readonly outcome: 'saved'; readonly version: number }
  /** It could not be saved for now; the status says why, and `safe` where the work is. */
  | { readonly outcome: 'unsaved'; readonly status: Status; readonly safe: Safety };

/**
 * The lane is on its way somewhere, and needs no more than time. Where a choice waits for a save
 * that nobody answers, or a page that came back cannot read, it needs the network.
 */
function isMoving(core: Core): boolean {
  const machine = core.machine();
  const isIn = (lane: string | Place) => machine.matches({ lane } as Place);
  if (statusOf(machine) === 'offline') return false;
  if (isIn('settling')) return machine.context.unanswered.some(({ phase }) => phase === 'sent');
  return ['saving', 'discarding', { dirty: 'pending' }, { dirty: 'checking' }].some(isIn);
}

/** Saves what is on the screen at the time of the call, without waiting for a pause. */
export function flush(core: Core): Promise<Flushed> {
  const goal = core.facts().generation;
  core.send({ type: 'flush' });
  return core.until<Flushed>(() => {
    const { savedGeneration, base } = core.facts();
    if (savedGeneration >= goal) return { outcome: 'saved', version: base.version };
    if (core.machine().matches({ lane: { dirty: 'pending' } })) core.send({ type: 'flush' });
    if (isMoving(core)) return undefined;
    return {
      outcome: 'unsaved',
      status: statusOf(core.machine()),
      safe: safetyOf(core.machine()),
    };
  });
}

/**
 * `saved`: the server has the work. `drafted`: it could not be saved now, and the draft has it.
 * `kept`: neither was possible, and the session lives on in the page.
 */
export type Closed = 'saved' | 'drafted' | 'kept';

/** Lets go, and says where the work went. The session itself lives until nothing is left to do. */
export function close(core: Core): Promise<Closed> {
  core.send({ type: 'close' });
  return core.until<Closed>(() => {
    const facts = core.facts();
    if (!isUnsaved(facts)) return 'saved';
    if (isMoving(core)) return undefined;
    if (isDrafted(facts)) return 'drafted';
    return core.machine().matches({ draft: 'unavailable' }) ? 'kept' : undefined;
  });
}
