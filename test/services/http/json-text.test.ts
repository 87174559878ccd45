// What only the text shows: members that are there twice, digits that are lost.

import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { readJsonText } from '../../../services/http/json-text.ts';

const read = (text: string) => readJsonText(text, JSON.parse(text));
const told = (text: string) => read(text).problems.map(({ code, pointer }) => `${code} ${pointer}`);

describe('the text of a body', () => {
  it.each<[string, string, readonly string[]]>([
    ['a member twice', '{"a":1,"a":2}', ['duplicate_key /a']],
    ['a cell twice', '{"content":{"cells":{"A1":1, "A1":2}}}', ['duplicate_key /content/cells/A1']],
    ['one written differently', '{"a":1,"\\u0061":2}', ['duplicate_key /a']],
    ['one in a list', '[0, {"x":[], "x":{}}]', ['duplicate_key /1/x']],
    ['__proto__ twice', '{"__proto__":1,"__proto__":2}', ['duplicate_key /__proto__']],
    ['a name that needs escaping', '{"a/b":{"~":1,"~":2}}', ['duplicate_key /a~1b/~0']],
    ['a large integer', '{"a":[12345678901234567890]}', ['loses_digits /a/0']],
    ['a large negative one', '{"a" : -9007199254740993 }', ['loses_digits /a']],
    ['a large one alone', '9007199254740993', ['loses_digits ']],
  ])('is searched: %s', (_, text, problems) => {
    expect(told(text)).toEqual(problems);
  });

  it.each([
    ['names in different objects', '{ "a": {"x":1}, "b": {"x":1} }'],
    ['a name as a value', '{ "a": "a", "b": ["a", "a"] }'],
    ['quotes and braces in texts', '{ "a": "\\"{[,:\\\\", "b": "}]" }'],
    ['numbers of every form', '{ "a": [1.0, 1e3, -0, 9007199254740991, 1e400] }'],
    ['words', '[ true, false, null ]'],
    ['nothing', ' {} '],
  ])('may have %s', (_, text) => {
    expect(told(text)).toEqual([]);
  });

  it('agrees with JSON.parse on every value, however it is spaced', () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        const text = JSON.stringify({ value, after: [value] }, undefined, 2);
        const { problems, textOf } = read(text);
        const codes = new Set(problems.map(({ code }) => code));
        codes.delete('loses_digits');
        expect([...codes]).toEqual([]);
        expect(JSON.parse(textOf('value') ?? '')).toEqual(JSON.parse(text).value);
        expect(JSON.parse(textOf('after') ?? '')).toEqual(JSON.parse(text).after);
      }),
    );
  });

  it('gives back a member as it was sent', () => {
    expect(read('{"content": {"a" : -0} ,"x":1}').textOf('content')).toBe('{"a" : -0}');
    expect(read('{"content":{"a":1.5}}').textOf('content')).toBe('{"a":1.5}');
    expect(read('{"content":1}').textOf('toString')).toBe(undefined);
    expect(read('[1]').textOf('content')).toBe(undefined);
  });

  it('may be deeper than the stack is', () => {
    const deep = `${'['.repeat(50_000)}${']'.repeat(50_000)}`;
    expect(told(deep)[0]).toMatch(/^too_deep /);
  });
});
