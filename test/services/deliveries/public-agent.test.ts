// Addresses that a webhook must never reach. Every connection goes through a connector that records
// it and dials nothing.

import dns, { type LookupAddress } from 'node:dns';
import { Socket } from 'node:net';
import type { buildConnector } from 'undici';
import { afterEach, describe, expect, it } from 'vitest';
import type { PublicConnectorOptions } from '../../../services/deliveries/public-agent.ts';
import { webhookChannel } from '../../../services/deliveries/webhook.ts';
import { answer, openHttpSink } from '../../support/http-sink.ts';

const secret = `whsec_${Buffer.alloc(32, 7).toString('base64')}`;

const cleanups: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0)) await cleanup();
});

async function send(recipient: string, options: Partial<PublicConnectorOptions>) {
  const channel = webhookChannel({ secret, allowedRanges: [], timeoutMs: 30_000, ...options });
  const message = { recipient, messageKey: 'msg_1', payload: '{}', createdAt: 0 };
  return await channel.send(message, new AbortController().signal);
}

/** A connector that dials nothing. With a peer, it pretends to have reached that. */
function pretending(peer?: string) {
  const dialled: string[] = [];
  const sockets: Socket[] = [];
  const connector: buildConnector.connector = ({ hostname }, done) => {
    dialled.push(hostname);
    if (peer === undefined) return done(new Error('dialled'), null);
    const socket = new Socket();
    Object.defineProperty(socket, 'remoteAddress', { value: peer });
    sockets.push(socket);
    return done(null, socket);
  };
  return { connector, dialled, sockets };
}

/** A look-up that says what it is told, and asks nobody. */
const resolving = (...addresses: readonly string[]): typeof dns.lookup => {
  const found: LookupAddress[] = addresses.map((address) => {
    return { address, family: address.includes(':') ? 6 : 4 };
  });
  const lookup = (_name: string, _options: object, done: (...of: unknown[]) => void) => {
    setImmediate(() => done(null, found));
  };
  return lookup as unknown as typeof dns.lookup;
};

const blocked = {
  result: 'failed',
  retryable: false,
  unknown: false,
  error: expect.stringContaining('[blocked_address]'),
};
const dialledIt = { result: 'failed', retryable: true, error: 'Error: dialled' };

const bad = [
  ...[
    '127.0.0.1',
    '127.1',
    '2130706433',
    '0x7f.1',
    '0177.0.0.1',
    '127.255.255.254',
    '0.0.0.0',
    '0',
  ],
  ...['10.0.0.1', '172.16.0.1', '172.31.255.255', '192.168.0.1', '100.64.0.1', '169.254.169.254'],
  ...['192.0.0.1', '192.0.2.1', '198.18.0.1', '224.0.0.1', '240.0.0.1', '255.255.255.255'],
  ...['[::1]', '[::]', '[::ffff:127.0.0.1]', '[::ffff:10.0.0.1]', '[::127.0.0.1]', '[fe80::1]'],
  ...['[fc00::1]', '[fd12::1]', '[ff02::1]', '[fec0::1]', '[64:ff9b::7f00:1]', '[2002:7f00:1::]'],
  ...['[2001:db8::1]', '[2001::1]', '[100::1]', '[::7f00:1]', '[4000::1]'],
];

describe('a webhook to an address that is not public', () => {
  it.each(bad)('is not dialled: %s', async (host) => {
    const { connector, dialled } = pretending();
    expect(await send(`https://${host}/`, { connector })).toEqual(blocked);
    expect(dialled).toEqual([]);
  });

  it('is checked against 37 notations', () => {
    expect(bad).toHaveLength(37);
  });

  it.each(['93.184.215.14', '[2606:4700::1111]'])('is one that is: %s', async (host) => {
    const { connector, dialled } = pretending();
    expect(await send(`https://${host}/`, { connector })).toMatchObject(dialledIt);
    expect(dialled).toEqual([host.replace(/[[\]]/g, '')]);
  });

  it.each([
    ['127.0.0.1', ['127.0.0.0/8']],
    ['[::ffff:127.0.0.1]', ['127.0.0.0/8']],
    ['10.1.2.3', ['192.168.0.0/16', '10.1.0.0/16']],
    ['[fd12::1]', ['fd12::/16']],
  ])('is dialled where its range is allowed: %s by %j', async (host, allowedRanges) => {
    const { connector } = pretending();
    expect(await send(`https://${host}/`, { connector, allowedRanges })).toMatchObject(dialledIt);
    expect(await send(`http://${host}/`, { connector, allowedRanges })).toMatchObject(dialledIt);
  });

  it.each([
    ['10.2.0.1', ['10.1.0.0/16']],
    ['127.0.0.1', ['::/0']],
    ['[::1]', ['127.0.0.0/8']],
  ])('is not dialled by another range: %s by %j', async (host, allowedRanges) => {
    const { connector, dialled } = pretending();
    expect(await send(`https://${host}/`, { connector, allowedRanges })).toEqual(blocked);
    expect(dialled).toEqual([]);
  });

  it('is not dialled without TLS, though it is public', async () => {
    const { connector, dialled } = pretending();
    expect(await send('http://93.184.215.14/', { connector })).toEqual(blocked);
    expect(dialled).toEqual([]);
  });

  it.each(['127.0.0.1', '::ffff:10.0.0.1', '169.254.169.254', '::1'])(
    'is hung up on when the peer turns out to be %s',
    async (peer) => {
      const { connector, sockets } = pretending(peer);
      expect(await send('https://hooks.example/', { connector })).toEqual(blocked);
      expect(sockets.map(({ destroyed }) => destroyed)).toEqual([true]);
    },
  );

  it.each(['127.0.0.0', '10.0.0.0/33', 'localhost/8', ''])('is no range: %j', (range) => {
    const begin = () => webhookChannel({ secret, allowedRanges: [range], timeoutMs: 1000 });
    expect(begin).toThrow('ipaddr');
  });
});

describe('a webhook to a name', () => {
  it.each([
    ['https', ['127.0.0.1']],
    ['https', ['::ffff:127.0.0.1']],
    ['https', ['93.184.215.14', '127.0.0.1']],
    ['https', ['127.0.0.1', '93.184.215.14']],
    ['https', ['2606:4700::1111', 'fe80::1']],
    ['http', ['93.184.215.14']],
  ])('is not dialled by %s when the name is %j', async (protocol, addresses) => {
    const sink = await openHttpSink({});
    cleanups.push(sink.close);
    const lookup = resolving(...addresses);
    expect(await send(`${protocol}://hooks.example:${sink.port}/`, { lookup })).toEqual(blocked);
    expect(sink.connections()).toBe(0);
  });

  it('is sent where all its addresses are allowed', async () => {
    const sink = await openHttpSink({ onRequest: (socket) => socket.end(answer(200)) });
    cleanups.push(sink.close);
    const options = { lookup: resolving('127.0.0.1'), allowedRanges: ['127.0.0.1/32'] };
    const sent = await send(`http://hooks.example:${sink.port}/`, options);
    expect(sent).toMatchObject({ result: 'sent' });
    expect(sink.requests[0]?.headers['host']).toBe(`hooks.example:${sink.port}`);
  });

  it('may pass when the name is not known', async () => {
    const notFound = Object.assign(new Error('getaddrinfo'), { code: dns.NOTFOUND });
    const lookup = ((_name: string, _options: object, done: (error: Error) => void) => {
      setImmediate(() => done(notFound));
    }) as unknown as typeof dns.lookup;
    expect(await send('https://hooks.example/', { lookup })).toMatchObject({
      result: 'failed',
      retryable: true,
      unknown: false,
      error: expect.stringContaining('ENOTFOUND'),
    });
  });
});
