// A process that stops itself in the middle of a step: idle in its transaction, with a statement
// under way, or in the middle of a large answer. Takes where, the database's address and the plan's
// id; says `stopping`, and when it goes on how its run ended here.

import { writeSync } from 'node:fs';
import type { Socket } from 'node:net';
import { sql } from 'kysely';
import pg from 'pg';
import { openDatabase } from '../../../persistence/database.ts';
import { insertNote } from '../../../persistence/notes.ts';
import type { Tx } from '../../../persistence/transaction.ts';
import { doing } from '../../support/plan-tools.ts';
import { toolsWith, watched } from '../../support/plans.ts';

const [where = '', url = '', id = ''] = process.argv.slice(2);
const limits = { lockMs: 1000, statementMs: 2500, idleMs: 3000, transactionMs: 9000 };

function stop(): void {
  writeSync(1, 'stopping\n');
  process.kill(process.pid, 'SIGSTOP');
}

const largeEnough = 5_000_000;
let received = 0;
/** The beginning of the statement behind which it stops, once the system has all of its bytes. */
let stopsBehind: string | undefined;

class StoppingClient extends pg.Client {
  constructor(config?: string | pg.ClientConfig) {
    super(config);
    const { connection } = this as unknown as { connection: { stream: Socket } };
    const { stream } = connection;
    stream.on('data', (chunk: Buffer) => {
      const before = received;
      received += chunk.length;
      if (before < largeEnough && received >= largeEnough) stop();
    });
    // Connecting gives a socket the method `write` anew.
    stream.once('connect', () => stopBehindStatement(stream));
  }
}

function stopBehindStatement(stream: Socket): void {
  const write = stream.write.bind(stream);
  let isSending = false;
  stream.write = (chunk: Buffer) => {
    if (stopsBehind !== undefined && chunk.includes(stopsBehind)) isSending = true;
    if (!isSending) return write(chunk);
    return write(chunk, () => {
      // A statement is several messages. What is not written yet is still in the stream.
      if (!isSending || stream.writableLength > 0) return;
      isSending = false;
      stop();
    });
  };
}

const stalls: Readonly<Record<string, (tx: Tx) => Promise<unknown>>> = {
  async idle(tx) {
    stop();
    return await sql`select 1`.execute(tx);
  },
  async statement(tx) {
    stopsBehind = 'select pg_sleep';
    return await sql`select pg_sleep(1)`.execute(tx);
  },
  answer: (tx) => sql`select repeat('x', 1000) from generate_series(1, 50000)`.execute(tx),
};

const database = await openDatabase({ url, limits, clientClass: StoppingClient });
const stalling = doing('stalls', async (tx, { proposal }) => {
  await insertNote(tx, proposal, 'trace');
  await stalls[where]?.(tx);
});
const tools = toolsWith(stalling);
const executor = watched(database, tools, { limits, toolMs: 2400, leaseMs: 60_000 });
await executor.execute(id, 'grace');
const ended = await executor.ended(id);
process.stdout.write(`${ended.type === 'ended' ? ended.end : ''}\n`);
process.exit();
