// The process's metrics, for Prometheus. server.ts tells it what happens; route.ts shows it.
//
// - Every label is of a set that the code knows: machines, events, outcomes, workers, routes. None
//   is a stranger's word, an id or an address.
// - What is counted elsewhere (transitions, connections, what is due) is asked for when somebody
//   looks, at most every few seconds, and left out while the database is away.

import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client';
import type { Machine } from '../../machines/status-machine.ts';
import type { Database } from '../../persistence/database.ts';
import { oldestDueSeconds } from '../../persistence/oldest-due.ts';
import { talliesOf } from '../../persistence/tally.ts';
import type { Answered } from '../http/answered.ts';
import type { Observe } from '../runs/events.ts';

export interface Metrics {
  /** The exposition, as text. */
  read(): Promise<string>;
  readonly observe: Observe;
  readonly answered: (answer: Answered) => void;
  /** A save of a document was judged. The verdict is one of the few there are. */
  readonly saved: (verdict: string) => void;
  /** From here on there is a database to ask. */
  attach(database: Database): void;
}

export interface MetricsOptions {
  readonly machines: readonly Machine[];
  /** Memory, event loop and the like, of the process as a whole. */
  readonly ofProcess?: boolean;
}

const handlerBuckets = [0.01, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60];
const httpBuckets = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];
const freshMs = 5000;

/** What the events of a run that lost its worker are called. */
const leaseLosses: readonly string[] = ['lease.expired', 'takeover'];

export function openMetrics({ machines, ofProcess = false }: MetricsOptions): Metrics {
  const registry = new Registry();
  const registers = [registry];
  if (ofProcess) collectDefaultMetrics({ register: registry });
  let database: Database | undefined;

  const transitions = new Counter({
    name: 'fencepost_events_total',
    help: 'Events sent to runs, by what came of them: applied, lost, refused, missing, invalid',
    labelNames: ['machine', 'event', 'outcome'],
    registers,
    collect() {
      if (!database) return;
      this.reset();
      for (const { count, ...labels } of talliesOf(database)) this.inc(labels, count);
    },
  });
  new Counter({
    name: 'fencepost_lease_losses_total',
    help: 'Runs that lost their worker',
    labelNames: ['machine'],
    registers,
    collect() {
      this.reset();
      for (const { id } of machines) this.inc({ machine: id }, 0);
      for (const { machine, event, outcome, count } of database ? talliesOf(database) : []) {
        if (outcome === 'applied' && leaseLosses.includes(event)) this.inc({ machine }, count);
      }
    },
  });
  let askedAt = Number.NEGATIVE_INFINITY;
  const oldestDue = new Gauge({
    name: 'fencepost_oldest_due_seconds',
    help: 'How long the run that is due longest has waited to be claimed',
    labelNames: ['machine'],
    registers,
    async collect() {
      if (!database || performance.now() - askedAt < freshMs) return;
      askedAt = performance.now();
      for (const machine of machines) {
        try {
          this.set({ machine: machine.id }, await oldestDueSeconds(database, machine));
        } catch {
          // The database is away, which /readyz says: an old number would be a wrong one.
          this.remove({ machine: machine.id });
        }
      }
    },
  });
  new Gauge({
    name: 'fencepost_connections',
    help: 'Connections to the database, and requests for one that wait',
    labelNames: ['state'],
    registers,
    collect() {
      if (!database) return;
      const { idle, total, waiting } = database.connections();
      this.set({ state: 'idle' }, idle);
      this.set({ state: 'used' }, total - idle);
      this.set({ state: 'waiting' }, waiting);
    },
  });
  const handled = new Histogram({
    name: 'fencepost_handler_seconds',
    help: 'How long handlers took, however they ended',
    labelNames: ['machine', 'worker'],
    buckets: handlerBuckets,
    registers,
  });
  const restarts = new Counter({
    name: 'fencepost_restarts_total',
    help: 'Loops that failed by a mistake of ours and were started again',
    labelNames: ['machine', 'part'],
    registers,
  });
  const away = new Counter({
    name: 'fencepost_away_total',
    help: 'Times that the database did not answer a loop',
    labelNames: ['machine', 'part'],
    registers,
  });
  const dropped = new Counter({
    name: 'fencepost_dropped_total',
    help: 'Ends that could not be written in time: their runs lapse',
    labelNames: ['machine', 'part'],
    registers,
  });
  const answers = new Histogram({
    name: 'fencepost_http_seconds',
    help: 'How long requests took',
    labelNames: ['method', 'route', 'status'],
    buckets: httpBuckets,
    registers,
  });
  const saves = new Counter({
    name: 'fencepost_saves_total',
    help: 'Saves of documents over HTTP, by the verdict on them',
    labelNames: ['outcome'],
    registers,
  });

  return {
    async read() {
      return await registry.metrics();
    },
    observe(event) {
      const part = { machine: event.machine, part: event.by };
      if (event.type === 'handled') {
        handled.observe({ machine: event.machine, worker: event.by }, event.ms / 1000);
      }
      if (event.type === 'failed') restarts.inc(part);
      if (event.type === 'away') away.inc(part);
      if (event.type === 'dropped') dropped.inc(part);
    },
    answered({ method, route, status, ms }) {
      if (route !== undefined) answers.observe({ method, route, status }, ms / 1000);
      else answers.observe({ method: 'none', route: 'none', status }, ms / 1000);
    },
    saved(verdict) {
      saves.inc({ outcome: verdict });
    },
    attach(opened) {
      database = opened;
      transitions.reset();
      oldestDue.reset();
    },
  };
}
