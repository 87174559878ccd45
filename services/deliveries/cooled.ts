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
  /** Takes note of what a send was told. Null: until a person lifts it. */
  add(name: string, ms: number | null, reason: string): void;
}

export function cooledNames(
  database: Database,
  channel: Channel,
  maxAgeMs: number = freshMs,
): CooledNames {
  let known = new Map<string, { readonly until: number; readonly reason: string }>();
  /** What was added while the table was read may not be in what was read. */
  const added: { readonly given: CoolDown; readonly at: number }[] = [];
  let reading: Promise<void> | undefined;
  let readAt = Number.NEGATIVE_INFINITY;

  function left(name: string): Cooled | undefined {
    const found = known.get(name);
    const leftMs = (found?.until ?? 0) - performance.now();
    return found && leftMs > 0 ? { leftMs, reason: found.reason } : undefined;
  }

  function keep({ destination, leftMs, reason }: CoolDown, now: number): void {
    known.set(destination, { until: now + leftMs, reason });
  }

  async function read(): Promise<void> {
    const now = performance.now();
    const rows = await transaction(database, (tx) => readCoolDowns(tx, channel.name));
    known = new Map();
    for (const row of rows) keep(row, now);
    for (const { given, at } of added.splice(0)) if (at >= now) keep(given, at);
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
      if ((left(name)?.leftMs ?? 0) >= leftMs) return;
      const given = { channel: channel.name, destination: name, leftMs, reason };
      added.push({ given, at: performance.now() });
      keep(given, performance.now());
    },
  };
}
