// The development mailbox's rows: one for each time that a mail came, so that a page can say how
// often each did.

import { type Kysely, sql } from 'kysely';
import type { Schema } from './schema.ts';
import { storable } from './text.ts';

export interface ReceivedMail {
  readonly messageId: string;
  readonly sender: string;
  readonly recipients: readonly string[];
  readonly subject: string;
  readonly body: string;
  readonly raw: string;
}

const longestLine = 10_000;
const longestMail = 5_000_000;

/** Keeps a mail, a row a recipient, all or none. What cannot be stored as it is gets mended. */
export async function insertMail(db: Kysely<Schema>, mail: ReceivedMail): Promise<void> {
  await db
    .insertInto('fencepost.mailbox')
    .values(
      mail.recipients.map((recipient) => ({
        message_id: storable(mail.messageId, longestLine),
        sender: storable(mail.sender, longestLine),
        recipient: storable(recipient, longestLine),
        subject: storable(mail.subject, longestLine),
        body: storable(mail.body, longestMail),
        raw: storable(mail.raw, longestMail),
      })),
    )
    .execute();
}

/**
 * Lists mails, the one that came last first, at most `limit`. The same Message-ID to the same
 * recipient is one mail that came several times; its text is that of the first time.
 */
export async function listMails(db: Kysely<Schema>, limit: number) {
  const first = (column: 'sender' | 'subject' | 'body') =>
    sql<string>`(array_agg(${sql.ref(column)} order by id))[1]`;
  return await db
    .selectFrom('fencepost.mailbox')
    .select(['message_id', 'recipient'])
    .select([first('sender').as('sender'), first('subject').as('subject')])
    .select(first('body').as('body'))
    .select((all) => [
      all.fn.countAll<number>().as('times'),
      all.fn.min('received_at').as('first_at'),
      all.fn.max('received_at').as('last_at'),
    ])
    .groupBy(['message_id', 'recipient'])
    .orderBy((all) => all.fn.max('id'), 'desc')
    .limit(limit)
    .execute();
}
