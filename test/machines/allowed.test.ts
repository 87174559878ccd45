import { describe, expect, it } from 'vitest';
import { choicesOf } from '../../machines/allowed.ts';
import { arrowsOf } from '../../machines/arrows.ts';
import { outbox } from '../../machines/outbox.ts';

const at = 1_000_000;
const row = (status: string, columns: Readonly<Record<string, unknown>> = {}) => ({
  status,
  next_attempt_at: at,
  give_up_at: at + 1,
  lease_expires_at: at + 1,
  failures: 0,
  max_failures: 8,
  lease_losses: 0,
  max_lease_losses: 10,
  ...columns,
});
const because = (of: ReturnType<typeof row>, name: string) =>
  choicesOf(outbox, of, at).find((each) => each.name === name)?.because;

describe('the choices of a run', () => {
  it('are every event and every command, each once', () => {
    const names = choicesOf(outbox, row('pending'), at).map(({ name }) => name);
    expect(names).toEqual([...Object.keys(outbox.events), ...Object.keys(outbox.commands ?? {})]);
  });

  it('name the wrong status, and the statuses that are right', () => {
    for (const status of Object.keys(outbox.states)) {
      for (const { name, kind, from, because: against } of choicesOf(outbox, row(status), at)) {
        const leaves = arrowsOf(outbox).some((each) => each.event === name && each.from === status);
        const isRight = kind === 'event' ? leaves : ['failed', 'dead'].includes(status);
        expect(against.includes('wrong_status'), `${status} ${name}`).toBe(!isRight);
        expect(from.includes(status), `${status} ${name}`).toBe(isRight);
      }
    }
  });

  it('name the guards that are not true', () => {
    expect(because(row('pending'), 'claim')).toEqual([]);
    expect(because(row('pending', { next_attempt_at: at + 1 }), 'claim')).toEqual(['not_due']);
    expect(because(row('processing'), 'lease.expired')).toEqual(['not_lapsed']);
    const lapsed = { lease_expires_at: at };
    expect(because(row('processing', lapsed), 'lease.expired')).toEqual([]);
  });

  it('do not judge what an event has yet to bring', () => {
    expect(because(row('processing'), 'fail')).toEqual([]);
  });
});
