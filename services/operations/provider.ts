// What an external system of branches must offer: the one interface behind which each provider is
// one file. The worker calls `mark`, `issue`, `since` and `poll`; the rest of the service `list`.
//
// - No method throws for what a provider does: whatever comes back is an answer.
// - `refused` is certain: nothing was changed and nothing is on its way. Whoever is not certain
//   says `unclear`. This is what "never issued twice" stands on.
// - Each call ends within `timeoutMs`, whatever the other side does.

import { z } from 'zod';

export const actions = ['create', 'reset', 'delete'] as const;

/** What is asked of a provider, as it is frozen in the run. */
export const changeSchema = z.object({
  action: z.enum(actions),
  branch: z.string(),
  /** Of a create: what it is a copy of. */
  parent: z.string().optional(),
  /** Of a reset: the name under which what was there is kept. */
  keepAs: z.string().optional(),
});
export type Change = z.output<typeof changeSchema>;

export const externalOperationSchema = z.object({
  id: z.string(),
  action: z.string(),
  /** The provider's own word. */
  status: z.string(),
  failures: z.number(),
  createdAt: z.string().nullable(),
  updatedAt: z.string().nullable(),
  /** What the provider says beside: why it failed, how long the parent was closed. */
  detail: z.string().nullable(),
});
export type ExternalOperation = z.output<typeof externalOperationSchema>;

export interface Branch {
  readonly name: string;
  readonly parent: string | null;
  readonly state: 'ready' | 'busy';
  /** Why it cannot be changed; null if it can. */
  readonly fixed: 'root' | 'protected' | 'own' | null;
  readonly hasChildren: boolean;
}

export interface Trouble {
  readonly error: string;
  readonly retryAfterMs: number | null;
}
export type Answer<T> =
  | { readonly result: 'ok'; readonly value: T }
  /** `passing`: the same call may succeed later. */
  | ({ readonly result: 'refused'; readonly passing: boolean } & Trouble)
  | ({ readonly result: 'unclear' } & Trouble);

export interface Progress {
  readonly operations: readonly ExternalOperation[];
  readonly state: 'going' | 'done' | 'failed';
}

export interface Provider {
  /** Says why no branch there can have this name; undefined if one can. */
  nameFault(name: string): string | undefined;
  /** Also says which runs are its own: what it names must mean the same system at every start. */
  readonly name: string;
  readonly timeoutMs: number;
  list(signal: AbortSignal): Promise<Answer<readonly Branch[]>>;
  /** Its newest operation before the call; null if it has none. */
  mark(change: Change, signal: AbortSignal): Promise<Answer<string | null>>;
  /**
   * Asks for the change. Not aborted from outside: whoever gives up in the middle knows nothing.
   * @param latest the last moment, by performance.now(), at which the request may be written.
   */
  issue(change: Change, latest: number): Promise<Answer<readonly ExternalOperation[]>>;
  /** The operations of this change that are newer than the mark. None: there are none yet. */
  since(
    change: Change,
    mark: string | null,
    signal: AbortSignal,
  ): Promise<Answer<readonly ExternalOperation[]>>;
  poll(
    change: Change,
    operations: readonly ExternalOperation[],
    signal: AbortSignal,
  ): Promise<Answer<Progress>>;
  close(): Promise<void>;
}
