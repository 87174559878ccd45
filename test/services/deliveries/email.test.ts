import { afterEach, describe, expect, it } from 'vitest';
import type { Message } from '../../../services/deliveries/channel.ts';
import { coolDownNames } from '../../../services/deliveries/cool-downs.ts';
import { emailChannel } from '../../../services/deliveries/email.ts';
import { type Answer, gate, openMailSink, refusal } from '../../support/mail-sink.ts';

const message: Message = {
  recipient: 'ada@example.com',
  messageKey: '<one@fencepost.local>',
  payload: JSON.stringify({ from: 'me@example.com', subject: 'Grüße', body: 'Line 1\n.\nLine 3' }),
  createdAt: 1_700_000_000_123_456,
};

const cleanups: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0)) await cleanup();
});

async function sink(answer: Answer, { timeoutMs = 30_000, login = '' } = {}) {
  const opened = await openMailSink(answer, { asksForLogin: login !== '' });
  cleanups.push(opened.close);
  const url = opened.url.replace('smtp://', `smtp://${login}`);
  return { ...opened, channel: emailChannel({ url, timeoutMs }) };
}

const accept: Answer = async () => undefined;
const never = new AbortController().signal;

describe('the channel email', () => {
  it('sends the same bytes under the same Message-ID with every attempt', async () => {
    const { channel, mails } = await sink(accept);
    expect(await channel.send(message, never)).toEqual({
      result: 'sent',
      receipt: { response: expect.stringMatching(/^250 /) },
    });
    await channel.send(message, never);
    expect(mails).toHaveLength(2);
    expect(mails[0]).toBe(mails[1]);
    expect(mails[0]).toContain('Message-ID: <one@fencepost.local>');
    expect(mails[0]).toContain('Date: Tue, 14 Nov 2023 22:13:20 +0000');
    expect(mails[0]).toContain('To: ada@example.com');
  });

  it.each([
    ['connect', 421, true],
    ['connect', 554, true],
    ['sender', 421, true],
    ['sender', 451, true],
    ['recipient', 421, true],
    ['recipient', 450, true],
    ['recipient', 550, false],
    ['recipient', 553, false],
    ['data', 421, true],
    ['data', 452, true],
    ['data', 552, false],
    ['data', 554, false],
  ] as const)('refused at %s with %i: retryable is %s', async (where, code, retryable) => {
    const { channel } = await sink(async (stage) => (stage === where ? refusal(code) : undefined));
    expect(await channel.send(message, never)).toMatchObject({
      result: 'failed',
      retryable,
      unknown: false,
      error: expect.stringContaining(`refused with ${code}`),
    });
  });

  it.each([
    ['login', 535],
    ['login', 530],
    ['sender', 550],
    ['sender', 553],
  ] as const)(
    'stops the channel, not the mail, when %s is refused with %i',
    async (where, code) => {
      const answer: Answer = async (stage) => (stage === where ? refusal(code) : undefined);
      const { channel, mails } = await sink(answer, { login: 'ada:wrong@' });
      const error = expect.stringContaining(`${code} refused with ${code}`);
      expect(await channel.send(message, never)).toEqual({
        result: 'throttled',
        waitMs: 300_000,
        error,
        coolDown: { scope: 'channel', ms: 300_000, reason: error },
      });
      expect(mails).toEqual([]);
    },
  );

  it('takes a login that fails for the moment for a failure that may pass', async () => {
    const answer: Answer = async (stage) => (stage === 'login' ? refusal(454) : undefined);
    const { channel } = await sink(answer, { login: 'ada:secret@' });
    const failed = await channel.send(message, never);
    expect(failed).toMatchObject({ result: 'failed', retryable: true, unknown: false });
  });

  it('logs in where it is asked to', async () => {
    const { channel, mails } = await sink(accept, { login: 'ada:secret@' });
    expect(await channel.send(message, never)).toMatchObject({ result: 'sent' });
    expect(mails).toHaveLength(1);
  });

  it.each([
    ['connect', false, 'ETIMEDOUT'],
    ['recipient', false, 'ETIMEDOUT'],
    ['data', true, 'ETIMEDOUT'],
  ] as const)(
    'is retryable when %s is never answered: unknown is %s',
    async (where, unknown, code) => {
      const stage = gate();
      const answer: Answer = async (each) => {
        if (each === where) await stage.pass();
        return undefined;
      };
      const { channel } = await sink(answer, { timeoutMs: 400 });
      expect(await channel.send(message, never)).toEqual({
        result: 'failed',
        retryable: true,
        unknown,
        error: expect.stringContaining(`[${code}]`),
      });
      stage.open();
    },
  );

  it('is retryable where the name of the server is not known', async () => {
    const channel = emailChannel({ url: 'smtp://nowhere.invalid:25', timeoutMs: 5000 });
    expect(await channel.send(message, never)).toMatchObject({
      result: 'failed',
      retryable: true,
      unknown: false,
      error: expect.stringContaining('[EDNS]'),
    });
  });

  it('cools down by the domain of an address, in any case', () => {
    const channel = emailChannel({ url: 'smtp://127.0.0.1:25', timeoutMs: 1000 });
    expect(coolDownNames(channel, '"a@b"@Example.COM')).toEqual({
      channel: '',
      destination: 'example.com',
      recipient: '"a@b"@Example.COM',
    });
  });

  it('is retryable, and not unknown, where nobody listens', async () => {
    const { channel, close } = await sink(accept);
    await close();
    expect(await channel.send(message, never)).toMatchObject({ retryable: true, unknown: false });
  });

  it.each([
    ['connect', false],
    ['recipient', false],
    ['data', true],
  ] as const)('aborted while the answer to %s is due: unknown is %s', async (where, unknown) => {
    const stage = gate();
    const { channel } = await sink(async (each) => {
      if (each === where) await stage.pass();
      return undefined;
    });
    const sending = new AbortController();
    const sent = channel.send(message, sending.signal);
    await stage.arrived;
    sending.abort(new Error('enough'));
    expect(await sent).toEqual({
      result: 'failed',
      retryable: true,
      unknown,
      error: 'Error: enough',
    });
    stage.open();
  });

  it('does not begin under a signal that is aborted', async () => {
    const { channel, mails } = await sink(accept);
    const failed = await channel.send(message, AbortSignal.abort(new Error('enough')));
    expect(failed).toMatchObject({ result: 'failed', retryable: true, unknown: false });
    expect(mails).toEqual([]);
  });

  it('fails for good with a payload that it cannot read', async () => {
    const { channel } = await sink(accept);
    const failed = await channel.send({ ...message, payload: '{"from":' }, never);
    expect(failed).toMatchObject({ result: 'failed', retryable: false, unknown: false });
  });
});
