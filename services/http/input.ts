// A request on its way in: path, query, header fields and body, each checked by the route's schema,
// whose findings become named problems of their fields.
//
// - Bodies are JSON in UTF-8. Bytes that are not would be replaced in silence, so they are refused.
// - They are bounded, in bytes and in depth: what JSON.parse takes, JSON.stringify and whoever
//   walks
//   the value may not bear.
// - Without a schema there is nothing to send: an unknown parameter or a body is refused.

import { isUtf8 } from 'node:buffer';
import express, { type Request, type Response } from 'express';
import { z } from 'zod';
import { type JsonText, readJsonText } from './json-text.ts';
import { type FieldProblem, frame, ProblemError, type ProblemKind, problem } from './problem.ts';
import type { Route } from './route.ts';

const usualMostBytes = 1_048_576;
const mostErrors = 20;
/** Deeper than what any field takes, so that a field's own limit is named where there is one. */
const mostLevels = 128;

const pointerTo = (path: readonly PropertyKey[]): string =>
  path.map((key) => `/${String(key).replaceAll('~', '~0').replaceAll('/', '~1')}`).join('');

/** No shape has what the field says that tells them apart: `unknown_channel` for a `channel`. */
function unionProblem(issue: z.core.$ZodIssueInvalidUnion, pointer: string): FieldProblem {
  const name = issue.discriminator ?? '';
  const given: unknown = Object(issue.input)[name];
  if (given === undefined) return { code: 'missing', pointer, detail: 'This is needed.' };
  if (typeof given === 'string') return { code: `unknown_${name}`, pointer, detail: issue.message };
  return { code: 'wrong_type', pointer, detail: 'This must be of type string.' };
}

function problemsOf(issue: z.core.$ZodIssue): readonly FieldProblem[] {
  const pointer = pointerTo(issue.path);
  switch (issue.code) {
    case 'unrecognized_keys':
      return issue.keys.map((key) => ({
        code: 'unknown_key',
        pointer: pointerTo([...issue.path, key.slice(0, 100)]),
        detail: 'There is no such field here.',
      }));
    case 'invalid_type':
      return issue.input === undefined
        ? [{ code: 'missing', pointer, detail: 'This is needed.' }]
        : [{ code: 'wrong_type', pointer, detail: `This must be of type ${issue.expected}.` }];
    case 'invalid_union':
      return [unionProblem(issue, pointer)];
    case 'custom':
      return [
        { code: String(issue.params?.['code'] ?? 'invalid'), pointer, detail: issue.message },
      ];
    default:
      return [{ code: 'invalid', pointer, detail: `${issue.message}.` }];
  }
}

const refused = (kind: ProblemKind, errors: readonly FieldProblem[]): ProblemError =>
  new ProblemError(
    problem(kind, 'See errors for what is wrong and where.', {
      errors: errors.slice(0, mostErrors),
    }),
  );

/** Reads a value that is a part of a body: what is wrong with it is an answer of its own. */
export function readPart<S extends z.ZodType>(
  schema: S,
  value: unknown,
  path: readonly PropertyKey[],
): { readonly data: z.output<S> } | { readonly errors: readonly FieldProblem[] } {
  const { success, data, error } = schema.safeParse(value, { reportInput: true });
  if (success) return { data };
  const errors = error.issues.flatMap(problemsOf).slice(0, mostErrors);
  const before = pointerTo(path);
  return { errors: errors.map((each) => ({ ...each, pointer: before + each.pointer })) };
}

function read(schema: z.ZodType, value: unknown, kind: ProblemKind): unknown {
  const { success, data, error } = schema.safeParse(value, { reportInput: true });
  if (success) return data;
  throw refused(kind, error.issues.flatMap(problemsOf));
}

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

/** A list of values of a query: `id=1&id=2`; one alone is a list of one. */
export const many = <T extends z.ZodType<unknown, string>>(schema: T) =>
  z.preprocess((given) => (typeof given === 'string' ? [given] : given), z.array(schema));

export interface Input {
  readonly params: unknown;
  readonly query: unknown;
  readonly headers: unknown;
}

const nothing = z.strictObject({});

/** @throws ProblemError that names each wrong parameter. */
export function readParameters(route: Route, request: Request): Input {
  const { params, query = nothing, headers } = route;
  return {
    params: params && read(params, request.params, frame.invalidPath),
    query: read(query, request.query, frame.invalidQuery),
    headers: headers && read(headers, request.headers, frame.invalidHeaders),
  };
}

const hasBody = ({ headers }: Request): boolean =>
  headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0;

interface Body {
  readonly value: unknown;
  readonly textOf: JsonText['textOf'];
}

const noText = () => undefined;
const nobody = Buffer.alloc(0);
const notUtf8 = 'Some of its bytes are no characters in UTF-8.';

/**
 * Makes what reads the bodies of a route.
 * @throws ProblemError, or what express's parser throws.
 */
export function bodyReader({ body: schema, mostBytes = usualMostBytes, exact = false }: Route) {
  const bodies = new WeakMap<object, Buffer>();
  const keep = (request: object, _response: unknown, sent: Buffer, charset: string) => {
    if (charset !== 'utf-8') throw new ProblemError(problem(frame.mediaType, 'JSON is in UTF-8.'));
    if (!isUtf8(sent)) throw new ProblemError(problem(frame.malformedJson, notUtf8));
    bodies.set(request, sent);
  };
  const parse = express.json({ limit: mostBytes, strict: false, verify: keep });

  function textOf(sent: Buffer, body: unknown): JsonText['textOf'] {
    if (!exact) return noText;
    const { problems, textOf: of } = readJsonText(sent.toString(), body);
    if (problems.length > 0) throw refused(frame.invalid, problems);
    return of;
  }

  return async (request: Request, response: Response): Promise<Body> => {
    if (!schema) {
      if (!hasBody(request)) return { value: undefined, textOf: noText };
      throw new ProblemError(problem(frame.unexpectedBody, 'Send the request without a body.'));
    }
    if (!request.is('application/json')) {
      const detail = hasBody(request)
        ? 'Send the body as application/json.'
        : 'A body of JSON is needed, with content-type: application/json.';
      throw new ProblemError(problem(frame.mediaType, detail));
    }
    await new Promise<void>((resolve, reject) => {
      parse(request, response, (error?: unknown) => (error ? reject(error) : resolve()));
    });
    const sent = bodies.get(request) ?? nobody;
    const deep = tooDeep(request.body, sent);
    if (deep !== undefined) {
      const detail = `JSON is at most ${mostLevels} levels deep.`;
      throw refused(frame.invalid, [{ code: 'too_deep', pointer: pointerTo([deep]), detail }]);
    }
    const value = read(schema, request.body, frame.invalid);
    return { value, textOf: textOf(sent, request.body) };
  };
}
