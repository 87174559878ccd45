// What a plan may do with documents. Each goes through the same compare-and-swap and leaves the
// same revisions as a person's save; the revision names the proposal and the step.
//
// - Who proposed the plan is who acts: approving does not lend anybody's access.
// - A base is a version, or what an earlier step of the plan left behind.
// - What undoes a step expects the document as that step left it, or brought back to that: so a
//   compensation undoes several steps one after the other, and stops where somebody went on.

import { z } from 'zod';
import { kindCalled } from '../../kinds/all.ts';
import { jsonProblems } from '../../kinds/content.ts';
import type { Json } from '../../kinds/json.ts';
import { documentTopic } from '../../persistence/document-events.ts';
import { readRevision } from '../../persistence/document-revisions.ts';
import { readDocument } from '../../persistence/documents.ts';
import type { Tx } from '../../persistence/transaction.ts';
import { wakeAfterCommit } from '../../persistence/wake.ts';
import { defineTool, type Moved, type Tool, type ToolContext } from '../proposals/tools.ts';
import { documentId, documentName, kindName, version } from './answers.ts';
import { createDocument, remove, undelete } from './documents.ts';
import { type SaveOutcome, saveWithin, swapOrJudge } from './save.ts';
import { writtenBy } from './source.ts';

/** A step that could not be carried out, by a name that its receipt keeps. */
export class DocumentToolError extends Error {
  override readonly name = 'DocumentToolError';
  readonly code: string;

  constructor(code: string, message: string) {
    super(message);
    this.code = code;
  }
}

const stepIndex = z.int().min(0).meta({ description: 'An earlier step of this plan' });
const base = z.union([z.strictObject({ version }), z.strictObject({ step: stepIndex })]);
type Base = z.output<typeof base>;

/** What a step that wrote a document puts out, as later steps and the inverse read it. */
const left = z.object({ document: documentId, version, base: version.nullable() });
type Left = z.output<typeof left>;

interface Target {
  readonly document: string;
  readonly version: number;
}

/** What the base names: a version of the document that is named, or what a step left behind. */
function targetOf(document: string | undefined, on: Base, context: ToolContext): Target {
  if ('version' in on) {
    if (document !== undefined) return { document, version: on.version };
    throw new DocumentToolError('no_document', 'a base by version needs the document');
  }
  const found = left.safeParse(context.outputOf(on.step));
  if (!found.success) {
    throw new DocumentToolError('no_document', `step ${on.step} left no document behind`);
  }
  if (document !== undefined && document.toLowerCase() !== found.data.document) {
    throw new DocumentToolError('other_document', `step ${on.step} wrote another document`);
  }
  return found.data;
}

async function readOwn(tx: Tx, id: string, { proposer: actor }: ToolContext) {
  const row = await readDocument(tx, id, actor);
  if (!row) throw new DocumentToolError('document_not_found', `${actor} has no document ${id}`);
  if (row.deleted_at !== null) throw new DocumentToolError('document_gone', `${id} was deleted`);
  return row;
}

/** The version to expect: that one, or the current one if it brought that one back. */
async function standsAt(tx: Tx, { document, version: wanted }: Target, current: number) {
  if (current === wanted) return current;
  const revision = await readRevision(tx, document, current);
  return revision?.restored_from === wanted ? current : wanted;
}

/** @throws DocumentToolError for all but what was saved. */
function savedVersion(outcome: SaveOutcome): number {
  switch (outcome.outcome) {
    case 'saved':
      return outcome.currentVersion;
    case 'conflict': {
      const { version: now, by, source } = outcome.conflict;
      const message = `the document is at version ${now}, by ${writtenBy(by, source)}`;
      throw new DocumentToolError('version_conflict', message);
    }
    case 'invalid': {
      const [first] = outcome.problems;
      const message = `${first?.pointer}: ${first?.detail} (${first?.code})`;
      throw new DocumentToolError('invalid_content', message);
    }
    default:
      throw new DocumentToolError(outcome.outcome, `the document is ${outcome.outcome}`);
  }
}

const sourceOf = ({ proposal, step }: ToolContext) => ({ proposal, step });
const announce = (tx: Tx) => wakeAfterCommit(tx, { id: documentTopic });

const content = z.unknown().superRefine((given, context) => {
  for (const { code, detail, pointer } of jsonProblems(given)) {
    const path = pointer.split('/').slice(1);
    context.addIssue({ code: 'custom', message: detail, path, params: { code } });
  }
});

/** The arguments in a plan that continues this one. */
function carried<T extends { document?: string | undefined; base: Base }>(given: T, moved: Moved) {
  if ('version' in given.base) return given;
  const place = moved.placeOf(given.base.step);
  if (place !== undefined) return { ...given, base: { step: place } };
  const found = left.safeParse(moved.outputOf(given.base.step));
  if (!found.success) return given;
  return { ...given, document: found.data.document, base: { version: found.data.version } };
}

const said = (document: string | undefined, on: Base): string =>
  document ?? ('step' in on ? `of step ${on.step}` : '');

/** The step that brings back what was there before, or why there is none. */
function broughtBack({ document, version: now, base: before }: Left) {
  if (before === null) return { reason: 'There was nothing before.' };
  const again = { document, base: { version: now }, version: before };
  return { step: { tool: 'document.restore', version: 1, arguments: again } };
}

const create = defineTool({
  name: 'document.create',
  version: 1,
  description: 'Creates a document, owned by who proposes the plan.',
  risk: 'low',
  input: z.strictObject({ kind: kindName, name: documentName, content }),
  async run(tx, input, context): Promise<Left> {
    const actor = context.proposer;
    const made = await createDocument(tx, { ...input, actor, source: sourceOf(context) });
    if (made.outcome === 'invalid') {
      const { problems } = made;
      savedVersion({ outcome: 'invalid', problems });
    }
    if (made.outcome !== 'created') throw new DocumentToolError('document_exists', 'it exists');
    return { document: made.document.id, version: 1, base: null };
  },
  inverse({ output }) {
    const { document, version: at } = left.parse(output);
    const given = { document, base: { version: at } };
    return { step: { tool: 'document.delete', version: 1, arguments: given } };
  },
  sentence: ({ kind, name }) => `Creates the ${kind} “${name}”.`,
});

const onDocument = { document: documentId.optional(), base };

const edit = defineTool({
  name: 'document.edit',
  version: 1,
  description: 'Saves a content as a new version, if the document is still at the base.',
  risk: 'medium',
  input: z.strictObject({ ...onDocument, content }),
  async run(tx, input, context): Promise<Left & { readonly change: string }> {
    const target = targetOf(input.document, input.base, context);
    const { document } = target;
    const before = await readOwn(tx, document, context);
    const outcome = await saveWithin(tx, {
      ...{ document, actor: context.proposer, base: target.version, save: null },
      content: input.content,
      source: sourceOf(context),
    });
    const now = savedVersion(outcome);
    announce(tx);
    const kind = kindCalled(before.kind);
    const change = kind?.describe(JSON.parse(before.content) as Json, input.content as Json) ?? '';
    return { document, version: now, base: target.version, change };
  },
  inverse: ({ output }) => broughtBack(left.parse(output)),
  sentence: (input) => `Edits the document ${said(input.document, input.base)}.`,
  carried,
});

const restore = defineTool({
  name: 'document.restore',
  version: 1,
  description: 'Saves the content of an earlier version of a document as a new version.',
  risk: 'medium',
  input: z.strictObject({ ...onDocument, version }),
  async run(tx, input, context): Promise<Left> {
    const target = targetOf(input.document, input.base, context);
    const { document } = target;
    const { version: current } = await readOwn(tx, document, context);
    const wanted = await readRevision(tx, document, input.version);
    if (!wanted) {
      const message = `version ${input.version} of ${document} is not kept`;
      throw new DocumentToolError('revision_not_found', message);
    }
    const from = await standsAt(tx, target, current);
    const outcome = await swapOrJudge(tx, {
      ...{ document, actor: context.proposer, base: from, after: [], save: null },
      ...{ content: wanted.content, hash: wanted.hash, source: sourceOf(context) },
      restoredFrom: input.version,
    });
    const now = savedVersion(outcome);
    announce(tx);
    return { document, version: now, base: from };
  },
  inverse: ({ output }) => broughtBack(left.parse(output)),
  sentence: (input) =>
    `Brings version ${input.version} of the document ${said(input.document, input.base)} back.`,
  carried,
});

const deleteTool = defineTool({
  name: 'document.delete',
  version: 1,
  description: 'Deletes a document, if it is still at the base. It can be brought back.',
  risk: 'medium',
  input: z.strictObject(onDocument),
  async run(tx, input, context) {
    const target = targetOf(input.document, input.base, context);
    const { document: id } = target;
    const { version: current } = await readOwn(tx, id, context);
    const at = await standsAt(tx, target, current);
    const done = await remove(tx, { id, actor: context.proposer, version: at });
    if (done.outcome !== 'deleted') {
      const message = `the document is ${done.outcome}, and was not deleted`;
      throw new DocumentToolError(done.outcome, message);
    }
    announce(tx);
    return { document: id };
  },
  inverse({ output }) {
    const given = z.object({ document: documentId }).parse(output);
    return { step: { tool: 'document.undelete', version: 1, arguments: given } };
  },
  sentence: (input) => `Deletes the document ${said(input.document, input.base)}.`,
  carried,
});

const undeleteTool = defineTool({
  name: 'document.undelete',
  version: 1,
  description: 'Brings a deleted document back as it was.',
  risk: 'low',
  input: z.strictObject({ document: documentId }),
  async run(tx, { document: id }, context) {
    const actor = context.proposer;
    if (!(await undelete(tx, { id, actor }))) {
      const message = `${actor} has no deleted document ${id}`;
      throw new DocumentToolError('document_not_found', message);
    }
    announce(tx);
    const { version: now } = await readOwn(tx, id, context);
    return { document: id, version: now, base: null };
  },
  inverse({ output }) {
    const { document, version: at } = left.parse(output);
    const given = { document, base: { version: at } };
    return { step: { tool: 'document.delete', version: 1, arguments: given } };
  },
  sentence: ({ document }) => `Brings the deleted document ${document} back.`,
});

export const documentTools: readonly Tool[] = [create, edit, restore, deleteTool, undeleteTool];
