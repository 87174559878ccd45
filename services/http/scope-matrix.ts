// The matrix of scopes as a page of the documentation, made of the route table.

import { type Route, routeName } from './route.ts';
import { allScopes, scopes } from './scopes.ts';

const who: Readonly<Record<string, string>> = {
  public: 'everybody',
  local: 'this machine, by its own name',
};

/** Lays a table out as the formatter of Markdown would: columns as wide as their widest cell. */
function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const widths = head.map((_, i) => Math.max(...[head, ...rows].map((row) => row[i]?.length ?? 0)));
  const line = (cells: readonly string[]) =>
    `| ${cells.map((cell, i) => cell.padEnd(widths[i] ?? 0)).join(' | ')} |`;
  return [
    line(head),
    `| ${widths.map((n) => '-'.repeat(n)).join(' | ')} |`,
    ...rows.map(line),
  ].join('\n');
}

/** Makes docs/scopes.md. */
export function scopeMatrix(routes: readonly Route[]): string {
  const rows = routes.map((route) => [
    `\`${routeName(route)}\``,
    who[route.scope] ?? `\`${route.scope}\``,
    route.idempotent ? 'yes' : '',
    route.summary,
  ]);
  const allowed = allScopes.map((scope) => [
    `\`${scope}\``,
    scopes[scope],
    String(routes.filter((route) => route.scope === scope).length),
  ]);
  return `# Scopes

Made by \`npm run openapi\` of the route table. A test compares it with the table, and another one calls every
route with every scope and without a token.

## Who may call what

${table(['route', 'needs', 'takes a key', 'what it does'], rows)}

## What a scope allows

${table(['scope', 'allows to', 'routes'], allowed)}
`;
}
