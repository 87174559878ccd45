// Lists deliveries, newest first, by status, channel, destination and time.

import { z } from 'zod';
import type { Database } from '../../persistence/database.ts';
import { listDeliveries } from '../../persistence/delivery-list.ts';
import { pageOf, pageQuery, printCursor, readCursor } from '../http/keyset.ts';
import { frame, problem } from '../http/problem.ts';
import { type Route, route } from '../http/route.ts';
import { listed, listedAnswer, status } from './answers.ts';

/** Postgres has no year 0. */
const time = z.iso.datetime().refine((text) => !text.startsWith('0000'), 'There is no year 0');
const word = z.string().min(1).max(2000);

const query = z.strictObject({
  status: status.optional(),
  channel: word.optional(),
  destination: word.optional().meta({
    description:
      'The domain of an address (example.com), the origin of a URL (https://example.com)',
  }),
  from: time.optional().meta({ description: 'Created at or after, in UTC' }),
  to: time.optional().meta({ description: 'Created before, in UTC' }),
  ...pageQuery,
});

const position = z.strictObject({ before: z.uuid() });
const first = { before: undefined };

const badCursor = () =>
  problem(frame.invalidQuery, 'See errors for what is wrong and where.', {
    errors: [
      {
        code: 'bad_cursor',
        pointer: '/cursor',
        detail: 'This is not what the page before gave as next, for the same filters.',
      },
    ],
  });

export const listRoute = (database: Database): Route =>
  route({
    method: 'get',
    path: '/v1/deliveries',
    scope: 'deliveries:read',
    summary: 'List deliveries, newest first',
    description:
      'A page may have fewer than `limit` items, or none, and yet a `next`: ' +
      'with a destination a page looks at 10,000 deliveries at most.',
    operation: 'listDeliveries',
    query,
    answers: { 200: pageOf(listed).meta({ id: 'DeliveryPage' }) },
    problems: [frame.invalidQuery],
  }).handle(async ({ query: { limit, cursor, ...filter } }) => {
    const read = cursor === undefined ? first : readCursor(cursor, filter, position);
    if (read === undefined) return badCursor();
    const { before } = read;
    const { rows, next } = await listDeliveries(database.db, filter, { limit, before });
    const cursorOfNext = next === undefined ? null : printCursor(filter, { before: next });
    return { status: 200, body: { items: rows.map(listedAnswer), next: cursorOfNext } };
  });
