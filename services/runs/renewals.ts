// Renews the leases of held runs: one statement for all that a worker of the machine keeps. The
// lane of holds.ts calls it at each heartbeat.
//
// - A renewal that is not applied means that somebody else has the run: its handler is aborted.
// - A run that somebody locks is found by halves and left alone: its lock keeps the reaper away
//   too.

import type { Logger } from 'pino';
import type { Machine } from '../../machines/status-machine.ts';
import { isLockTimeout } from '../../persistence/sqlstate.ts';
import type { endWriter } from './ends.ts';
import type { Observe } from './events.ts';
import { type Hold, namesOf } from './hold.ts';
import type { AnyEnd } from './work.ts';

export interface RenewalsOptions<M extends Machine> {
  readonly machine: M;
  readonly writer: ReturnType<typeof endWriter<M>>;
  readonly leaseMs: number;
  readonly log: Logger;
  readonly observe: Observe;
  readonly lose: (hold: Hold<M>, why: string) => void;
}

export function renewLeases<M extends Machine>(options: RenewalsOptions<M>) {
  const { machine, writer, leaseMs, log, observe, lose } = options;

  /** Undefined where somebody locks one of the runs. */
  async function ask(holds: readonly Hold<M>[], end: AnyEnd) {
    try {
      return await writer.write(
        end.event,
        holds.map(({ id, fence }) => ({ id, fence, ...end.fields })),
      );
    } catch (error) {
      if (!isLockTimeout(error)) throw error;
      return undefined;
    }
  }

  async function renewSome(holds: readonly Hold<M>[], end: AnyEnd): Promise<void> {
    const since = performance.now();
    const outcomes = await ask(holds, end);
    if (!outcomes) {
      if (holds.length === 1) return;
      const middle = Math.ceil(holds.length / 2);
      await renewSome(holds.slice(0, middle), end);
      return await renewSome(holds.slice(middle), end);
    }
    const lost: Hold<M>[] = [];
    for (const [i, hold] of holds.entries()) {
      if (outcomes[i]?.outcome === 'applied') {
        hold.expiresAt = Math.max(hold.expiresAt, since + leaseMs);
      } else if (hold.state === 'held') lost.push(hold);
    }
    const count = holds.length - lost.length;
    observe({ type: 'renewed', machine: machine.id, by: 'writer', count });
    if (lost.length === 0) return;
    log.warn(
      { count: lost.length, runs: namesOf(lost) },
      'leases are lost, their handlers are aborted',
    );
    for (const hold of lost) lose(hold, 'its renewal came too late');
  }

  return async (held: Iterable<Hold<M>>): Promise<void> => {
    const kinds = new Map<string, { readonly end: AnyEnd; readonly holds: Hold<M>[] }>();
    for (const hold of held) {
      if (hold.state !== 'held' || hold.overdue || !hold.work.renew) continue;
      const end = hold.work.renew(leaseMs) as AnyEnd;
      const kind = kinds.get(end.event) ?? { end, holds: [] };
      kind.holds.push(hold);
      kinds.set(end.event, kind);
    }
    for (const { end, holds } of kinds.values()) await renewSome(holds, end);
  };
}
