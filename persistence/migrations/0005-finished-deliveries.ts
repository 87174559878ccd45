// What becomes of deliveries that have come to their end: they are redriven, at most once each, and
// they go when their time is over.

export const finishedDeliveries = {
  name: '0005-finished-deliveries',
  statements: [
    // Its predicate names no status: no statement of the kernel is ever offered its dead entries.
    `create unique index delivery_redriven_once on fencepost.delivery (redrive_of)
  where redrive_of is not null`,
    // By status, because each has a retention of its own.
    `create index delivery_finished on fencepost.delivery (status, finished_at)
  where finished_at is not null`,
  ],
};
