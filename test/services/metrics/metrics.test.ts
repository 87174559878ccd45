import { describe, expect, it } from 'vitest';
import { outbox } from '../../../machines/outbox.ts';
import { sweep } from '../../../persistence/claims.ts';
import { send } from '../../../persistence/door.ts';
import { transaction } from '../../../persistence/transaction.ts';
import { openMetrics } from '../../../services/metrics/metrics.ts';
import { metricsRoutes } from '../../../services/metrics/route.ts';
import { claimed, enqueue, force } from '../../support/deliveries.ts';
import { openDocumentApi, saving } from '../../support/document-api.ts';
import { openApi } from '../../support/open-api.ts';
import { fresh } from '../../support/opened.ts';

async function opened() {
  const database = await fresh();
  const metrics = openMetrics({ machines: [outbox] });
  metrics.attach(database);
  return { database, metrics };
}

async function series(metrics: { read(): Promise<string> }): Promise<ReadonlyMap<string, number>> {
  const lines = (await metrics.read()).split('\n').filter((line) => /^fencepost/.test(line));
  return new Map(
    lines.map((line) => {
      const at = line.lastIndexOf(' ');
      return [line.slice(0, at), Number(line.slice(at + 1))];
    }),
  );
}

const events = (event: string, outcome: string) =>
  `fencepost_events_total{machine="outbox",event="${event}",outcome="${outcome}"}`;

describe('the metrics', () => {
  it('count what was committed, by event and outcome', async () => {
    const { database, metrics } = await opened();
    await enqueue(database, 3);
    const [a, b] = await claimed(database, 2);
    const end = (id = '', fence = 1) =>
      transaction(database, (tx) => send(tx, outbox, 'sent', { id, fence, receipt: null }));
    await end(a?.id);
    await end(a?.id);
    await end(b?.id, 7);
    await end('no id');
    const rolledBack = transaction(database, async (tx) => {
      await send(tx, outbox, 'sent', { id: b?.id ?? '', fence: 1, receipt: null });
      throw new Error('not after all');
    });
    await expect(rolledBack).rejects.toThrow();
    await force(database, b?.id ?? '', "lease_expires_at = now() - interval '1 minute'");
    await transaction(database, (tx) => sweep(tx, outbox, 'lease.expired', { limit: 10 }));
    const read = await series(metrics);
    expect(read.get(events('claim', 'applied'))).toBe(2);
    expect(read.get(events('sent', 'applied'))).toBe(1);
    expect(read.get(events('sent', 'lost'))).toBe(2);
    expect(read.get(events('sent', 'invalid'))).toBe(1);
    expect(read.get('fencepost_lease_losses_total{machine="outbox"}')).toBe(1);
  });

  it('say for how long the oldest has been due, and nothing while nobody can', async () => {
    const { database, metrics } = await opened();
    const name = 'fencepost_oldest_due_seconds{machine="outbox"}';
    const [id = ''] = await enqueue(database, 1);
    await enqueue(database, 1);
    await force(database, id, "next_attempt_at = now() - interval '1 hour'");
    const seconds = (await series(metrics)).get(name) ?? 0;
    expect(seconds).toBeGreaterThanOrEqual(3600);
    expect(seconds).toBeLessThan(3700);
    const idle = await opened();
    expect((await series(idle.metrics)).get(name)).toBe(0);
    const away = openMetrics({ machines: [outbox] });
    away.attach({
      ...database,
      get db(): never {
        throw new Error('away');
      },
    });
    expect((await series(away)).has(name)).toBe(false);
  });

  it('count connections, handlers and restarts', async () => {
    const { metrics } = await opened();
    const about = { machine: 'outbox', by: 'email' };
    metrics.observe({ ...about, type: 'handled', run: 'x', ms: 300 });
    metrics.observe({ ...about, type: 'failed' });
    const read = await series(metrics);
    expect(read.get('fencepost_connections{state="waiting"}')).toBe(0);
    expect(read.get('fencepost_handler_seconds_sum{machine="outbox",worker="email"}')).toBe(0.3);
    expect(read.get('fencepost_restarts_total{machine="outbox",part="email"}')).toBe(1);
  });

  it('count saves by their verdict, and tell conflicts over no content apart', async () => {
    const { database, metrics } = await opened();
    const { ada, document } = await openDocumentApi(database, { saved: metrics.saved });
    const id = await document('a');
    const put = (body: object) => ada.call('PUT', `/v1/documents/${id}`, body);
    const first = saving(1, 'b');
    await put(first);
    await put(first);
    await put(saving(1, 'c'));
    await put(saving(2, 'b'));
    await put(saving(2, 'c'));
    const read = await series(metrics);
    const saves = [...read].filter(([name]) => name.startsWith('fencepost_saves_total'));
    expect(saves.map(([name, count]) => [/"(.*)"/.exec(name)?.[1], count])).toEqual([
      ['saved', 2],
      ['replayed', 1],
      ['conflict', 1],
      ['conflict_unchanged', 1],
    ]);
  });

  it('have as many series as routes, whatever strangers ask for', async () => {
    const { database, metrics } = await opened();
    const api = await openApi({
      database,
      routes: metricsRoutes(metrics),
      answered: metrics.answered,
    });
    for (let i = 0; i < 20; i += 1) {
      await api.get(`/v1/${crypto.randomUUID()}`);
      await api.call('PROPFIND', `/${i}`);
      await api.get(`/metrics?x=${i}`);
    }
    const { body, headers } = await api.get('/metrics');
    expect(headers.get('content-type')).toBe('text/plain; version=0.0.4; charset=utf-8');
    const counts = String(body)
      .split('\n')
      .filter((line) => line.startsWith('fencepost_http_seconds_count'));
    expect(counts).toEqual([
      'fencepost_http_seconds_count{method="none",route="none",status="404"} 40',
      'fencepost_http_seconds_count{method="GET",route="/metrics",status="400"} 20',
    ]);
  });
});
