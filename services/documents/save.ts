// Saves: one compare-and-swap each, and a verdict for those that did not win it.
//
// - `saved`: this save made a version. `replayed`: it had, and that is the current one; its answer
//   was lost. `superseded`: it had, and others are on top; or it was overtaken or abandoned, and
//   made none. None of these asks the user anything.
// - `conflict`: the document went on from the base without this writer. Nothing was written.
// - A save id that comes back with another content is `reused`: answering it with the old success
//   would lose the new content in silence.
// - Whether there is a document is judged before what is wrong with a content, so that nobody
//   learns of another's document by sending nonsense.

import type { ContentProblem } from '../../kinds/kind.ts';
import type { Conflict, SaveAnswer } from '../../kinds/wire.ts';
import type { Database } from '../../persistence/database.ts';
import { documentTopic } from '../../persistence/document-events.ts';
import {
  type Found,
  findForSave,
  overtake,
  type Swap,
  type Swapped,
  swapContent,
} from '../../persistence/document-saves.ts';
import { readKind } from '../../persistence/documents.ts';
import { printInstant } from '../../persistence/instant.ts';
import { transaction } from '../../persistence/transaction.ts';
import { wake } from '../../persistence/wake.ts';
import { type Denied, denial } from './access.ts';
import { checkContent, type ReadyContent } from './content.ts';
import { sourceOf } from './source.ts';

export interface Save
  extends Pick<Swap, 'document' | 'actor' | 'base' | 'save'>,
    Partial<Pick<Swap, 'after' | 'source' | 'restoredFrom'>> {
  readonly content: unknown;
  /** The content as it was sent. */
  readonly text?: string;
}

export type Counted = Omit<SaveAnswer, 'saveId' | 'verdict'> & {
  readonly outcome: SaveAnswer['verdict'];
};

export type SaveOutcome =
  | Counted
  | { readonly outcome: 'conflict'; readonly conflict: Conflict }
  | { readonly outcome: 'reused' }
  | { readonly outcome: 'invalid'; readonly problems: readonly ContentProblem[] }
  | Denied;

function counted(
  outcome: Counted['outcome'],
  version: number | null,
  now: Pick<Found, 'version' | 'hash' | 'updated_at'>,
): Counted {
  const { version: currentVersion, hash, updated_at: at } = now;
  return { outcome, version, currentVersion, hash, at: printInstant(at) };
}

function known(found: Found, hash: string): SaveOutcome {
  const { saved_version: version, saved_hash: saved } = found;
  if (saved !== null && saved !== hash) return { outcome: 'reused' };
  return counted(version === found.version ? 'replayed' : 'superseded', version, found);
}

const conflictWith = (found: Found): SaveOutcome => ({
  outcome: 'conflict',
  conflict: {
    version: found.version,
    at: printInstant(found.updated_at),
    by: found.updated_by,
    writer: found.last_writer,
    saveId: found.last_save,
    baseKnown: found.base_hash !== null,
    contentUnchanged: found.base_hash === found.hash,
    source: sourceOf(found),
  },
});

/** The verdict on a save that changed nothing; undefined where it would fit now. */
function judge(found: Found | undefined, swap: Swap): SaveOutcome | undefined {
  const denied = denial(found, 'edit');
  if (!found || denied?.outcome === 'gone') return denied;
  if (found.known) return known(found, swap.hash);
  if (denied) return denied;
  return found.version === swap.base ? undefined : conflictWith(found);
}

const mostAttempts = 5;

/** Swaps, and where that did not take, says why. */
export async function swapOrJudge(db: Database['db'], swap: Swap): Promise<SaveOutcome> {
  for (let attempt = 1; attempt <= mostAttempts; attempt += 1) {
    const swapped: Swapped | undefined = await swapContent(db, swap);
    if (swapped) {
      const { version, at } = swapped;
      return counted('saved', version, { version, hash: swap.hash, updated_at: at });
    }
    const verdict = judge(await findForSave(db, swap), swap);
    if (verdict) return verdict;
    // It was deleted or taken away, and given back between the two statements.
  }
  throw new Error(`a save of document ${swap.document} neither fits nor finds a reason`);
}

function swapOf(save: Save, { text, hash }: ReadyContent): Swap {
  const { document, actor, base, source = null, restoredFrom = null } = save;
  const after = [...new Set(save.after ?? [])];
  return {
    document,
    actor,
    base,
    after,
    save: save.save,
    content: text,
    hash,
    source,
    restoredFrom,
  };
}

const afterItself: ContentProblem = {
  code: 'after_itself',
  pointer: '/after',
  detail: 'A save does not come after itself.',
};

const namesItself = ({ save, after = [] }: Save): boolean =>
  save !== null && after.some((id) => id.toLowerCase() === save.id.toLowerCase());

async function refuse(
  db: Database['db'],
  save: Save,
  problems: readonly ContentProblem[],
): Promise<SaveOutcome> {
  const denied = denial(await findForSave(db, save), 'edit');
  return denied ?? { outcome: 'invalid', problems };
}

/**
 * Saves a content of a known kind, in the caller's transaction if `db` is one: then who calls
 * announces it.
 */
export async function saveOfKind(
  db: Database['db'],
  kind: string,
  save: Save,
): Promise<SaveOutcome> {
  const checked = checkContent(kind, save.content, save.text);
  if (checked.problems) return await refuse(db, save, checked.problems);
  if (namesItself(save)) return await refuse(db, save, [afterItself]);
  return await swapOrJudge(db, swapOf(save, checked.ready));
}

/** Saves in the caller's transaction, where the kind has to be looked up. */
export async function saveWithin(db: Database['db'], save: Save): Promise<SaveOutcome> {
  const kind = await readKind(db, save.document);
  return kind === undefined ? { outcome: 'missing' } : await saveOfKind(db, kind, save);
}

export interface Abandoned {
  readonly outcome: 'abandoned';
  readonly abandoned: readonly string[];
  readonly committed: readonly { readonly saveId: string; readonly version: number }[];
}

export interface Abandon {
  readonly document: string;
  readonly actor: string;
  readonly writer: string;
  readonly saveIds: readonly string[];
}

/** Sees to it that saves which were not answered cannot take effect, or says that they had. */
export async function abandon(
  database: Database,
  { document, actor, writer, saveIds }: Abandon,
): Promise<Abandoned | { readonly outcome: 'missing' }> {
  const saves = [...new Set(saveIds)];
  const known = await transaction(database, (tx) =>
    overtake(tx, { document, actor, writer, saves }),
  );
  if (!known) return { outcome: 'missing' };
  const versions = new Map(known.map(({ save, version }) => [save, version]));
  const versionOf = (id: string) => versions.get(id.toLowerCase()) ?? null;
  return {
    outcome: 'abandoned',
    abandoned: saves.filter((id) => versionOf(id) === null),
    committed: saves.flatMap((saveId) => {
      const version = versionOf(saveId);
      return version === null ? [] : [{ saveId, version }];
    }),
  };
}

export interface Saves {
  save(save: Save): Promise<SaveOutcome>;
}

const mostKinds = 10_000;

/**
 * Saves as requests ask for them, one round trip each. What kind a document is of never changes, so
 * it is remembered.
 */
export function openSaves(database: Database): Saves {
  const kinds = new Map<string, string>();

  async function kindOf(document: string): Promise<string | undefined> {
    const remembered = kinds.get(document);
    if (remembered !== undefined) return remembered;
    const kind = await readKind(database.db, document);
    if (kind === undefined) return undefined;
    // The oldest goes. An id that is still in use is looked up once more.
    const [oldest] = kinds.size < mostKinds ? [] : kinds.keys();
    if (oldest !== undefined) kinds.delete(oldest);
    kinds.set(document, kind);
    return kind;
  }

  return {
    async save(save) {
      const kind = await kindOf(save.document);
      if (kind === undefined) return { outcome: 'missing' };
      const outcome = await saveOfKind(database.db, kind, save);
      if (outcome.outcome === 'saved') wake(database, documentTopic);
      return outcome;
    },
  };
}
