// Proposals: the runs, the steps of their frozen plans, the receipts of what was carried out; and
// notes, the small table that the tools `note.write` and `note.delete` change.
//
// - No transaction that leaves a step open can commit, and none that closes a step without its
//   receipt: the trigger `receipted` looks when it commits. A tool that commits commits nothing.
// - Steps come with their proposal, in its transaction, and never change. Receipts never change
//   either. Both go with their run, by a trigger, as the journal does: a foreign key would keep
//   the table of runs from being truncated where the guards are off on purpose.

import { guardTriggers } from '../guards.ts';

const triggerFunction = (name: string, body: string) =>
  `create function fencepost.${name}() returns trigger language plpgsql
set search_path = pg_catalog as $guard$
begin
  ${body}
end
$guard$`;

const raise = (constraint: string, message: string, hint: string) =>
  `raise exception using errcode = 'check_violation', schema = tg_table_schema, table = tg_table_name,
    constraint = '${constraint}', message = ${message}, hint = '${hint}';`;

const unchanged = (table: string) => [
  `create trigger unchanged before update on fencepost.${table} for each row
  execute function fencepost.refuse_plan_change()`,
  // Deleting a run deletes them, from a trigger on the run: then the depth is one at least.
  `create trigger kept before delete on fencepost.${table} for each row
  when (pg_trigger_depth() = 0) execute function fencepost.refuse_plan_change()`,
  `create trigger truncated before truncate on fencepost.${table} for each statement
  execute function fencepost.refuse_plan_change()`,
];

export const proposals = {
  name: '0006-proposals',
  statements: [
    `create table fencepost.proposal (
  id uuid primary key,
  status text not null default 'pending',
  seq int4 not null default 0,
  event text,
  actor text,
  definition int4 not null,
  proposer text not null,
  risk text not null,
  four_eyes text not null,
  plan_hash text not null,
  steps int4 not null,
  rationale text not null default '',
  link text,
  linked_to uuid,
  created_at timestamptz not null default now(),
  expires_at timestamptz not null default now() + interval '7 days',
  fence int4 not null default 0,
  lease_expires_at timestamptz,
  lease_owner text,
  next_step int4 not null default 0,
  open_step int4,
  approved_by text,
  approved_at timestamptz,
  executed_by text,
  rejected_by text,
  reason text,
  finished_at timestamptz) with (fillfactor = 50)`,
    `create index proposal_expiring on fencepost.proposal (expires_at)
  where status in ('pending', 'approved')`,
    // Not "where status = 'executing'": see compile.ts on partial indexes on a leased status.
    `create index proposal_lapsed on fencepost.proposal (lease_expires_at)
  where lease_expires_at is not null`,
    `create index proposal_by_status on fencepost.proposal (status, id)`,
    `create index proposal_by_proposer on fencepost.proposal (proposer, id)`,
    `create index proposal_finished on fencepost.proposal (finished_at)
  where finished_at is not null`,
    // Of one plan there is one continuation and one compensation at a time, unless it was turned
    // down.
    `create unique index proposal_linked_once on fencepost.proposal (linked_to, link)
  where linked_to is not null and status not in ('rejected', 'expired')`,
    `create table fencepost.proposal_step (
  proposal uuid not null,
  index int4 not null,
  tool text not null,
  tool_version int4 not null,
  arguments text not null,
  primary key (proposal, index))`,
    `create table fencepost.proposal_receipt (
  proposal uuid not null,
  index int4 not null,
  outcome text not null check (outcome in ('ok', 'failed')),
  output text,
  error text,
  fence int4 not null,
  at timestamptz not null default clock_timestamp(),
  primary key (proposal, index))`,
    triggerFunction(
      'refuse_plan_change',
      raise(
        'proposal_append_only',
        `'what was proposed and what was done is never rewritten: ' || tg_op || ' on ' || tg_table_name`,
        'Steps and receipts go with their run.',
      ),
    ),
    ...unchanged('proposal_step'),
    ...unchanged('proposal_receipt'),
    triggerFunction(
      'refuse_late_step',
      `if not exists (select from fencepost.proposal p
      where p.id = new.proposal and p.seq = 0 and new.index >= 0 and new.index < p.steps) then
    ${raise(
      'proposal_step_late',
      `format('step %s is none of proposal %s', new.index, new.proposal)`,
      'Steps are written with their proposal, and never added later.',
    )}
  end if;
  return new;`,
    ),
    `create trigger born before insert on fencepost.proposal_step for each row
  execute function fencepost.refuse_late_step()`,
    triggerFunction(
      'require_receipt',
      `if exists (select from fencepost.proposal p where p.id = new.id and p.open_step is not null) then
    ${raise(
      'proposal_step_open',
      `format('step %s of proposal %s is open and cannot be committed', new.open_step, new.id)`,
      'A step is closed with its receipt, in the transaction that opened it.',
    )}
  end if;
  if old.open_step is not null and not exists (select from fencepost.proposal_receipt r
      where r.proposal = old.id and r.index = old.open_step) then
    ${raise(
      'proposal_step_without_receipt',
      `format('step %s of proposal %s was closed without a receipt', old.open_step, old.id)`,
      'A step is closed with its receipt, in the transaction that opened it.',
    )}
  end if;
  return null;`,
    ),
    `create constraint trigger receipted after update on fencepost.proposal
  deferrable initially deferred for each row
  when (new.open_step is not null or old.open_step is not null)
  execute function fencepost.require_receipt()`,
    ...guardTriggers({
      machine: 'proposal',
      table: 'proposal',
      initial: 'pending',
      fence: 'fence',
      lease: 'lease_expires_at',
      owner: 'lease_owner',
      frozen: [
        'proposer',
        'risk',
        'four_eyes',
        'plan_hash',
        'steps',
        'rationale',
        'link',
        'linked_to',
        'created_at',
        'expires_at',
      ],
      checked: true,
    }),
    triggerFunction(
      'forget_plan',
      `delete from fencepost.proposal_step s using gone where s.proposal = gone.id;
  delete from fencepost.proposal_receipt r using gone where r.proposal = gone.id;
  return null;`,
    ),
    `create trigger forget_plan after delete on fencepost.proposal
  referencing old table as gone for each statement execute function fencepost.forget_plan()`,
    `create table fencepost.note (
  id uuid primary key,
  text text not null,
  written_at timestamptz not null default clock_timestamp())`,
  ],
};
