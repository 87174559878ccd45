// Documents in the crash sweep: a writer saves three times over HTTP. What was not answered it
// sends again, to the same service or to the next one, as a browser does.
//
// - What the writer was told is kept here, so that it can be held against the receipts.

import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { sql } from 'kysely';
import type { SaveRequest } from '../../../kinds/wire.ts';
import type { Database } from '../../../persistence/database.ts';
import { historyFindings, newDocument, revisionsOf, typed } from '../documents.ts';
import { answer, openHttpSink } from '../http-sink.ts';
import { serveDocuments } from './document-service.ts';
import type { Scenario, Stage } from './scenario.ts';

const texts = ['one', 'one, two', 'one, two, three'];
const mostTries = 3;
const [anotherId, receiptBehind] = ['another id for another try', 'receipt in another transaction'];

interface Service {
  readonly url: string;
  readonly token: string;
}

/** What came back: `saved 2`, or a status. Nothing where the service or its database was lost. */
async function put(
  { url, token }: Service,
  document: string,
  save: SaveRequest,
): Promise<string | undefined> {
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
  const path = `${url}/v1/documents/${document}`;
  try {
    const sent = await fetch(path, { method: 'PUT', headers, body: JSON.stringify(save) });
    const body = JSON.parse(await sent.text());
    if (sent.status >= 500) return undefined;
    return sent.status === 200 ? `${body.verdict} ${body.version}` : String(sent.status);
  } catch {
    return undefined;
  }
}

/** The bug's other half: the save itself leaves no receipt. */
async function withoutReceipts({ db }: Database): Promise<void> {
  await sql`create function leave_out() returns trigger language plpgsql as $$
    begin if current_query() like 'with moved%' then return null; end if; return new; end $$`.execute(
    db,
  );
  await sql`create trigger leave_out before insert on fencepost.document_save
    for each row execute function leave_out()`.execute(db);
}

async function prepare(database: Database, mutant?: string): Promise<Stage> {
  if (mutant === receiptBehind) await withoutReceipts(database);
  const document = await newDocument(database);
  const writer = randomUUID();
  const saves = texts.map(
    (text, i): SaveRequest => ({
      ...{ saveId: randomUUID(), writer, expectedVersion: i + 1, content: typed(text) },
    }),
  );
  const findings: string[] = [];

  /** Whatever the writer is told is true when it is told. */
  async function hear(told: string, { saveId, expectedVersion = 0 }: SaveRequest): Promise<void> {
    const made = expectedVersion + 1;
    if (told !== `saved ${made}` && told !== `replayed ${made}`) {
      findings.push(`the writer was told ${told}, with nobody beside it`);
    }
    const { rows } = await sql`select from fencepost.document_save
      where save = ${saveId} and version = ${made}::int8`.execute(database.db);
    if (rows.length !== 1) findings.push(`the writer was told ${told}, and nothing is kept`);
  }

  /** Saves until it is done, or the service does not answer any more. */
  async function write(service: Service): Promise<void> {
    for (const save of saves) {
      let told: string | undefined;
      for (let tries = 0; told === undefined && tries < mostTries; tries += 1) {
        const isOther = tries > 0 && mutant === anotherId;
        told = await put(service, document, isOther ? { ...save, saveId: randomUUID() } : save);
      }
      if (told === undefined) return;
      await hear(told, save);
    }
  }

  let writing: Promise<unknown> = Promise.resolve();
  const desk = await openHttpSink({
    onRequest(socket, { body }) {
      writing = write(JSON.parse(body))
        .catch((error: unknown) => findings.push(String(error)))
        .then(() => socket.end(answer(200)));
    },
  });

  async function recover(): Promise<void> {
    await writing;
    const service = await serveDocuments(database);
    try {
      const made = (await revisionsOf(database, document)).length - 1;
      for (const [i, save] of saves.entries()) {
        const verdict = i >= made ? 'saved' : i === made - 1 ? 'replayed' : 'superseded';
        const told = await put(service, document, save);
        if (told === `${verdict} ${i + 2}`) continue;
        findings.push(`sent again, save ${i + 1} of ${made} that were made is ${told}`);
      }
    } finally {
      await service.close();
    }
  }

  return {
    args: [desk.url],
    recover,
    async invariants() {
      const kept = (await revisionsOf(database, document)).map(({ text }) => text);
      const isWhole = kept.join('; ') === ['', ...texts].join('; ');
      return [
        ...findings,
        ...(isWhole ? [] : [`its history is ${kept.join('; ')}`]),
        ...(await historyFindings(database, document)),
      ];
    },
    close: desk.close,
  };
}

export const documentScenario: Scenario = {
  machine: 'documents',
  story: 'three saves over HTTP by one writer, who sends again what was not answered',
  child: join(import.meta.dirname, 'document.child.ts'),
  mutants: [anotherId, receiptBehind],
  prepare,
};
