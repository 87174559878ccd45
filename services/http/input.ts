// A request on its way in: path, query and header fields, each checked by the route's schema, whose
// findings become named problems of their fields. Bodies, which are checked by these too, are in
// body.ts.
//
// - Without a schema there is nothing to send: an unknown parameter is refused.

import type { Request } from 'express';
import { z } from 'zod';
import type { Params } from './match.ts';
import { type FieldProblem, frame, ProblemError, type ProblemKind, problem } from './problem.ts';
import type { Route } from './route.ts';

const mostErrors = 20;

export const pointerTo = (path: readonly PropertyKey[]): string =>
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

/** Says that something is wrong, and where. */
export const refused = (kind: ProblemKind, errors: readonly FieldProblem[]): ProblemError =>
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

/** @throws ProblemError of that kind. */
export function read(schema: z.ZodType, value: unknown, kind: ProblemKind): unknown {
  const { success, data, error } = schema.safeParse(value, { reportInput: true });
  if (success) return data;
  throw refused(kind, error.issues.flatMap(problemsOf));
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
export function readParameters(route: Route, request: Request, given: Params): Input {
  const { params, query = nothing, headers } = route;
  return {
    params: params && read(params, given, frame.invalidPath),
    query:
      query === nothing && !request.url.includes('?')
        ? {}
        : read(query, request.query, frame.invalidQuery),
    headers: headers && read(headers, request.headers, frame.invalidHeaders),
  };
}
