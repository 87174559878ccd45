// The route table as an OpenAPI 3.1 document: what is served at /openapi.json and committed as
// docs/openapi.json.
//
// - The schemas are those that the routes check with; nothing is written twice.
// - Pages and assets are not in it: they are for browsers, not for clients.

import { z } from 'zod';
import { createDocument, type ZodOpenApiPathsObject } from 'zod-openapi';
import { type ProblemKind, problemSchema, problemType } from './problem.ts';
import { eventStream, type Route } from './route.ts';
import { scopes } from './scopes.ts';

const version = '0.1.0';
const documented: readonly string[] = ['application/json', eventStream];

const anyProblem = z
  .looseObject({
    type: z.string(),
    title: z.string(),
    status: z.int(),
    code: z.string(),
    detail: z.string(),
    requestId: z.string(),
    errors: z
      .array(z.object({ code: z.string(), pointer: z.string(), detail: z.string() }))
      .optional(),
  })
  .meta({ id: 'Problem', description: 'RFC 9457 problem details; `code` is for programs' });

const keyField = z
  .string()
  .min(1)
  .max(255)
  .optional()
  .meta({ description: 'The same request under the same key is done once' });
const lastEventField = z.string().optional().meta({ description: 'Go on behind this event' });

const capitalized = (word: string): string => word.slice(0, 1).toUpperCase() + word.slice(1);
const words = (text: string): readonly string[] => text.split(/[^A-Za-z0-9]+/).filter(Boolean);

/** `getDeliveriesEvents` of GET /v1/deliveries/events, unless the route says another name. */
export function operationOf({ operation, method, path }: Route): string {
  const parts = words(path.replaceAll(/\{\w+\}/g, '')).filter((word) => word !== 'v1');
  return operation ?? [method, ...parts.map(capitalized)].join('');
}

const titleOf = ({ path }: Route): string => capitalized(words(path.replace(/^\/v1/, ''))[0] ?? '');

/** One schema a kind, wherever it is named: two could not share its id. */
const schemas = new WeakMap<ProblemKind, z.ZodType>();

function schemaOf(kind: ProblemKind): z.ZodType {
  const known = schemas.get(kind);
  if (known) return known;
  const named = { id: `Problem.${kind.code}`, description: kind.title };
  const schema = problemSchema(kind).meta(named);
  schemas.set(kind, schema);
  return schema;
}

function problemsByStatus(kinds: readonly ProblemKind[]) {
  const statuses = [...new Set(kinds.map(({ status }) => status))];
  return statuses.map((status) => {
    const mine = kinds.filter((kind) => kind.status === status);
    const [first, ...others] = mine.map(schemaOf);
    const schema = others.length > 0 && first ? z.union([first, ...others]) : first;
    const description = mine.map(({ code, title }) => `\`${code}\`: ${title}.`).join(' ');
    return [String(status), { description, content: { [problemType]: { schema } } }] as const;
  });
}

function answersOf(route: Route) {
  const { mediaType = 'application/json' } = route;
  return Object.entries(route.answers).map(([status, schema]) => {
    const hasBody = schema.def.type !== 'undefined';
    const location = { Location: { schema: { type: 'string' } } } as const;
    const answer = {
      description: route.summary,
      ...(hasBody && { content: { [mediaType]: { schema } } }),
      ...(['201', '202'].includes(status) && { headers: location }),
    };
    return [status, answer] as const;
  });
}

function headersOf(route: Route) {
  return z.object({
    ...(route.headers instanceof z.ZodObject && route.headers.shape),
    ...(route.idempotent && { 'idempotency-key': keyField }),
    ...('events' in route && { 'last-event-id': lastEventField }),
  });
}

const objectOnly = (schema: z.ZodType | undefined) =>
  schema instanceof z.ZodObject ? schema : undefined;

function eventsText(route: Route): string {
  if (!('events' in route)) return '';
  const shapes = Object.entries(route.events).map(
    ([name, schema]) => `- \`${name}\`: \`${JSON.stringify(z.toJSONSchema(schema))}\``,
  );
  return `\n\nEvents, with the schema of their data:\n\n${shapes.join('\n')}`;
}

function operation(route: Route) {
  const { scope, summary, description = '', params, query, body, problems = [] } = route;
  const text = `${description}${eventsText(route)}`.trim();
  const isOpen = scope === 'public' || scope === 'local';
  return {
    operationId: operationOf(route),
    tags: [titleOf(route)],
    summary,
    ...(text !== '' && { description: text }),
    security: isOpen ? [] : [{ bearer: [scope] }],
    requestParams: {
      ...(objectOnly(params) && { path: objectOnly(params) }),
      ...(objectOnly(query) && { query: objectOnly(query) }),
      header: headersOf(route),
    },
    ...(body && {
      requestBody: { required: true, content: { 'application/json': { schema: body } } },
    }),
    responses: {
      ...Object.fromEntries(answersOf(route)),
      ...Object.fromEntries(problemsByStatus(problems)),
      default: {
        description: 'Any problem',
        content: { [problemType]: { schema: anyProblem } },
      },
    },
  };
}

/** Makes the document of a table. */
export function openapi(table: readonly Route[]): ReturnType<typeof createDocument> {
  const paths: Record<string, Record<string, object>> = {};
  for (const route of table) {
    if (!documented.includes(route.mediaType ?? 'application/json')) continue;
    paths[route.path] = { ...paths[route.path], [route.method]: operation(route) };
  }
  const allowed = Object.entries(scopes).map(([scope, text]) => `\`${scope}\`: ${text}.`);
  return createDocument({
    openapi: '3.1.0',
    info: {
      title: 'Fencepost',
      version,
      description: 'Work that outlives one request, kept in a known state.',
    },
    paths: paths as ZodOpenApiPathsObject,
    components: {
      securitySchemes: {
        bearer: {
          type: 'http',
          scheme: 'bearer',
          bearerFormat: 'JWT',
          description: `A token whose scopes allow the operation. ${allowed.join(' ')}`,
        },
      },
    },
  });
}
