// What must never wait does not wait, what waited reads the clock afterwards, and what was
// rolled back was never there.

import { sql } from 'kysely';
import { transaction } from '../../persistence/transaction.ts';
import { actor, fieldsOfEvent } from './edges.ts';
import { claimLoosely, sendOneLoosely } from './loose-door.ts';
import type { Values } from './machines.ts';
import { type Race, racesOf, stageFor, times } from './races.ts';
import {
  clockIn,
  clockOf,
  journalOf,
  lostWrites,
  read,
  type Subject,
  stage,
  staged,
} from './staging.ts';

/** A claim race, and the claim's options. */
function claimOf(subject: Subject): { race: Race; type: string; fields: Values } {
  const { machine } = subject.entry;
  const race = racesOf(subject).find(({ event }) => machine.events[event.type]?.by === 'claim');
  if (!race) throw new Error(`${machine.id} has no claim`);
  return { race, type: race.event.type, fields: fieldsOfEvent(race.event) };
}

async function stageDue(subject: Subject, race: Race, count: number) {
  const clock = await clockOf(subject.observer);
  const { snapshot, event } = race;
  const memory = { status: String(snapshot.value), row: snapshot.context, at: event.at };
  const rows = Array.from({ length: count }, () => staged(subject.entry, memory, clock));
  await stage(subject, rows, 'alone');
  return rows;
}

/** Ten claims at once never get the same run, and none of them misses what is free. */
export async function parallelClaims(subject: Subject): Promise<readonly string[]> {
  const { machine } = subject.entry;
  const { race, type, fields } = claimOf(subject);
  const rows = await stageDue(subject, race, 200);
  const claimed = await times(10, () =>
    transaction(subject.door, (tx) => claimLoosely(tx, machine, type, { ...fields, limit: 30 })),
  );
  const ids = claimed.flat().map((row) => String(row['id']));
  const rest = await transaction(subject.door, (tx) =>
    claimLoosely(tx, machine, type, { ...fields, limit: 1000 }),
  );
  const every = new Set([...ids, ...rest.map((row) => String(row['id']))]);
  return [
    ...(new Set(ids).size === ids.length ? [] : [`${type}: a run was claimed twice`]),
    ...(every.size === rows.length && ids.length + rest.length === rows.length
      ? []
      : [`${type}: ${every.size} of ${rows.length} runs were claimed`]),
  ];
}

/** A claim comes back at once with the others while somebody holds a due run. */
export async function claimBesideHolder(subject: Subject): Promise<readonly string[]> {
  const { machine } = subject.entry;
  const { race, type, fields } = claimOf(subject);
  const rows = await stageDue(subject, race, 5);
  const [held, ...free] = rows;
  const table = sql.table(`fencepost.${machine.table}`);
  return await subject.observer.db.transaction().execute(async (holder) => {
    await sql`select from ${table} where id = ${held?.id} for no key update`.execute(holder);
    const claimed = await transaction(subject.door, async (tx) => {
      await sql`set local lock_timeout = 200`.execute(tx);
      return claimLoosely(tx, machine, type, { ...fields, limit: 10 });
    });
    const [ids, wanted] = [claimed.map((row) => String(row['id'])), free.map(({ id }) => id)];
    const isRight = ids.sort().join() === wanted.sort().join();
    return isRight ? [] : [`${type} beside a holder took ${ids.length} of ${wanted.length}`];
  });
}

/**
 * The clock is read after the lock: an event that waited for the run happens when it got the run,
 * or a lease could be judged by a time that is long over.
 */
export async function clockAfterLock(subject: Subject): Promise<readonly string[]> {
  const { machine } = subject.entry;
  const table = sql.table(`fencepost.${machine.table}`);
  const early: string[] = [];
  for (const race of racesOf(subject)) {
    const { type } = race.event;
    if (machine.events[type]?.by !== 'owner') continue;
    const row = await stageFor(subject, race);
    const sent = { ...fieldsOfEvent(race.event), id: row.id, fence: row[machine.fence] };
    const { waiting, released } = await subject.observer.db
      .transaction()
      .execute(async (holder) => {
        await sql`select from ${table} where id = ${row.id} for no key update`.execute(holder);
        const sending = transaction(subject.door, (tx) => sendOneLoosely(tx, machine, type, sent));
        // In the time of these the event reaches the database; if it did not, nothing is proved.
        for (let i = 0; i < 20; i += 1) await sql`select 1`.execute(holder);
        // In an object, because a promise that is returned would be waited for here.
        return { waiting: { sending }, released: await clockIn(holder) };
      });
    const { at = 0 } = await waiting.sending;
    if (at < released) early.push(`${type} happened ${released - at} µs before it had the run`);
  }
  return early;
}

class Abandoned extends Error {}

/** A transition that is rolled back was never there: no new status, no journal, no lost write. */
export async function rolledBack(subject: Subject): Promise<readonly string[]> {
  const { machine } = subject.entry;
  const findings: string[] = [];
  for (const race of racesOf(subject)) {
    const row = await stageFor(subject, race);
    const before = (await read(subject, [row.id])).get(row.id);
    const owned = machine.events[race.event.type]?.by === 'owner';
    const fields = { ...fieldsOfEvent(race.event), id: row.id };
    const fence = Number(row[machine.fence]);
    const outcomes: string[] = [];
    await transaction(subject.door, async (tx) => {
      for (const credentials of owned ? [{ fence: fence - 1 }, { fence }] : [{ actor }]) {
        const sent = { ...credentials, ...fields };
        const { outcome } = await sendOneLoosely(tx, machine, race.event.type, sent);
        outcomes.push(outcome);
      }
      throw new Abandoned();
    }).catch((error: unknown) => {
      if (!(error instanceof Abandoned)) throw error;
    });
    const after = (await read(subject, [row.id])).get(row.id);
    const journal = (await journalOf(subject, [row.id])).get(row.id) ?? [];
    const lost = await lostWrites(subject, [row.id]);
    const isRight = outcomes.join() === (owned ? 'lost,applied' : 'applied');
    const isGone = JSON.stringify(before) === JSON.stringify(after);
    if (isRight && isGone && journal.length === 0 && lost === 0) continue;
    findings.push(
      `${race.arrow}: rolled back after ${outcomes}, and left ${journal.length} in the journal, ` +
        `${lost} lost${isGone ? '' : ', another row'}`,
    );
  }
  return findings;
}
