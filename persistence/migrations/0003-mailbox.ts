// The development mailbox: what arrived by real SMTP, a row a mail.

export const mailbox = {
  name: '0003-mailbox',
  statements: [
    `create table fencepost.mailbox (
  id int8 generated always as identity primary key,
  message_id text not null,
  recipient text not null,
  sender text not null,
  subject text not null,
  body text not null,
  raw text not null,
  received_at timestamptz not null default clock_timestamp())`,
  ],
};
