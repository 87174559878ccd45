// What a worker knows of its channel's cool-downs: read about once a second, beside the claims, and
// added to by what its own sends are told.
//
// - The table is the truth. A cool-down that another process wrote, or a person lifted, is seen
//   within two seconds; until then a send too many costs another refusal.
// - A claim waits for the table only where nothing young is known: a delivery that was just
//   enqueued is not kept waiting for a second query.
// - Times are by this process's monotonic clock, from what the database said was left.

import { type CoolDown, readCoolDowns } from '../../persistence/cool-downs.ts';
import type { Database } from '../../persistence/database.ts';
import { transaction } from '../../persistence/transaction.ts';
import type { Channel } from './channel.ts';
import { coolDownNames } from './cool-downs.ts';

const freshMs = 1000;

interface Cooled {
  /** Infinity where only a person can end it. */
  readonly leftMs: number;
  readonly reason: string;
}

export interface CooledNames {
  /** Milliseconds for which the whole channel is not to be asked; has read again what is old. */
  channelMs(): Promise<number>;
  /** What keeps this recipient from being sent to. Reads nothing. */
  of(recipient: string): Cooled | undefined;
  /**
   * Takes note of what a send was told. Null: until a person lifts it. The returned function is to
   * be called when the table has it; until then it is known here whatever is read.
   */
  add(name: string, ms: number | null, reason: string): () => void;
}

interface Added {
  readonly given: CoolDown;
  readonly at: number;
  /** When the table had it; Infinity until then. */
  writtenAt: number;
}

const isSame = (a: CoolDown, b: CoolDown): boolean =>
  a.destination === b.destination && a.leftMs === b.leftMs && a.reason === b.reason;

export function cooledNames(
  database: Database,
  channel: Channel,
  maxAgeMs: number = freshMs,
): CooledNames {
  let known = new Map<string, { readonly until: number; readonly reason: string }>();
  /** What may not have been in the table when it was read. */
  const added = new Set<Added>();
  let reading: Promise<void> | undefined;
  let readAt = Number.NEGATIVE_INFINITY;

  function left(name: string): Cooled | undefined {
    const found = known.get(name);
    const leftMs = (found?.until ?? 0) - performance.now();
    return found && leftMs > 0 ? { leftMs, reason: found.reason } : undefined;
  }

  function keep({ destination, leftMs, reason }: CoolDown, at: number): void {
    const until = at + leftMs;
    if (until > (known.get(destination)?.until ?? 0)) known.set(destination, { until, reason });
  }

  async function read(): Promise<void> {
    const now = performance.now();
    const rows = await transaction(database, (tx) => readCoolDowns(tx, channel.name));
    known = new Map();
    for (const row of rows) keep(row, now);
    for (const each of added) {
      if (each.writtenAt < now) added.delete(each);
      else keep(each.given, each.at);
    }
    readAt = now;
  }

  function refresh(): Promise<void> {
    reading ??= read().finally(() => {
      reading = undefined;
    });
    return reading;
  }

  return {
    async channelMs() {
      const ageMs = performance.now() - readAt;
      if (ageMs >= 2 * maxAgeMs) await refresh();
      // What fails here is met by the next claim, or by the next one who has to wait for it.
      else if (ageMs >= maxAgeMs) void refresh().catch(() => undefined);
      return left('')?.leftMs ?? 0;
    },
    of(recipient) {
      if (known.size === 0) return undefined;
      const names = coolDownNames(channel, recipient);
      const found = Object.values(names).flatMap((name) => left(name) ?? []);
      return found.toSorted((a, b) => b.leftMs - a.leftMs)[0];
    },
    add(name, ms, reason) {
      const leftMs = ms ?? Number.POSITIVE_INFINITY;
      const given = { channel: channel.name, destination: name, leftMs, reason };
      const noted: Added = { given, at: performance.now(), writtenAt: Number.POSITIVE_INFINITY };
      added.add(noted);
      keep(given, noted.at);
      return () => {
        // Of equal ones that end together one is written.
        for (const each of added) if (isSame(each.given, given)) each.writtenAt = performance.now();
      };
    },
  };
}
