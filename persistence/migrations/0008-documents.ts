// Documents: a small row that is compared and swapped, every version's content, the receipts of
// saves, and who else may read or edit.
//
// - A content lies in its revision, once. In the row beside it each save would write it twice, and
//   a rename would carry it along.
// - Receipts have a table of their own, because revisions are thinned and receipts are not.
// - A save is known by document, writer and save id: nobody can use up another writer's ids.

const largestVersion = '9007199254740991';

export const documents = {
  name: '0008-documents',
  statements: [
    // No index has a column that a save writes, and there is room on the page: saves are HOT.
    `create table fencepost.document (
  id uuid primary key,
  kind text not null,
  name text not null,
  owner text not null,
  version int8 not null default 1 check (version between 1 and ${largestVersion}),
  hash text not null,
  last_save uuid,
  last_writer uuid,
  created_at timestamptz not null default clock_timestamp(),
  updated_at timestamptz not null default clock_timestamp(),
  updated_by text not null,
  deleted_at timestamptz,
  deleted_by text,
  check ((deleted_at is null) = (deleted_by is null))) with (fillfactor = 70)`,
    'create index document_owned on fencepost.document (owner, created_at, id)',
    `create table fencepost.document_revision (
  document uuid not null references fencepost.document,
  version int8 not null check (version between 1 and ${largestVersion}),
  content text not null,
  hash text not null,
  author text not null,
  writer uuid,
  save uuid,
  proposal uuid,
  step int4,
  name text,
  restored_from int8,
  at timestamptz not null,
  kept int2 not null default 0 check (kept between 0 and 2),
  primary key (document, version),
  check ((proposal is null) = (step is null)))`,
    // Who thins looks at each revision once a stage; see document-thinning.ts.
    `create index document_revision_thinned on fencepost.document_revision (kept, at)
  where kept < 2`,
    `create table fencepost.document_save (
  document uuid not null references fencepost.document,
  writer uuid not null,
  save uuid not null,
  version int8,
  hash text,
  at timestamptz not null default clock_timestamp(),
  primary key (document, writer, save),
  check ((version is null) = (hash is null)))`,
    'create index document_save_age on fencepost.document_save (at)',
    `create function fencepost.document_save_is_kept() returns trigger language plpgsql as $$
begin
  raise exception using errcode = 'check_violation',
    message = 'a receipt of a save is never changed';
end $$`,
    `create trigger document_save_is_kept before update on fencepost.document_save
  for each statement execute function fencepost.document_save_is_kept()`,
    `create table fencepost.document_grant (
  document uuid not null references fencepost.document,
  grantee text not null,
  access text not null check (access in ('reader', 'editor')),
  granted_by text not null,
  granted_at timestamptz not null default clock_timestamp(),
  primary key (document, grantee))`,
    'create index document_granted on fencepost.document_grant (grantee, document)',
  ],
};
