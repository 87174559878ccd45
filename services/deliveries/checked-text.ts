// Strings in a request, each with at most one fault, named for programs and said for people. The
// shapes of new deliveries are made of them.
//
// - Text that Postgres or a channel cannot carry as it is gets refused, never changed.

import { z } from 'zod';
import { textFault } from '../../persistence/text.ts';

const messages = {
  bad_address: 'This must be exactly one mail address, such as ada@example.com.',
  line_break: 'A subject is one line.',
  control_character: 'Control characters other than tabs and line breaks cannot be sent.',
  nul: 'The character NUL (U+0000) cannot be sent.',
  lone_surrogate: 'Half of a surrogate pair is not text.',
  too_long: 'This is too long.',
  too_deep: 'JSON is at most 100 levels deep.',
  missing: 'This is needed.',
  not_json: 'This is not JSON.',
  unsafe_integer: 'Integers beyond 2^53 lose digits on the way: send them as strings.',
  bad_type: 'A type is up to 128 letters, digits, dots, hyphens and underscores: invoice.paid',
  bad_url: 'This must be one https URL, such as https://example.com/hooks.',
  insecure_url: 'Only https is sent to. http is for ranges that the configuration allows.',
  userinfo: 'A URL with a name or a password in it is not sent to.',
  fragment: 'What is behind # is never sent: leave it out.',
  private_address: 'This address is not public, and the configuration does not allow it.',
} as const;

export type Fault = keyof typeof messages;

/** Adds the fault, by its name, to what is wrong with a value. */
export function addFault(context: z.core.$RefinementCtx, code: Fault): void {
  context.addIssue({ code: 'custom', message: messages[code], params: { code } });
}

/** A string without the faults that `faultOf` looks for. */
export const checked = (faultOf: (text: string) => Fault | undefined) =>
  z.string().superRefine((text, context) => {
    const code = faultOf(text);
    if (code) addFault(context, code);
  });

// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for.
const controlCharacter = /[\u0001-\u0008\u000b\u000c\u000e-\u001f\u007f]/;

/** What keeps a text from being sent by mail. */
export const mailTextFault = (text: string): Fault | undefined =>
  textFault(text) ?? (controlCharacter.test(text) ? 'control_character' : undefined);
