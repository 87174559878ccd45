// Rules about the shape of files: their names, their size, their width, their first lines.

import { tokens } from './lexer.ts';
import { isCode, roomOf, type SourceFile } from './tree.ts';

type Rule = (file: SourceFile) => readonly string[];

const kebab = /^\.?[a-z0-9]+(-[a-z0-9]+)*(\.[a-z0-9]+(-[a-z0-9]+)*)*$/;
const shouted = ['README.md', 'CHANGELOG.md', 'CONTRIBUTING.md', 'LICENSE'];
const nowhere = ['util', 'utils', 'helper', 'helpers', 'common', 'misc', 'lib'];

const names: Rule = ({ path }) =>
  path.split('/').flatMap((part) => {
    if (nowhere.includes(part.replace(/\..*$/, ''))) {
      return [`${path}: "${part}" names no concept`];
    }
    return kebab.test(part) || shouted.includes(part)
      ? []
      : [`${path}: "${part}" is not kebab-case`];
  });

const mostLines = 400;

const length: Rule = (file) => {
  const lines = file.text.split('\n').length - 1;
  if (!isCode(file) || lines <= mostLines) return [];
  return [`${file.path}: ${lines} lines; which concept is missing?`];
};

const widest = 100;

/** A line with a template or a regex, where a line end would be part of it, may be long. */
const width: Rule = (file) => {
  if (!isCode(file)) return [];
  const unbreakable = tokens(file.text).filter(({ kind }) => ['template', 'regex'].includes(kind));
  let start = 0;
  return file.text.split('\n').flatMap((line, i) => {
    const [from, to] = [start, start + line.length];
    start = to + 1;
    if (line.length <= widest) return [];
    if (unbreakable.some((token) => token.start < to && token.end > from)) return [];
    return [`${file.path}:${i + 1}: ${line.length} columns`];
  });
};

const rooms = ['machines', 'kinds', 'persistence', 'services', 'client', 'web', 'scripts', 'bench'];

const header: Rule = (file) => {
  const wanted = isCode(file) && (rooms.includes(roomOf(file.path)) || file.path === 'server.ts');
  if (!wanted || /^(#!.*\n)?\/[/*]/.test(file.text)) return [];
  return [`${file.path}: does not open by saying what it is`];
};

export const shapeRules = { names, length, width, header } as const;
