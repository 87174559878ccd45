// A process that claims deliveries and never ends one: to be killed. Arguments: the address of the
// database, and the lease.

import { pino } from 'pino';
import { outbox } from '../../../machines/outbox.ts';
import { openDatabase } from '../../../persistence/database.ts';
import { limitsBelow } from '../../../persistence/limits.ts';
import { openWakeListener } from '../../../persistence/wake-listener.ts';
import { startRuns } from '../../../services/runs/start.ts';
import { calm, sending } from '../../support/runs.ts';

const [url = '', lease = ''] = process.argv.slice(2);
const leaseMs = Number(lease);
const database = await openDatabase({ url, limits: limitsBelow(leaseMs) });
const wakes = await openWakeListener(database);
const handle = () => new Promise<never>(() => undefined);
startRuns<typeof outbox>({
  database,
  machine: outbox,
  wakes,
  works: [sending({ handle })],
  pace: { ...calm, leaseMs, heartbeatMs: leaseMs / 3, timeoutMs: leaseMs / 2 },
  reapMs: 60_000,
  log: pino({ enabled: false }),
  observe(event) {
    if (event.type === 'started') process.stdout.write(`started ${event.run}\n`);
  },
});
