// Names become identifiers, literals and parts of trigger names without any escaping, so what would
// need some is refused, wherever a declaration can name something.

import { describe, expect, it } from 'vitest';
import { checkMachine } from '../../machines/check.ts';
import type { Machine } from '../../machines/status-machine.ts';
import { lit, when } from '../../machines/vocabulary.ts';
import { arrowAt, errand, withArrows } from './errand.ts';

const hostile = [
  ['a quote', `a'b`],
  ['a double quote', 'a"b'],
  ['dollars', 'a$$b'],
  ['the quote of a trigger function', '$guard$'],
  ['a line end', 'a\nb'],
  ['a line end at its end', 'ab\n'],
  ['a space', 'a b'],
  ['a semicolon', 'a;b'],
  ['a backslash', 'a\\b'],
  ['an upper-case letter', 'aB'],
  ['a letter beyond ASCII', 'ä'],
  ['NUL', 'a\u0000'],
  ['a digit in front', '1a'],
  ['64 bytes', 'a'.repeat(64)],
  ['41 bytes', 'a'.repeat(41)],
  ['nothing', ''],
] as const;

const positions: Readonly<Record<string, (name: string) => Machine>> = {
  'the machine': (name) => ({ ...errand, id: name }),
  'the table': (name) => ({ ...errand, table: name }),
  'a column': (name) => ({ ...errand, columns: { ...errand.columns, [name]: 'text' } }),
  'a status': (name) => ({
    ...withArrows('open', 'cancel', { target: name }),
    states: {
      ...withArrows('open', 'cancel', { target: name }).states,
      [name]: { type: 'final' },
    },
  }),
  'a check': (name) => ({ ...errand, checks: { [name]: lit(true) } }),
  'a field': (name) => ({
    ...errand,
    events: {
      ...errand.events,
      finish: { by: 'owner', fields: { ...errand.events['finish']?.fields, [name]: 'text' } },
    },
  }),
  'a condition': (name) =>
    withArrows('open', 'cancel', { guard: when({ [name]: lit(true) }), target: 'canceled' }),
  'an event': (name) => ({
    ...withArrows('open', name, arrowAt('open', 'cancel')),
    events: {
      ...errand.events,
      [name]: { by: 'operator', fields: errand.events['cancel']?.fields ?? {} },
    },
  }),
};

describe.each(Object.entries(positions))('the name of %s', (_, named) => {
  it.each(hostile)('is refused with %s', (_what, name) => {
    expect(() => checkMachine(named(name))).toThrow(/is no name/);
  });

  it('may have 40 bytes', () => {
    expect(() => checkMachine(named('a'.repeat(40)))).not.toThrow();
  });
});

describe('the name of an event', () => {
  const position = positions['an event'];

  it('may have dots between words', () => {
    expect(() => position && checkMachine(position('step.ok'))).not.toThrow();
  });

  it.each(['.ok', 'step.', 'step..ok', '*'])('is refused as "%s"', (name) => {
    expect(() => position && checkMachine(position(name))).toThrow(
      `"${name}" is no name of an event`,
    );
  });
});

describe('hostile names', () => {
  it('are tried in every position but that of a command', () => {
    expect(Object.keys(positions)).toHaveLength(8);
    expect(hostile).toHaveLength(16);
  });
});
