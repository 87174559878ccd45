// A draft as text: a line of JSON that says what it is, then the content. Pure.
//
// - A torn write is told by length and checksum. Anything that is not whole is broken, never half
//   a draft.
// - User and document stand inside too, and are compared with what the key says.
// - A schema that this code does not know is another bundle's, and is left to it.

export interface DraftPlace {
  readonly kind: string;
  readonly user: string;
  readonly document: string;
}

export interface DraftHead extends DraftPlace {
  readonly writer: string;
  /** The version that the content was made from. */
  readonly base: number;
  /** Counts the writes of this writer; of two copies the higher one is the draft. */
  readonly counter: number;
  /** By the clock of the browser: to be shown, never to decide by. */
  readonly at: number;
}

export interface Draft extends DraftHead {
  readonly content: unknown;
  readonly size: number;
}

export type DecodedDraft =
  | { readonly type: 'draft'; readonly draft: Draft }
  | { readonly type: 'broken' }
  | { readonly type: 'unknown-schema' };

const schema = 1;

/** FNV-1a over UTF-16 code units, 32 bits: against torn writes, not against forgery. */
export function checksum(text: string): number {
  let hash = 0x811c9dc5;
  for (let i = 0; i < text.length; i += 1) {
    hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193);
  }
  return hash >>> 0;
}

export function encodeDraft(head: DraftHead, content: unknown): string {
  const body = JSON.stringify(content);
  const sums = { schema, length: body.length, checksum: checksum(body) };
  return `${JSON.stringify({ ...sums, ...head })}\n${body}`;
}

const isHead = (head: Readonly<Record<string, unknown>>): boolean =>
  ['kind', 'user', 'document', 'writer'].every((name) => typeof head[name] === 'string') &&
  ['base', 'counter', 'at', 'length', 'checksum'].every((name) => Number.isFinite(head[name]));

export function decodeDraft(text: string): DecodedDraft {
  const end = text.indexOf('\n');
  try {
    const head = JSON.parse(end < 0 ? text : text.slice(0, end));
    if (typeof head !== 'object' || head === null) return { type: 'broken' };
    if (head.schema > schema) return { type: 'unknown-schema' };
    const body = text.slice(end + 1);
    const isWhole =
      end > 0 && isHead(head) && head.length === body.length && head.checksum === checksum(body);
    if (!isWhole) return { type: 'broken' };
    const { schema: _, checksum: __, length: size, ...own } = head;
    return { type: 'draft', draft: { ...own, content: JSON.parse(body), size } };
  } catch {
    return { type: 'broken' };
  }
}

const prefix = 'fencepost:draft:';

/** The beginning of the keys of all drafts of one document by one user. */
export const placeKey = ({ kind, user, document }: DraftPlace): string =>
  `${prefix}${[kind, user, document].map(encodeURIComponent).join(':')}:`;

export const slotKey = (place: DraftPlace, writer: string): string =>
  placeKey(place) + encodeURIComponent(writer);

export const quarantineKey = (key: string): string => `fencepost:quarantine:${key}`;
