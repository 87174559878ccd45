// The routes by which a supervisor or a load balancer asks how the process is. They are there from
// the first moment, and for everybody: they say one word.

import { z } from 'zod';
import type { Readiness } from '../readiness.ts';
import { type Route, route } from './route.ts';

const says = <const T extends readonly [string, ...string[]]>(words: T) =>
  z.strictObject({ status: z.enum(words) });

export const healthRoutes = (readiness: Pick<Readiness, 'phase' | 'state'>): readonly Route[] => [
  route({
    method: 'get',
    path: '/healthz',
    scope: 'public',
    summary: 'Say whether the process takes work',
    description: 'It does not ask the database.',
    answers: { 200: says(['ok']), 503: says(['stopping']) },
  }).handle(async () => {
    return readiness.phase === 'stopping'
      ? { status: 503, body: { status: 'stopping' } }
      : { status: 200, body: { status: 'ok' } };
  }),
  route({
    method: 'get',
    path: '/readyz',
    scope: 'public',
    summary: 'Say whether the service can do what it is asked',
    answers: { 200: says(['ready']), 503: says(['starting', 'database_away', 'stopping']) },
  }).handle(async () => {
    const status = await readiness.state();
    return status === 'ready'
      ? { status: 200, body: { status } }
      : { status: 503, body: { status } };
  }),
];
