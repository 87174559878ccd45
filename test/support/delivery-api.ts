// The deliveries' HTTP API, for tests of its routes.

import type { Database } from '../../persistence/database.ts';
import type { DeliveryRules } from '../../services/deliveries/new-delivery.ts';
import { deliveryRoutes } from '../../services/deliveries/routes.ts';
import { openApi } from './open-api.ts';

/** Opens the API for one test. */
export const openDeliveryApi = (database: Database, rules: DeliveryRules = {}) =>
  openApi({
    database,
    routes: deliveryRoutes({ database, sender: 'me@example.com', ...rules }),
  });
