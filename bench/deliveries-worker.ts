// A process of the benchmarks: a worker of no-op deliveries with the default configuration. It says
// `ready`, begins when it is told to, and writes what it has done in lines.

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

async function begin(): Promise<void> {
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
  for await (const line of lines) {
    if (line === 'memory') tellMemory();
    if (line === 'stop') break;
  }
  await runs.stop(1000);
  await wakes.close();
  await database.close();
}

const lines = createInterface({ input: process.stdin })[Symbol.asyncIterator]();
say('ready');
await lines.next();
await begin();
process.exit(0);
