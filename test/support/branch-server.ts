// Databases of the test server as branches, for the tests of the provider `postgres`: roots with
// something in them, looked into and dropped when the test has finished.

import { randomBytes } from 'node:crypto';
import pg from 'pg';
import { inject, onTestFinished } from 'vitest';
import { identifier } from '../../persistence/print.ts';

/** Runs SQL on another database of the server. */
export async function inDatabase<R extends pg.QueryResultRow>(
  name: string,
  text: string,
): Promise<R[]> {
  const { hostname: host, port, username: user, password } = new URL(inject('postgresUrl'));
  const options = { host, port: Number(port), user, password, database: name };
  const client = new pg.Client({ ...options, application_name: 'look' });
  // A test may have the server end it.
  client.on('error', () => undefined);
  await client.connect();
  try {
    return (await client.query<R>(text)).rows;
  } finally {
    await client.end();
  }
}

const onServer = (text: string) => inDatabase('postgres', text);

export async function databaseNames(prefix: string): Promise<readonly string[]> {
  const rows = await inDatabase<{ name: string }>(
    'postgres',
    `select datname::text as name from pg_database
     where datname::text like '${prefix}%' or datname::text like 'fencepost\\_%' order by 1`,
  );
  return rows.map(({ name }) => name);
}

/** A root with one table. All databases whose names begin like it go with the test. */
export async function makeRoot(): Promise<string> {
  const root = `root_${randomBytes(6).toString('hex')}`;
  await onServer(`create database ${root} strategy file_copy`);
  onTestFinished(async () => {
    for (const name of await databaseNames(root)) {
      if (name.startsWith(root)) {
        await onServer(`drop database if exists ${identifier(name)} with (force)`);
      }
    }
  });
  await inDatabase(root, 'create table word (text text)');
  await inDatabase(root, `insert into word values ('of the parent')`);
  return root;
}

export const addWord = (name: string, word: string) =>
  inDatabase(name, `insert into word values ('${word}')`);

export async function wordsIn(name: string): Promise<readonly string[]> {
  const rows = await inDatabase<{ text: string }>(name, 'select text from word order by 1');
  return rows.map(({ text }) => text);
}
