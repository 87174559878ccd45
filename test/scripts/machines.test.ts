// `npm run machines` as somebody runs it: what it prints, and how it exits.

import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { machines } from '../../machines/all.ts';
import type { Machine } from '../../machines/status-machine.ts';
import type { Database } from '../../persistence/database.ts';
import { startChild } from '../support/child.ts';
import { claimedOne, enqueue } from '../support/deliveries.ts';
import { install, sendAs } from '../support/installing.ts';
import { fresh } from '../support/opened.ts';
import { parkable } from '../support/outbox-variants.ts';

const file = join(import.meta.dirname, '../../scripts/machines.ts');

const command = (url: string, ...args: readonly string[]) =>
  startChild(file, args, { env: { DATABASE_URL: url } }).exit;

async function withRunsOf(machine: Machine): Promise<Database> {
  const database = await fresh();
  await install(database, machine);
  return database;
}

it('lists the definitions, who is at work under which, and that nothing differs', async () => {
  const database = await fresh();
  await enqueue(database, 2);
  await claimedOne(database);
  expect(await command(database.url)).toEqual({
    code: 0,
    signal: null,
    output: [
      'outbox (table delivery)',
      '  #1, enforced: last wrote 3 live runs',
      '  the database enforces what this code declares',
      'proposal (table proposal)',
      '  #1, enforced: last wrote no runs',
      '  the database enforces what this code declares',
      'dbops (table operation)',
      '  #1, enforced: last wrote no runs',
      '  the database enforces what this code declares',
      '',
    ].join('\n'),
  });
});

it('lists what differs, and exits 1', async () => {
  const { url } = await withRunsOf(parkable);
  const { code, output } = await command(url);
  expect(code).toBe(1);
  const lines = output.split('\n');
  expect(lines).toContain('  #1: last wrote no runs');
  expect(lines).toContain('  #2, enforced: last wrote no runs');
  expect(lines).toContain('  only the database:  arrow pending → parked by park');
  expect(lines).toContain('  only the database:  status parked without owner');
  expect(output).not.toContain('only this code');
});

it('contracts once no run is in the way', async () => {
  const database = await withRunsOf(parkable);
  const [id = ''] = await enqueue(database);
  await sendAs(database, parkable, 'park', id);
  const refused = await command(database.url, 'contract', 'outbox');
  expect(refused).toMatchObject({ code: 1, signal: null });
  expect(refused.output).toContain(`1 in "parked", ${id} for one`);
  expect(refused.output).not.toContain('    at ');
  await sendAs(database, parkable, 'unpark', id);
  expect(await command(database.url, 'contract', 'outbox')).toMatchObject({
    code: 0,
    output: 'outbox: contracted, definition #1 is enforced\n',
  });
});

it('explains what it cannot do, and exits 1', async () => {
  const database = await fresh();
  const [nowhere, unknown, nothing, other] = await Promise.all([
    startChild(file, [], { env: { DATABASE_URL: '' }, cwd: tmpdir() }).exit,
    command(database.url, 'expand'),
    command(database.url, 'contract'),
    command(database.url, 'contract', 'letters'),
  ]);
  for (const { code } of [nowhere, unknown, nothing, other]) expect(code).toBe(1);
  expect(nowhere.output).toMatch(/^DATABASE_URL is not set/);
  const ids = machines.map(({ id }) => id).join(', ');
  const usage = `npm run machines -- contract|restore <id>, one of: ${ids}\n`;
  expect([unknown.output, nothing.output, other.output]).toEqual([usage, usage, usage]);
});
