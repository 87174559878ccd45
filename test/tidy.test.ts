// The house style as a test: what can be checked about the tree without running it. Each rule is
// also shown something bad, so that a rule that stopped to see is noticed.

import { describe, expect, it } from 'vitest';
import { bans, caught, workplaceWordsIn } from './tidy/bans.ts';
import { circles, importsOf, wrongImports } from './tidy/imports.ts';
import { only } from './tidy/lexer.ts';
import { shapeRules } from './tidy/shape.ts';
import { readTree, type SourceFile } from './tidy/tree.ts';

const tree = readTree();
const file = (path: string, text: string): SourceFile => ({ path, text });

describe('the tree', () => {
  it('is read whole', () => {
    const paths = tree.map(({ path }) => path);
    expect(paths).toContain('machines/outbox.ts');
    expect(paths).toContain('test/tidy.test.ts');
    expect(paths.filter((path) => path.includes('node_modules'))).toEqual([]);
  });
});

describe('the shape of files', () => {
  it.each(Object.entries(shapeRules))('follows the rule of %s', (_, rule) => {
    expect(tree.flatMap(rule)).toEqual([]);
  });

  it.each<[keyof typeof shapeRules, string, SourceFile]>([
    ['names', 'capitals', file('machines/OutBox.ts', '')],
    ['names', 'an underscore', file('machines/out_box.ts', '')],
    ['names', 'a folder without a concept', file('services/utils/x.ts', '')],
    ['names', 'a file without a concept', file('services/helpers.ts', '')],
    ['length', '401 lines', file('machines/long.ts', 'x\n'.repeat(401))],
    ['width', '101 columns', file('machines/wide.ts', `// ${'x'.repeat(98)}\n`)],
    ['width', 'a long string', file('machines/wide.ts', `const x = '${'x'.repeat(98)}';\n`)],
    ['header', 'no header', file('persistence/bare.ts', "import { sql } from 'kysely';\n")],
  ])('is checked: %s sees %s', (name, _, bad) => {
    expect(shapeRules[name](bad)).toHaveLength(1);
  });

  it('lets a line inside a template be long', () => {
    const text = `const x = \`\n${'x'.repeat(200)}\`;\n`;
    expect(shapeRules.width(file('persistence/sql.ts', text))).toEqual([]);
  });
});

describe('imports', () => {
  it('point one way', () => {
    expect(wrongImports(tree)).toEqual([]);
  });

  it('make no circle', () => {
    expect(circles(tree)).toEqual([]);
  });

  it.each([
    ['machines/bad.ts', '../persistence/print.ts'],
    ['machines/bad.ts', 'zod'],
    ['machines/bad.ts', 'node:fs'],
    ['persistence/bad.ts', '../services/config.ts'],
    ['persistence/bad.ts', 'express'],
    ['services/deliveries/bad.ts', 'kysely'],
    ['services/deliveries/bad.ts', 'pg'],
    ['services/deliveries/bad.ts', '../../server.ts'],
    ['services/deliveries/bad.ts', '../../test/support/database.ts'],
    ['services/deliveries/bad.ts', '../proposals/routes.ts'],
    ['services/http/bad.ts', '../deliveries/enqueue.ts'],
    ['client/bad.ts', 'node:fs'],
    ['client/bad.ts', '../services/config.ts'],
    ['web/bad.ts', '../persistence/print.ts'],
    ['persistence/bad.ts', '../bench/run.ts'],
  ])('are checked: %s may not import %s', (path, name) => {
    expect(wrongImports([file(path, `import { x } from '${name}';\n`)])).toHaveLength(1);
    expect(wrongImports([file(path, `const x = await import('${name}');\n`)])).toHaveLength(1);
  });

  it.each([
    ['machines/good.ts', 'xstate'],
    ['persistence/good.ts', '../machines/outbox.ts'],
    ['persistence/good.ts', 'node:fs'],
    ['services/deliveries/good.ts', '../http/problem.ts'],
    ['services/deliveries/good.ts', '../config.ts'],
    ['server.ts', './services/config.ts'],
    ['test/good.ts', '../server.ts'],
  ])('are checked: %s may import %s', (path, name) => {
    expect(wrongImports([file(path, `import { x } from '${name}';\n`)])).toEqual([]);
  });

  it('are found in types, in re-exports and over several lines, and not in comments', () => {
    const text = [
      "import type { A } from './a.ts';",
      "export { b } from './b.ts';",
      "import {\n  c,\n} from '../c.ts';",
      "import './d.ts';",
      "// import { e } from './e.ts';",
    ].join('\n');
    const found = importsOf(file('machines/x.ts', text)).map(({ to }) => to);
    expect(found).toEqual(['machines/a.ts', 'machines/b.ts', 'c.ts', 'machines/d.ts']);
  });

  it('are checked for circles', () => {
    const importing = (path: string, name: string) => file(path, `import { x } from '${name}';`);
    const round = [
      importing('machines/a.ts', './b.ts'),
      importing('machines/b.ts', './c.ts'),
      importing('machines/c.ts', './a.ts'),
      importing('machines/d.ts', './a.ts'),
    ];
    expect(circles(round)).toEqual(['machines/a.ts → machines/b.ts → machines/c.ts']);
  });
});

describe.each(bans.map((ban) => [ban.name, ban] as const))('a ban: %s', (_, ban) => {
  it('is kept', () => {
    expect(tree.flatMap((each) => caught(ban, each))).toEqual([]);
  });

  it('sees what is bad', () => {
    expect(caught(ban, ban.bad)).toHaveLength(1);
  });
});

describe('words of a workplace', () => {
  it('are in no file', () => {
    expect(tree.flatMap(workplaceWordsIn)).toEqual([]);
  });

  it('are seen in a text of any kind', () => {
    expect(workplaceWordsIn(file('README.md', ['see /wor', 'k/x'].join('')))).toHaveLength(1);
  });
});

describe('the lexer', () => {
  it.each([
    ['a comment', ['a; // b'], 'a;     '],
    ['a string', ["a = 'b // c';"], 'a =         ;'],
    ['a template', ['a(`b$', '{c}d`, e)'], 'a(    c   , e)'],
    ['a template in a template', ['a(`$', '{b(`c$', '{d}`)}`)'], 'a(   b(    d  )  )'],
    ['an object in a template', ['`$', '{{ a: 1 }.a}`'], '   { a: 1 }.a  '],
    ['a regex with a quote', ["a(/'[/]/, b)"], 'a(      , b)'],
    ['a division', ["a / b / c; // 'd'"], 'a / b / c;       '],
    ['an escaped quote', ["a('\\'', b)"], 'a(    , b)'],
  ])('tells code from %s', (_, parts, code) => {
    // In parts, because the linter takes a placeholder in a plain string for a mistake.
    expect(only(parts.join(''), ['code'])).toBe(code);
  });
});
