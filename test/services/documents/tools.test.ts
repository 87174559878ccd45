// What plans do to documents, step by step in transactions, as an executor would call the tools.

import { randomUUID } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { transaction } from '../../../persistence/transaction.ts';
import { showDocument } from '../../../services/documents/documents.ts';
import { showRevision } from '../../../services/documents/revisions.ts';
import { openSaves } from '../../../services/documents/save.ts';
import { documentTools } from '../../../services/documents/tools.ts';
import {
  type NewStep,
  type Tool,
  type ToolContext,
  toolRegistry,
} from '../../../services/proposals/tools.ts';
import {
  historyFindings,
  newDocument,
  revisionsOf,
  textOf,
  typed,
  writerOf,
} from '../../support/documents.ts';
import { useOpened } from '../../support/opened.ts';
import { carriedOut, toolsWith } from '../../support/plans.ts';

const database = useOpened();
const tools = toolRegistry(documentTools);

interface Run {
  readonly proposal: string;
  readonly outputs: readonly unknown[];
}

function toolOf({ tool: name }: NewStep): Tool {
  const tool = tools.find(name);
  if (!tool) throw new Error(name);
  return tool;
}

/** Carries a plan out, each step in a transaction of its own. */
async function carryOut(steps: readonly NewStep[], proposer = 'ada'): Promise<Run> {
  const proposal = randomUUID();
  const outputs: unknown[] = [];
  for (const [step, each] of steps.entries()) {
    const tool = toolOf(each);
    const people = { proposer, approvedBy: 'bob', requestedBy: 'bob' };
    const { signal } = new AbortController();
    const outputOf = (place: number) => outputs[place];
    const context: ToolContext = { proposal, step, ...people, signal, outputOf };
    const input = tool.input.parse(each.arguments);
    outputs.push(await transaction(database(), (tx) => tool.run(tx, input, context)));
  }
  return { proposal, outputs };
}

/** The plan that undoes a run: the inverses, the last one first. */
function undoing(steps: readonly NewStep[], { outputs }: Run): readonly NewStep[] {
  const inverses = steps.map((each, i) =>
    toolOf(each).inverse({ arguments: each.arguments, output: outputs[i] }),
  );
  return inverses.toReversed().flatMap((each) => ('step' in each ? [each.step] : []));
}

const edit = (args: object): NewStep => ({ tool: 'document.edit', arguments: args });
const create: NewStep = {
  tool: 'document.create',
  arguments: { kind: 'record', name: 'plan', content: typed('') },
};
const idOf = ({ outputs }: Run) => (outputs[0] as { document: string }).document;

describe('a plan', () => {
  it('edits a document, and the revision names the plan and its step', async () => {
    const id = await newDocument(database(), { text: 'x' });
    const steps = [edit({ document: id, base: { version: 1 }, content: typed('planned') })];
    const { proposal, outputs } = await carryOut(steps);
    expect(outputs).toEqual([{ document: id, version: 2, base: 1, change: 'changes text' }]);
    const read = await showRevision(database().db, { id, actor: 'ada', version: 2 });
    expect(read).toMatchObject({
      revision: { by: 'ada', saveId: null, source: { type: 'plan', proposal, step: 0 } },
    });
    expect(await historyFindings(database(), id)).toEqual([]);
  });

  it('is named by the conflict of who saves over its edit, as a person is not', async () => {
    const id = await newDocument(database(), { text: 'x' });
    const steps = [edit({ document: id, base: { version: 1 }, content: typed('planned') })];
    const { proposal } = await carryOut(steps);
    const { save } = openSaves(database());
    const mine = writerOf(id);
    expect(await save(mine.save(1, 'mine'))).toMatchObject({
      conflict: { version: 2, by: 'ada', source: { type: 'plan', proposal, step: 0 } },
    });
    await save(writerOf(id).save(2, 'theirs'));
    expect(await save(mine.save(1, 'mine'))).toMatchObject({
      conflict: { version: 3, by: 'ada', source: { type: 'person' } },
    });
  });

  it('creates one and edits it on from step to step', async () => {
    const steps = [
      create,
      edit({ base: { step: 0 }, content: typed('A') }),
      edit({ base: { step: 1 }, content: typed('AB') }),
    ];
    const run = await carryOut(steps);
    expect(await textOf(database(), idOf(run))).toBe('AB');
    expect(await revisionsOf(database(), idOf(run))).toHaveLength(3);
  });

  it('is undone step by step, exactly, and its undoing too', async () => {
    const steps = [
      create,
      edit({ base: { step: 0 }, content: typed('A') }),
      edit({ base: { step: 1 }, content: typed('AB') }),
    ];
    const run = await carryOut(steps);
    const id = idOf(run);
    const back = undoing(steps, run);
    expect(back.map(({ tool }) => tool)).toEqual([
      ...['document.restore', 'document.restore', 'document.delete'],
    ]);
    const undone = await carryOut(back);
    expect(await showDocument(database().db, { id, actor: 'ada' })).toMatchObject({
      outcome: 'gone',
    });
    await carryOut(undoing(back, undone));
    expect(await showDocument(database().db, { id, actor: 'ada' })).toMatchObject({
      outcome: 'read',
      text: JSON.stringify(typed('AB')),
    });
    expect(await historyFindings(database(), id)).toEqual([]);
  });

  it('is not undone over the work of somebody who went on', async () => {
    const id = await newDocument(database());
    const steps = [edit({ document: id, base: { version: 1 }, content: typed('A') })];
    const run = await carryOut(steps);
    await openSaves(database()).save(writerOf(id).save(2, 'AB'));
    await expect(carryOut(undoing(steps, run))).rejects.toMatchObject({ code: 'version_conflict' });
    expect(await textOf(database(), id)).toBe('AB');
  });

  it.each<[string, (id: string) => NewStep, string]>([
    [
      'a stale base',
      (id) => edit({ document: id, base: { version: 1 }, content: typed('B') }),
      'version_conflict',
    ],
    [
      'a content of another kind',
      (id) => edit({ document: id, base: { version: 2 }, content: { cells: {} } }),
      'invalid_content',
    ],
    [
      'a document that is not there',
      () => edit({ document: randomUUID(), base: { version: 1 }, content: typed('B') }),
      'document_not_found',
    ],
    ['a step without a document', () => edit({ base: { step: 0 }, content: 1 }), 'no_document'],
    ['no document', () => edit({ base: { version: 1 }, content: 1 }), 'no_document'],
    [
      'a version that is not kept',
      (id) => ({
        tool: 'document.restore',
        arguments: { document: id, base: { version: 2 }, version: 9 },
      }),
      'revision_not_found',
    ],
    [
      'a deletion at a stale base',
      (id) => ({ tool: 'document.delete', arguments: { document: id, base: { version: 1 } } }),
      'moved',
    ],
    [
      'what was not deleted, to be brought back',
      (id) => ({ tool: 'document.undelete', arguments: { document: id } }),
      'document_not_found',
    ],
  ])('fails by name for %s, and changes nothing', async (_, step, code) => {
    const id = await newDocument(database());
    await openSaves(database()).save(writerOf(id).save(1, 'A'));
    await expect(carryOut([step(id)])).rejects.toMatchObject({ code });
    expect(await textOf(database(), id)).toBe('A');
    expect(await historyFindings(database(), id)).toEqual([]);
  });

  it('has the access of who proposed it, whoever approved', async () => {
    const id = await newDocument(database());
    const step = edit({ document: id, base: { version: 1 }, content: typed('E') });
    await expect(carryOut([step], 'eve')).rejects.toMatchObject({ code: 'document_not_found' });
    expect(await textOf(database(), id)).toBe('');
  });

  it('refuses at the proposal what no document can hold, by its place', () => {
    const given = edit({ document: randomUUID(), base: { version: 1 }, content: typed('\u0000') });
    const { error } = toolOf(given).input.safeParse(given.arguments);
    expect(error?.issues).toMatchObject([{ path: ['content', 'attributes', 'text'] }]);
  });

  it('goes on in another plan from what an earlier step left', () => {
    const document = randomUUID();
    const given = { base: { step: 1 }, content: typed('A') };
    const { carried } = toolOf(edit(given));
    const later = carried?.(given as never, { placeOf: () => 0, outputOf: () => undefined });
    expect(later).toMatchObject({ base: { step: 0 } });
    const done = carried?.(given as never, {
      placeOf: () => undefined,
      outputOf: () => ({ document, version: 4, base: 3 }),
    });
    expect(done).toMatchObject({ document, base: { version: 4 } });
  });
});

describe('a plan that is executed', () => {
  it('edits a document, and the revision names the plan and its step', async () => {
    const id = await newDocument(database(), { text: 'x' });
    const registry = toolsWith(...documentTools);
    const steps = [
      edit({ document: id, base: { version: 1 }, content: typed('first') }),
      edit({ base: { step: 0 }, content: typed('second') }),
    ];
    const plan = await carriedOut(database(), registry, steps);
    expect(plan).toMatchObject({ end: 'executed', outcomes: ['ok', 'ok'] });
    for (const step of [0, 1]) {
      const read = await showRevision(database().db, { id, actor: 'ada', version: step + 2 });
      expect(read).toMatchObject({
        revision: { by: 'ada', source: { type: 'plan', proposal: plan.id, step } },
      });
    }
    expect(await textOf(database(), id)).toBe('second');
    expect(await historyFindings(database(), id)).toEqual([]);
  });

  it('fails where somebody saved in between, and leaves what they saved', async () => {
    const id = await newDocument(database(), { text: 'x' });
    const stale = edit({ document: id, base: { version: 7 }, content: typed('lost') });
    const { row, outcomes } = await carriedOut(database(), toolsWith(...documentTools), [stale]);
    expect([row.status, outcomes]).toEqual(['failed', ['failed']]);
    expect(row.reason).toContain('step 0, document.edit');
    expect(await textOf(database(), id)).toBe('x');
  });
});
