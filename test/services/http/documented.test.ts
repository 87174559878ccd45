// The documents that are made of the route table are those that are committed.

import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { openapi, operationOf } from '../../../services/http/openapi.ts';
import { routeName } from '../../../services/http/route.ts';
import { scopeMatrix } from '../../../services/http/scope-matrix.ts';
import { describedRoutes, routesOf } from '../../../services/routes.ts';
import { openApi, readiness, uncalled } from '../../support/open-api.ts';
import { useOpened } from '../../support/opened.ts';

const database = useOpened();
const routes = describedRoutes();
const committed = (name: string) =>
  readFileSync(new URL(`../../../docs/${name}`, import.meta.url), 'utf8');

describe('the documents of the route table', () => {
  it('are as committed (else: npm run openapi)', () => {
    expect(JSON.parse(committed('openapi.json'))).toEqual(
      JSON.parse(JSON.stringify(openapi(routes))),
    );
    expect(committed('scopes.md')).toBe(scopeMatrix(routes));
  });

  it('name each operation once, and every route of the API', () => {
    const names = routes.map(operationOf);
    expect(new Set(names).size).toBe(names.length);
    const { paths = {} } = openapi(routes);
    for (const { method, path } of routes.filter((route) => route.path.startsWith('/v1/'))) {
      expect(paths[path], routeName({ method, path })).toHaveProperty(method);
    }
  });

  it('say what is idempotent, what is needed, and which problems there are', () => {
    const { paths = {} } = openapi(routes);
    expect(paths['/v1/deliveries/{id}/redrive']?.post).toMatchObject({
      security: [{ bearer: ['deliveries:write'] }],
      parameters: [
        { in: 'path', name: 'id' },
        { in: 'header', name: 'idempotency-key' },
      ],
      responses: { 202: {}, 404: {}, 409: {}, default: {} },
    });
    expect(paths['/healthz']?.get?.security).toEqual([]);
  });
});

describe('the documentation', () => {
  it('is served by the service itself, and allows nothing of elsewhere', async () => {
    const announcements = { watch: async () => ({ ids: [], stop: () => undefined }) };
    const sender = 'me@example.com';
    const metrics = { read: async () => '' };
    const { plans } = uncalled;
    const options = { plans, database: database(), sender, announcements, metrics, mailbox: false };
    const api = await openApi({
      database: database(),
      routes: routesOf(options, readiness),
    });
    const document = await api.get('/openapi.json', { token: null });
    expect(document.body).toMatchObject({ openapi: '3.1.0', paths: { '/v1/deliveries': {} } });
    const way = await api.get('/', { token: null });
    expect([way.status, way.headers.get('location')]).toEqual([302, '/docs']);
    const page = await api.get('/docs', { token: null });
    const policy = page.headers.get('content-security-policy');
    expect(policy).toContain("default-src 'none'");
    expect(policy).not.toMatch(/https?:|script-src[^;]*unsafe/);
    const assets = [...String(page.body).matchAll(/(?:src|href)="([^"]+)"/g)].map(([, at]) => at);
    const own = assets.filter((at) => at !== 'data:,');
    expect(own).toHaveLength(3);
    for (const at of own) {
      const { status, body } = await api.get(String(at), { token: null });
      expect([status, String(body).length > 100]).toEqual([200, true]);
    }
    const health = await api.get('/healthz', { token: null });
    expect(health.headers.get('content-security-policy')).toBe(
      "default-src 'none';frame-ancestors 'none'",
    );
  });
});
