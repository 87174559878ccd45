// What no file says. Each ban looks at one kind of text (code, comments, everything but comments)
// in some folders, and gives an example of what it catches.

import { only, type TokenKind } from './lexer.ts';
import { isCode, roomOf, type SourceFile } from './tree.ts';

export interface Ban {
  readonly name: string;
  readonly pattern: RegExp;
  readonly in: readonly TokenKind[];
  readonly where?: (path: string) => boolean;
  /** A small file that it catches. */
  readonly bad: SourceFile;
}

const inRoom =
  (...rooms: readonly string[]) =>
  (path: string) =>
    rooms.includes(roomOf(path));
const notIn =
  (...rooms: readonly string[]) =>
  (path: string) =>
    !rooms.includes(roomOf(path));
const isTest = (path: string) => path.startsWith('test/');

const code: readonly TokenKind[] = ['code'];
const allButComments: readonly TokenKind[] = ['code', 'string', 'template', 'regex'];
const sample = (path: string, text: string): SourceFile => ({ path, text });

export const bans: readonly Ban[] = [
  {
    name: 'a default export',
    pattern: /\bexport\s+default\b/g,
    in: code,
    where: (path) => !/\.config\.m?ts$/.test(path),
    bad: sample('machines/bad.ts', 'export default 1;'),
  },
  {
    name: 'a barrel',
    pattern: /\bexport\s+\*/g,
    in: code,
    bad: sample('machines/bad.ts', "export * from './outbox.ts';"),
  },
  {
    name: 'any',
    pattern: /(?<![.\w])any\b(?!\s*\()/g,
    in: code,
    bad: sample('machines/bad.ts', 'const x = y as any;'),
  },
  {
    name: 'an enum',
    pattern: /^\s*(export\s+)?(declare\s+)?(const\s+)?enum\s+\w/gm,
    in: code,
    bad: sample('machines/bad.ts', 'export enum Status { open }'),
  },
  {
    name: 'a comment that puts work off',
    pattern: /\b(TODO|FIXME|XXX|HACK)\b/g,
    in: ['comment'],
    bad: sample('machines/bad.ts', '// TODO: later'),
  },
  {
    name: 'a comment that silences the compiler',
    pattern: /@ts-(ignore|nocheck)/g,
    in: ['comment'],
    bad: sample('machines/bad.ts', '// @ts-ignore'),
  },
  {
    name: 'console',
    pattern: /\bconsole\s*\./g,
    in: code,
    where: notIn('scripts', 'bench'),
    bad: sample('services/bad.ts', 'console.log(1);'),
  },
  {
    name: 'a test that is focused, skipped or to do',
    pattern: /\b(it|test|describe)(\.\w+)*\.(only|skip|todo)\b/g,
    in: code,
    bad: sample('test/bad.test.ts', "it.only('is here', () => {});"),
  },
  {
    name: 'a test that is named by a wish',
    pattern: /(\b(it|test|describe)(\.\w+)*|\))\s*\(\s*(['"`])[^'"`]*\bshould\b/g,
    in: ['code', 'string', 'template'],
    where: (path) => path.endsWith('.test.ts'),
    bad: sample('test/bad.test.ts', "it.each([1])('should work', () => {});"),
  },
  {
    name: 'polling for time',
    pattern: /\bvi\.(waitFor|waitUntil)\b|\bexpect\.poll\b/g,
    in: code,
    where: isTest,
    bad: sample('test/bad.test.ts', 'await vi.waitFor(() => done);'),
  },
  {
    name: 'a sleep in a test',
    pattern:
      /timers\/promises|new Promise\b[^;]{0,80}\bsetTimeout\b|\bsetTimeout\(\s*(resolve|done)\b/g,
    in: ['code', 'string'],
    where: isTest,
    bad: sample('test/bad.test.ts', 'await new Promise((resolve) => setTimeout(resolve, 50));'),
  },
  {
    name: "the process's clock on its way to SQL",
    pattern: /\bnew Date\b|\bDate\.now\b/g,
    in: code,
    where: (path) => inRoom('persistence')(path) && path !== 'persistence/instant.ts',
    bad: sample('persistence/bad.ts', 'const now = new Date();'),
  },
  {
    name: 'an advisory lock of the session',
    pattern: /\bpg_(try_)?advisory_lock(_shared)?\s*\(/gi,
    in: allButComments,
    // A test may learn by one that the server has let go of a connection.
    where: (path) => !path.startsWith('test/'),
    bad: sample('persistence/bad.ts', 'sql`select pg_advisory_lock(1)`;'),
  },
  {
    name: 'a NOTIFY in a trigger',
    pattern: /\bpg_notify\b|\bnotify\b/gi,
    in: allButComments,
    where: (path) => /^persistence\/(guards\.ts|migrations\/)/.test(path),
    bad: sample('persistence/migrations/0009-bad.ts', "`perform pg_notify('due', new.id)`;"),
  },
  {
    name: 'SQL outside persistence',
    pattern: /\bsql\s*`|\bsql\.(raw|ref|id)\b/g,
    in: ['code', 'template'],
    where: notIn('persistence', 'bench', 'scripts', 'test'),
    bad: sample('services/bad.ts', 'await sql`select 1`.execute(db);'),
  },
];

/** This file, whose examples are what it bans. */
const self = 'test/tidy/bans.ts';

/** Where a file says what the ban is about. */
export function caught(ban: Ban, file: SourceFile): readonly string[] {
  if (!isCode(file) || file.path === self || ban.where?.(file.path) === false) return [];
  const text = only(file.text, ban.in);
  return [...text.matchAll(ban.pattern)].map(({ index }) => {
    const line = text.slice(0, index).split('\n').length;
    return `${file.path}:${line}: ${ban.name}`;
  });
}

/**
 * Words of the place where somebody works, which a reader elsewhere cannot use. Written in two
 * parts, so that this file does not name them.
 */
const workplaceWords = ['/wor' + 'k/', 'registry.npm' + 'js', 'localhost:48' + '73'];

export const workplaceWordsIn = ({ path, text }: SourceFile): readonly string[] =>
  workplaceWords.filter((word) => text.includes(word)).map((word) => `${path}: ${word}`);
