// Pages by keyset: a page is what comes behind a position, and a cursor names that position.
//
// - A cursor belongs to one question: with other filters, or changed by a letter, it is refused.
//   The checksum guards against mistakes; there is no secret in it, because a position allows
//   nothing that the scope does not.
// - What is inserted or removed meanwhile moves no page: nothing comes twice, nothing is missed.

import { createHash } from 'node:crypto';
import { z } from 'zod';
import { canonical } from '../../persistence/definition-hash.ts';
import { frame, problem } from './problem.ts';

const checksumLength = 16;
const longestCursor = 500;

export const mostOnPage = 200;
export const usualOnPage = 50;

const checksum = (question: unknown, position: unknown): string =>
  createHash('sha256')
    .update(canonical([question, position]))
    .digest('base64url')
    .slice(0, checksumLength);

/** The query of a route that answers in pages. */
export const pageQuery = {
  limit: z.coerce
    .number()
    .pipe(z.int().min(1).max(mostOnPage))
    .default(usualOnPage)
    .meta({ description: `How many at most, up to ${mostOnPage}`, example: usualOnPage }),
  cursor: z
    .string()
    .max(longestCursor)
    .optional()
    .meta({ description: 'What the page before gave as `next`' }),
} as const;

/** What a route with pages answers to a cursor that `readCursor` does not know. */
export function badCursor() {
  const detail = 'It is not one that was given for this list, with these filters.';
  const errors = [{ code: 'bad_cursor', pointer: '/cursor', detail }];
  return problem(frame.invalidQuery, 'Begin again without a cursor.', { errors });
}

/** The shape of a page. `next` is null on the last one. */
export const pageOf = <T extends z.ZodType>(item: T) =>
  z.strictObject({ items: z.array(item), next: z.string().nullable() });

/** Names a position among the answers to a question, which is all filters together. */
export function printCursor(question: unknown, position: unknown): string {
  const text = Buffer.from(JSON.stringify(position)).toString('base64url');
  return `${text}.${checksum(question, position)}`;
}

/** Reads the position that a cursor names. Undefined: it is none, or not one of this question. */
export function readCursor<S extends z.ZodType>(
  cursor: string,
  question: unknown,
  position: S,
): z.output<S> | undefined {
  const [text = '', sum, ...more] = cursor.split('.');
  if (more.length > 0) return undefined;
  try {
    const given: unknown = JSON.parse(Buffer.from(text, 'base64url').toString());
    // Base64 that differs only in bits that do not count is another text for the same position.
    if (printCursor(question, given) !== `${text}.${sum}`) return undefined;
    return position.safeParse(given).data;
  } catch {
    return undefined;
  }
}
