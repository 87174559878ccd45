// The transitions of all runs of a machine, as one stream: for who watches a machine, not a run.
//
// - The order is that of transactions, then of runs and their seq. Within a run that is its seq.
// - Only what is older than every transaction still open is read (`pg_snapshot_xmin`), because one
//   that began earlier may commit later: whoever read past it would never see its rows. So one long
//   transaction, in any database of the server, holds the stream up, and nothing is left out.
// - Renewals are not journalled and not in it. A run that is deleted takes its rows with it.
// Source: PostgreSQL manual, 9.27.10 Transaction ID and Snapshot Information Functions.

import { sql } from 'kysely';
import type { Machine } from '../machines/status-machine.ts';
import type { Database } from './database.ts';
import type { JournalEntry } from './journal.ts';
import type { Tx } from './transaction.ts';

/** A place in the stream: everything up to and including it was read. */
export interface StreamPlace {
  /** A transaction id of 64 bits, as text. */
  readonly xact: string;
  readonly run: string;
  readonly seq: number;
}

export interface Transition extends JournalEntry {
  readonly run: string;
  /** Where the stream goes on after it. */
  readonly place: StreamPlace;
}

export interface StreamPage {
  readonly transitions: readonly Transition[];
  /** Where to read on. It moves on also where nothing of this machine was found. */
  readonly next: StreamPlace;
}

const noRun = '00000000-0000-0000-0000-000000000000';

/** The place before everything that has not been committed yet. */
export async function presentPlace(db: Database['db'] | Tx): Promise<StreamPlace> {
  const { rows } = await sql<{ xact: string }>`
    select pg_snapshot_xmin(pg_current_snapshot())::text as xact`.execute(db);
  return { xact: rows[0]?.xact ?? '0', run: noRun, seq: 0 };
}

interface Found extends JournalEntry {
  readonly horizon: string;
  readonly xact: string;
  readonly run: string | null;
}

/** Reads on after a place, at most `limit` transitions. */
export async function readTransitions(
  db: Database['db'] | Tx,
  machine: Machine,
  { after, limit }: { readonly after: StreamPlace; readonly limit: number },
): Promise<StreamPage> {
  const { rows } = await sql<Found>`
    select h.horizon::text as horizon, j.* from (select pg_snapshot_xmin(pg_current_snapshot()) as horizon) h
    left join lateral (
      select j.xact::text as xact, j.run, j.seq, j.at, j.event, j.actor, j.from_status as "from",
        j.to_status as "to", j.fence, j.definition
      from fencepost.journal j
      where j.xact >= ${after.xact}::text::xid8 and j.xact < h.horizon and j.machine = ${machine.id}
        and (j.xact, j.run, j.seq) > (${after.xact}::text::xid8, ${after.run}::uuid, ${after.seq}::int4)
      order by j.xact, j.run, j.seq limit ${limit}) j on true`.execute(db);
  const transitions = rows.flatMap(({ horizon: _, xact, run, ...entry }) =>
    run === null ? [] : [{ ...entry, run, place: { xact, run, seq: entry.seq } }],
  );
  const last = transitions.at(-1)?.place;
  const isFull = transitions.length === limit;
  const horizon = { xact: rows[0]?.horizon ?? after.xact, run: noRun, seq: 0 };
  return { transitions, next: isFull && last ? last : horizon };
}
