// What a cool-down is kept under in fencepost.cool_down, for each of its scopes. The worker writes
// one with the end of the delivery that met the refusal, and asks for all three before a send.
//
// - The names cannot be taken for each other: a destination is a domain or an origin, a recipient
//   is an address with an @, or a URL with a path.

import type { Channel, CoolDownRequest } from './channel.ts';

/** The names under which a recipient may be cooled down. */
export const coolDownNames = (
  channel: Pick<Channel, 'destinationOf'>,
  recipient: string,
): Readonly<Record<CoolDownRequest['scope'], string>> => ({
  channel: '',
  destination: channel.destinationOf(recipient),
  recipient,
});
