// What the API refuses: by which name, at which field, and without a trace in the database.

import { describe, expect, it } from 'vitest';
import { openDeliveryApi } from '../../support/delivery-api.ts';
import { useOpened } from '../../support/opened.ts';

const database = useOpened();
const email = { channel: 'email', to: 'ada@example.com', subject: 'Hello', body: 'It works.' };
const webhook = {
  channel: 'webhook',
  to: 'https://example.com/hooks',
  type: 'a.b',
  data: { a: 1 },
};
const nested = (levels: number) => `${'['.repeat(levels)}${']'.repeat(levels)}`;
const withData = (json: string) => JSON.stringify(webhook).replace('{"a":1}', json);

const api = () => openDeliveryApi(database(), { webhooks: { allowedRanges: ['10.9.0.0/16'] } });

async function written(): Promise<number> {
  const { rows } = await database().db.executeQuery<{ count: number }>(
    database()
      .db.selectFrom('fencepost.delivery')
      .select((all) => all.fn.countAll<number>().as('count'))
      .compile(),
  );
  return rows[0]?.count ?? -1;
}

const urls: readonly (readonly [string, string])[] = [
  ['', 'bad_url'],
  ['example.com', 'bad_url'],
  ['ftp://example.com', 'bad_url'],
  ['javascript:alert(1)', 'bad_url'],
  ['https:example.com', 'bad_url'],
  ['https://', 'bad_url'],
  ['https://exa mple.com', 'bad_url'],
  ['https://exa\nmple.com', 'bad_url'],
  [' https://example.com', 'bad_url'],
  ['https:\\\\example.com', 'bad_url'],
  ['https://example.com\\@10.0.0.1', 'bad_url'],
  ['https://example.com:99999', 'bad_url'],
  ['https://example.com/\u0000', 'bad_url'],
  ['https://example.com/\ud800', 'bad_url'],
  [`https://example.com/${'x'.repeat(2000)}`, 'too_long'],
  [`https://example.com/${'ü'.repeat(700)}`, 'too_long'],
  ['https://ada@example.com', 'userinfo'],
  ['https://ada:secret@example.com', 'userinfo'],
  ['https://example.com/#a', 'fragment'],
  ['https://example.com/#', 'fragment'],
  ['http://example.com', 'insecure_url'],
  ['http://93.184.215.14', 'insecure_url'],
  ['https://127.0.0.1', 'private_address'],
  ['https://127.0.0.1.', 'private_address'],
  ['https://2130706433', 'private_address'],
  ['https://0x7f.1', 'private_address'],
  ['https://0177.0.0.1', 'private_address'],
  ['https://①②⑦.0.0.1', 'private_address'],
  ['https://%31%32%37.0.0.1', 'private_address'],
  ['https://[::ffff:127.0.0.1]', 'private_address'],
  ['https://[::127.0.0.1]', 'private_address'],
  ['https://0.0.0.0', 'private_address'],
  ['https://[::1]', 'private_address'],
  ['https://[fd00::1]', 'private_address'],
  ['https://169.254.169.254/latest/meta-data', 'private_address'],
  ['https://10.8.0.1', 'private_address'],
  ['https://localhost', 'private_address'],
  ['https://LOCALHOST.', 'private_address'],
  ['https://db.localhost', 'private_address'],
  ['http://localhost:3000', 'private_address'],
];

const bodies: readonly (readonly [string, unknown, string, string])[] = [
  ['nothing known', {}, '/channel', 'missing'],
  ['no object', [], '', 'wrong_type'],
  ['null', 'null', '', 'wrong_type'],
  ['another channel', { ...email, channel: 'pigeon' }, '/channel', 'unknown_channel'],
  ['a channel of the prototype', { ...email, channel: '__proto__' }, '/channel', 'unknown_channel'],
  ['a channel in capitals', { ...email, channel: 'EMAIL' }, '/channel', 'unknown_channel'],
  ['a channel that is a number', { ...email, channel: 1 }, '/channel', 'wrong_type'],
  ['a mail with data', { ...email, data: 1 }, '/data', 'unknown_key'],
  ['a mail to a URL', { ...email, to: webhook.to }, '/to', 'bad_address'],
  ['a mail of two lines', { ...email, subject: 'a\nb' }, '/subject', 'line_break'],
  ['a mail with NUL', { ...email, body: 'a\u0000' }, '/body', 'nul'],
  ['a webhook with a subject', { ...webhook, subject: 'Hello' }, '/subject', 'unknown_key'],
  ['a webhook to nobody', { ...webhook, to: undefined }, '/to', 'missing'],
  ['a webhook to several', { ...webhook, to: [webhook.to] }, '/to', 'wrong_type'],
  ['a type with a blank', { ...webhook, type: 'a b' }, '/type', 'bad_type'],
  ['a type of nothing', { ...webhook, type: '' }, '/type', 'bad_type'],
  ['a type too long', { ...webhook, type: 'a'.repeat(129) }, '/type', 'bad_type'],
  ['a type that is null', { ...webhook, type: null }, '/type', 'wrong_type'],
  ['no data', { ...webhook, data: undefined }, '/data', 'missing'],
  ['NUL in data', { ...webhook, data: ['a\u0000'] }, '/data', 'nul'],
  ['NUL in a key', { ...webhook, data: { a: { 'b\u0000': 1 } } }, '/data', 'nul'],
  ['half a pair', { ...webhook, data: { a: '\ud800' } }, '/data', 'lone_surrogate'],
  ['half a pair in a key', { ...webhook, data: { '\udc00': 1 } }, '/data', 'lone_surrogate'],
  ['NUL under __proto__', withData('{"__proto__":{"a":"\\u0000"}}'), '/data', 'nul'],
  ['101 levels', withData(nested(102)), '/data', 'too_deep'],
  ['100,000 levels', withData(nested(100_000)), '/data', 'too_deep'],
  ['2^53', withData('9007199254740992'), '/data', 'unsafe_integer'],
  ['a long number', withData('{"a":[12345678901234567890]}'), '/data', 'unsafe_integer'],
  ['a number beyond all', withData('1e400'), '/data', 'not_json'],
  ['more than a MiB', { ...webhook, data: 'x'.repeat(1_048_576) }, '/data', 'too_long'],
];

describe('a delivery that is refused', () => {
  it.each(urls.map(([to, code]) => [JSON.stringify(to).slice(0, 60), code, to] as const))(
    'has a URL that is not sent to: %s is %s',
    async (_, code, to) => {
      const { post } = await api();
      const refused = await post('/v1/deliveries', { ...webhook, to });
      expect(refused.status).toBe(422);
      expect(refused.body['errors']).toMatchObject([{ pointer: '/to', code }]);
      expect(await written()).toBe(0);
    },
  );

  it.each(bodies)('is %s', async (_, body, pointer, code) => {
    const { post } = await api();
    const refused = await post('/v1/deliveries', body);
    expect(refused.status).toBe(422);
    expect(refused.body).toMatchObject({ code: 'invalid_request', errors: [{ pointer, code }] });
    expect(await written()).toBe(0);
  });

  it('is a webhook where none are sent', async () => {
    const { post } = await openDeliveryApi(database());
    const { body } = await post('/v1/deliveries', webhook);
    const detail = 'There is no such channel. Known: email.';
    expect(body['errors']).toEqual([{ pointer: '/channel', code: 'unknown_channel', detail }]);
    expect(await written()).toBe(0);
  });

  it('is one of 70 in these tables', () => {
    expect(urls.length + bodies.length).toBe(70);
  });
});
