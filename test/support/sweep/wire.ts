// The Postgres protocol as far as a sweep needs it: where a message ends, and which statement it
// belongs to. message-proxy.ts calls it.
//
// - Without TLS: the answer to an SSLRequest is a single byte and no message.
//   Source: PostgreSQL manual, 53.7 Message Formats.

export type Side = 'client' | 'server';

const lengthBytes = 4;

/** Cuts what one side says into whole messages, however it comes. */
export function messageCutter(side: Side): (chunk: Buffer) => readonly Buffer[] {
  let rest: Buffer = Buffer.alloc(0);
  // The very first message of a client has no type.
  let typeBytes = side === 'client' ? 0 : 1;
  return (chunk) => {
    rest = Buffer.concat([rest, chunk]);
    const found: Buffer[] = [];
    while (rest.length >= typeBytes + lengthBytes) {
      const end = typeBytes + rest.readInt32BE(typeBytes);
      if (rest.length < end) break;
      found.push(rest.subarray(0, end));
      rest = rest.subarray(end);
      typeBytes = 1;
    }
    return found;
  };
}

export const typeOf = (message: Buffer): string => String.fromCharCode(message[0] ?? 0);

/** The texts that end with a zero byte, from the fifth byte on. */
function textsOf(message: Buffer, count: number): readonly string[] {
  const texts: string[] = [];
  for (let at = 1 + lengthBytes; texts.length < count; ) {
    const end = message.indexOf(0, at);
    texts.push(message.toString('utf8', at, end));
    at = end + 1;
  }
  return texts;
}

/** A statement in two or three words: what it does, and to what. */
function wordsOf(sql: string): string {
  const table = /\b(?:into|update|from) ("?\w+"?\."?\w+"?)/i.exec(sql)?.[1];
  const call = /^\s*select ([\w.]+)\(/i.exec(sql)?.[1];
  const verb = /^\s*(\w+)/.exec(sql)?.[1]?.toLowerCase() ?? 'nothing';
  const object = call ?? table?.replaceAll('"', '');
  return object === undefined ? verb : `${verb} ${object}`;
}

/** Names of the kernel's statements end with a hash of their text. */
const nameOf = (name: string): string => name.replace(/\.[0-9a-f]{12}$/, '');

/**
 * Follows one connection: what is being done, by name, when a message passes. Statements are sent
 * ahead, so what a client says belongs to another one than what the server says at that time.
 */
export function steps(): (side: Side, message: Buffer) => string {
  const answering: string[] = [];
  let asking = '';
  let moving = '';
  const asked = (step: string): string => {
    answering.push(step);
    return step;
  };
  const named = (name: string): void => {
    asking = nameOf(name);
    moving = asking;
  };
  /** A commit goes by the kernel's statement that it commits. */
  const ofQuery = (sql: string): string => {
    const words = wordsOf(sql);
    if (words === 'begin') moving = '';
    return words === 'commit' && moving !== '' ? `commit of ${moving}` : words;
  };
  const ofClient = (message: Buffer): string => {
    switch (typeOf(message)) {
      case 'Q':
        return asked(ofQuery(textsOf(message, 1)[0] ?? ''));
      case 'P': {
        const [name = '', sql = ''] = textsOf(message, 2);
        if (name === '') asking = wordsOf(sql);
        else named(name);
        return asking;
      }
      case 'B': {
        const [, statement = ''] = textsOf(message, 2);
        if (statement !== '') named(statement);
        return asking;
      }
      case 'S':
        return asked(asking);
      default:
        return asking;
    }
  };
  return (side, message) => {
    if (side === 'client') return ofClient(message);
    if (typeOf(message) === 'A') return 'notification';
    const step = answering[0] ?? 'nothing';
    if (typeOf(message) === 'Z') answering.shift();
    return step;
  };
}
