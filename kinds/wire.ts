// The shapes in which documents cross the wire, as server and client both see them.
// docs/documents-api.md says when each is sent.
//
// - Versions are integers, the first is 1. Instants are texts in ISO 8601, to the microsecond.
// - `hash` is the SHA-256 of the content's canonical text (json.ts), in lower-case hex.

import type { Json } from './json.ts';
import type { ContentProblem } from './kind.ts';

/** Bytes of a request's body at most. */
export const largestBody = 2_097_152;
/** Save ids that `after` may name, and that one request may abandon. */
export const mostSaveIds = 100;

export type Access = 'owner' | 'editor' | 'reader';

/** A page of a list. `next` is the cursor of the next one, null on the last. */
export interface Page<T> {
  readonly items: readonly T[];
  readonly next: string | null;
}

/** A document without its content, as lists have it. */
export interface DocumentSummary {
  readonly id: string;
  readonly kind: string;
  readonly name: string;
  readonly owner: string;
  readonly access: Access;
  readonly version: number;
  readonly hash: string;
  readonly createdAt: string;
  readonly updatedAt: string;
  readonly updatedBy: string;
  /** Null for one that is there. */
  readonly deletedAt: string | null;
}

/** GET /v1/documents/{id}, and the answer to POST /v1/documents. */
export interface DocumentView extends DocumentSummary {
  readonly content: Json;
}

/** POST /v1/documents */
export interface NewDocument {
  readonly kind: string;
  readonly name: string;
  readonly content: Json;
  /** Chosen by the client, so that a create can be sent again; minted where it is left out. */
  readonly id?: string;
}

/** PUT /v1/documents/{id} */
export interface SaveRequest {
  readonly saveId: string;
  readonly writer: string;
  /** The version that the content was made from. Left out only beside an If-Match header. */
  readonly expectedVersion?: number;
  readonly content: Json;
  /** This writer's saves since that version which were not answered; the content has them all. */
  readonly after?: readonly string[];
}

export type Verdict = 'saved' | 'replayed' | 'superseded';

/** The answer to a save that counts. */
export interface SaveAnswer {
  readonly saveId: string;
  readonly verdict: Verdict;
  /** What this save produced; null where it was overtaken or abandoned and produced nothing. */
  readonly version: number | null;
  /** Where the document stands. */
  readonly currentVersion: number;
  /** Of the content at `currentVersion`. */
  readonly hash: string;
  /** When `currentVersion` was saved. */
  readonly at: string;
}

/** What a stale save is told of the version that it did not expect. */
export interface Conflict {
  readonly version: number;
  readonly at: string;
  readonly by: string;
  readonly writer: string | null;
  readonly saveId: string | null;
  /** Whether the version that the save was made from can still be read, to compare with. */
  readonly baseKnown: boolean;
  /** The stored content is the very one of that version: only the number went on. */
  readonly contentUnchanged: boolean;
  /** What wrote that version. `by` is who proposed it, where that is a plan. */
  readonly source?: RevisionSource;
}

/**
 * A problem as RFC 9457 has it, with the members that documents add. Pointers are into the body of
 * the request: `/content/cells/B7`.
 */
export interface DocumentProblem {
  readonly type: string;
  readonly title: string;
  readonly status: number;
  readonly code: string;
  readonly detail: string;
  readonly requestId: string;
  readonly errors?: readonly ContentProblem[];
  /** With `version_conflict` (409), and `precondition_failed` (412) after If-Match. */
  readonly conflict?: Conflict;
  /** With `body_too_large`: bytes. */
  readonly limit?: number;
}

/** POST /v1/documents/{id}/abandon */
export interface AbandonRequest {
  readonly writer: string;
  readonly saveIds: readonly string[];
}

export interface AbandonAnswer {
  /** These can never take effect. */
  readonly abandoned: readonly string[];
  /** These had taken effect before. */
  readonly committed: readonly { readonly saveId: string; readonly version: number }[];
}

/** Event `version` of GET /v1/documents/events. */
export interface VersionEvent {
  readonly id: string;
  readonly version: number;
  readonly saveId: string | null;
  readonly writer: string | null;
  readonly by: string;
  readonly at: string;
}

/** Event `deleted` of GET /v1/documents/events. */
export interface DeletedEvent {
  readonly id: string;
  readonly at: string;
  readonly by: string;
}

/**
 * Event `missing`: somebody who asked for this document has none of this id, or not any more. If
 * it is shared again, its version is announced again.
 */
export interface MissingEvent {
  readonly id: string;
}

/** What wrote a version: somebody who edited the document, or the step of an approved plan. */
export type RevisionSource =
  | { readonly type: 'person' }
  | { readonly type: 'plan'; readonly proposal: string; readonly step: number };

/** One of GET /v1/documents/{id}/revisions, newest first. */
export interface RevisionSummary {
  readonly version: number;
  readonly at: string;
  readonly by: string;
  readonly saveId: string | null;
  readonly writer: string | null;
  readonly source: RevisionSource;
  readonly hash: string;
  readonly name: string | null;
  /** The version whose content this one brought back. */
  readonly restoredFrom: number | null;
}

/** GET /v1/documents/{id}/revisions/{version} */
export interface RevisionView extends RevisionSummary {
  readonly content: Json;
}

/** One of GET /v1/documents/{id}/grants. */
export interface GrantView {
  readonly grantee: string;
  readonly access: Exclude<Access, 'owner'>;
}
