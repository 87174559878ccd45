// Tells code from comments, strings and templates, so that a rule about code does not stumble over
// a word in a comment. TypeScript 7 offers no compiler API to tools; this is the part of one that
// the rules need.
//
// - A mask keeps the length of the text and its line ends, so places stay comparable.
// - Left out: JSX texts, and a division after a closing brace, which would be taken for a regex.

export type TokenKind = 'code' | 'comment' | 'string' | 'template' | 'regex';

export interface Token {
  readonly kind: TokenKind;
  readonly start: number;
  readonly end: number;
}

const regexMayFollow = /(^|[(,=:[!&|?{};+\-*%<>~^]|\b(?:return|typeof|case|in|of|await|yield))\s*$/;

/** The end of a quoted text, a regex or a comment that begins at `start`. */
function endOf(kind: 'comment' | 'string' | 'regex', text: string, start: number): number {
  if (kind === 'comment') {
    const close = text.startsWith('//', start) ? '\n' : '*/';
    const end = text.indexOf(close, start + 2);
    return end < 0 ? text.length : end + (close === '\n' ? 0 : 2);
  }
  const quote = text[start];
  let inClass = false;
  for (let at = start + 1; at < text.length; at += 1) {
    const character = text[at];
    if (character === '\\') at += 1;
    else if (character === '\n') return at;
    else if (kind === 'regex' && character === '[') inClass = true;
    else if (kind === 'regex' && character === ']') inClass = false;
    else if (character === quote && !inClass) return at + 1;
  }
  return text.length;
}

function kindAt(text: string, at: number, codeStart: number): TokenKind {
  if (text.startsWith('//', at) || text.startsWith('/*', at)) return 'comment';
  if (text[at] === "'" || text[at] === '"') return 'string';
  if (text[at] === '`') return 'template';
  const before = text.slice(Math.max(codeStart, at - 40), at);
  return text[at] === '/' && regexMayFollow.test(before) ? 'regex' : 'code';
}

/** Splits a text of TypeScript. What stands inside `${}` of a template is code again. */
export function tokens(text: string): readonly Token[] {
  const found: Token[] = [];
  // How many braces are open in each `${}` that we are in.
  const braces: number[] = [];
  let codeStart = 0;
  let at = 0;
  const add = (kind: TokenKind, start: number, end: number) => {
    if (start > codeStart) found.push({ kind: 'code', start: codeStart, end: start });
    found.push({ kind, start, end });
    codeStart = end;
    at = end;
  };
  const template = (start: number) => {
    let end = start + 1;
    while (end < text.length && text[end] !== '`' && !text.startsWith('${', end)) {
      end += text[end] === '\\' ? 2 : 1;
    }
    if (text.startsWith('${', end)) braces.push(0);
    add('template', start, Math.min(text.length, end + (text[end] === '`' ? 1 : 2)));
  };
  while (at < text.length) {
    const depth = braces.at(-1);
    const kind = kindAt(text, at, codeStart);
    if (kind === 'template') template(at);
    else if (kind !== 'code') add(kind, at, endOf(kind, text, at));
    else if (depth === 0 && text[at] === '}') {
      braces.pop();
      template(at);
    } else {
      if (depth !== undefined && text[at] === '{') braces[braces.length - 1] = depth + 1;
      if (depth !== undefined && text[at] === '}') braces[braces.length - 1] = depth - 1;
      at += 1;
    }
  }
  if (codeStart < text.length) found.push({ kind: 'code', start: codeStart, end: text.length });
  return found;
}

/** The text with everything but the given kinds blanked out, line by line as long as before. */
export function only(text: string, kinds: readonly TokenKind[]): string {
  return tokens(text)
    .map(({ kind, start, end }) => {
      const part = text.slice(start, end);
      return kinds.includes(kind) ? part : part.replaceAll(/[^\n]/g, ' ');
    })
    .join('');
}
