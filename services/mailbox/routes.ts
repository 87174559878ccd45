// The development mailbox in a browser. Its routes exist only where the mailbox does.
//
// - It asks for no token, because a browser has none to send: it is for this machine only.

import { z } from 'zod';
import type { Database } from '../../persistence/database.ts';
import { listMails } from '../../persistence/mailbox.ts';
import { type Route, route } from '../http/route.ts';
import { mailboxPage, pagePolicy } from './page.ts';

const most = 100;

export const mailboxRoutes = (database: Database): readonly Route[] => [
  route({
    method: 'get',
    path: '/dev/mailbox',
    scope: 'local',
    summary: 'Look at the mails that came',
    mediaType: 'text/html',
    answers: { 200: z.string() },
  }).handle(async () => {
    const body = mailboxPage(await listMails(database.db, most), most);
    return { status: 200, body, headers: { 'Content-Security-Policy': pagePolicy } };
  }),
];
