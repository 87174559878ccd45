import { describe, expect, it } from 'vitest';
import { coolDown, liftCoolDown, readCoolDowns } from '../../persistence/cool-downs.ts';
import { transaction } from '../../persistence/transaction.ts';
import { useOpened } from '../support/opened.ts';

const database = useOpened();
const hourMs = 3_600_000;

const cool = (channel: string, destination: string, ms: number | null, reason = 'because') =>
  transaction(database(), (tx) => coolDown(tx, { channel, destination, ms, reason }));
const read = (channel: string) => readCoolDowns(database().db, channel);

describe('a cool-down', () => {
  it('is read with what is left of it, for its channel alone', async () => {
    await cool('a', 'one', hourMs, 'HTTP 429');
    await cool('b', '', hourMs);
    const [only, ...others] = await read('a');
    expect(others).toEqual([]);
    expect(only).toMatchObject({ channel: 'a', destination: 'one', reason: 'HTTP 429' });
    expect(only?.leftMs).toBeGreaterThan(hourMs - 60_000);
    expect(only?.leftMs).toBeLessThanOrEqual(hourMs);
  });

  it('is made longer by a longer one, and not shorter by a shorter one', async () => {
    await cool('longer', 'one', hourMs, 'first');
    await cool('longer', 'one', 1000, 'second');
    expect(await read('longer')).toMatchObject([{ reason: 'first' }]);
    await cool('longer', 'one', 2 * hourMs, 'third');
    const [longer] = await read('longer');
    expect(longer?.reason).toBe('third');
    expect(longer?.leftMs).toBeGreaterThan(hourMs);
  });

  it('has no end where only a person can end it', async () => {
    await cool('lifted', 'one', null, 'HTTP 410');
    await cool('lifted', 'one', hourMs, 'HTTP 429');
    expect(await read('lifted')).toMatchObject([
      { leftMs: Number.POSITIVE_INFINITY, reason: 'HTTP 410' },
    ]);
    const lift = () => transaction(database(), (tx) => liftCoolDown(tx, 'lifted', 'one'));
    expect(await lift()).toBe(true);
    expect(await lift()).toBe(false);
    expect(await read('lifted')).toEqual([]);
  });

  it('is over when it has passed', async () => {
    await cool('over', 'one', 0);
    expect(await read('over')).toEqual([]);
  });

  it('is kept under whatever name, whatever was said', async () => {
    const names = ['', '*', '%', '__proto__', "'; drop table x", `https://a/${'x'.repeat(1990)}`];
    for (const name of names) await cool('names', name, hourMs, 'a\u0000b\ud800');
    const kept = await read('names');
    expect(new Set(kept.map(({ destination }) => destination))).toEqual(new Set(names));
    expect(new Set(kept.map(({ reason }) => reason))).toEqual(new Set(['a\uFFFDb\uFFFD']));
  });

  it('is one, however many come at once', async () => {
    await Promise.all(Array.from({ length: 10 }, (_, i) => cool('many', 'one', hourMs + i)));
    expect(await read('many')).toHaveLength(1);
  });
});
