// The provider `postgres` on a real server: what a reset keeps, what names cannot do, and what it
// does when somebody is in its way.

import { pino } from 'pino';
import { describe, expect, it, onTestFinished } from 'vitest';
import { identifier } from '../../../persistence/print.ts';
import { postgresProvider } from '../../../services/operations/postgres.ts';
import {
  addWord,
  databaseNames,
  inDatabase,
  makeRoot,
  wordsIn,
} from '../../support/branch-server.ts';
import { asked, driven, never, polledToEnd, told } from '../../support/driven.ts';
import { useOpened } from '../../support/opened.ts';
import { ask, ended, operating } from '../../support/operations.ts';

const database = useOpened();

function opened() {
  const provider = postgresProvider({ database: database(), log: pino({ enabled: false }) });
  onTestFinished(() => provider.close());
  return provider;
}
const onServer = (text: string) => inDatabase('postgres', text);

describe('a reset', () => {
  it('brings the data of the parent, by a worker, and says how long that was closed', async () => {
    const provider = opened();
    const root = await makeRoot();
    const branch = `${root}_dev`;
    const workers = await operating(database(), provider, { onPause: provider.close });
    const made = await ask(database(), provider, { action: 'create', branch, parent: root });
    expect(await ended(workers, database(), made)).toMatchObject({ status: 'succeeded' });
    await addWord(branch, 'of the branch');
    await addWord(root, 'written later');
    const id = await ask(database(), provider, { action: 'reset', branch });
    const row = await ended(workers, database(), id);
    expect(row).toMatchObject({ status: 'succeeded', outcome: 'ok' });
    expect(await wordsIn(branch)).toEqual(['of the parent', 'written later']);
    expect(row.operations).toMatchObject([{ detail: expect.stringMatching(/closed for \d+ ms/) }]);
  });

  it('keeps grants, limits and settings, and the old copy where it is told', async () => {
    const provider = opened();
    const root = await makeRoot();
    const branch = `${root}_dev`;
    const role = `${root}_role`;
    await driven(provider, { action: 'create', branch, parent: root });
    await onServer(`create role ${role}`);
    onTestFinished(async () => {
      await onServer(`drop owned by ${role}`).catch(() => undefined);
    });
    for (const statement of [
      `revoke connect on database ${branch} from public`,
      `grant connect, create on database ${branch} to ${role} with grant option`,
      `alter database ${branch} connection limit 17`,
      `alter database ${branch} set search_path to "$user", 'a, b', public`,
      `alter database ${branch} set statement_timeout to '1min'`,
      `alter database ${branch} set application_name to 'it''s "quoted"'`,
      `alter role ${role} in database ${branch} set work_mem to '5MB'`,
    ]) {
      await onServer(statement);
    }
    const looks = () =>
      onServer(`select datacl::text, datconnlimit, datallowconn,
        (select array_agg(s order by s) from pg_db_role_setting, unnest(setconfig) s
          where setdatabase = d.oid) as settings
        from pg_database d where datname = '${branch}'`);
    const before = await looks();
    await addWord(branch, 'of the branch');
    const keepAs = `${root}_kept`;
    await driven(provider, { action: 'reset', branch, keepAs });
    expect(await looks()).toEqual(before);
    expect(await wordsIn(branch)).toEqual(['of the parent']);
    expect(await wordsIn(keepAs)).toEqual(['of the branch', 'of the parent']);
    const [comment] = await onServer(`select shobj_description(oid, 'pg_database') as text
      from pg_database where datname = '${branch}'`);
    expect(comment?.['text']).toMatch(/^fencepost: reset by operation \d+$/);
    for (const name of [branch, keepAs]) await driven(provider, { action: 'delete', branch: name });
    await onServer(`drop role ${role}`);
  });

  it('ends the sessions that are in its way, on both sides', async () => {
    const provider = opened();
    const root = await makeRoot();
    const branch = `${root}_dev`;
    await driven(provider, { action: 'create', branch, parent: root });
    const sessions = [root, branch].map((name) =>
      inDatabase(name, 'select pg_sleep(60)').catch((error: Error) => error.message),
    );
    await onServer(`select count(*) from pg_stat_activity where query like '%pg_sleep(60)%'`);
    expect(await driven(provider, { action: 'reset', branch })).toMatchObject({ state: 'done' });
    // Whoever came too late to be ended was never let in.
    for (const said of await Promise.all(sessions)) expect(said).toMatch(/terminat|accepting/);
  });

  it('fails for good where the parent is gone, and leaves everything as it was', async () => {
    const provider = opened();
    const root = await makeRoot();
    const middle = `${root}_middle`;
    const branch = `${root}_dev`;
    await driven(provider, { action: 'create', branch: middle, parent: root });
    await driven(provider, { action: 'create', branch, parent: middle });
    const change = { action: 'reset', branch } as const;
    const issued = told(await asked(provider, change));
    await onServer(`drop database ${middle} with (force)`).catch(() => undefined);
    await polledToEnd(provider, change, issued);
    expect(await databaseNames(root)).toEqual(expect.arrayContaining([root, branch]));
    expect(await asked(provider, change)).toMatchObject({ result: 'refused', passing: false });
    expect(await wordsIn(branch)).toEqual(['of the parent']);
  });
});

/** All in one name; NAMES=all takes each by itself. */
const odd = ['qu"ote', "it's", '$$ a $$', '; drop table word', 'a?b#c', 'ünïcode', 'a%sb'];
const names = process.env['NAMES'] === 'all' ? odd : ['"\'$$;--?#ü%s \\ b'];

describe('a name', () => {
  it.each(names)('is a name and never SQL: %s', async (odd) => {
    const provider = opened();
    const root = await makeRoot();
    const branch = `${root}${odd}`;
    await driven(provider, { action: 'create', branch, parent: root });
    const listed = told(await provider.list(never)).map(({ name }) => name);
    expect(listed).toContain(branch);
    expect(await driven(provider, { action: 'reset', branch })).toMatchObject({ state: 'done' });
    const rows = await onServer(
      `select from pg_database where datname = '${branch.replaceAll("'", "''")}'`,
    );
    expect(rows).toHaveLength(1);
    await onServer(`drop database ${identifier(branch)}`);
  });

  it.each([
    ['', 'not empty'],
    ['x'.repeat(64), '63 bytes'],
    ['ü'.repeat(32), '63 bytes'],
    ['nul\u0000', 'control'],
    ['new\nline', 'control'],
    ['\ud800', 'Unicode'],
    ['fencepost_1_new', 'on its way'],
  ])('is refused: %j', async (branch, because) => {
    const root = await makeRoot();
    const answer = await asked(opened(), { action: 'create', branch, parent: root });
    expect(answer).toMatchObject({ result: 'refused', passing: false });
    expect(JSON.stringify(answer)).toContain(because);
  });

  it("of the service's own database is neither branch nor parent", async () => {
    const provider = opened();
    const own = told(await provider.list(never)).find(({ fixed }) => fixed === 'own');
    const certain = { result: 'refused', passing: false };
    for (const action of ['reset', 'delete'] as const) {
      expect(await asked(provider, { action, branch: own?.name ?? '' })).toMatchObject(certain);
    }
    const copy = { action: 'create', branch: 'copy', parent: own?.name ?? '' } as const;
    expect(await asked(provider, copy)).toMatchObject(certain);
  });
});
