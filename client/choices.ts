// The choices of a user: merge, take theirs, keep mine as a copy, adopt or discard a draft, undo.
// None happens by itself, and what a choice replaces can be brought back.

import { equal, type Json } from '../kinds/json.ts';
import type { Merge } from '../kinds/kind.ts';
import type { Base, Problem, ReadDocument } from '../machines/session-events.ts';
import { isDrafted } from '../machines/session-facts.ts';
import { documentPath, refusalOf } from './effects.ts';
import { membersOf, problemOf, readEvent, signedOut } from './receipts.ts';
import { type Flushed, flush } from './saving.ts';
import type { Core } from './session.ts';
import { type Status, statusOf } from './status.ts';
import { type Answer, bodyOf } from './transport.ts';

/** The three sides of a conflict. */
export interface Sides {
  /** What both were made from; null where nobody has it any more. */
  readonly base: unknown;
  readonly mine: unknown;
  readonly theirs: unknown;
  readonly theirsBy: string;
  readonly theirsAt: string;
  /** What the kind makes of it; null where it does not merge, or the base is not known. */
  readonly merge: Merge | null;
}

/** Answers with the content that shall be stored, or with null to leave the conflict as it is. */
export type Resolve = (sides: Sides) => unknown | Promise<unknown>;

export type Rebased =
  | Flushed
  | { readonly outcome: 'no-conflict' | 'cancelled'; readonly status: Status }
  | { readonly outcome: 'failed'; readonly problem: Problem };

const unreachable: Problem = { code: 'unreachable', detail: 'The server did not answer.' };

function problemIn(answer: Answer): Problem {
  if (answer.type === 'signed-out') return signedOut;
  return answer.type === 'answered' ? problemOf(answer.body, answer.status) : unreachable;
}

async function stored(core: Core): Promise<ReadDocument | Problem> {
  const answer = await core.transport({ method: 'GET', path: documentPath(core.options.id) });
  const event = readEvent(answer, 0);
  return event.type === 'document.read' ? event.document : problemIn(answer);
}

/** The confirmed base; of a draft from an earlier page it is asked for. */
async function baseOf(core: Core, theirs: ReadDocument): Promise<unknown> {
  const { version, content } = core.facts().base;
  if (content !== null) return content;
  if (theirs.version === version) return theirs.content;
  const path = `${documentPath(core.options.id)}/revisions/${version}`;
  const answer = await core.transport({ method: 'GET', path });
  return membersOf(bodyOf(answer))['content'] ?? null;
}

/** Of a session that has ended nothing can be decided any more. */
const isConflict = (core: Core): boolean =>
  core.machine().matches({ lane: 'conflict' }) && !core.machine().matches({ holding: 'ended' });

/**
 * Resolves a conflict: the answer is saved against the version that `resolve` saw. Where somebody
 * was faster again, or the user typed meanwhile, `resolve` is asked again.
 */
export async function rebase(core: Core, resolve: Resolve): Promise<Rebased> {
  const { kind } = core.options;
  while (isConflict(core)) {
    const theirs = await stored(core);
    if ('code' in theirs) return { outcome: 'failed', problem: theirs };
    const base = await baseOf(core, theirs);
    const { content: mine, generation } = core.facts();
    const merge =
      base === null || !kind.merge
        ? null
        : kind.merge(base as Json, mine as Json, theirs.content as Json);
    const answer = await resolve({
      ...{ base, mine, merge },
      theirs: theirs.content,
      theirsBy: theirs.updatedBy,
      theirsAt: theirs.updatedAt,
    });
    // Undefined too: it is what `merge?.content` is where nothing was merged.
    const content = answer ?? null;
    if (content === null) break;
    if (!isConflict(core) || core.facts().generation !== generation) continue;
    const reviewed: Base = { version: theirs.version, content: theirs.content };
    core.send({ type: 'choose', why: 'rebase', content, base: reviewed, stored: false });
    const flushed = await flush(core);
    if (flushed.outcome === 'saved' || flushed.status !== 'conflict') return flushed;
  }
  const status = statusOf(core.machine());
  return { outcome: status === 'conflict' ? 'cancelled' : 'no-conflict', status };
}

export interface DiscardResult {
  readonly outcome: 'reloaded' | 'edited' | 'failed';
  readonly version: number;
  /** Versions that saves under way had produced after all: what they hold is not discarded. */
  readonly committed: readonly number[];
}

/** Takes theirs: abandons what is unanswered, reads, and only then replaces what is shown. */
export async function discardAndReload(core: Core): Promise<DiscardResult> {
  const { base } = core.facts();
  if (!core.machine().can({ type: 'discard' })) {
    return { outcome: 'failed', version: base.version, committed: [] };
  }
  core.send({ type: 'discard' });
  return core.until(() => {
    const { discarded, base: now } = core.facts();
    if (core.machine().matches({ lane: 'discarding' })) return undefined;
    const { ended, committed } = discarded ?? { ended: 'failed', committed: [] };
    return { outcome: ended, version: now.version, committed };
  });
}

export type Copied =
  | { readonly outcome: 'copied'; readonly id: string }
  | { readonly outcome: 'failed'; readonly problem: Problem };

/**
 * Keeps mine as a copy: stores what is shown as a new document, then takes theirs. Of a document
 * that is gone it is the way to store it again, under a new id.
 */
export async function keepAsCopy(core: Core, name: string): Promise<Copied> {
  const { content, generation } = core.facts();
  const { kind } = core.options;
  const problem = refusalOf(kind, content);
  if (problem) return { outcome: 'failed', problem };
  const id = core.environment.uuid();
  const body = { id, kind: kind.id, name, content };
  const answer = await core.transport({ method: 'POST', path: '/v1/documents', body });
  if (membersOf(bodyOf(answer))['id'] !== id) {
    return { outcome: 'failed', problem: problemIn(answer) };
  }
  core.send({ type: 'copy.stored', generation });
  if (isConflict(core) && core.facts().generation === generation) await discardAndReload(core);
  return { outcome: 'copied', id };
}

export type Adopted = 'adopted' | 'cancelled' | 'unavailable';

/**
 * Makes another page's draft the content, on the base that it has. It leaves its slot as soon as
 * this session's own draft has it, or the server. `unavailable`: its page is open, or it is gone.
 */
export async function adopt(core: Core, key: string): Promise<Adopted> {
  let outcome: Adopted = 'unavailable';
  await core.siblings.take(key, async (draft) => {
    const { base: now, lineage } = core.facts();
    const { content } = draft;
    const base = { version: draft.base, content: draft.base === now.version ? now.content : null };
    const choice = { type: 'choose', why: 'adopt', content, base, stored: false } as const;
    if (!core.machine().can(choice)) return 'keep';
    core.send(choice);
    const isAdopted = () => core.facts().lineage === lineage + 1;
    const applied = await core.until(() => {
      const { choice: waiting } = core.facts();
      // Another choice took the place of this one.
      if (waiting && waiting !== choice) return false;
      return waiting ? undefined : isAdopted();
    });
    outcome = applied ? 'adopted' : 'cancelled';
    if (!applied) return 'keep';
    const goal = core.facts().generation;
    return core.until(() => {
      // Something else was chosen before this was anywhere but on the shelf.
      if (!isAdopted()) return 'keep';
      const facts = core.facts();
      if (facts.savedGeneration >= goal || isDrafted(facts)) return 'remove';
      return core.machine().matches({ draft: 'unavailable' }) ? 'keep' : undefined;
    });
  });
  await core.findSiblings();
  return outcome;
}

/**
 * Throws another page's draft away. False where its page is open, or it is gone, or it was written
 * again since it was offered: then it is offered anew.
 */
export async function discardSibling(core: Core, key: string): Promise<boolean> {
  const offered = core.getSnapshot().siblings.find((sibling) => sibling.key === key);
  let removed = false;
  await core.siblings.take(key, async ({ counter }) => {
    removed = counter === offered?.counter;
    return removed ? 'remove' : 'keep';
  });
  await core.findSiblings();
  return removed;
}

/**
 * Brings back what the last choice replaced, on the base that it had: where others have saved
 * since, that is a conflict again. Only over our own saves it goes on from where we are.
 */
export function undo(core: Core): boolean {
  const { shelf, base, lineageStart } = core.facts();
  const [last] = shelf;
  if (!last) return false;
  const isOurs = last.base.version === lineageStart;
  const choice = {
    type: 'choose',
    why: 'undo',
    content: last.content,
    base: isOurs ? base : last.base,
    stored: isOurs && equal(last.content as Json, base.content as Json),
  } as const;
  const isPossible = core.machine().can(choice);
  core.send(choice);
  return isPossible;
}
