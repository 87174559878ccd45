// What a caller may do, as scopes in its token. route.ts asks each route for one of them.

/** Every scope there is, with what it allows, in words. */
export const scopes = {
  'deliveries:read': 'See deliveries and what happened to them',
  'deliveries:write': 'Enqueue and redrive deliveries',
  'machines:read': 'See the machines, their runs in numbers, and their transitions',
  'proposals:read': 'See proposals and their receipts',
  'proposals:write': 'Propose plans, continue and compensate them',
  'proposals:approve': 'Preview, approve and reject proposals',
  'proposals:execute': 'Have approved proposals executed',
  'operations:read': 'See operations on databases',
  'operations:write': 'Request and cancel operations on databases',
  'documents:read': 'Read documents and follow their versions',
  'documents:write': 'Write documents',
  'metrics:read': 'Read the metrics',
} as const;

export type Scope = keyof typeof scopes;

export const allScopes = Object.keys(scopes) as readonly Scope[];

export const isScope = (text: string): text is Scope => Object.hasOwn(scopes, text);

/**
 * Who may call a route: whoever has the scope; `public`, everybody; `local`, everybody on this
 * machine who asks it by its own name.
 */
export type Access = Scope | 'public' | 'local';
