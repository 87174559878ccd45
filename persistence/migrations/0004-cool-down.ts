// Channels and destinations that asked to be left alone, or that are broken: not before when.

export const coolDown = {
  name: '0004-cool-down',
  statements: [
    // The empty destination stands for the whole channel. until is infinity where only a person can
    // end it.
    `create table fencepost.cool_down (
  channel text not null,
  destination text not null default '',
  until timestamptz not null,
  reason text not null,
  at timestamptz not null default clock_timestamp(),
  primary key (channel, destination))`,
  ],
};
