import { Webhook } from 'standardwebhooks';
import { afterEach, describe, expect, it, vi } from 'vitest';
import type { Message } from '../../../services/deliveries/channel.ts';
import { coolDownNames } from '../../../services/deliveries/cool-downs.ts';
import { webhookChannel } from '../../../services/deliveries/webhook.ts';
import { answer, type Behaviour, openHttpSink } from '../../support/http-sink.ts';
import { signal } from '../../support/signal.ts';

const secret = `whsec_${Buffer.alloc(32, 7).toString('base64')}`;
const other = `whsec_${Buffer.alloc(24, 8).toString('base64')}`;
const payload = '{"type":"invoice.paid","data":{"b":1,"a":"Grüße 🎉","__proto__":{}}}';
const never = new AbortController().signal;

const cleanups: (() => Promise<void>)[] = [];
afterEach(async () => {
  vi.useRealTimers();
  for (const cleanup of cleanups.splice(0)) await cleanup();
});

async function receiver(behaviour: Behaviour, timeoutMs = 30_000) {
  const sink = await openHttpSink(behaviour);
  cleanups.push(sink.close);
  const channel = webhookChannel({ secret, allowedRanges: ['127.0.0.0/8'], timeoutMs });
  const message: Message = {
    recipient: `${sink.url}/hooks?to=ada`,
    messageKey: 'msg_1',
    payload,
    createdAt: 1_700_000_000_123_456,
  };
  const send = (changed: Partial<Message> = {}, until: AbortSignal = never) =>
    channel.send({ ...message, ...changed }, until);
  return { ...sink, channel, send };
}

const answering = (text: string): Behaviour => ({ onRequest: (socket) => socket.end(text) });

describe('the channel webhook', () => {
  it('sends the frozen bytes, signed as the public library verifies them', async () => {
    const { send, requests } = await receiver(answering(answer(200, 'thanks')));
    expect(await send()).toEqual({ result: 'sent', receipt: { status: '200', answer: 'thanks' } });
    const [request] = requests;
    expect(request?.line).toBe('POST /hooks?to=ada HTTP/1.1');
    expect(request?.headers).toMatchObject({
      'content-type': 'application/json',
      'webhook-id': 'msg_1',
    });
    expect(request?.body).toBe(payload);
    const { body = '', headers = {} } = request ?? {};
    expect(new Webhook(secret).verify(body, headers)).toEqual(JSON.parse(payload));
    expect(() => new Webhook(other).verify(body, headers)).toThrow('No matching signature');
    expect(() => new Webhook(secret).verify(`${body} `, headers)).toThrow('No matching signature');
  });

  it('keeps id and bytes over all attempts, and signs each with its own time', async () => {
    const { send, requests } = await receiver(answering(answer(500)));
    vi.useFakeTimers({ toFake: ['Date'], now: Date.UTC(2026, 0, 1) });
    await send();
    vi.setSystemTime(Date.UTC(2026, 0, 2));
    await send();
    const [first, second] = requests;
    expect(first?.body).toBe(second?.body);
    expect(first?.headers['webhook-id']).toBe(second?.headers['webhook-id']);
    expect(first?.headers['webhook-timestamp']).toBe(String(Date.UTC(2026, 0, 1) / 1000));
    const { body = '', headers = {} } = second ?? {};
    expect(() => new Webhook(secret).verify(body, headers)).not.toThrow();
    // The first one is a day old by then.
    expect(() => new Webhook(secret).verify(body, first?.headers ?? {})).toThrow('too old');
  });

  it('signs with each of several secrets, so that receivers can change theirs', async () => {
    const { url, requests } = await receiver(answering(answer(200)));
    const options = { secret: `${other}  ${secret}`, allowedRanges: ['127.0.0.1/32'] };
    const channel = webhookChannel({ ...options, timeoutMs: 30_000 });
    await channel.send({ recipient: url, messageKey: 'msg_1', payload, createdAt: 0 }, never);
    const { body = '', headers = {} } = requests[0] ?? {};
    for (const each of [secret, other]) {
      expect(new Webhook(each).verify(body, headers)).toEqual(JSON.parse(payload));
    }
  });

  it.each(['', 'whsec_', 'secret', 'whsec_c2hvcnQ=', `${secret}!`, secret.slice(6), `${secret} x`])(
    'does not begin with the secret %j',
    (bad) => {
      const begin = () => webhookChannel({ secret: bad, allowedRanges: [], timeoutMs: 1000 });
      expect(begin).toThrow(TypeError);
    },
  );

  it.each([
    [204, 'sent'],
    [302, 'failed'],
    [404, 'failed'],
    [410, 'failed'],
    [429, 'throttled'],
    [500, 'failed'],
  ] as const)('reads %i off the wire: %s', async (status, result) => {
    const { send } = await receiver(answering(answer(status, 'why')));
    expect(await send()).toMatchObject({ result });
  });

  it('reads Retry-After off the wire, and none from two', async () => {
    const rest = (values: readonly string[]) =>
      answer(
        429,
        '',
        values.map((value) => ['Retry-After', value] as const),
      );
    const one = await receiver(answering(rest(['120'])));
    expect(await one.send()).toMatchObject({ result: 'throttled', waitMs: 120_000 });
    const two = await receiver(answering(rest(['120', '121'])));
    expect(await two.send()).toMatchObject({ result: 'throttled', waitMs: 60_000 });
  });

  it('follows no redirect', async () => {
    const elsewhere = await receiver(answering(answer(200)));
    const location = [['Location', elsewhere.url]] as const;
    const { send } = await receiver(answering(answer(307, '', location)));
    expect(await send()).toMatchObject({ result: 'failed', retryable: false, unknown: false });
    expect(elsewhere.connections()).toBe(0);
  });

  it('reads 64 kB of an answer without end, and hangs up', async () => {
    const hungUp = signal();
    const chunk = 'x'.repeat(65_536);
    const { send } = await receiver({
      onRequest(socket) {
        socket.write('HTTP/1.1 200 OK\r\n\r\n');
        const pour = () => {
          while (!socket.destroyed && socket.write(chunk));
        };
        socket.on('drain', pour).on('close', () => hungUp.give());
        pour();
      },
    });
    const sent = await send();
    expect(sent).toMatchObject({ result: 'sent', receipt: { status: '200' } });
    expect(JSON.stringify(sent).length).toBeLessThan(1000);
    await hungUp.given;
  });

  it.each([
    [200, { result: 'sent', receipt: { status: '200', answer: 'half' } }],
    [500, { result: 'failed', retryable: true, unknown: false, error: 'HTTP 500: half' }],
  ])('believes the status %i of an answer that breaks off', async (status, expected) => {
    const half = `HTTP/1.1 ${status} Said\r\ncontent-length: 100\r\n\r\nhalf`;
    const { send } = await receiver(answering(half));
    expect(await send()).toEqual(expected);
  });

  it('does not wait for an answer that comes a byte at a time', async () => {
    const { send } = await receiver(
      {
        onRequest(socket) {
          socket.write('HTTP/1.1 200 OK\r\ncontent-length: 1000000\r\n\r\n');
          const drip = setInterval(() => socket.write('x'), 10);
          socket.on('close', () => clearInterval(drip));
        },
      },
      500,
    );
    const sent = await send();
    expect(sent).toMatchObject({
      result: 'sent',
      receipt: { answer: expect.stringMatching(/^x+$/) },
    });
  });

  it.each<[string, Behaviour, string, number?]>([
    ['says nothing', { onRequest: () => undefined }, 'no status within 150 ms', 150],
    [
      'never comes to the end of its headers',
      {
        onRequest(socket) {
          socket.write('HTTP/1.1 200 OK\r\nx: ');
          const drip = setInterval(() => socket.write('y'), 10);
          socket.on('close', () => clearInterval(drip));
        },
      },
      'no status within 150 ms',
      150,
    ],
    ['hangs up', { onRequest: (socket) => socket.destroy() }, 'SocketError'],
    ['resets', { onRequest: (socket) => socket.resetAndDestroy() }, 'ECONNRESET'],
    ['does not speak HTTP', answering('220 mail.example ESMTP\r\n'), 'HTTPParserError'],
    ['has too many headers', answering(answer(200, '', [['x', 'y'.repeat(99_999)]])), 'Headers'],
    ['breaks off in its headers', answering('HTTP/1.1 200 OK\r\nx: y\r\n'), 'SocketError'],
  ])(
    'does not know what became of it when the receiver %s',
    async (_, behaviour, error, timeoutMs) => {
      const { send } = await receiver(behaviour, timeoutMs);
      expect(await send()).toEqual({
        result: 'failed',
        retryable: true,
        unknown: true,
        error: expect.stringContaining(error),
      });
    },
  );

  it('knows that nothing was taken when the receiver hangs up before it has all', async () => {
    const { send } = await receiver({
      onConnection(socket) {
        socket.once('data', () => {
          socket.pause();
          socket.resetAndDestroy();
        });
      },
    });
    const large = JSON.stringify('x'.repeat(20_000_000));
    const failed = await send({ payload: large });
    expect(failed).toMatchObject({ result: 'failed', retryable: true, unknown: false });
  });

  it('believes a refusal that comes before the body is out', async () => {
    const { send } = await receiver({
      onConnection: (socket) => socket.once('data', () => socket.write(answer(413, 'too large'))),
    });
    const large = JSON.stringify('x'.repeat(20_000_000));
    const failed = await send({ payload: large });
    expect(failed).toMatchObject({
      result: 'failed',
      retryable: false,
      error: 'HTTP 413: too large',
    });
  });

  it('is retryable, and not unknown, where nobody listens', async () => {
    const { send, close } = await receiver({});
    await close();
    expect(await send()).toMatchObject({
      result: 'failed',
      retryable: true,
      unknown: false,
      error: expect.stringContaining('ECONNREFUSED'),
    });
  });

  it('stops when it is told to, with what is known by then', async () => {
    const arrived = signal();
    const { send } = await receiver({ onRequest: () => arrived.give() });
    const sending = new AbortController();
    const sent = send({}, sending.signal);
    await arrived.given;
    sending.abort(new Error('enough'));
    expect(await sent).toEqual({
      result: 'failed',
      retryable: true,
      unknown: true,
      error: 'Error: enough',
    });
  });

  it('does not begin under a signal that is aborted', async () => {
    const { send, connections } = await receiver(answering(answer(200)));
    const failed = await send({}, AbortSignal.abort(new Error('enough')));
    expect(failed).toMatchObject({ result: 'failed', retryable: true, unknown: false });
    expect(connections()).toBe(0);
  });

  it.each([
    [{ recipient: 'nowhere' }],
    [{ recipient: 'ftp://127.0.0.1/' }],
    [{ recipient: 'ada@example.com' }],
    [{ messageKey: 'a\r\nb: c' }],
  ])('fails for good with what cannot be sent: %o', async (changed) => {
    const { send, connections } = await receiver(answering(answer(200)));
    expect(await send(changed)).toMatchObject({
      result: 'failed',
      retryable: false,
      unknown: false,
    });
    expect(connections()).toBe(0);
  });

  it.each([
    ['https://Hooks.Example:443/a?b', 'https://hooks.example'],
    ['https://hooks.example:8443/a', 'https://hooks.example:8443'],
    ['nowhere', 'nowhere'],
  ])('cools %s down together with all of %s', (recipient, destination) => {
    const channel = webhookChannel({ secret, allowedRanges: [], timeoutMs: 1000 });
    expect(coolDownNames(channel, recipient)).toEqual({ channel: '', destination, recipient });
  });
});
