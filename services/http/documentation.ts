// The API's documentation, served by the service itself: the document at /openapi.json, and Swagger
// UI over it at /docs.
//
// - Who opens the service's address in a browser is led to /docs.
// - Nothing comes from another host. The policy allows scripts and styles of this origin only.
// - They are for everybody: what a route takes is no secret, and a token is needed to call it.

import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { z } from 'zod';
import { openapi } from './openapi.ts';
import { type Route, route } from './route.ts';

const page = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Fencepost API</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="/docs/swagger-ui.css">
</head>
<body>
<main id="swagger-ui"></main>
<script src="/docs/swagger-ui-bundle.js"></script>
<script src="/docs/start.js"></script>
</body>
</html>
`;

const start = `SwaggerUIBundle({
  url: '/openapi.json',
  dom_id: '#swagger-ui',
  deepLinking: true,
  validatorUrl: null,
  supportedSubmitMethods: ['get', 'post', 'put', 'delete'],
});
`;

/** Swagger UI sets style attributes, and has its pictures in data. */
const policy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self' 'unsafe-inline'",
  "img-src 'self' data:",
  "font-src 'self' data:",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ');

const hourSeconds = 3600;

function asset(path: `/${string}`, mediaType: string, read: () => Promise<string>): Route {
  let text: Promise<string> | undefined;
  return route({
    method: 'get',
    path,
    scope: 'public',
    summary: 'Give a part of the documentation',
    mediaType,
    answers: { 200: z.string() },
  }).handle(async () => {
    text ??= read();
    const headers = {
      'Content-Security-Policy': policy,
      'Cache-Control': `public, max-age=${hourSeconds}`,
    };
    return { status: 200, body: await text, headers };
  });
}

/** Looked for when it is asked for: what only makes the document needs no files. */
function fromSwagger(name: string, mediaType: string): Route {
  const read = async () => {
    const require = createRequire(import.meta.url);
    return await readFile(require.resolve(`swagger-ui-dist/${name}`), 'utf8');
  };
  return asset(`/docs/${name}`, mediaType, read);
}

/** The routes that document a table. */
export function documentationRoutes(table: readonly Route[]): readonly Route[] {
  let document: ReturnType<typeof openapi> | undefined;
  return [
    route({
      method: 'get',
      path: '/openapi.json',
      scope: 'public',
      summary: 'Give this document',
      operation: 'getOpenapi',
      answers: { 200: z.looseObject({ openapi: z.literal('3.1.0') }).meta({ id: 'OpenApi' }) },
    }).handle(async () => {
      document ??= openapi(table);
      return { status: 200, body: document as { openapi: '3.1.0' } };
    }),
    route({
      method: 'get',
      path: '/',
      scope: 'public',
      summary: 'Lead to the documentation',
      mediaType: 'text/plain',
      answers: { 302: z.string() },
    }).handle(async () => ({ status: 302, body: 'The API is at /docs.\n', location: '/docs' })),
    asset('/docs', 'text/html', async () => page),
    asset('/docs/start.js', 'text/javascript', async () => start),
    fromSwagger('swagger-ui.css', 'text/css'),
    fromSwagger('swagger-ui-bundle.js', 'text/javascript'),
  ];
}
