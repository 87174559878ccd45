// The outbox's runs. What the triggers say is written out here and does not follow the machine:
// another initial status or another frozen column is another migration.

import { guardTriggers } from '../guards.ts';

export const outbox = {
  name: '0002-outbox',
  statements: [
    // fillfactor leaves room on the page: a delivery is updated at least twice.
    `create table fencepost.delivery (
  id uuid primary key,
  status text not null default 'pending',
  seq int4 not null default 0,
  event text,
  actor text,
  definition int4 not null,
  channel text not null,
  recipient text not null,
  payload text not null,
  message_key text not null,
  redrive_of uuid,
  enqueued_by text,
  max_failures int4 not null default 8,
  max_lease_losses int4 not null default 10,
  give_up_at timestamptz not null default now() + interval '3 days',
  created_at timestamptz not null default now(),
  attempts int4 not null default 0,
  failures int4 not null default 0,
  lease_losses int4 not null default 0,
  next_attempt_at timestamptz not null default now(),
  lease_expires_at timestamptz,
  lease_owner text,
  maybe_twice bool not null default false,
  last_error text,
  receipt jsonb,
  finished_at timestamptz) with (fillfactor = 70)`,
    // The claim goes by channel, so that a channel that cools down costs the others nothing.
    `create index delivery_due on fencepost.delivery (channel, next_attempt_at) where status = 'pending'`,
    // Not "where status = 'processing'": see compile.ts on partial indexes on a leased status.
    `create index delivery_lapsed on fencepost.delivery (lease_expires_at) where lease_expires_at is not null`,
    ...guardTriggers({
      machine: 'outbox',
      table: 'delivery',
      initial: 'pending',
      fence: 'attempts',
      lease: 'lease_expires_at',
      owner: 'lease_owner',
      frozen: [
        'channel',
        'recipient',
        'payload',
        'message_key',
        'redrive_of',
        'enqueued_by',
        'max_failures',
        'max_lease_losses',
        'give_up_at',
        'created_at',
      ],
    }),
  ],
};
