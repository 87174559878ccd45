// The development mailbox in a browser. Its routes exist only where the mailbox does.

import { Router } from 'express';
import type { Database } from '../../persistence/database.ts';
import { listMails } from '../../persistence/mailbox.ts';
import { mailboxPage, pagePolicy } from './page.ts';

const most = 100;

export function mailboxRoutes(database: Database): Router {
  const router = Router();
  router.get('/dev/mailbox', async (_request, response) => {
    const mails = await listMails(database.db, most);
    response.set('Content-Security-Policy', pagePolicy).type('html').send(mailboxPage(mails, most));
  });
  return router;
}
