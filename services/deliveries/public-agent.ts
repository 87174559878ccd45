// How a webhook connects: to public addresses and allowed ranges only. webhook.ts gives it to
// undici for every connection.
//
// - The literal, every address that a name has, and the peer that answered are judged. Node never
//   looks a literal up, so a guarded look-up alone lets 127.0.0.1 and 0x7f.1 through; and what a
//   name meant a moment ago is not what was dialled.
// - One bad address of a name refuses the name: a resolver that mixes them is trying something.
// - http, without the s, only to allowed ranges.
// - A connector and a look-up can be given, so that tests dial nothing.

import dns from 'node:dns';
import type { LookupFunction } from 'node:net';
import { buildConnector } from 'undici';
import { addressJudge, literalAddress } from './public-address.ts';

type Connector = buildConnector.connector;

/** Somebody wants us to call an address that is not public. Another attempt is the same one. */
export class BlockedAddressError extends Error {
  override readonly name = 'BlockedAddressError';
  readonly code = 'blocked_address';
}

export interface PublicConnectorOptions {
  /** CIDR ranges that may be reached although they are not public, also without TLS. */
  readonly allowedRanges: readonly string[];
  readonly timeoutMs: number;
  readonly lookup?: typeof dns.lookup;
  readonly connector?: Connector;
}

/** Node's look-up, with every address of the name judged before any is dialled. */
function guardedLookup(
  lookup: typeof dns.lookup,
  mayReach: (address: string) => boolean,
): LookupFunction {
  return (hostname, options, done) => {
    lookup(hostname, { ...options, all: true }, (error, found) => {
      if (error) return done(error, '');
      const bad = found.find(({ address }) => !mayReach(address));
      if (bad) {
        return done(new BlockedAddressError(`${hostname} is ${bad.address}: not public`), '');
      }
      const [first] = found;
      if (options.all || !first) return done(null, [...found]);
      return done(null, first.address, first.family);
    });
  };
}

/** @throws Error for a range that is not in CIDR notation. */
export function publicConnector(options: PublicConnectorOptions): Connector {
  const { allowedRanges, timeoutMs, lookup = dns.lookup } = options;
  const judge = addressJudge(allowedRanges);

  const guarded = (isAcceptable: (verdict: ReturnType<typeof judge>) => boolean): Connector => {
    const mayReach = (address: string) => isAcceptable(judge(address));
    const dial =
      options.connector ??
      buildConnector({ timeout: timeoutMs, lookup: guardedLookup(lookup, mayReach) });
    return (target, done) => {
      const literal = literalAddress(target.hostname);
      if (literal !== undefined && !mayReach(literal)) {
        return done(new BlockedAddressError(`${literal} is not public`), null);
      }
      return dial(target, (error, socket) => {
        if (error) return done(error, null);
        const peer = socket.remoteAddress;
        if (peer !== undefined && mayReach(peer)) return done(null, socket);
        socket.destroy();
        // A socket without a peer is already closed again: bad luck, not a bad address.
        if (peer === undefined) return done(new Error('closed as soon as it was open'), null);
        return done(new BlockedAddressError(`${target.hostname} is ${peer}: not public`), null);
      });
    };
  };

  const secure = guarded((verdict) => verdict !== 'refused');
  const plain = guarded((verdict) => verdict === 'allowed');
  return (target, done) => (target.protocol === 'https:' ? secure : plain)(target, done);
}
