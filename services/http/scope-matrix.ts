// The matrix of scopes as a page of the documentation, made of the route table.

import { markdownTable } from '../markdown-table.ts';
import { type Route, routeName } from './route.ts';
import { allScopes, scopes } from './scopes.ts';

const who: Readonly<Record<string, string>> = {
  public: 'everybody',
  local: 'this machine, by its own name',
};

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

${markdownTable(['route', 'needs', 'takes a key', 'what it does'], rows)}

## What a scope allows

${markdownTable(['scope', 'allows to', 'routes'], allowed)}
`;
}
