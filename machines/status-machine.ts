// The shape of a persisted status machine, and the function that types a declaration of one. Every
// file in machines/ that declares a persisted machine calls `statusMachine`.
//
// - A declaration is an XState config plus what a database needs to know: table, columns, fence,
//   lease, owner, and who may send each event. It is data before and after.
// - One level of states. No `after`, `invoke`, `always`, `entry`, `exit`, wildcard or root `on`:
//   what they mean cannot be one conditional UPDATE.
// - What types cannot see is checked at load by `check.ts`.

import type {
  Condition,
  Declarations,
  Expression,
  Kind,
  NamesOf,
  Node,
  ValueOf,
} from './vocabulary.ts';

/**
 * Who may send an event. `claim` takes ownership; `owner` needs the fence that a claim gave;
 * `operator` is a person or a service with the right to; `sweep` is the reaper's, judged by time.
 */
export type Sender = 'claim' | 'owner' | 'operator' | 'sweep';

export interface EventDeclaration {
  readonly by: Sender;
  readonly fields?: Declarations;
  readonly description?: string;
}
type Events = Readonly<Record<string, EventDeclaration>>;
type FieldsOf<D> = D extends { readonly fields: infer F extends Declarations } ? F : object;

type KindOf<D> = D extends Kind ? D : D extends `${infer K extends Kind}?` ? K : never;
type SetOf<C extends Declarations, F> = {
  readonly [N in keyof C]?: Expression<KindOf<C[N]>, C, F>;
};

/** An arrow as it is declared. The first whose guard is true is taken. */
interface EdgeData<C extends Declarations, F, S extends string> {
  readonly target: S;
  readonly guard?: {
    readonly type: 'when';
    readonly params: Readonly<Record<string, Condition<C, F>>>;
  };
  readonly actions?: { readonly type: 'set'; readonly params: SetOf<C, F> };
  readonly description?: string;
}

interface StateData<C extends Declarations, E extends Events, S extends string> {
  readonly type?: 'final';
  /** `leased`: a run in this status has an owner, whose lease is running. */
  readonly tags?: readonly 'leased'[];
  readonly description?: string;
  readonly on?: {
    readonly [N in keyof E]?:
      | EdgeData<C, FieldsOf<E[N]>, S>
      | readonly EdgeData<C, FieldsOf<E[N]>, S>[];
  };
}

/** What a run offers that has come to its end: a command makes a new run, linked to this one. */
interface CommandData<S extends string> {
  readonly from: readonly S[];
  readonly description: string;
}

export interface MachineData<
  C extends Declarations,
  E extends Events,
  S extends string,
  Z extends keyof C & string,
  Fence extends NamesOf<C, 'int'>,
  Lease extends NamesOf<C, 'instant'>,
  Owner extends NamesOf<C, 'text'>,
> {
  readonly id: string;
  readonly description: string;
  /** In the schema `fencepost`. It has the kernel's own columns besides those declared here. */
  readonly table: string;
  readonly columns: C;
  /** Columns that are written at birth and never again. */
  readonly frozen: readonly Z[];
  readonly fence: Fence;
  readonly lease: Lease;
  readonly owner: Owner;
  readonly events: E;
  /** Conditions over the row that the database holds true at every write, whoever writes. */
  readonly checks?: Readonly<Record<string, Condition<C, object>>>;
  readonly commands?: Readonly<Record<string, CommandData<NoInfer<S>>>>;
  readonly initial: NoInfer<S>;
  readonly states: { readonly [N in S]: StateData<NoInfer<C>, NoInfer<E>, NoInfer<S>> };
}

/**
 * Types a machine's declaration; wrong columns, fields, kinds, events and targets do not compile.
 */
export function statusMachine<
  const C extends Declarations,
  const E extends Events,
  const S extends string,
  const Z extends keyof C & string,
  const Fence extends NamesOf<C, 'int'>,
  const Lease extends NamesOf<C, 'instant'>,
  const Owner extends NamesOf<C, 'text'>,
>(
  data: MachineData<C, E, S, Z, Fence, Lease, Owner>,
): MachineData<C, E, S, Z, Fence, Lease, Owner> {
  return data;
}

interface Edge {
  readonly target: string;
  readonly guard?: { readonly type: 'when'; readonly params: Readonly<Record<string, Node>> };
  readonly actions?: {
    readonly type: 'set';
    readonly params: Readonly<Record<string, Node | undefined>>;
  };
  readonly description?: string;
}

/** Any machine, without its own names: what code for every machine reads. */
export interface Machine {
  readonly id: string;
  readonly description: string;
  readonly table: string;
  readonly columns: Declarations;
  readonly frozen: readonly string[];
  readonly fence: string;
  readonly lease: string;
  readonly owner: string;
  readonly events: Readonly<Record<string, EventDeclaration>>;
  readonly checks?: Readonly<Record<string, Node>>;
  readonly commands?: Readonly<Record<string, CommandData<string>>>;
  readonly initial: string;
  readonly states: Readonly<
    Record<
      string,
      {
        readonly type?: 'final';
        readonly tags?: readonly 'leased'[];
        readonly description?: string;
        readonly on?: Readonly<Record<string, Edge | readonly Edge[] | undefined>>;
      }
    >
  >;
}

export type StatusOf<M extends Machine> = keyof M['states'] & string;
export type EventOf<M extends Machine> = keyof M['events'] & string;
export type EventsBy<M extends Machine, B extends Sender> = {
  [N in EventOf<M>]: M['events'][N]['by'] extends B ? N : never;
}[EventOf<M>];

type OptionalNames<F> = { [N in keyof F]: F[N] extends `${string}?` ? N : never }[keyof F];
type Values<F> = {
  readonly [N in Exclude<keyof F, OptionalNames<F>>]: ValueOf<F[N] & (Kind | `${Kind}?`)>;
} & { readonly [N in OptionalNames<F>]?: ValueOf<F[N] & (Kind | `${Kind}?`)> };

/** What an event brings: its fields, those marked with a question mark optional. */
export type FieldValues<M extends Machine, N extends EventOf<M>> = Values<FieldsOf<M['events'][N]>>;

/** A run's row in memory: the kernel's own columns that callers read, and the machine's. */
export type Run<M extends Machine> = {
  readonly id: string;
  readonly status: StatusOf<M>;
  readonly seq: number;
} & { readonly [N in keyof M['columns']]: ValueOf<M['columns'][N]> };
