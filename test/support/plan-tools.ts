// Tools that misbehave, each in its own way, for the tests of steps.

import { sql } from 'kysely';
import { z } from 'zod';
import { insertNote } from '../../persistence/notes.ts';
import type { Tx } from '../../persistence/transaction.ts';
import { defineTool, type Tool, type ToolContext } from '../../services/proposals/tools.ts';

type Run = (tx: Tx, context: ToolContext) => Promise<unknown>;

/** A tool without arguments that does what it is told. */
export const doing = (name: string, run: Run): Tool =>
  defineTool({
    name: `bad.${name}`,
    version: 1,
    description: 'For a test.',
    risk: 'low',
    input: z.strictObject({}),
    run: (tx, _, context) => run(tx, context),
    inverse: () => ({ reason: 'It is for a test.' }),
    sentence: () => 'Does something for a test.',
  });

export const step = (tool: Tool) => ({ tool: tool.name, arguments: {} });

/** What each bad tool leaves where it does not belong, if it is let. */
export const traceId = '00000000-0000-4000-8000-00000000dead';
const leaveTrace = (tx: Tx) => insertNote(tx, traceId, 'trace');
const send = (tx: Tx, text: string) => sql.raw(text).execute(tx);

function cycle(): object {
  const output: { self?: object } = {};
  output.self = output;
  return output;
}

class Strange extends Error {
  override get message(): string {
    throw new Error('no message for you');
  }
}

/** Each with what the receipt must say. */
export const badTools: readonly (readonly [string, RegExp, Run])[] = [
  [
    'throws',
    /Error: out of paper/,
    async () => {
      throw new Error('out of paper');
    },
  ],
  [
    'throws_nothing',
    /nothing was thrown/,
    async () => {
      throw undefined;
    },
  ],
  [
    'throws_nul',
    /Error: a\uFFFDb/,
    async () => {
      throw new Error('a\u0000b');
    },
  ],
  [
    'throws_strange',
    /Error/,
    async () => {
      throw new Strange();
    },
  ],
  ['returns_cycle', /output is no JSON: too_deep/, async () => cycle()],
  ['returns_bigint', /output is no JSON: not_json/, async () => ({ id: 10n })],
  ['returns_date', /output is no JSON: not_json/, async () => new Date(0)],
  ['returns_nan', /output is no JSON: not_json/, async () => ({ n: Number.NaN })],
  ['returns_too_much', /output has \d+ characters/, async () => 'x'.repeat(2_000_000)],
  ['returns_20_mb', /output is no JSON: too_long/, async () => 'x'.repeat(20_000_000)],
  [
    'breaks_constraint',
    /23505/,
    async (tx) => {
      await leaveTrace(tx);
      await leaveTrace(tx);
    },
  ],
  [
    'breaks_deferred',
    /23503.*child_of/,
    async (tx) => {
      await send(tx, 'insert into child_of values (7)');
    },
  ],
  ['commits', /a tool sends no "commit"/, (tx) => send(tx, 'commit')],
  ['commits_aside', /no "commit"/, (tx) => send(tx, '/* a /* b */ */ -- c\n (;COMMIT')],
  ['rolls_back', /a tool sends no "rollback"/, (tx) => send(tx, ' rollback')],
  ['savepoints', /a tool sends no "savepoint"/, (tx) => send(tx, 'savepoint mine')],
  ['sets', /a tool sends no "set"/, (tx) => send(tx, 'set local statement_timeout = 0')],
  ['sends_two', /42601/, (tx) => send(tx, 'select 1; commit')],
  ['commits_in_a_block', /2D000/, (tx) => send(tx, 'do $$ begin commit; end $$')],
  [
    'swallows',
    /passed over what the database refused\ncaused by .*22012/,
    async (tx) => {
      await send(tx, 'select 1 / 0').catch(() => undefined);
    },
  ],
  [
    'does_not_wait',
    /passed over what the database refused\ncaused by .*22012/,
    async (tx) => {
      send(tx, 'select 1 / 0').catch(() => undefined);
    },
  ],
];

/** All of them, each of which leaves a trace before it does what it is called. */
export const allBad: readonly Tool[] = badTools.map(([name, , run]) =>
  doing(name, async (tx, context) => {
    if (name !== 'breaks_constraint') await leaveTrace(tx);
    return await run(tx, context);
  }),
);
