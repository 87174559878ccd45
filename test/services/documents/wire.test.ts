// The shapes in kinds/wire.ts are what the schemas take and give. The compiler checks; the examples
// are there so that the schemas are asked too.

import { randomUUID } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import type { z } from 'zod';
import type {
  AbandonAnswer,
  AbandonRequest,
  DocumentProblem,
  DocumentSummary,
  NewDocument,
  Page,
  RevisionView,
  SaveRequest,
} from '../../../kinds/wire.ts';
import {
  abandonAnswer,
  abandonRequest,
  documentPage,
  newDocument,
  revisionView,
  saveRequest,
} from '../../../services/documents/answers.ts';
import { conflictProblem } from '../../../services/documents/problems.ts';
import { printProblem, problemSchema } from '../../../services/http/problem.ts';

const id = randomUUID();
const at = '2026-12-01T00:00:00.000001Z';
const hash = 'a'.repeat(64);

describe('the shapes that cross the wire', () => {
  it('are what requests are read as', () => {
    const wanted: NewDocument = { kind: 'record', name: 'x', content: { attributes: {} }, id };
    const save: SaveRequest = { saveId: id, writer: id, expectedVersion: 1, content: 1, after: [] };
    const abandon: AbandonRequest = { writer: id, saveIds: [id] };
    expect(newDocument.parse(wanted)).toEqual(wanted);
    expect(saveRequest.parse(save)).toEqual(save);
    expect(abandonRequest.parse(abandon)).toEqual(abandon);
  });

  it('are what answers are', () => {
    const document: DocumentSummary = {
      ...{ id, kind: 'record', name: 'x', owner: 'ada', access: 'owner', version: 1, hash },
      ...{ createdAt: at, updatedAt: at, updatedBy: 'ada', deletedAt: null },
    };
    const page: Page<DocumentSummary> = { items: [document], next: null };
    const read: Page<DocumentSummary> = documentPage.parse(page);
    expect(read).toEqual(page);
    const abandoned: AbandonAnswer = { abandoned: [id], committed: [{ saveId: id, version: 2 }] };
    const answer: AbandonAnswer = abandonAnswer.parse(abandoned);
    expect(answer).toEqual(abandoned);
    const revision: RevisionView = {
      ...{ version: 1, at, by: 'ada', saveId: null, writer: null, hash, name: null },
      ...{ source: { type: 'plan', proposal: id, step: 0 }, restoredFrom: null, content: 1 },
    };
    expect(revisionView.parse(revision satisfies z.input<typeof revisionView>)).toEqual(revision);
  });

  it('are what problems are', () => {
    const writer = { writer: null, saveId: null, baseKnown: true, contentUnchanged: false };
    const source = { type: 'plan', proposal: id, step: 0 } as const;
    const found = conflictProblem('body', { version: 2, at, by: 'bob', ...writer, source });
    const printed: DocumentProblem = JSON.parse(printProblem(found, 'r'));
    expect(printed).toMatchObject({ status: 409, conflict: { version: 2, by: 'bob', source } });
    expect(printed.detail).toContain(`by step 0 of a plan of bob, ${id}`);
    expect(() => problemSchema(found.kind).parse(printed)).not.toThrow();
  });
});
