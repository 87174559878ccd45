// Problems: what a client is told when a request cannot be done, as RFC 9457 problem details.
// Routes throw one; app.ts answers it.
//
// - `code` is for programs and never changes its meaning; `detail` is for people.
// - `errors` name each wrong field by its JSON pointer (RFC 6901); '' is the whole document.
// - Nothing of the inside goes out: no stack, no message of an error that was not meant for
//   clients.

import type { Response } from 'express';

export interface FieldProblem {
  readonly code: string;
  readonly pointer: string;
  readonly detail: string;
}

const known = {
  malformed_request: [400, 'The request cannot be read'],
  malformed_json: [400, 'The body is not JSON'],
  malformed_id: [400, 'The id is not a UUID'],
  foreign_host: [403, 'Another host was asked for'],
  not_found: [404, 'There is nothing here'],
  delivery_not_found: [404, 'There is no such delivery'],
  not_redrivable: [409, 'This delivery is on its way, or was sent'],
  already_redriven: [409, 'This delivery was redriven before'],
  body_too_large: [413, 'The body is too large'],
  unsupported_media_type: [415, 'The body is not of a type that is taken here'],
  invalid_request: [422, 'The body is JSON, but something in it is wrong'],
  starting: [503, 'The service is starting'],
  database_away: [503, 'The database does not answer'],
  internal_error: [500, 'Something went wrong on our side'],
} as const satisfies Record<string, readonly [number, string]>;

export type ProblemCode = keyof typeof known;

export class Problem extends Error {
  override readonly name = 'Problem';
  readonly code: ProblemCode;
  readonly errors: readonly FieldProblem[];

  constructor(code: ProblemCode, detail: string, errors: readonly FieldProblem[] = []) {
    super(detail);
    this.code = code;
    this.errors = errors;
  }
}

export function answerProblem(response: Response, problem: Problem): void {
  const { code, message: detail, errors } = problem;
  const [status, title] = known[code];
  const type = `urn:fencepost:problem:${code}`;
  response
    .status(status)
    .type('application/problem+json')
    .send(
      JSON.stringify({ type, title, status, code, detail, ...(errors.length > 0 && { errors }) }),
    );
}
