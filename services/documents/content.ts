// A content on its way into the database: judged by its kind, and given its text and its hash.

import { createHash } from 'node:crypto';
import { kindCalled } from '../../kinds/all.ts';
import { canonical, type Json } from '../../kinds/json.ts';
import type { ContentProblem } from '../../kinds/kind.ts';

export interface ReadyContent {
  readonly text: string;
  readonly hash: string;
}

/** The SHA-256 of the canonical text, in hex. */
export const hashOf = (content: Json, text?: string): string =>
  createHash('sha256').update(canonical(content, text)).digest('hex');

export type Checked =
  | { readonly problems: readonly ContentProblem[] }
  | { readonly problems?: never; readonly ready: ReadyContent };

/** Checks a content; `text` is how it was sent, where that is known. */
export function checkContent(kind: string, content: unknown, text?: string): Checked {
  const known = kindCalled(kind);
  if (!known) {
    const detail = `This process knows no documents of the kind "${kind}".`;
    return { problems: [{ code: 'unknown_kind', pointer: '', detail }] };
  }
  const problems = known.check(content);
  if (problems.length > 0) return { problems };
  const json = content as Json;
  return { ready: { text: text ?? JSON.stringify(json), hash: hashOf(json, text) } };
}
