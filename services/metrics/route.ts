// The metrics over HTTP, in the text format of Prometheus.

import { z } from 'zod';
import { type Route, route } from '../http/route.ts';
import type { Metrics } from './metrics.ts';

export const metricsRoutes = (metrics: Pick<Metrics, 'read'>): readonly Route[] => [
  route({
    method: 'get',
    path: '/metrics',
    scope: 'metrics:read',
    summary: 'Give the metrics, for Prometheus',
    mediaType: 'text/plain; version=0.0.4',
    answers: { 200: z.string() },
  }).handle(async () => ({ status: 200, body: await metrics.read() })),
];
