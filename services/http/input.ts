// A request's body on its way in: JSON only, bounded, and checked by a schema whose findings become
// the named problems of their fields.

import express, { type Request, type RequestHandler } from 'express';
import type { z } from 'zod';
import { type FieldProblem, Problem } from './problem.ts';

/** Room for the largest mail with every character of it escaped. */
const largestBody = '8mb';
const mostErrors = 20;

const requireJson: RequestHandler = (request, _response, next) => {
  if (request.is('application/json')) return next();
  throw new Problem('unsupported_media_type', 'Send the body as application/json.');
};

/** Middleware for a route that takes a body. */
export const jsonBody: readonly RequestHandler[] = [
  requireJson,
  express.json({ limit: largestBody, strict: false }),
];

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
      return [{ code: String(issue.params?.['code']), pointer, detail: issue.message }];
    default:
      return [{ code: 'invalid', pointer, detail: issue.message }];
  }
}

/** @throws Problem `invalid_request`, with a named error for each wrong field. */
export function readBody<S extends z.ZodType>(request: Request, schema: S): z.output<S> {
  const read = schema.safeParse(request.body, { reportInput: true });
  if (read.success) return read.data;
  const errors = read.error.issues.flatMap(problemsOf).slice(0, mostErrors);
  throw new Problem('invalid_request', 'See errors for what is wrong and where.', errors);
}
