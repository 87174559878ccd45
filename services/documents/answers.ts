// Documents as the API takes and shows them: the schemas of kinds/wire.ts's shapes.

import { z } from 'zod';
import { kinds } from '../../kinds/all.ts';
import { mostSaveIds } from '../../kinds/wire.ts';
import { textFault } from '../../persistence/text.ts';
import { pageOf } from '../http/keyset.ts';

export const documentId = z.uuid().meta({ id: 'DocumentId', description: 'Names a document' });
export const instant = z.iso.datetime().meta({ description: 'UTC, to the microsecond' });
export const version = z
  .int()
  .min(1)
  .meta({ id: 'Version', description: 'Counts the contents; the first is 1' });
const access = z.enum(['owner', 'editor', 'reader']).meta({ id: 'DocumentAccess' });
const hash = z.string().meta({ description: 'SHA-256 of the canonical content, in hex' });
const saveId = z.uuid().meta({ description: 'Minted by the client, one for each content' });
const writer = z.uuid().meta({ description: 'Minted once for each loaded page' });

/** One line of text that can be kept as it is. */
export const line = (longest: number) =>
  z
    .string()
    .min(1)
    .max(longest)
    .superRefine((text, context) => {
      const code = textFault(text) ?? (/[\r\n]/.test(text) ? 'line_break' : undefined);
      const message = 'This is one line of text, without NUL and half characters';
      if (code) context.addIssue({ code: 'custom', message, params: { code } });
    });

export const documentName = line(200);

/** Judged by its kind, not here. Left out it is missing; null is a wrong content. */
export const givenContent = z.unknown().superRefine((content, context) => {
  if (content !== undefined) return;
  context.addIssue({ code: 'custom', message: 'This is needed', params: { code: 'missing' } });
});
const content = z.unknown().meta({ description: 'As its kind says' });

export const kindName = z
  .enum(kinds.map(({ id }) => id) as [string, ...string[]])
  .meta({ id: 'DocumentKind' });

const summary = {
  id: documentId,
  kind: z.string(),
  name: z.string(),
  owner: z.string(),
  access,
  version,
  hash,
  createdAt: instant,
  updatedAt: instant,
  updatedBy: z.string(),
  deletedAt: instant.nullable(),
};

export const documentSummary = z.strictObject(summary).meta({ id: 'DocumentSummary' });
export const documentView = z.strictObject({ ...summary, content }).meta({ id: 'Document' });
export const documentPage = pageOf(documentSummary).meta({ id: 'DocumentPage' });

export const newDocument = z
  .strictObject({
    kind: kindName,
    name: documentName,
    content: givenContent,
    id: documentId.optional().meta({ description: 'Yours, so that you can send it again' }),
  })
  .meta({ id: 'NewDocument' });

const expectation = { saveId, writer, expectedVersion: version.optional() };

export const saveRequest = z
  .strictObject({
    ...expectation,
    content: givenContent,
    after: z
      .array(saveId)
      .max(mostSaveIds)
      .optional()
      .meta({ description: 'Your unanswered saves since that version, all within this content' }),
  })
  .meta({ id: 'SaveRequest' });

export const restoreRequest = z.strictObject(expectation).meta({ id: 'RestoreRequest' });

export const saveAnswer = z
  .strictObject({
    saveId,
    verdict: z.enum(['saved', 'replayed', 'superseded']),
    version: version.nullable().meta({ description: 'What this save produced' }),
    currentVersion: version,
    hash,
    at: instant,
  })
  .meta({ id: 'SaveAnswer' });

const source = z
  .discriminatedUnion('type', [
    z.strictObject({ type: z.literal('person') }),
    z.strictObject({ type: z.literal('plan'), proposal: z.uuid(), step: z.int() }),
  ])
  .meta({ id: 'RevisionSource' });

export const conflict = z
  .strictObject({
    version,
    at: instant,
    by: z.string(),
    writer: writer.nullable(),
    saveId: saveId.nullable(),
    baseKnown: z.boolean().meta({ description: 'The version you expected can still be read' }),
    contentUnchanged: z.boolean().meta({ description: 'What is stored is what you expected' }),
    source,
  })
  .meta({ id: 'Conflict' });

export const abandonRequest = z
  .strictObject({ writer, saveIds: z.array(saveId).min(1).max(mostSaveIds) })
  .meta({ id: 'AbandonRequest' });

export const abandonAnswer = z
  .strictObject({
    abandoned: z.array(saveId).readonly(),
    committed: z.array(z.strictObject({ saveId, version })).readonly(),
  })
  .meta({ id: 'AbandonAnswer' });

const revision = {
  version,
  at: instant,
  by: z.string(),
  saveId: saveId.nullable(),
  writer: writer.nullable(),
  source,
  hash,
  name: z.string().nullable(),
  restoredFrom: version.nullable(),
};

export const revisionSummary = z.strictObject(revision).meta({ id: 'RevisionSummary' });
export const revisionView = z.strictObject({ ...revision, content }).meta({ id: 'Revision' });
export const revisionPage = pageOf(revisionSummary).meta({ id: 'RevisionPage' });

export const grants = z
  .strictObject({
    grants: z
      .array(z.strictObject({ grantee: z.string(), access: z.enum(['reader', 'editor']) }))
      .readonly(),
  })
  .meta({ id: 'DocumentGrants' });

/** Puts the kept text of a content behind the other members, without reading it. */
export const withContent = (view: object, text: string): string =>
  `${JSON.stringify(view).slice(0, -1)},"content":${text}}`;
