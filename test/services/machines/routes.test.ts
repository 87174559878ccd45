// The machines over HTTP. Every answer is parsed by its route's schema, by the client of the tests.

import { describe, expect, it, onTestFinished } from 'vitest';
import { outbox } from '../../../machines/outbox.ts';
import { send } from '../../../persistence/door.ts';
import { transaction } from '../../../persistence/transaction.ts';
import { machineRoutes } from '../../../services/machines/routes.ts';
import { claimed, claimedOne, enqueue } from '../../support/deliveries.ts';
import { readEvents } from '../../support/event-stream.ts';
import { machineEntries } from '../../support/machines.ts';
import { openApi, tokenOf } from '../../support/open-api.ts';
import { useOpened } from '../../support/opened.ts';

const database = useOpened();
const machines = machineEntries.map(({ machine }) => machine);

function open() {
  const routes = machineRoutes({ database: database(), machines, pauseMs: 5 });
  return openApi({ database: database(), routes });
}

describe('GET /v1/machines', () => {
  it('lists the machines', async () => {
    const { body } = await (await open()).get('/v1/machines');
    expect(body['items']).toMatchObject(machines.map(({ id }) => ({ id })));
  });
});

describe('GET /v1/machines/{id}', () => {
  it.each(machines.map(({ id }) => id))('says all about %s', async (id) => {
    const { body, status } = await (await open()).get(`/v1/machines/${id}`);
    const machine = machines.find((each) => each.id === id);
    expect(status).toBe(200);
    expect(body['definition']).toEqual(JSON.parse(JSON.stringify(machine)));
    expect(body['svg']).toMatch(/^<svg /);
    expect(body['mermaid']).toMatch(/^stateDiagram-v2/);
    expect(JSON.stringify(body['statements'])).toContain('for no key update');
  });

  it.each(['/v1/machines/nothing', '/v1/machines/toString', '/v1/machines/nothing/counts'])(
    'says that there is nothing at %s',
    async (path) => {
      const { status, body } = await (await open()).get(path);
      expect([status, body['code']]).toEqual([404, 'machine_not_found']);
    },
  );
});

describe('GET /v1/machines/{id}/counts', () => {
  it('counts the runs in each status', async () => {
    await enqueue(database(), 3);
    await claimed(database(), 1);
    const { body } = await (await open()).get('/v1/machines/outbox/counts');
    expect(body['counts']).toMatchObject([
      { status: 'pending', runs: 2, more: false, shown: '2' },
      { status: 'processing', runs: 1 },
      { status: 'sent', runs: 0 },
      { status: 'failed', runs: 0 },
      { status: 'dead', runs: 0 },
    ]);
  });
});

describe('GET /v1/machines/{id}/events', () => {
  async function follow(lastEventId?: string) {
    const api = await open();
    const routes = machineRoutes({ database: database(), machines });
    const route = routes.find((each) => 'events' in each);
    if (!route || !('events' in route)) throw new Error('there is no stream');
    const leaving = new AbortController();
    onTestFinished(() => leaving.abort());
    const response = await fetch(`${api.url}/v1/machines/outbox/events`, {
      headers: {
        authorization: `Bearer ${await tokenOf('ada')}`,
        ...(lastEventId !== undefined && { 'last-event-id': lastEventId }),
      },
      signal: leaving.signal,
    });
    return { response, ...readEvents(route, response) };
  }

  it('tells what happens, and goes on behind what was seen last', async () => {
    const stream = await follow();
    const { id, attempts: fence } = await claimedOne(database());
    await transaction(database(), (tx) => send(tx, outbox, 'sent', { id, fence }));
    const first = await stream.next();
    expect(first?.data).toMatchObject({ run: id, seq: 1, event: 'claim', to: 'processing' });
    const second = await stream.next();
    expect(second?.data).toMatchObject({ run: id, seq: 2, event: 'sent', from: 'processing' });
    const again = await follow(first?.id);
    expect(await again.next()).toEqual(second);
  });

  it('refuses an id that is none of its events', async () => {
    const { response } = await follow('latest');
    expect(response.status).toBe(400);
  });
});
