// A process of the benchmarks: a worker of no-op deliveries with the default configuration. It says
// `ready`, begins and pauses when it is told to, and writes what it has
// done in lines.

import { createInterface } from 'node:readline';
import { pino } from 'pino';
import { outbox } from '../machines/outbox.ts';
import { openDatabase } from '../persistence/database.ts';
import { openWakeListener } from '../persistence/wake-listener.ts';
import { readConfig } from '../services/config.ts';
import type { Channel } from '../services/deliveries/channel.ts';
import { deliveryWork } from '../services/deliveries/worker.ts';
import { startRuns } from '../services/runs/start.ts';

const say = (...words: readonly unknown[]) => process.stdout.write(`${words.join(' ')}\n`);

const receipt = { response: '250 ok' };
const noop: Channel = {
  name: 'email',
  effect: 'at-least-once',
  destinationOf: () => 'example.com',
  async send({ messageKey }) {
    if (measuresLatency) say('started', process.hrtime.bigint(), messageKey);
    return { result: 'sent', receipt };
  },
};

const { DATABASE_URL: url = '', BENCH_LATENCY, ...env } = process.env;
const measuresLatency = BENCH_LATENCY !== undefined;
const config = readConfig(env);
const log = pino({ level: config.logLevel }, pino.destination(2));
const database = await openDatabase({ url });
const wakes = await openWakeListener(database);

let ended = 0;
let telling = false;
function tell(): void {
  if (telling) return;
  telling = true;
  setImmediate(() => {
    telling = false;
    say('ended', ended);
  });
}
function tellMemory(): void {
  globalThis.gc?.();
  const { heapUsed, rss } = process.memoryUsage();
  const { user, system } = process.cpuUsage();
  say('memory', ended, heapUsed, rss, user + system);
}

async function work(): Promise<void> {
  ended = 0;
  const runs = startRuns<typeof outbox>({
    database,
    machine: outbox,
    wakes,
    works: [deliveryWork({ database, channel: noop, log })],
    pace: { ...config, timeoutMs: config.sendTimeoutMs },
    reapMs: config.reapMs,
    log,
    observe({ type }) {
      if (type === 'waiting') say('waiting');
      if (type !== 'ended') return;
      ended += 1;
      tell();
    },
  });
  for await (const line of orders) {
    if (line === 'memory') tellMemory();
    if (line === 'pause') break;
  }
  await runs.stop(1000);
  say('paused');
}

/** What it is told, a line an order. Leaving a loop over it does not end it. */
const lines = createInterface({ input: process.stdin })[Symbol.asyncIterator]();
const orders = { [Symbol.asyncIterator]: () => ({ next: () => lines.next() }) };
say('ready');
for await (const order of orders) {
  if (order === 'begin') await work();
  if (order === 'stop') break;
}
await wakes.close();
await database.close();
process.exit(0);
