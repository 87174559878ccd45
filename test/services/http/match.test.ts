// Which route a request is for, beside the router of express, which decided it in its own way.

import { EventEmitter } from 'node:events';
import type { Request, Response } from 'express';
import { Router } from 'express';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type Matchable, matcherOf } from '../../../services/http/match.ts';

const methods = ['get', 'post', 'put', 'delete'] as const;
interface Entry extends Matchable {
  readonly method: (typeof methods)[number];
}
type Said = readonly unknown[];

function byUs(table: readonly Entry[], method: string, path: string): Said {
  try {
    const found = matcherOf(table)(method, path);
    if (!found) return ['none'];
    if (found.route) return ['route', table.indexOf(found.route), { ...found.params }];
    return ['allow', ...found.allow];
  } catch (error) {
    return [(error as Error).name];
  }
}

function byExpress(table: readonly Entry[], method: string, path: string): Promise<Said> {
  return new Promise((say) => {
    const router = Router({ caseSensitive: true, strict: true });
    const inExpress = (each: string) => each.replaceAll(/\{(\w+)\}/g, ':$1');
    for (const [i, route] of table.entries()) {
      router[route.method](inExpress(route.path), ({ params }) => say(['route', i, { ...params }]));
    }
    for (const each of new Set(table.map((route) => route.path))) {
      const same = table.filter((route) => route.path === each);
      const allow = same.map((route) => route.method.toUpperCase()).toSorted();
      router.all(inExpress(each), () => say(['allow', ...allow]));
    }
    const request = { method, url: path, headers: {} } as unknown as Request;
    router(request, new EventEmitter() as unknown as Response, (error?: unknown) => {
      say([error instanceof Error ? error.name : 'none']);
    });
  });
}

const segment = fc.constantFrom('a', 'b', '{x}', '{y}');
const path = fc
  .uniqueArray(segment, { minLength: 1, maxLength: 3 })
  .map((parts) => `/${parts.join('/')}`);
const entry = fc.record({ method: fc.constantFrom(...methods), path });
const table = fc.uniqueArray(entry, { maxLength: 8, selector: (each) => each.method + each.path });
const asked = fc
  .array(fc.constantFrom('a', 'b', 'A', '', 'c%20d', '%61', '%zz', 'e:f'), { maxLength: 4 })
  .map((parts) => `/${parts.join('/')}`);
const verb = fc.constantFrom('GET', 'HEAD', 'POST', 'PUT', 'DELETE', 'OPTIONS', 'PATCH');

describe('a request', () => {
  it('is for the route that express would have found', async () => {
    const heard = new Map<unknown, number>();
    await fc.assert(
      fc.asyncProperty(table, verb, asked, async (routes, method, wanted) => {
        const said = byUs(routes, method, wanted);
        heard.set(said[0], (heard.get(said[0]) ?? 0) + 1);
        expect(said).toEqual(await byExpress(routes, method, wanted));
      }),
      { numRuns: 4000 },
    );
    for (const kind of ['route', 'allow', 'none', 'URIError']) {
      expect(heard.get(kind), kind).toBeGreaterThan(20);
    }
  });

  it('is for the first of several', () => {
    const routes: readonly Entry[] = [
      { method: 'put', path: '/v1/documents/{id}' },
      { method: 'get', path: '/v1/documents/events' },
      { method: 'get', path: '/v1/documents/{id}' },
    ];
    expect(byUs(routes, 'GET', '/v1/documents/events')).toEqual(['route', 1, {}]);
    expect(byUs(routes, 'GET', '/v1/documents/7')).toEqual(['route', 2, { id: '7' }]);
    expect(byUs(routes, 'PUT', '/v1/documents/events')).toEqual(['route', 0, { id: 'events' }]);
  });
});
