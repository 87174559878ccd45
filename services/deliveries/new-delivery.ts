// What may be enqueued: the check of a stranger's words before they become a row and then a mail.
// routes.ts parses with it; enqueue.ts takes only what was parsed.
//
// - Exactly one address, the kind that browsers accept: no display name, no list, no line break
//   that could become a header of its own.
// - Text that Postgres or a mail cannot carry as it is gets refused, never changed.

import { z } from 'zod';
import { textFault } from '../../persistence/text.ts';

const longestAddress = 254;
const longestLocalPart = 64;
const longestSubject = 998;
const largestBodyBytes = 1_048_576;

// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for.
const controlCharacter = /[\u0001-\u0008\u000b\u000c\u000e-\u001f\u007f]/;

const messages = {
  bad_address: 'This must be exactly one mail address, such as ada@example.com.',
  line_break: 'A subject is one line.',
  control_character: 'Control characters other than tabs and line breaks cannot be sent.',
  nul: 'The character NUL (U+0000) cannot be sent.',
  lone_surrogate: 'Half of a surrogate pair is not text.',
  too_long: 'This is too long.',
  unknown_channel: 'There is no such channel. Known: email.',
} as const;

type Fault = keyof typeof messages;

/** A string with at most one fault, named by what is wrong. */
const checked = (faultOf: (text: string) => Fault | undefined) =>
  z.string().superRefine((text, context) => {
    const code = faultOf(text);
    if (code) context.addIssue({ code: 'custom', message: messages[code], params: { code } });
  });

const textProblem = (text: string): Fault | undefined =>
  textFault(text) ?? (controlCharacter.test(text) ? 'control_character' : undefined);

const address = checked((text) => {
  if (text.length > longestAddress || text.indexOf('@') > longestLocalPart) return 'bad_address';
  return z.regexes.html5Email.test(text) ? undefined : 'bad_address';
});

const subject = checked((text) => {
  if (text.length > longestSubject) return 'too_long';
  return /[\r\n]/.test(text) ? 'line_break' : textProblem(text);
});

const body = checked((text) => {
  if (Buffer.byteLength(text) > largestBodyBytes) return 'too_long';
  return textProblem(text);
});

export const newDelivery = z
  .strictObject({
    channel: checked((text) => (text === 'email' ? undefined : 'unknown_channel')),
    to: address,
    subject,
    body,
  })
  .brand<'NewDelivery'>();

/** Only the check above makes one. */
export type NewDelivery = z.output<typeof newDelivery>;
