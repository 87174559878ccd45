// A content on its way into the database: judged by its kind, and given its text and its hash.

import { hash } from 'node:crypto';
import { kindCalled } from '../../kinds/all.ts';
import { canonical, type Json } from '../../kinds/json.ts';
import type { ContentProblem, EntryRules } from '../../kinds/kind.ts';
import { PlainJson, plainValue } from '../../kinds/plain.ts';

export interface ReadyContent {
  readonly text: string;
  readonly hash: string;
}

/** The SHA-256 of the canonical text, in hex. */
export const hashOf = (content: Json, text?: string): string =>
  hash('sha256', canonical(content, text));

export type Checked =
  | { readonly problems: readonly ContentProblem[] }
  | { readonly problems?: never; readonly ready: ReadyContent };

/** Whether `check` would find nothing. What it would find is for `check` to say. */
function fits({ members }: PlainJson, { name, faultOf }: EntryRules): boolean {
  if (members?.names.length !== 1 || members.names[0] !== name) return false;
  const table = members.valueAt(0);
  if (!(table instanceof PlainJson) || !table.members) return false;
  const { names } = table.members;
  for (let i = 0; i < names.length; i += 1) {
    if (faultOf(names[i] ?? '', plainValue(table.members.valueAt(i)))) return false;
  }
  return true;
}

/**
 * Checks a content, which may be PlainJson; `text` is how it was sent, where that is known. What
 * fits is not parsed.
 */
export function checkContent(kind: string, content: unknown, text?: string): Checked {
  const known = kindCalled(kind);
  if (!known) {
    const detail = `This process knows no documents of the kind "${kind}".`;
    return { problems: [{ code: 'unknown_kind', pointer: '', detail }] };
  }
  if (content instanceof PlainJson) {
    const { text: sent, canonical: printed } = content;
    if (!known.table || !fits(content, known.table))
      return checkContent(kind, plainValue(content), sent);
    return { ready: { text: sent, hash: hash('sha256', printed) } };
  }
  const problems = known.check(content);
  if (problems.length > 0) return { problems };
  const json = content as Json;
  return { ready: { text: text ?? JSON.stringify(json), hash: hashOf(json, text) } };
}
