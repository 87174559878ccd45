// The provider `postgres` dies at every statement of a reset: before it, while it runs, after it.
// The branch is the old one or the new one, never missing, and the next poll finishes.
//
// - Connections that are cut are what the server sees of a killed process.

import { pino } from 'pino';
import { describe, expect, it } from 'vitest';
import { postgresProvider } from '../../../services/operations/postgres.ts';
import type { Change } from '../../../services/operations/provider.ts';
import {
  addWord,
  databaseNames,
  inDatabase,
  makeRoot,
  wordsIn,
} from '../../support/branch-server.ts';
import { dyingAt } from '../../support/cut-client.ts';
import { asked, driven, polledToEnd, told } from '../../support/driven.ts';
import { useOpened } from '../../support/opened.ts';

const database = useOpened();
const log = pino({ enabled: false });
const isWhole = process.env['KILLS'] === 'all';

async function branchOf(root: string, branch: string) {
  const healthy = postgresProvider({ database: database(), log });
  await driven(healthy, { action: 'create', branch, parent: root });
  return healthy;
}

const allows = async (name: string) =>
  (
    await inDatabase<{ allows: boolean }>(
      'postgres',
      `select datallowconn as allows from pg_database where datname::text = '${name}'`,
    )
  )[0]?.allows;

/** The words of a reset, counted on one that nobody disturbs. */
async function statementsOf(change: Change): Promise<readonly string[]> {
  const watched = dyingAt(Number.POSITIVE_INFINITY, 'before');
  const { clientClass } = watched;
  await driven(postgresProvider({ database: database(), log, clientClass }), change);
  // A poll meanwhile has it look once more, which is not part of it.
  const last = watched.statements.findIndex((text) => text.includes("set status = 'finished'"));
  return watched.statements.slice(0, last + 1);
}

/** What changes the server; KILLS=all dies at the others too. */
const changes = /^(alter|create|drop|commit|update)/;

describe('a reset whose process dies', () => {
  it('leaves the old branch or the new one, and the next poll finishes', async () => {
    const root = await makeRoot();
    const branch = `${root}_dev`;
    const healthy = await branchOf(root, branch);
    const change = { action: 'reset', branch } as const;
    const statements = await statementsOf(change);
    expect(statements.length).toBeGreaterThan(20);
    const moments = isWhole ? (['before', 'sent', 'after'] as const) : (['sent'] as const);
    let deaths = 0;
    for (let i = 0; i < statements.length; i += 1) {
      for (const moment of isWhole || changes.test(statements[i] ?? '') ? moments : []) {
        deaths += 1;
        const where = `${moment} statement ${i}: ${statements[i]}`;
        await addWord(branch, 'of the branch');
        const death = dyingAt(i, moment);
        const dying = postgresProvider({
          database: database(),
          log,
          clientClass: death.clientClass,
        });
        const issued = told(await asked(dying, change));
        await dying.close();
        expect(death.isDead(), where).toBe(true);
        expect(await databaseNames(root), where).toEqual(expect.arrayContaining([root, branch]));
        const progress = await polledToEnd(healthy, change, issued);
        expect(progress.state, where).toBe('done');
        expect(await wordsIn(branch), where).toEqual(['of the parent']);
        expect(await databaseNames(root), where).toEqual([root, branch]);
        expect([await allows(root), await allows(branch)], where).toEqual([true, true]);
      }
    }
    expect(deaths).toBeGreaterThan(10);
  });
});
