// Answers that were given under an Idempotency-Key, so that the same request gets the same answer.

export const idempotency = {
  name: '0009-idempotency',
  statements: [
    // run is that to which the answer points, if it is one: see retention.ts.
    // headers is text, because nobody asks for what is in it.
    `create table fencepost.idempotency (
  principal text not null,
  route text not null,
  key text not null,
  fingerprint text not null,
  status int4 not null,
  headers text not null,
  body text not null,
  run uuid,
  at timestamptz not null default clock_timestamp(),
  primary key (principal, route, key))`,
    `create index idempotency_at on fencepost.idempotency (at)`,
  ],
};
