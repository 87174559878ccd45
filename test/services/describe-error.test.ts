import { describe, expect, it } from 'vitest';
import { textFault } from '../../persistence/text.ts';
import { describeError } from '../../services/describe-error.ts';

const throwing = () => {
  throw new Error('a trap');
};

function chain(length: number): Error {
  let error = new Error('the first');
  for (let i = 1; i < length; i += 1) error = new Error(`number ${i}`, { cause: error });
  return error;
}

const inACircle = new Error('a circle');
inACircle.cause = new Error('its other half', { cause: inACircle });

const hostileGetter = Object.defineProperty(new Error(), 'message', { get: throwing });
const hostileProxy = new Proxy(
  {},
  { get: throwing, getPrototypeOf: throwing, ownKeys: throwing, has: throwing },
);
const hostileErrorProxy = new Proxy(new Error('inside'), { get: throwing, has: throwing });

const cases: readonly (readonly [string, unknown, string | RegExp])[] = [
  ['an error', new TypeError('no such thing'), 'TypeError: no such thing'],
  ['a code', Object.assign(new Error('gone'), { code: 'ECONNRESET' }), 'Error [ECONNRESET]: gone'],
  ['a cause', new Error('a', { cause: new Error('b') }), 'Error: a\ncaused by Error: b'],
  ['an aggregate', new AggregateError([new Error('one')]), 'AggregateError\ncaused by Error: one'],
  ['a circle of causes', inACircle, /its other half\ncaused by an error that is already named$/],
  ['undefined', undefined, 'undefined (nothing was thrown)'],
  ['null', null, 'null (thrown, but no Error)'],
  ['a string', 'oh', 'oh (thrown, but no Error)'],
  ['a BigInt', 10n, '10n (thrown, but no Error)'],
  ['a symbol', Symbol('s'), 'Symbol(s) (thrown, but no Error)'],
  ['an object', { status: 500 }, '{ status: 500 } (thrown, but no Error)'],
  ['a function', () => 1, /Function/],
  ['a message that is no string', Object.assign(new Error(), { message: 5n }), 'Error: 5n'],
  ['a getter that throws', hostileGetter, 'Error'],
  ['a proxy that throws', hostileProxy, /./],
  ['a proxy of an error that throws', hostileErrorProxy, /./],
  ['NUL', new Error('a\u0000b'), 'Error: a\uFFFDb'],
  ['half a surrogate pair', new Error('a\ud800b'), 'Error: a\uFFFDb'],
];

describe('describeError', () => {
  it.each(cases)('describes %s', (_, thrown, expected) => {
    const text = describeError(thrown);
    if (typeof expected === 'string') expect(text).toBe(expected);
    else expect(text).toMatch(expected);
  });

  it.each([
    ['a message of 10 MB', new Error('x'.repeat(10_000_000))],
    ['10 MB thrown as a string', 'x'.repeat(10_000_000)],
    ['a chain of 1,000 causes', chain(1000)],
    ['surrogate pairs at the limit', new Error('\u{1F600}'.repeat(5000))],
    ['a wide and deep object', { list: Array.from({ length: 5000 }, () => ({ a: { b: {} } })) }],
    ['an aggregate of aggregates', new AggregateError([1, 2, 3].map(() => chain(1000)))],
  ])('bounds %s', (_, thrown) => {
    const text = describeError(thrown);
    expect(text.length).toBeLessThanOrEqual(2000);
    expect(textFault(text)).toBeUndefined();
  });

  it('says that it stopped at the fifth cause', () => {
    expect(describeError(chain(1000)).split('\n')).toEqual([
      'Error: number 999',
      ...[998, 997, 996, 995, 994].map((n) => `caused by Error: number ${n}`),
      'caused by more that is not shown',
    ]);
  });
});
