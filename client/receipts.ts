// What the server's answers mean to a session, as its events. Pure.
//
// - A save counts only if the answer is JSON, has an integer version and echoes our save id.
// - Told apart by status and code, never by a text. What may pass is unclear and is sent again;
//   what will not is refused, once.

import type {
  Conflict,
  Foreign,
  Problem,
  ReadDocument,
  SessionEvent,
} from '../machines/session-events.ts';
import { type Answer, bodyOf } from './transport.ts';

type Members = Readonly<Record<string, unknown>>;

/** The members of an object; none where it is no object. */
export const membersOf = (value: unknown): Members =>
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

function foreignOf({ version, by, at }: Members): Foreign | undefined {
  return isVersion(version) ? { version, by: textOr(by, null), at: textOr(at, null) } : undefined;
}

function planOf(source: unknown): Conflict['plan'] {
  const { proposal, step } = membersOf(source);
  return typeof proposal === 'string' && isVersion(step) ? { proposal, step } : null;
}

function conflictOf(body: unknown): Conflict | undefined {
  const found = membersOf(membersOf(body)['conflict']);
  const foreign = foreignOf(found);
  return (
    foreign && {
      ...foreign,
      writer: textOr(found['writer'], null),
      saveId: textOr(found['saveId'], null),
      baseKnown: found['baseKnown'] === true,
      contentUnchanged: found['contentUnchanged'] === true,
      plan: planOf(found['source']),
    }
  );
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
  const isAnswer = answer.type === 'answered';
  const unclear = { type: 'save.unclear', save, waitMs: isAnswer ? answer.waitMs : 0 } as const;
  if (!isAnswer) return unclear;
  const { status, body } = answer;
  if (status < 300) {
    const { saveId: echoed, version, currentVersion } = membersOf(body);
    if (echoed !== saveId || !isVersion(currentVersion)) return unclear;
    if (version === null) return { type: 'save.overtaken', save };
    if (!isVersion(version)) return unclear;
    return { type: 'save.stored', save, version, current: currentVersion };
  }
  const conflict = status === 409 || status === 412 ? conflictOf(body) : undefined;
  if (conflict) return { type: 'save.conflicted', save, conflict };
  if (mayPass(status)) return unclear;
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
  const document = documentOf(bodyOf(answer));
  return document
    ? { type: 'document.read', sequence, document }
    : { type: 'read.failed', sequence };
}

/** Reads the answer to an abandon: which of the saves had committed. */
export function abandonEvent(answer: Answer, saves: readonly SentSave[]): SessionEvent {
  const obstacle = obstacleOf(answer, null);
  if (obstacle) return obstacle;
  const { abandoned, committed } = membersOf(bodyOf(answer));
  if (!Array.isArray(abandoned) || !Array.isArray(committed)) return { type: 'abandon.failed' };
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

export interface Own {
  readonly writer: string;
  /** The number of a save by its save id; undefined where it is not this session's. */
  readonly numberOf: (saveId: string) => number | undefined;
}

const deleted = { code: 'document_gone', detail: 'The document was deleted.' } as const;

/** Reads what the stream tells; undefined where it is nothing to this session. */
export function announcedEvent(type: string, data: unknown, own: Own): SessionEvent | undefined {
  if (type === 'deleted') return { type: 'document.gone', problem: deleted };
  // The stream may have been opened by another page, for whom it saw: what is so, a request says.
  if (type === 'missing') return { type: 'document.missed' };
  const members = membersOf(data);
  const save = own.numberOf(String(members['saveId']));
  if (save !== undefined) return { type: 'save.announced', save };
  const foreign = foreignOf(members);
  const isOther = foreign && members['writer'] !== own.writer;
  return isOther ? { type: 'version.announced', foreign } : undefined;
}
