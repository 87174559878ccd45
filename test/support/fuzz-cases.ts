// What a right request to each route looks like: the fuzz test changes parts of it. A domain adds
// its routes here; a route that is left out never comes through to its handler, and the test says
// so.

import { randomUUID } from 'node:crypto';
import { type Route, routeName } from '../../services/http/route.ts';

/** What is there to ask for. */
export interface FuzzGround {
  readonly delivery: string;
  readonly document: string;
  /** The cases of proposals. */
  readonly plans: { caseOf(route: Route): FuzzCase };
  readonly operation: string;
}

export interface FuzzCase {
  readonly params?: Readonly<Record<string, string>>;
  /** What the body of a right request is, one of these, as they are at the moment. */
  readonly bodies?: () => readonly object[];
  /** What a right request has to ask in its query. */
  readonly query?: string;
}

const deliveries = () => [
  { channel: 'email', to: 'ada@example.com', subject: 'a', body: 'b' },
  { channel: 'webhook', to: 'https://example.com/', data: { a: 1 } },
];

const content = { attributes: { title: 'a' } };

/** A save of the version that the document has before any other. */
const save = () => ({ saveId: randomUUID(), writer: randomUUID(), expectedVersion: 1 });

const cases: Readonly<Record<string, FuzzCase>> = {
  'POST /v1/deliveries': { bodies: deliveries },
  'POST /v1/deliveries/batch': { bodies: () => [{ deliveries: deliveries() }] },
  'POST /v1/documents': { bodies: () => [{ kind: 'record', name: 'a', content }] },
  'PUT /v1/documents/{id}': { bodies: () => [{ ...save(), content }] },
  'PUT /v1/documents/{id}/name': { bodies: () => [{ name: 'b' }] },
  'POST /v1/documents/{id}/abandon': {
    bodies: () => [{ writer: randomUUID(), saveIds: [randomUUID()] }],
  },
  'PUT /v1/documents/{id}/revisions/{version}/name': { bodies: () => [{ name: 'c' }] },
  'POST /v1/documents/{id}/revisions/{version}/restore': {
    bodies: () => [{ ...save(), expectedVersion: 2 }],
  },
  'PUT /v1/documents/{id}/grants/{grantee}': { bodies: () => [{ access: 'reader' }] },
  'POST /v1/branches': { bodies: () => [{ name: randomUUID(), parent: 'main' }] },
  'POST /v1/branches/{name}/resets': {
    params: { name: 'dev' },
    bodies: () => [{}, { keepAs: randomUUID() }],
  },
  'DELETE /v1/branches/{name}': { params: { name: 'leaf' } },
};

function paramsOf(path: string, ground: FuzzGround): FuzzCase['params'] {
  const { delivery, document, operation } = ground;
  if (path.startsWith('/v1/operations/')) return { id: operation };
  if (path.startsWith('/v1/deliveries/')) return { id: delivery };
  if (path.startsWith('/v1/documents/')) return { id: document, version: '1', grantee: 'grace' };
  if (path.startsWith('/v1/machines/')) return { id: 'outbox' };
  return {};
}

export function fuzzCaseOf(route: Route, ground: FuzzGround): FuzzCase {
  const query = route.path === '/v1/documents/events' ? { query: `id=${ground.document}` } : {};
  const own = { ...cases[routeName(route)], ...ground.plans.caseOf(route) };
  return { params: { ...paramsOf(route.path, ground) }, ...query, ...own };
}
