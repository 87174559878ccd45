import { pino } from 'pino';
import { describe, expect, it, onTestFinished } from 'vitest';
import { startTurns } from '../../services/turns.ts';
import { signal } from '../support/signal.ts';

const says = { done: 'done', failed: 'failed' };

/** Turns that the test ends, each by its hand. */
function taking(everyMs: number) {
  const lines: Record<string, unknown>[] = [];
  const log = pino({}, { write: (line: string) => lines.push(JSON.parse(line)) });
  const begun: { end(count: number): void; fail(): void; closing: AbortSignal }[] = [];
  let next = signal();
  const work = (closing: AbortSignal) =>
    new Promise<{ count: number }>((resolve, reject) => {
      const end = (count: number) => resolve({ count });
      begun.push({ closing, end, fail: () => reject(new Error('no luck')) });
      next.give();
    });
  const turns = startTurns({ work, everyMs, log, says });
  async function turn(n: number) {
    while (begun.length < n) {
      await next.given;
      next = signal();
    }
    const found = begun[n - 1];
    if (!found) throw new Error(`there is no turn ${n}`);
    return found;
  }
  return { turns, turn, begun, said: () => lines.map(({ msg }) => msg) };
}

describe('turns', () => {
  it('are taken one after the other, at the start and as they are asked for', async () => {
    const { turns, turn, begun } = taking(60_000);
    onTestFinished(turns.close);
    const mine = turns.runOnce();
    const first = await turn(1);
    expect(begun).toHaveLength(1);
    first.end(0);
    (await turn(2)).end(7);
    expect(await mine).toEqual({ count: 7 });
  });

  it('go on behind one that failed, and the log says what each came to', async () => {
    const { turns, turn, said } = taking(1);
    (await turn(1)).fail();
    (await turn(2)).end(0);
    (await turn(3)).end(2);
    const last = await turn(4);
    expect(said()).toEqual(['failed', 'done']);
    const closed = turns.close();
    expect(last.closing.aborted).toBe(true);
    last.end(0);
    await closed;
  });

  it('are waited for by who closes, and come no more', async () => {
    const { turns, turn, begun } = taking(1);
    const first = await turn(1);
    let isClosed = false;
    const closed = turns.close().then(() => {
      isClosed = true;
    });
    await Promise.resolve();
    expect(isClosed).toBe(false);
    first.end(1);
    await closed;
    expect(begun).toHaveLength(1);
  });
});
