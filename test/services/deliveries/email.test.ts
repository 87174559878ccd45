import { afterEach, describe, expect, it } from 'vitest';
import type { Message } from '../../../services/deliveries/channel.ts';
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

async function sink(answer: Answer) {
  const opened = await openMailSink(answer);
  cleanups.push(opened.close);
  return { ...opened, channel: emailChannel({ url: opened.url, timeoutMs: 30_000 }) };
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
    ['sender', 451, true],
    ['sender', 550, true],
    ['recipient', 450, true],
    ['recipient', 550, false],
    ['data', 452, true],
    ['data', 554, false],
    ['connect', 554, true],
  ] as const)('refused at %s with %i: retryable is %s', async (where, code, retryable) => {
    const { channel } = await sink(async (stage) => (stage === where ? refusal(code) : undefined));
    expect(await channel.send(message, never)).toMatchObject({
      result: 'failed',
      retryable,
      unknown: false,
      error: expect.stringContaining(`refused with ${code}`),
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
