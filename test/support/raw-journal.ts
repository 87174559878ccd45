// The journal under raw SQL: it is never rewritten, it names who wrote from outside, and it goes
// with its run.

import { randomUUID } from 'node:crypto';
import { sql } from 'kysely';
import { identifier, literal, qualified } from '../../persistence/print.ts';
import type { RawReport } from './raw-arrows.ts';
import { attempt, entering, mustRefuse, run, stageStatuses, updateText } from './raw-attempt.ts';
import type { StagedRow, Subject } from './staging.ts';

/** A live run, and a status to which it may go at once. */
async function moving(subject: Subject, toFinal: boolean) {
  const { machine } = subject.entry;
  const rows = await stageStatuses(subject);
  for (const row of rows) {
    const edges = Object.values(machine.states[row.status]?.on ?? {});
    const targets = edges.flatMap((each) => [each ?? []].flat()).map(({ target }) => target);
    const to = targets.find((target) => (machine.states[target]?.type === 'final') === toFinal);
    if (to !== undefined) return { row, to, text: moveText(subject, row, to) };
  }
  throw new Error(`${machine.id} has no such move`);
}

const moveText = ({ entry: { machine } }: Subject, row: StagedRow, to: string) =>
  updateText(machine, row.id, { status: literal(to), ...entering(machine, to) });

/** Rewriting what happened, for a run that has a journal. */
async function rewriting(subject: Subject): Promise<RawReport> {
  const { machine } = subject.entry;
  const { row, text } = await moving(subject, false);
  await sql.raw(text).execute(subject.observer.db);
  const where = `where machine = ${literal(machine.id)} and run = ${literal(row.id)}`;
  const texts = [
    `update fencepost.journal set actor = 'nobody' ${where}`,
    `update fencepost.journal set actor = actor ${where}`,
    `delete from fencepost.journal ${where}`,
    'truncate fencepost.journal',
    'truncate fencepost.journal_default',
    `update fencepost.journal_default set actor = 'nobody' ${where}`,
  ];
  const findings: string[] = [];
  for (const each of texts) {
    findings.push(...(await mustRefuse(subject, each, 'journal_append_only', [])));
  }
  return { findings, attempts: texts.length, refused: texts.length };
}

/** A write by another role than the service's: legal, and the journal says who. */
async function anotherRole(subject: Subject): Promise<RawReport> {
  const { machine } = subject.entry;
  const role = `visitor_${randomUUID()}`;
  const { row, text } = await moving(subject, false);
  const answer = await attempt(subject, async (tx) => {
    await run(tx, `create role ${identifier(role)}`);
    await run(tx, `grant usage on schema fencepost to ${identifier(role)}`);
    await run(tx, `grant select, update on ${qualified(machine.table)} to ${identifier(role)}`);
    await run(tx, `grant insert on fencepost.journal to ${identifier(role)}`);
    await run(tx, `set local session authorization ${identifier(role)}`);
    await run(tx, text);
    await run(tx, 'reset session authorization');
    const { rows } = await sql<{ event: string | null; actor: string }>`
      select event, actor from fencepost.journal
      where machine = ${machine.id} and run = ${row.id}`.execute(tx);
    return rows;
  });
  const wanted = JSON.stringify([{ event: null, actor: `outside: ${role}` }]);
  const found = JSON.stringify('result' in answer ? answer.result : answer.refusal.message);
  return { findings: found === wanted ? [] : [`${found}, not ${wanted}`], attempts: 1, refused: 0 };
}

/** A run that has come to its end may be deleted; its journal and its quarantine go with it. */
async function deletion(subject: Subject): Promise<RawReport> {
  const { machine } = subject.entry;
  const { row, text } = await moving(subject, true);
  const left = sql<{ left: number }>`select
    (select count(*) from fencepost.journal where machine = ${machine.id} and run = ${row.id}) +
    (select count(*) from fencepost.quarantine where machine = ${machine.id} and run = ${row.id})
    as left`;
  const answer = await attempt(subject, async (tx) => {
    await run(tx, text);
    await sql`insert into fencepost.quarantine (machine, run, event, sqlstate, reason)
      values (${machine.id}, ${row.id}, 'none', '', '')`.execute(tx);
    const before = await left.execute(tx);
    await run(tx, `delete from ${qualified(machine.table)} where id = ${literal(row.id)}`);
    const after = await left.execute(tx);
    return [before.rows[0]?.left, after.rows[0]?.left].join(' then ');
  });
  const found = 'result' in answer ? answer.result : answer.refusal.message;
  return { findings: found === '2 then 0' ? [] : [`left: ${found}`], attempts: 1, refused: 0 };
}

export async function rawJournal(subject: Subject): Promise<RawReport> {
  const reports = [await rewriting(subject), await anotherRole(subject), await deletion(subject)];
  return {
    findings: reports.flatMap(({ findings }) => findings),
    attempts: reports.reduce((sum, { attempts }) => sum + attempts, 0),
    refused: reports.reduce((sum, { refused }) => sum + refused, 0),
  };
}
