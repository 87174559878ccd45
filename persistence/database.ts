// Opens a Postgres for the kernel: the pool, what has to be asked once, and Kysely on the dialect.
//
// - A lost connection never ends the process: idle clients' errors go to `onError`, the pool makes
//   new ones.
// - Behind a transaction pooler (the backend that answers is not the one that the connection was
//   given) statements are not named and nobody listens: polling alone wakes the workers.

import { Kysely } from 'kysely';
import pg from 'pg';
import { kernelDialect } from './dialect.ts';
import { parseInstant } from './instant.ts';
import { defaultLimits, type Limits } from './limits.ts';
import type { Schema } from './schema.ts';
import { within } from './within.ts';

/** The server is one that Fencepost cannot keep its promises on. The process does not start. */
export class UnsuitableServerError extends Error {
  override readonly name = 'UnsuitableServerError';
  readonly code:
    | 'server_too_old'
    | 'date_style'
    | 'synchronous_commit_off'
    | 'search_path'
    | 'text';

  constructor(code: UnsuitableServerError['code'], message: string) {
    super(message);
    this.code = code;
  }
}

export interface DatabaseOptions {
  readonly url: string;
  /** Shown in pg_stat_activity. */
  readonly applicationName?: string;
  /** Connections at most. Every path of the kernel works with one. */
  readonly connections?: number;
  readonly limits?: Limits;
  /** Told of connections that broke while nobody used them. */
  readonly onError?: (error: Error) => void;
  /** Another client class of node-postgres, for tools that look at or change what is sent. */
  readonly clientClass?: new (
    config?: string | pg.ClientConfig,
  ) => pg.Client;
}

export interface Database {
  readonly db: Kysely<Schema>;
  /** The same connections with other limits, for work that takes longer or must not. */
  under(limits: Limits): Kysely<Schema>;
  readonly url: string;
  readonly limits: Limits;
  /** server_version_num: 180004 for 18.4. */
  readonly serverVersion: number;
  readonly behindPooler: boolean;
  /** How many there are, of these how many nobody uses, and how many callers wait for one. */
  connections(): { readonly total: number; readonly idle: number; readonly waiting: number };
  /** Ends all connections once those in use were given back. */
  close(): Promise<void>;
}

const answerMs = 10_000;
const instantType = 1184;
const bigintType = 20;

const types: pg.CustomTypesConfig = {
  getTypeParser: ((oid: number, format?: 'text' | 'binary') => {
    if (oid === instantType) return parseInstant;
    // Counts and versions are numbers. Beyond 2^53 nothing of ours goes.
    if (oid === bigintType) return Number;
    return pg.types.getTypeParser(oid, format);
  }) as pg.CustomTypesConfig['getTypeParser'],
};

async function askServer(pool: pg.Pool) {
  const client = await pool.connect();
  // The pool listens to idle clients only.
  client.on('error', () => undefined);
  try {
    const asked = client.query<{
      pid: number;
      version: number;
      date_style: string;
      commit: string;
      first_schema: string;
      encoding: string;
      conforming: string;
    }>(`select pg_backend_pid() as pid, current_setting('server_version_num')::int4 as version,
          current_setting('DateStyle') as date_style,
          current_setting('synchronous_commit') as commit,
          (pg_catalog.current_schemas(true))[1] as first_schema,
          current_setting('server_encoding') as encoding,
          current_setting('standard_conforming_strings') as conforming`);
    const { rows } = await within(client, answerMs, asked);
    const [answer] = rows;
    if (!answer) throw new Error('the server did not say what it is');
    const { processID } = client as unknown as { processID: number };
    return { ...answer, behindPooler: processID !== answer.pid };
  } finally {
    client.release();
  }
}

type Server = Awaited<ReturnType<typeof askServer>>;

function refuseUnsuitable(server: Server): void {
  if (server.version < 150_000) {
    throw new UnsuitableServerError(
      'server_too_old',
      `Postgres 15 or later is needed; this server says ${server.version}`,
    );
  }
  if (!server.date_style.startsWith('ISO')) {
    throw new UnsuitableServerError(
      'date_style',
      `DateStyle is ${server.date_style}: alter role … set datestyle = 'ISO'`,
    );
  }
  if (server.encoding !== 'UTF8' || server.conforming !== 'on') {
    throw new UnsuitableServerError(
      'text',
      `text is ${server.encoding}, standard_conforming_strings ${server.conforming}: ` +
        'a database in UTF8 with the strings of the standard is needed',
    );
  }
  if (server.commit === 'off') {
    throw new UnsuitableServerError(
      'synchronous_commit_off',
      'synchronous_commit is off: a crash of the server would lose what was answered as done',
    );
  }
  // It is first unless the path names it elsewhere. Tables are qualified; functions are not.
  if (server.first_schema !== 'pg_catalog') {
    throw new UnsuitableServerError(
      'search_path',
      'search_path names other schemas before pg_catalog, whose functions would be called instead',
    );
  }
}

/**
 * Opens the database.
 * @throws UnsuitableServerError for a server that cannot be used, and the driver's error when there
 * is none to be reached.
 */
export async function openDatabase(options: DatabaseOptions): Promise<Database> {
  const { url, limits = defaultLimits, connections = 10 } = options;
  const config: pg.PoolConfig & { pipeline: true } = {
    connectionString: url,
    max: connections,
    application_name: options.applicationName ?? 'fencepost',
    connectionTimeoutMillis: 10_000,
    keepAlive: true,
    pipeline: true,
    types,
    ...(options.clientClass && { Client: options.clientClass as typeof pg.Client }),
  };
  const pool = new pg.Pool(config);
  pool.on('error', (error) => options.onError?.(error));
  try {
    const server = await askServer(pool);
    refuseUnsuitable(server);
    const opened = new WeakMap<Limits, Kysely<Schema>>();
    function under(its: Limits): Kysely<Schema> {
      const named = !server.behindPooler;
      const dialect = kernelDialect({ pool, named, limits: its, serverVersion: server.version });
      const db = opened.get(its) ?? new Kysely<Schema>({ dialect });
      opened.set(its, db);
      return db;
    }
    const db = under(limits);
    return {
      db,
      under,
      url,
      limits,
      serverVersion: server.version,
      behindPooler: server.behindPooler,
      connections: () => ({
        total: pool.totalCount,
        idle: pool.idleCount,
        waiting: pool.waitingCount,
      }),
      async close() {
        await db.destroy();
        // Kysely ends the pool only if it ever ran a query.
        if (!pool.ended) await pool.end();
      },
    };
  } catch (error) {
    await pool.end();
    throw error;
  }
}
