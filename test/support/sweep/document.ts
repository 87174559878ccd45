// Documents in the crash sweep: a writer saves three times. What was not answered it sends again,
// to the same service or to the next one.
//
// - What the writer was told is kept here, so that it can be held against the receipts.

import { join } from 'node:path';
import { sql } from 'kysely';
import type { Database } from '../../../persistence/database.ts';
import { openSaves } from '../../../services/documents/save.ts';
import { historyFindings, newDocument, revisionsOf, told, writerOf } from '../documents.ts';
import { answer, openHttpSink } from '../http-sink.ts';
import type { Scenario, Stage } from './scenario.ts';

interface Verdict {
  readonly id: string;
  readonly outcome: string;
}

const texts = ['one', 'one, two', 'one, two, three'];

async function prepare(database: Database): Promise<Stage> {
  const document = await newDocument(database);
  const { save } = writerOf(document);
  const saves = texts.map((text, i) => save(i + 1, text));
  const heard: Verdict[] = [];
  const findings: string[] = [];
  const writer = await openHttpSink({
    onRequest(socket, { body }) {
      heard.push(JSON.parse(body));
      socket.end(answer(200));
    },
  });

  /** Whatever the writer was told was true when it was told. */
  async function holdAgainstReceipts(): Promise<void> {
    const { rows } = await sql<{ save: string }>`
      select save from fencepost.document_save where version is not null`.execute(database.db);
    const kept = new Set(rows.map((row) => row.save));
    for (const { id, outcome } of heard) {
      const isKept = outcome === 'saved' || outcome === 'replayed';
      if (!isKept) findings.push(`the writer was told ${outcome}, with nobody beside it`);
      else if (!kept.has(id)) findings.push(`the writer was told ${outcome}, and nothing is kept`);
    }
  }

  return {
    args: [JSON.stringify(saves), writer.url],
    async recover() {
      await holdAgainstReceipts();
      const next = openSaves(database);
      for (const each of saves) {
        const outcome = await next.save(each);
        const isFine = ['saved', 'replayed', 'superseded'].includes(outcome.outcome);
        const isMade = 'version' in outcome && outcome.version !== null;
        if (!isFine || !isMade) findings.push(`sent again, a save is ${told(outcome)}`);
      }
    },
    async invariants() {
      const kept = (await revisionsOf(database, document)).map(({ text }) => text);
      const isWhole = kept.join('; ') === ['', ...texts].join('; ');
      return [
        ...findings,
        ...(isWhole ? [] : [`its history is ${kept.join('; ')}`]),
        ...(await historyFindings(database, document)),
      ];
    },
    close: writer.close,
  };
}

export const documentScenario: Scenario = {
  machine: 'document',
  story: 'three saves of one writer, who sends again what was not answered',
  child: join(import.meta.dirname, 'document.child.ts'),
  mutants: ['another id for another try'],
  prepare,
};
