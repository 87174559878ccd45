// What every machine needs: installed definitions, the journal, lost writes and the quarantine.

const refuse = (name: string, body: string) =>
  `create function fencepost.${name}() returns trigger language plpgsql as $guard$
begin
  ${body}
end
$guard$`;

export const kernel = {
  name: '0001-kernel',
  statements: [
    `create table fencepost.machine_installed (
  machine text not null,
  number int4 not null,
  hash text not null,
  definition jsonb not null,
  current bool not null,
  retired_at timestamptz,
  installed_at timestamptz not null default clock_timestamp(),
  primary key (machine, number),
  unique (machine, hash))`,
    `create unique index machine_installed_current on fencepost.machine_installed (machine) where current`,
    // The partition column must be in the key. xact lets a stream over runs read below the horizon:
    // seq alone orders one run only.
    `create table fencepost.journal (
  machine text not null,
  run uuid not null,
  seq int4 not null,
  at timestamptz not null,
  event text,
  actor text not null,
  from_status text not null,
  to_status text not null,
  fence int4 not null,
  definition int4 not null,
  xact xid8 not null default pg_current_xact_id(),
  primary key (machine, run, seq, at)) partition by range (at)`,
    // Stays empty while partitions are made ahead. If that stops, transitions still find a place.
    `create table fencepost.journal_default partition of fencepost.journal default`,
    refuse(
      'refuse_journal_change',
      `raise exception using errcode = 'check_violation', schema = tg_table_schema, table = tg_table_name,
    constraint = 'journal_append_only', message = 'what happened is never rewritten: ' || tg_op || ' on the journal',
    hint = 'A journal row goes with its run, or with its partition.';`,
    ),
    `create trigger unchanged before update on fencepost.journal for each row
  execute function fencepost.refuse_journal_change()`,
    // Deleting a run deletes its journal, from a trigger on the run: then the depth is two.
    `create trigger kept before delete on fencepost.journal for each row
  when (pg_trigger_depth() = 0) execute function fencepost.refuse_journal_change()`,
    `create trigger truncated before truncate on fencepost.journal for each statement
  execute function fencepost.refuse_journal_change()`,
    `create trigger truncated before truncate on fencepost.journal_default for each statement
  execute function fencepost.refuse_journal_change()`,
    `create table fencepost.lost_write (
  machine text not null,
  run uuid not null,
  event text not null,
  fence int4 not null,
  found_fence int4 not null,
  found_status text not null,
  at timestamptz not null default clock_timestamp())`,
    `create index lost_write_at on fencepost.lost_write (at)`,
    `create table fencepost.quarantine (
  machine text not null,
  run uuid not null,
  event text not null,
  sqlstate text not null,
  reason text not null,
  at timestamptz not null default clock_timestamp(),
  primary key (machine, run))`,
  ],
};
