// Known bugs of kernels like this one, each as a change of the SQL that is sent or of what the
// database has. The generated suites must notice every one of them.

import pg from 'pg';
import type { Overhear, Rewrite } from './changed-client.ts';

export interface Mutant {
  readonly name: string;
  readonly rewrite?: Rewrite;
  /** Statements that change the database, which is the mutant's own. */
  readonly ddl?: readonly string[];
  readonly overhear?: (url: string) => Overhear;
}

/** The part of a text from one mark to another, changed. */
function within(text: string, [from, to]: readonly [string, string], change: Rewrite): string {
  const start = text.indexOf(from);
  const end = text.indexOf(to, start + from.length);
  if (start < 0 || end < 0) return text;
  return text.slice(0, start) + change(text.slice(start, end)) + text.slice(end);
}

const held = ['held as materialized', 'seen as materialized'] as const;
const branch = ['case when', ' end as branch'] as const;
const moved = ['moved as (', 'returning r.id'] as const;
const byOwner = /where b\."r_attempts" = b\.fence/;

const reversed: Rewrite = (text) =>
  within(text, branch, (clauses) => {
    const list = clauses.slice('case '.length).split(/\n\s*(?=when )/);
    return `case ${list.reverse().join('\n')}`;
  });

const lateReading: Rewrite = (text) =>
  within(text, moved, (clause) =>
    clause.replaceAll(
      /greatest\((b\."r_(?:failures|lease_losses)"), 0\)/g,
      'greatest(least($1, 2147483646) + 1, 0)',
    ),
  );

const callersOrder: Rewrite = (text) => {
  const ids = /r\.id = any\((\$\d+::uuid\[\])\)/.exec(text)?.[1];
  if (!ids) return text;
  return within(text, held, (clause) =>
    clause.replace('order by r.id', `order by array_position(${ids}, r.id)`),
  );
};

const withoutLease: Rewrite = (text) =>
  text.includes(`event = 'lease.expired'`)
    ? text
        .replaceAll(/b\."r_lease_expires_at" <= b\.at/g, 'true')
        .replaceAll(/c\."lease_expires_at" <= statement_timestamp\(\)/g, 'true')
    : text;

const guardsOff = (...triggers: readonly string[]) =>
  triggers.map((name) => `alter table fencepost.delivery disable trigger "${name}"`);

/** Writes the journal as soon as the statement is answered, on a connection of its own. */
function journalAside(url: string): Overhear {
  return async (text, answers) => {
    const event = /event = '([^']+)'/.exec(text)?.[1];
    const names = /\nselect ([^\n]+)\n/.exec(text.slice(text.indexOf('moved as (')))?.[1];
    const columns = names?.split(', ') ?? [];
    const at = (name: string) => columns.indexOf(name);
    const steps = answers.filter((answer) => (answer[at('m.status')] ?? null) !== null);
    if (!event || event === 'renew' || steps.length === 0) return;
    const client = new pg.Client({ connectionString: url });
    await client.connect();
    for (const answer of steps) {
      const fence = answer[at('m."attempts"')] ?? answer[at('s."r_attempts"')];
      const owner = answer[at('s."r_lease_owner"')] ?? 'somebody';
      await client.query(
        `insert into fencepost.journal
           (machine, run, seq, at, event, actor, from_status, to_status, fence, definition)
         values ('outbox', $1, $2::int4 + 1, clock_timestamp(), $3, $4, $5, $6, $7, 1)`,
        [answer[1], answer[3], event, owner, answer[2], answer[at('m.status')], fence],
      );
    }
    await client.end();
  };
}

export const mutants: readonly Mutant[] = [
  {
    name: 'no fence',
    rewrite: (text) => text.replace(byOwner, ''),
  },
  {
    name: 'a lower fence is good enough',
    rewrite: (text) => text.replace(byOwner, 'where b."r_attempts" >= b.fence'),
  },
  {
    name: 'the status is not judged',
    rewrite: (text) =>
      within(text, branch, (clauses) => clauses.replaceAll(/b\."?r_status"? = '\w+' and /g, '')),
  },
  { name: 'branches are tried in reverse order', rewrite: reversed },
  { name: 'an effect sees the row after another effect', rewrite: lateReading },
  {
    name: 'the clock is read a column at a time',
    rewrite: (text) =>
      within(text, moved, (clause) => clause.replaceAll('b.at', 'clock_timestamp()')),
  },
  {
    name: 'the clock is read before the lock',
    rewrite: (text) => text.replace('clock_timestamp() as at', 'statement_timestamp() as at'),
  },
  {
    name: 'the row is judged once more in the update',
    rewrite: (text) =>
      text.replace('b.branch is not null', '$& and r.status = b."r_status" and r.seq = b."r_seq"'),
  },
  {
    name: 'the status is judged on the snapshot',
    rewrite: (text) =>
      within(text, held, (clause) => clause.replace('order by r.id for no key update of r', '')),
  },
  { name: "locks are taken in the caller's order", rewrite: callersOrder },
  {
    name: 'a claim waits for held runs',
    rewrite: (text) => text.replaceAll(' skip locked', ''),
  },
  { name: 'the reaper does not look at the lease', rewrite: withoutLease },
  {
    name: 'what is missing is called lost',
    rewrite: (text) => text.replace(/s\."r_status"(?=, s\."r_seq")/, `coalesce($&, 'processing')`),
  },
  {
    name: 'the journal is written beside the transaction',
    ddl: guardsOff('journal'),
    overhear: journalAside,
  },
  { name: 'nothing is journalled', ddl: guardsOff('journal') },
  { name: 'the database does not guard arrows', ddl: guardsOff('guard') },
  { name: 'the database does not guard births', ddl: guardsOff('birth') },
  { name: 'the database does not guard frozen columns', ddl: guardsOff('frozen') },
  { name: 'a deleted run leaves its journal', ddl: guardsOff('forget') },
  {
    name: 'the journal can be rewritten',
    ddl: ['alter table fencepost.journal disable trigger unchanged'],
  },
];
