// Every route against every scope and an anonymous caller: a route that somebody may call who is
// not meant to, or that nobody has decided about, fails here.

import { describe, expect, it } from 'vitest';
import { type Route, routeName } from '../../../services/http/route.ts';
import { allScopes } from '../../../services/http/scopes.ts';
import { routesOf } from '../../../services/routes.ts';
import { listedProvider } from '../../support/listed-provider.ts';
import { openApi, readiness, tokenOf, uncalled } from '../../support/open-api.ts';
import { useOpened } from '../../support/opened.ts';

const database = useOpened();

/** The decision about each route, by hand: a second person's look at what the table says. */
const decided: Readonly<Record<string, string>> = {
  'GET /healthz': 'public',
  'GET /readyz': 'public',
  'POST /v1/deliveries': 'deliveries:write',
  'POST /v1/deliveries/batch': 'deliveries:write',
  'GET /v1/deliveries': 'deliveries:read',
  'GET /v1/deliveries/{id}': 'deliveries:read',
  'POST /v1/deliveries/{id}/redrive': 'deliveries:write',
  'GET /v1/machines': 'machines:read',
  'GET /v1/machines/{id}': 'machines:read',
  'GET /v1/machines/{id}/counts': 'machines:read',
  'GET /v1/machines/{id}/events': 'machines:read',
  'GET /v1/documents/events': 'documents:read',
  'POST /v1/documents': 'documents:write',
  'GET /v1/documents': 'documents:read',
  'GET /v1/documents/{id}': 'documents:read',
  'PUT /v1/documents/{id}': 'documents:write',
  'DELETE /v1/documents/{id}': 'documents:write',
  'POST /v1/documents/{id}/restore': 'documents:write',
  'PUT /v1/documents/{id}/name': 'documents:write',
  'POST /v1/documents/{id}/abandon': 'documents:write',
  'GET /v1/documents/{id}/revisions': 'documents:read',
  'GET /v1/documents/{id}/revisions/{version}': 'documents:read',
  'PUT /v1/documents/{id}/revisions/{version}/name': 'documents:write',
  'POST /v1/documents/{id}/revisions/{version}/restore': 'documents:write',
  'GET /v1/documents/{id}/grants': 'documents:read',
  'PUT /v1/documents/{id}/grants/{grantee}': 'documents:write',
  'DELETE /v1/documents/{id}/grants/{grantee}': 'documents:write',
  'POST /v1/proposals': 'proposals:write',
  'GET /v1/proposals': 'proposals:read',
  'GET /v1/proposals/{id}': 'proposals:read',
  'POST /v1/proposals/{id}/approve': 'proposals:approve',
  'POST /v1/proposals/{id}/reject': 'proposals:approve',
  'POST /v1/proposals/{id}/continue': 'proposals:write',
  'POST /v1/proposals/{id}/compensate': 'proposals:write',
  'POST /v1/proposals/{id}/preview': 'proposals:approve',
  'POST /v1/proposals/{id}/execute': 'proposals:execute',
  'GET /v1/proposals/{id}/events': 'proposals:read',
  'GET /v1/tools': 'proposals:read',
  'GET /v1/branches': 'operations:read',
  'POST /v1/branches': 'operations:write',
  'POST /v1/branches/{name}/resets': 'operations:write',
  'DELETE /v1/branches/{name}': 'operations:write',
  'GET /v1/operations': 'operations:read',
  'GET /v1/operations/{id}': 'operations:read',
  'POST /v1/operations/{id}/cancel': 'operations:write',
  'GET /v1/operations/{id}/events': 'operations:read',
  'GET /metrics': 'metrics:read',
  'GET /dev/mailbox': 'local',
  'GET /openapi.json': 'public',
  'GET /': 'public',
  'GET /docs': 'public',
  'GET /docs/start.js': 'public',
  'GET /docs/swagger-ui.css': 'public',
  'GET /docs/swagger-ui-bundle.js': 'public',
};

const whole = () =>
  routesOf(
    {
      ...uncalled,
      database: database(),
      sender: 'me@example.com',
      webhooks: { allowedRanges: [] },
      announcements: { watch: async () => ({ ids: [], stop: () => undefined }) },
      mailbox: true,
      provider: listedProvider,
      metrics: { read: async () => '' },
    },
    readiness,
  );

/** A request that is wrong where it can be, so that nothing is done by who may. */
const attempt = ({ path, body }: Route) => ({
  path: path.replaceAll(/\{\w+\}/g, 'none'),
  ...(body && { body: {} }),
});

describe('the route table', () => {
  it('has a decision for each route', () => {
    const table = whole().map((route) => [routeName(route), route.scope]);
    expect(Object.fromEntries(table)).toEqual(decided);
    expect(table).toHaveLength(Object.keys(decided).length);
  });

  it('lets in who has the scope, and nobody else', async () => {
    const api = await openApi({ database: database(), routes: whole() });
    const tokens = await Promise.all(
      allScopes.map(async (scope) => [scope, await tokenOf('ada', [scope])] as const),
    );
    const others = [['anonymous', null] as const, ['no scope', await tokenOf('ada', [])] as const];
    let tried = 0;
    for (const route of whole()) {
      const { path, body } = attempt(route);
      const isOpen = route.scope === 'public' || route.scope === 'local';
      for (const [who, token] of [...tokens, ...others]) {
        const { status, headers } = await api.call(route.method.toUpperCase(), path, {
          token,
          ...(body && { body }),
        });
        const say = `${routeName(route)} by ${who}`;
        if (isOpen || who === route.scope) {
          expect([401, 403], say).not.toContain(status);
        } else {
          expect(status, say).toBe(token === null ? 401 : 403);
          expect(headers.get('www-authenticate'), say).toMatch(/^Bearer realm="fencepost"/);
        }
        tried += 1;
      }
    }
    expect(tried).toBe(Object.keys(decided).length * (allScopes.length + 2));
  });
});
