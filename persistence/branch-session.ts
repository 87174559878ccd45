// The one session on a server that carries out operations on branches. branch-runner.ts opens it
// and branch-steps.ts speaks through it.
//
// - One at a time: parents are closed and opened, and two at once would undo each other. The lock
//   is one of a transaction, on a connection of its own, because CREATE DATABASE bears none.
// - The lock is paired with a fence. Its new holder ends the statements' connection of the one
//   before, so a process that stood still finds it cut, whatever it wants to say.
// - A process that stands still loses the lock by the idle timeout of its transaction.

import pg from 'pg';
import type { Database } from './database.ts';
import { parseInstant } from './instant.ts';
import { within } from './within.ts';

export type ClientClass = new (config?: string | pg.ClientConfig) => pg.Client;

export interface BranchSession {
  /** @throws the server's error, and when the lock was lost. */
  query<R extends pg.QueryResultRow>(text: string, values?: readonly unknown[]): Promise<R[]>;
  close(): Promise<void>;
}

const idleMs = 30_000;
const beatMs = 5000;
const answerMs = 10_000;
/** A copy of a large database takes minutes. */
const statementMs = 1_800_000;
const instantType = 1184;
const bigintType = 20;

const types: pg.CustomTypesConfig = {
  getTypeParser: ((oid: number, format?: 'text' | 'binary') => {
    if (oid === instantType) return parseInstant;
    if (oid === bigintType) return Number;
    return pg.types.getTypeParser(oid, format);
  }) as pg.CustomTypesConfig['getTypeParser'],
};

interface Line {
  readonly client: pg.Client;
  /** Why it broke. */
  broken: Error | undefined;
}

async function connect(url: string, name: string, Client: ClientClass): Promise<Line> {
  const options = { connectionString: url, application_name: name, types, keepAlive: true };
  const client = new Client({ ...options, connectionTimeoutMillis: answerMs });
  const line: Line = { client, broken: undefined };
  client.on('error', (error: Error) => {
    line.broken ??= error;
  });
  await client.connect();
  return line;
}

async function lock({ client }: Line): Promise<{ readonly oid: string } | undefined> {
  await within(client, answerMs, client.query('begin isolation level read committed'));
  const asked = client.query<{ locked: boolean; oid: string }>(
    `select pg_try_advisory_xact_lock(hashtextextended('fencepost.branches', 0)) as locked,
       (select oid::text from pg_database where datname = current_database()) as oid,
       set_config('idle_in_transaction_session_timeout', '${idleMs}', true)`,
  );
  const { rows } = await within(client, answerMs, asked);
  return rows[0]?.locked ? rows[0] : undefined;
}

/** Opens the session; undefined if another process has it. @throws when the server is away. */
export async function openBranchSession(
  { url }: Pick<Database, 'url'>,
  Client: ClientClass = pg.Client,
): Promise<BranchSession | undefined> {
  const holding = await connect(url, 'fencepost branch lock', Client);
  let speaking: Line | undefined;
  let beating: NodeJS.Timeout | undefined;

  async function close(): Promise<void> {
    clearInterval(beating);
    // Statements first: the lock is given up when nothing of ours can be under way.
    await speaking?.client.end().catch(() => undefined);
    await holding.client.end().catch(() => undefined);
  }

  try {
    const held = await lock(holding);
    if (!held) {
      await close();
      return undefined;
    }
    const name = `fencepost branches ${held.oid}`;
    speaking = await connect(url, name, Client);
    const { client } = speaking;
    const fence = client.query(
      `select pg_terminate_backend(pid, ${answerMs / 2}) from pg_stat_activity
       where application_name = $1 and pid <> pg_backend_pid()`,
      [name],
    );
    await within(client, answerMs, fence);
  } catch (error) {
    await close();
    throw error;
  }
  const line = speaking;
  beating = setInterval(() => {
    const alive = holding.client.query('select 1');
    within(holding.client, answerMs, alive).catch((error: Error) => {
      holding.broken ??= error;
    });
  }, beatMs);
  return {
    async query<R extends pg.QueryResultRow>(text: string, values: readonly unknown[] = []) {
      const broken = holding.broken ?? line.broken;
      if (broken) throw new Error('the session of the branches is lost', { cause: broken });
      const asked = line.client.query<R>(text, [...values]);
      return (await within(line.client, statementMs, asked)).rows;
    },
    close,
  };
}
