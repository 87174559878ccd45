// Which version a request expects: said in the body, or in If-Match, or not at all.
//
// - A weak tag is taken as the strong one: proxies that compress weaken what they pass on, and a
//   version names one content whatever the bytes are.
// - `If-Match: *` expects nothing in particular, and would overwrite blindly. It is refused.

import { z } from 'zod';

/** The version, as an entity tag. */
export const tagOf = (version: number): string => `"${version}"`;

const tag = /^(?:W\/)?"([1-9][0-9]{0,15})"$/;

export const ifMatch = z.object({
  'if-match': z
    .string()
    .superRefine((text, context) => {
      if (Number.isSafeInteger(Number(tag.exec(text)?.[1]))) return;
      const message = 'An expected version is one tag with its number, such as "7"';
      context.addIssue({ code: 'custom', message, params: { code: 'bad_version' } });
    })
    .transform((text) => Number(tag.exec(text)?.[1]))
    .optional(),
});

export type Expectation =
  | { readonly version: number; readonly by: 'body' | 'header' }
  | { readonly version?: never; readonly fault: 'missing' | 'contradiction' };

/** Reads what is expected. Said twice, it has to be the same. */
export function expectationOf(
  inBody: number | undefined,
  headers: z.output<typeof ifMatch>,
): Expectation {
  const inHeader = headers['if-match'];
  if (inBody === undefined && inHeader === undefined) return { fault: 'missing' };
  if (inBody !== undefined && inHeader !== undefined && inBody !== inHeader) {
    return { fault: 'contradiction' };
  }
  if (inBody !== undefined) return { version: inBody, by: 'body' };
  return { version: inHeader ?? 0, by: 'header' };
}
