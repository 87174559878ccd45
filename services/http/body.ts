// A request's body on its way in: read, bounded, and checked by the route's schema.
//
// - Bodies are JSON in UTF-8. Bytes that are not would be replaced in silence, so they are refused.
// - They are bounded, in bytes and in depth: what JSON.parse takes, JSON.stringify and whoever
//   walks the value may not bear.
// - Without a schema there is nothing to send: a body is refused.
// - Where the route is exact and the text plain, it is taken apart instead of parsed, and members
//   that are to be kept as they are come to the handler as PlainJson.

import { isUtf8 } from 'node:buffer';
import express, { type Request, type Response } from 'express';
import { plainText, plainValue, readPlain } from '../../kinds/plain.ts';
import { pointerTo, read, refused } from './input.ts';
import { type JsonText, readJsonText } from './json-text.ts';
import { frame, ProblemError, problem } from './problem.ts';
import type { Route } from './route.ts';

const usualMostBytes = 1_048_576;
/** Deeper than what any field takes, so that a field's own limit is named where there is one. */
const mostLevels = 128;

function isDeeper(value: unknown, levels: number): boolean {
  if (levels === 0) return true;
  if (typeof value !== 'object' || value === null) return false;
  return Object.values(value).some((each) => isDeeper(each, levels - 1));
}

const [openList, openObject] = [91, 123];

/** How often the byte is there; counting ends behind the most that is of interest. */
function count(bytes: Buffer, byte: number, most: number): number {
  let found = 0;
  for (let at = bytes.indexOf(byte); at >= 0 && found <= most; at = bytes.indexOf(byte, at + 1)) {
    found += 1;
  }
  return found;
}

/** The first of a body's members that is too deep; undefined where none is. */
function tooDeep(body: unknown, sent: Buffer): string | undefined {
  if (typeof body !== 'object' || body === null) return undefined;
  // Where fewer brackets are opened, none is that deep. Walking 10 kB took 167 µs, this takes one.
  const opened = count(sent, openObject, mostLevels) + count(sent, openList, mostLevels);
  if (opened <= mostLevels) return undefined;
  const [name] = Object.entries(body).find(([, member]) => isDeeper(member, mostLevels)) ?? [];
  return name;
}

const hasBody = ({ headers }: Request): boolean =>
  headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0;

export interface Body {
  /** Before the schema has read it. */
  readonly given: unknown;
  readonly value: unknown;
  readonly textOf: JsonText['textOf'];
}

const noText = () => undefined;
const notUtf8 = 'Some of its bytes are no characters in UTF-8.';
const unread = 'The request was refused before anything was done.';

function parse(text: string): unknown {
  try {
    return text === '' ? {} : JSON.parse(text);
  } catch {
    throw new ProblemError(problem(frame.malformedJson, unread));
  }
}

const byteOrderMark = [0xef, 0xbb, 0xbf];

/** JSON.parse takes no byte order mark, and some clients send one. */
const startOf = (sent: Buffer): number =>
  byteOrderMark.every((byte, i) => sent[i] === byte) ? byteOrderMark.length : 0;

type Given = Omit<Body, 'value'>;

/** A body that is an object and written plainly; undefined for any other. */
function plainBody(text: string, kept: string | undefined): Given | undefined {
  const { members } = readPlain(text) ?? {};
  if (!members) return undefined;
  const { names } = members;
  const entries = names.map((name, i) => {
    const value = members.valueAt(i);
    return [name, name === kept && typeof value === 'object' ? value : plainValue(value)] as const;
  });
  return {
    given: Object.fromEntries(entries),
    textOf(name) {
      const place = names.indexOf(name);
      return place < 0 ? undefined : plainText(members.valueAt(place));
    },
  };
}

function parsedBody(text: string, sent: Buffer): unknown {
  const parsed = parse(text);
  const deep = tooDeep(parsed, sent);
  if (deep === undefined) return parsed;
  const detail = `JSON is at most ${mostLevels} levels deep.`;
  throw refused(frame.invalid, [{ code: 'too_deep', pointer: pointerTo([deep]), detail }]);
}

/** A body's value, and its text where that is wanted. What only the text says is judged last. */
function bodyOf(sent: Buffer, route: Route, check: (given: unknown) => unknown): Body {
  const { exact = false, kept } = route;
  const text = sent.toString('utf8', startOf(sent));
  const plain = exact ? plainBody(text, kept) : undefined;
  if (plain) return { ...plain, value: check(plain.given) };
  const given = parsedBody(text, sent);
  const value = check(given);
  if (!exact) return { given, value, textOf: noText };
  const { problems, textOf } = readJsonText(text, given);
  if (problems.length > 0) throw refused(frame.invalid, problems);
  return { given, value, textOf };
}

const ownType = /^application\/json(?:; ?charset=utf-8)?$/i;

/** Most bodies come as they are, and say how long they are. */
const isSimple = ({ headers }: Request, mostBytes: number): boolean =>
  ownType.test(headers['content-type'] ?? '') &&
  headers['content-encoding'] === undefined &&
  Number(headers['content-length'] ?? Number.NaN) <= mostBytes;

/** Node sees to it that there is no more than the header says. */
function collect(request: Request): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const [only] = chunks;
      resolve(only && chunks.length === 1 ? only : Buffer.concat(chunks));
    });
    request.on('close', () => reject(new ProblemError(problem(frame.malformed, unread))));
  });
}

/**
 * Makes what reads the bodies of a route.
 * @throws ProblemError, or what express's parser throws.
 */
export function bodyReader(route: Route) {
  const { body: schema, mostBytes = usualMostBytes } = route;
  const bodies = new WeakMap<object, Buffer>();
  const keep = (request: object, _response: unknown, sent: Buffer, charset: string) => {
    if (charset !== 'utf-8') throw new ProblemError(problem(frame.mediaType, 'JSON is in UTF-8.'));
    bodies.set(request, sent);
  };
  // It knows of compression, of other character sets, and of bodies whose end is not known.
  const parser = express.json({ limit: mostBytes, strict: false, verify: keep });

  async function parsed(request: Request, response: Response): Promise<Buffer> {
    await new Promise<void>((resolve, reject) => {
      parser(request, response, (error?: unknown) => (error ? reject(error) : resolve()));
    });
    return bodies.get(request) ?? Buffer.alloc(0);
  }

  return async (request: Request, response: Response): Promise<Body> => {
    if (!schema) {
      if (!hasBody(request)) return { given: undefined, value: undefined, textOf: noText };
      throw new ProblemError(problem(frame.unexpectedBody, 'Send the request without a body.'));
    }
    const isWhole = isSimple(request, mostBytes);
    if (!isWhole && !request.is('application/json')) {
      const detail = hasBody(request)
        ? 'Send the body as application/json.'
        : 'A body of JSON is needed, with content-type: application/json.';
      throw new ProblemError(problem(frame.mediaType, detail));
    }
    const sent = isWhole ? await collect(request) : await parsed(request, response);
    if (!isUtf8(sent)) throw new ProblemError(problem(frame.malformedJson, notUtf8));
    return bodyOf(sent, route, (value) => read(schema, value, frame.invalid));
  };
}
