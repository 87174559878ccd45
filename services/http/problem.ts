// Problems: what a client is told when a request cannot be done, as RFC 9457 problem details.
//
// - A kind of problem is declared where it arises: those of the frame here, those of a domain in
//   the domain, by `problemKind`. A route lists the kinds of its own; it cannot answer with others.
// - A handler returns a problem, as a value. `ProblemError` is for the frame, which has no other
//   way out of a middleware.
// - `code` is for programs and never changes its meaning; `detail` is for people.
// - `errors` name each wrong field by its JSON pointer (RFC 6901); '' is the whole document.
// - Nothing of the inside goes out: no stack, no message of an error that was not meant for
//   clients.

import { z } from 'zod';

export interface FieldProblem {
  readonly code: string;
  readonly pointer: string;
  readonly detail: string;
}

export interface ProblemKind<Code extends string = string> {
  readonly code: Code;
  readonly status: number;
  readonly title: string;
  /** What its answer has beside the members that every problem has. */
  readonly members?: Readonly<Record<string, z.ZodType>>;
}

/** Declares a kind of problem. `title` says in one line what is the case, for every instance. */
export const problemKind = <const Code extends string>(
  code: Code,
  status: number,
  title: string,
  members?: ProblemKind['members'],
): ProblemKind<Code> => ({ code, status, title, ...(members && { members }) });

export interface Problem<Code extends string = string> {
  readonly kind: ProblemKind<Code>;
  readonly detail: string;
  readonly errors?: readonly FieldProblem[];
  readonly members?: Readonly<Record<string, unknown>>;
  readonly headers?: Readonly<Record<string, string>>;
}

/** Makes a problem of a kind. `detail` says what is wrong with this request, and what to do. */
export const problem = <Code extends string>(
  kind: ProblemKind<Code>,
  detail: string,
  more: Omit<Problem, 'kind' | 'detail'> = {},
): Problem<Code> => ({ kind, detail, ...more });

export class ProblemError extends Error {
  override readonly name = 'ProblemError';
  readonly problem: Problem;

  constructor(found: Problem) {
    super(found.detail);
    this.problem = found;
  }
}

/** The kinds that any route may answer with, because what every request goes through does. */
export const frame = {
  malformed: problemKind('malformed_request', 400, 'The request cannot be read'),
  malformedJson: problemKind('malformed_json', 400, 'The body is not JSON'),
  unexpectedBody: problemKind('unexpected_body', 400, 'This route takes no body'),
  invalidPath: problemKind('invalid_path', 400, 'Something in the path is wrong'),
  invalidQuery: problemKind('invalid_query', 400, 'Something in the query is wrong'),
  invalidHeaders: problemKind('invalid_headers', 400, 'Something in the header fields is wrong'),
  unauthenticated: problemKind('unauthenticated', 401, 'It is not known who asks'),
  insufficientScope: problemKind('insufficient_scope', 403, 'The token does not allow this', {
    scope: z.string(),
  }),
  notLocal: problemKind('not_local', 403, 'This is for requests from this machine only'),
  notFound: problemKind('not_found', 404, 'There is nothing here'),
  methodNotAllowed: problemKind('method_not_allowed', 405, 'This path has no such method'),
  bodyTooLarge: problemKind('body_too_large', 413, 'The body is too large', {
    limit: z.int().meta({ description: 'The most bytes that are taken here' }),
  }),
  mediaType: problemKind('unsupported_media_type', 415, 'The body is not of a type taken here'),
  invalid: problemKind('invalid_request', 422, 'The body is JSON, but something in it is wrong'),
  internal: problemKind('internal_error', 500, 'Something went wrong on our side'),
  starting: problemKind('starting', 503, 'The service is starting'),
  databaseAway: problemKind('database_away', 503, 'The database does not answer'),
  requestInProgress: problemKind('request_in_progress', 409, 'The same request is being answered'),
  keyReused: problemKind('idempotency_key_reused', 422, 'The key belongs to another request'),
  identityAway: problemKind('identity_away', 503, 'Tokens cannot be verified at the moment'),
} as const;

const urnOf = (code: string): string => `urn:fencepost:problem:${code}`;

const fieldProblem = z
  .strictObject({
    code: z.string(),
    pointer: z.string().meta({ description: 'A JSON pointer (RFC 6901) to what is wrong' }),
    detail: z.string(),
  })
  .meta({ id: 'FieldProblem' });

/** The schema of the answers of a kind. */
export const problemSchema = ({ code, status, title, members = {} }: ProblemKind) =>
  z.strictObject({
    type: z.literal(urnOf(code)),
    title: z.literal(title),
    status: z.literal(status),
    code: z.literal(code),
    detail: z.string(),
    requestId: z.string(),
    errors: z.array(fieldProblem).optional(),
    ...members,
  });

/** What is answered, as text. */
export function printProblem(found: Problem, requestId: string): string {
  const { kind, detail, errors, members } = found;
  const { code, status, title } = kind;
  const type = urnOf(code);
  return JSON.stringify({ type, title, status, code, detail, requestId, errors, ...members });
}

export const problemType = 'application/problem+json';
