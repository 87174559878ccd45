// What may be enqueued for the channel `email`: the check of a stranger's words before they become
// a row and then a mail.
//
// - Exactly one address, the kind that browsers accept: no display name, no list, no line break
//   that could become a header of its own.

import { z } from 'zod';
import { checked, mailTextFault } from './checked-text.ts';

const longestAddress = 254;
const longestLocalPart = 64;
const longestSubject = 998;
const largestBodyBytes = 1_048_576;

const address = checked((text) => {
  if (text.length > longestAddress || text.indexOf('@') > longestLocalPart) return 'bad_address';
  return z.regexes.html5Email.test(text) ? undefined : 'bad_address';
});

const subject = checked((text) => {
  if (text.length > longestSubject) return 'too_long';
  return /[\r\n]/.test(text) ? 'line_break' : mailTextFault(text);
});

const body = checked((text) => {
  if (Buffer.byteLength(text) > largestBodyBytes) return 'too_long';
  return mailTextFault(text);
});

export const newEmail = z
  .strictObject({
    channel: z.literal('email'),
    to: address.meta({ format: 'email', maxLength: longestAddress, example: 'ada@example.com' }),
    subject: subject.meta({ maxLength: longestSubject, example: 'Hello' }),
    body: body.meta({ description: 'Plain text, at most 1 MiB', example: 'It works.' }),
  })
  .meta({ id: 'NewEmail' })
  .brand<'NewDelivery'>();
