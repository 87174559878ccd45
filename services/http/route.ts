// A route as data: everything that is known of it, in one place. Router, OpenAPI, the matrix of
// scopes, the test client and the fuzz test all read the same table. docs/http-api.md says how a
// domain adds a route.
//
// - Types follow from the schemas: a handler that reads what is not in the request, answers what is
//   not declared or returns a problem of another kind does not compile.
// - `scope` has no default: who may call it is decided for each route.
// - A handler of an idempotent route gets the transaction in which its answer is kept, and writes
//   in no other.

import { z } from 'zod';
import type { Tx } from '../../persistence/transaction.ts';
import type { Problem, ProblemKind } from './problem.ts';
import type { Access, Scope } from './scopes.ts';

/** Who asks. `sub` is the journal's actor. */
export interface Principal {
  readonly sub: string;
  readonly scopes: ReadonlySet<Scope>;
}

export type Method = 'get' | 'post' | 'put' | 'delete';

/** The bodies of answers that are no problems, by status. */
type Answers = Readonly<Record<number, z.ZodType>>;

/** What a handler answers. `location` is of what was made. */
export type Reply<A extends Answers = Answers> = {
  readonly [S in keyof A & number]: {
    readonly status: S;
    readonly location?: string;
    readonly headers?: Readonly<Record<string, string>>;
  } & (
    | { readonly body: z.input<A[S]>; readonly text?: never }
    /** The body as it goes out: JSON that was kept as text is not read and printed again. */
    | { readonly body?: never; readonly text: string }
  );
}[keyof A & number];

/** What a handler is given: the request, checked. */
export interface Context<S extends Access, P, Q, H, B, Idempotent extends boolean> {
  readonly params: P;
  readonly query: Q;
  readonly headers: H;
  readonly body: B;
  readonly principal: S extends Scope ? Principal : undefined;
  /** The client is gone, or the service stops. */
  readonly signal: AbortSignal;
  readonly requestId: string;
  readonly tx: Idempotent extends true ? Tx : undefined;
  /** The text of a member of the body as it was sent, where the route is `exact`. */
  readonly textOf: (member: string) => string | undefined;
}

interface Description<S extends Access> {
  readonly method: Method;
  /** Parameters in braces: `/v1/deliveries/{id}` */
  readonly path: `/${string}`;
  readonly scope: S;
  /** One line, in the imperative. */
  readonly summary: string;
  /** What generated clients call it. Unique; derived from method and path where it is not said. */
  readonly operation?: string;
  readonly description?: string;
  /** Of the answers. `application/json` by default; all others are texts. */
  readonly mediaType?: string;
  /** The largest body in bytes; 1 MiB by default. */
  readonly mostBytes?: number;
  /** A body of which JSON.parse would lose something is refused: members twice, long integers. */
  readonly exact?: boolean;
  /** With `exact`: the member that a handler gets as PlainJson where it is written plainly. */
  readonly kept?: string;
}

interface Declared<
  S extends Access,
  A extends Answers,
  P extends z.ZodType,
  Q extends z.ZodType,
  H extends z.ZodType,
  B extends z.ZodType,
  K extends ProblemKind,
  I extends boolean,
> extends Description<S> {
  /** Of the path's parameters, by their names. A strict object. */
  readonly params?: P;
  /** A strict object. Without it the route takes no query. */
  readonly query?: Q;
  /** Of header fields, by their names in lower case. */
  readonly headers?: H;
  /** Without it the route takes no body. */
  readonly body?: B;
  readonly answers: A;
  /** The kinds of problem beside those of the frame. */
  readonly problems?: readonly K[];
  /** It takes an Idempotency-Key, and its handler a transaction. */
  readonly idempotent?: I;
}

type AnyContext = Context<Access, unknown, unknown, unknown, unknown, boolean>;

interface AnyDeclared extends Description<Access> {
  readonly params?: z.ZodType;
  readonly query?: z.ZodType;
  readonly headers?: z.ZodType;
  readonly body?: z.ZodType;
  readonly answers: Answers;
  readonly problems?: readonly ProblemKind[];
  readonly idempotent?: boolean;
}

/** A route that answers once. */
export interface AnswerRoute extends AnyDeclared {
  readonly handle: (context: AnyContext) => Promise<Reply | Problem>;
}

/** A route whose answer is a stream of events. */
export interface EventRoute extends AnyDeclared {
  /** The data of each event, by the event's name. */
  readonly events: Readonly<Record<string, z.ZodType>>;
  readonly open: (
    context: AnyContext & Resumption,
  ) => Promise<AsyncIterable<StreamEvent> | Problem>;
}

/** Any route, without its own types: what code that reads the table sees. */
export type Route = AnswerRoute | EventRoute;

export interface Resumption {
  /** The id of the last event that the client has seen. */
  readonly lastEventId: string | undefined;
}

export interface StreamEvent {
  readonly event: string;
  readonly data: unknown;
  /** What a client that comes back says it saw last. */
  readonly id?: string;
}

/**
 * Declares a route. `handle` adds what answers it; in a step of its own, so that the declaration
 * has its types before the handler is checked against them.
 */
export function route<
  const S extends Access,
  const A extends Answers,
  P extends z.ZodType = z.ZodUndefined,
  Q extends z.ZodType = z.ZodUndefined,
  H extends z.ZodType = z.ZodUndefined,
  B extends z.ZodType = z.ZodUndefined,
  K extends ProblemKind = never,
  const I extends boolean = false,
>(declared: Declared<S, A, P, Q, H, B, K, I>) {
  type Given = Context<S, z.output<P>, z.output<Q>, z.output<H>, z.output<B>, I>;
  return {
    handle: (handle: (context: Given) => Promise<Reply<A> | Problem<K['code']>>): AnswerRoute => ({
      ...declared,
      handle: handle as unknown as AnswerRoute['handle'],
    }),
  };
}

type EventIn<E extends EventRoute['events']> = {
  readonly [N in keyof E & string]: {
    readonly event: N;
    readonly data: z.input<E[N]>;
    readonly id?: string;
  };
}[keyof E & string];

export const eventStream = 'text/event-stream';

/**
 * Declares a route whose answer is a stream of events. Its handler gives them as they come; when
 * its signal is aborted the client is gone, or the service stops, and it is to end.
 */
export function eventRoute<
  const S extends Access,
  const E extends EventRoute['events'],
  P extends z.ZodType = z.ZodUndefined,
  Q extends z.ZodType = z.ZodUndefined,
  K extends ProblemKind = never,
>(
  declared: Omit<Description<S>, 'method' | 'mediaType' | 'mostBytes'> & {
    readonly events: E;
    readonly params?: P;
    readonly query?: Q;
    readonly problems?: readonly K[];
  },
) {
  type Given = Context<S, z.output<P>, z.output<Q>, undefined, undefined, false> & Resumption;
  type Opened = AsyncIterable<EventIn<E>> | Problem<K['code']>;
  return {
    handle: (open: (context: Given) => Promise<Opened>): EventRoute => ({
      ...declared,
      method: 'get',
      mediaType: eventStream,
      answers: { 200: z.string() },
      open: open as unknown as EventRoute['open'],
    }),
  };
}

/** A route's name, as tests and logs say it: `GET /v1/deliveries/{id}`. */
export const routeName = ({ method, path }: Pick<Route, 'method' | 'path'>): string =>
  `${method.toUpperCase()} ${path}`;

export const isProblem = (answer: object): answer is Problem => 'kind' in answer;
