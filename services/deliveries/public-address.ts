// Which addresses a webhook may reach: public ones, and the ranges that the configuration names.
// new-webhook.ts asks about literals at enqueue, public-agent.ts about everything before it is
// dialled.
//
// - An address in IPv6 clothes (::ffff:127.0.0.1) is judged as what is inside.
// - Public means that a range is not listed as anything else: not loopback, private, link-local,
//   shared, reserved, multicast, or a way through a translator. In IPv6 it also lies in the one
//   block that is given out: a list of exceptions misses ::7f00:1, the old clothes of 127.0.0.1.
//   Source: IANA IPv4 and IPv6 Special-Purpose Address Registries, as ipaddr.js has them; RFC 4291,
//   2.4 Address Type Identification.

import { isIP } from 'node:net';
import ipaddr from 'ipaddr.js';

const [givenOut, givenOutBits] = ipaddr.IPv6.parseCIDR('2000::/3');

const isPublic = (address: ipaddr.IPv4 | ipaddr.IPv6): boolean =>
  address.range() === 'unicast' &&
  (address instanceof ipaddr.IPv4 || address.match(givenOut, givenOutBits));

/** `allowed`: by a range of the configuration, whatever else the address is. */
export type Verdict = 'allowed' | 'public' | 'refused';
export type AddressJudge = (address: string) => Verdict;

/**
 * Makes a judge of addresses. What is no address is refused.
 * @throws Error for a range that is not in CIDR notation, such as 127.0.0.0/8.
 */
export function addressJudge(allowedRanges: readonly string[]): AddressJudge {
  const ranges = allowedRanges.map((range) => ipaddr.parseCIDR(range));
  return (text) => {
    if (!ipaddr.isValid(text)) return 'refused';
    const address = ipaddr.process(text);
    const isAllowed = ranges.some(
      ([base, bits]) => base.kind() === address.kind() && address.match(base, bits),
    );
    if (isAllowed) return 'allowed';
    return isPublic(address) ? 'public' : 'refused';
  };
}

/** The host of a URL as an address, if it is one: URLs put IPv6 in brackets. */
export function literalAddress(hostname: string): string | undefined {
  const bare = hostname.replace(/^\[|\]$/g, '');
  return isIP(bare) === 0 ? undefined : bare;
}

/** Names that mean this machine, whatever a resolver says. Source: RFC 6761, 6.3. */
export const isLocalName = (hostname: string): boolean => /(^|\.)localhost\.?$/i.test(hostname);
