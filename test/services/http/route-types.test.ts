// What does not compile in a route's declaration.

import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { problem, problemKind } from '../../../services/http/problem.ts';
import { route } from '../../../services/http/route.ts';

const known = problemKind('known', 404, 'Known');
const other = problemKind('other', 404, 'Other');
const base = { method: 'post', path: '/v1/x', summary: 'Do' } as const;
const answers = { 200: z.strictObject({ id: z.uuid() }), 204: z.undefined() } as const;
const id = '0192f0c1-2b7a-7c3e-8f00-000000000001';

describe('a route', () => {
  it('has a handler whose types are those of its schemas', () => {
    const { handle } = route({
      ...base,
      scope: 'metrics:read',
      body: z.strictObject({ n: z.string().transform(Number) }),
      answers,
      problems: [known],
    });
    handle(async ({ body, principal }) => ({
      status: 200,
      body: { id: `${body.n.toFixed()}${principal.sub}` },
    }));
    handle(async () => ({ status: 204, body: undefined }));
    handle(async () => problem(known, 'It is known.'));
    // @ts-expect-error a status that is not declared
    handle(async () => ({ status: 201, body: { id } }));
    // @ts-expect-error the body of another status
    handle(async () => ({ status: 204, body: { id } }));
    // @ts-expect-error a body of another type
    handle(async () => ({ status: 200, body: { id: 1 } }));
    // @ts-expect-error a problem that is not declared
    handle(async () => problem(other, 'It is not.'));
    // @ts-expect-error the schema knows no such member
    handle(async ({ body }) => ({ status: 200, body: { id: body.m } }));
    // @ts-expect-error there is no transaction, because the route is not idempotent
    handle(async ({ tx }) => ({ status: 200, body: { id: String(tx.isTransaction) } }));
    expect(handle).toBeTypeOf('function');
  });

  it('has a transaction where it is idempotent, and no principal where it is public', () => {
    const kept = route({ ...base, scope: 'metrics:read', answers, idempotent: true });
    kept.handle(async ({ tx }) => ({ status: 200, body: { id: String(tx.isTransaction) } }));
    const open = route({ ...base, scope: 'public', answers });
    // @ts-expect-error nobody is known
    open.handle(async ({ principal }) => ({ status: 200, body: { id: principal.sub } }));
    // @ts-expect-error there is no such scope
    route({ ...base, scope: 'metrics:write', answers });
    // @ts-expect-error who may call it is not decided
    route({ ...base, answers });
    expect(open.handle).toBeTypeOf('function');
  });
});
