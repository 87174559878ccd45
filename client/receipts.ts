// What the server's answers mean to a session, as its events. Pure.
//
// - A save counts only if the answer is JSON, has an integer version and echoes our save id.
// - Told apart by status and code, never by a text. What may pass is unclear and is sent again;
//   what will not is refused, once.

import type { Conflict, Problem, ReadDocument, SessionEvent } from '../machines/session-events.ts';
import type { Answer } from './transport.ts';

type Members = Readonly<Record<string, unknown>>;

const membersOf = (value: unknown): Members =>
  typeof value === 'object' && value !== null ? (value as Members) : {};
const isVersion = (value: unknown): value is number => Number.isSafeInteger(value);
const textOr = <T>(value: unknown, other: T): string | T =>
  typeof value === 'string' ? value : other;

export const signedOut = { code: 'signed_out', detail: 'Nobody is signed in.' } as const;

export function problemOf(body: unknown, status: number): Problem {
  const { code, detail, errors, limit } = membersOf(body);
  const pointers = (Array.isArray(errors) ? errors : []).flatMap((error) => {
    const { pointer } = membersOf(error);
    // Into the content, as the kind has them, and not into the body of the request.
    return typeof pointer === 'string' ? [pointer.replace(/^\/content(?=\/|$)/, '')] : [];
  });
  return {
    code: textOr(code, `http_${status}`),
    detail: textOr(detail, `The server answered ${status}.`),
    ...(pointers.length > 0 && { pointers }),
    ...(typeof limit === 'number' && { limit }),
  };
}

function conflictOf(body: unknown): Conflict | undefined {
  const found = membersOf(membersOf(body)['conflict']);
  const { version } = found;
  if (!isVersion(version)) return undefined;
  return {
    version,
    at: textOr(found['at'], null),
    by: textOr(found['by'], null),
    writer: textOr(found['writer'], null),
    saveId: textOr(found['saveId'], null),
    baseKnown: found['baseKnown'] === true,
    contentUnchanged: found['contentUnchanged'] === true,
  };
}

/** Request timeout, too early, too many requests, and what is the server's own fault. */
export const mayPass = (status: number): boolean =>
  [408, 425, 429].includes(status) || status >= 500;

const isGone = (status: number, body: unknown): boolean =>
  (status === 410 || status === 404) &&
  ['document_gone', 'document_not_found'].includes(String(membersOf(body)['code']));

/** What keeps a document from being read or written at all; undefined for anything else. */
function obstacleOf(answer: Answer, save: number | null): SessionEvent | undefined {
  if (answer.type === 'signed-out') return { type: 'signed.out', save, problem: signedOut };
  if (answer.type === 'broken') return undefined;
  const { status, body } = answer;
  if (status === 403) return { type: 'access.lost', save, problem: problemOf(body, status) };
  if (isGone(status, body)) return { type: 'document.gone', problem: problemOf(body, status) };
  return undefined;
}

export interface SentSave {
  readonly save: number;
  readonly saveId: string;
}

/** Reads the answer to a save. */
export function saveEvent(answer: Answer, { save, saveId }: SentSave): SessionEvent {
  const obstacle = obstacleOf(answer, save);
  if (obstacle) return obstacle;
  if (answer.type !== 'answered') return { type: 'save.unclear', save, waitMs: 0 };
  const { status, body, waitMs } = answer;
  if (status < 300) {
    const { saveId: echoed, version, currentVersion } = membersOf(body);
    if (echoed !== saveId || !isVersion(currentVersion)) {
      return { type: 'save.unclear', save, waitMs };
    }
    if (version === null) return { type: 'save.overtaken', save };
    if (!isVersion(version)) return { type: 'save.unclear', save, waitMs };
    return { type: 'save.stored', save, version, current: currentVersion };
  }
  const conflict = status === 409 || status === 412 ? conflictOf(body) : undefined;
  if (conflict) return { type: 'save.conflicted', save, conflict };
  if (mayPass(status)) return { type: 'save.unclear', save, waitMs };
  return { type: 'save.refused', save, problem: problemOf(body, status) };
}

export function documentOf(body: unknown): ReadDocument | undefined {
  const { version, content, access, name, updatedAt, updatedBy } = membersOf(body);
  if (!isVersion(version) || content === undefined) return undefined;
  return {
    version,
    content,
    access: access === 'reader' || access === 'editor' ? access : 'owner',
    name: textOr(name, ''),
    updatedAt: textOr(updatedAt, ''),
    updatedBy: textOr(updatedBy, ''),
  };
}

/** Reads the answer to a read. */
export function readEvent(answer: Answer, sequence: number): SessionEvent {
  const obstacle = obstacleOf(answer, null);
  if (obstacle) return obstacle;
  const isThere = answer.type === 'answered' && answer.status < 300;
  const document = isThere ? documentOf(answer.body) : undefined;
  return document
    ? { type: 'document.read', sequence, document }
    : { type: 'read.failed', sequence };
}

/** Reads the answer to an abandon: which of the saves had committed. */
export function abandonEvent(answer: Answer, saves: readonly SentSave[]): SessionEvent {
  const obstacle = obstacleOf(answer, null);
  if (obstacle) return obstacle;
  const { abandoned, committed } = membersOf(answer.type === 'answered' ? answer.body : null);
  const isRead =
    answer.type === 'answered' &&
    answer.status < 300 &&
    Array.isArray(abandoned) &&
    Array.isArray(committed);
  if (!isRead) return { type: 'abandon.failed' };
  const versions = new Map(
    committed.map(membersOf).map(({ saveId, version }) => [saveId, version]),
  );
  const known = saves.flatMap(({ save, saveId }) => {
    const version = versions.get(saveId);
    return isVersion(version) ? [{ save, version }] : [];
  });
  const isWhole = saves.every(
    ({ saveId }) => abandoned.includes(saveId) || isVersion(versions.get(saveId)),
  );
  return isWhole ? { type: 'saves.abandoned', committed: known } : { type: 'abandon.failed' };
}
