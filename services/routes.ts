// The whole route table: what server.ts serves, and what the tests of every route read.

import type { Database } from '../persistence/database.ts';
import { type DeliveryRoutesOptions, deliveryRoutes } from './deliveries/routes.ts';
import { type DocumentRoutesOptions, documentRoutes } from './documents/routes.ts';
import type { Route } from './http/route.ts';
import { mailboxRoutes } from './mailbox/routes.ts';

export interface RoutesOptions extends DeliveryRoutesOptions, DocumentRoutesOptions {
  readonly database: Database;
  /** Whether mails go to the development mailbox. */
  readonly mailbox: boolean;
}

/** Every route but those of health, which are there before the database is. */
export const routesOf = (options: RoutesOptions): readonly Route[] => [
  ...deliveryRoutes(options),
  ...documentRoutes(options),
  ...(options.mailbox ? mailboxRoutes(options.database) : []),
];
