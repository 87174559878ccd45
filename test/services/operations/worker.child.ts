// A process that works on several operations at once, each on a fake of its own, and holds each at
// one point: to be killed there, or to be stopped and to go on. Arguments, as JSON: ChildOrders.
//
// - It says in a line where each is. At its point an operation waits until the process goes on.
// - `mutant`: the call is made before the intent is written, which must be seen.

import { once } from 'node:events';
import { pino } from 'pino';
import type { dbops } from '../../../machines/dbops.ts';
import { openDatabase } from '../../../persistence/database.ts';
import { openWakeListener } from '../../../persistence/wake-listener.ts';
import { neonProvider } from '../../../services/operations/neon.ts';
import { type OperationTimes, paceOf } from '../../../services/operations/pace.ts';
import type { Answer, ExternalOperation, Provider } from '../../../services/operations/provider.ts';
import { operationWorks } from '../../../services/operations/worker.ts';
import { startRuns } from '../../../services/runs/start.ts';

interface Order {
  readonly url: string;
  readonly key: string;
  readonly project: string;
  readonly times: OperationTimes;
  /** Where it is held; the fake holds it at `written`. */
  readonly point: string;
  readonly mutant: boolean;
}
export interface ChildOrders {
  readonly database: string;
  readonly orders: readonly Order[];
}

const { database: address, orders } = JSON.parse(process.argv[2] ?? '') as ChildOrders;
const say = (line: string) => process.stdout.write(`${line}\n`);
const continued = once(process, 'SIGCONT');

function held({ url, key, project, point, mutant }: Order): Provider {
  const real = neonProvider({ url, key, project, timeoutMs: 5000 });
  let early: Answer<readonly ExternalOperation[]> | undefined;
  let polls = 0;
  async function at(reached: string): Promise<void> {
    if (reached !== point) return;
    say(`${project} at ${reached}`);
    await continued;
  }
  return {
    ...real,
    async mark(change, signal) {
      await at('claimed');
      const answer = await real.mark(change, signal);
      if (mutant) early = await real.issue(change, Number.POSITIVE_INFINITY);
      await at('marked');
      return answer;
    },
    async issue(change, latest) {
      await at('intended');
      const answer = early ?? (await real.issue(change, latest));
      say(`${project} issue ${answer.result}`);
      await at('answered');
      return answer;
    },
    async poll(change, operations, signal) {
      await at('issued');
      const answer = await real.poll(change, operations, signal);
      polls += 1;
      const isDone = answer.result === 'ok' && answer.value.state === 'done';
      await at(isDone ? 'done' : `polled ${polls}`);
      return answer;
    },
  };
}

const database = await openDatabase({ url: address });
const wakes = await openWakeListener(database);
const log = pino({ enabled: false });
const pause = () => new Promise(setImmediate);
const works = orders.map((order) => {
  const provider = held(order);
  const [work] = operationWorks({ database, provider, times: order.times, log, pause });
  if (!work) throw new Error('there are two works');
  return work;
});
const [first] = orders;
if (works[0] && first) {
  startRuns<typeof dbops>({
    ...{ database, machine: works[0].machine, wakes, works, log },
    pace: paceOf(first.times, 3_600_000),
    reapMs: 3_600_000,
    observe(event) {
      if (event.type === 'ended') say(`ended ${event.event} ${event.outcome}`);
      if (event.type === 'dropped') say('dropped');
    },
  });
}
say('ready');
