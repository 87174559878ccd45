// The closed vocabulary in which a persisted machine writes its guards and effects: the typed
// expressions, and the few functions that build them. Machines import it; `evaluate.ts` gives each
// node its meaning in memory, `persistence/print.ts` its text in SQL.
//
// - Every operator has one meaning, SQL's: null in, null out, except where SQL itself ignores nulls
//   (`coalesce`, `least`, `greatest`, `isNull`); `and` and `or` are three-valued.
// - An expression is plain data. A function, a Date or a class in a declaration is a compile error.
// - It is as large as the machines need and no larger: there is no arithmetic beyond `increment`,
//   `after` and `backoff`, because a status machine counts and waits; it does not compute.

/** What a column or an event's field can hold. An instant is whole microseconds since 1970. */
export interface Kinds {
  readonly int: number;
  readonly text: string;
  readonly bool: boolean;
  readonly instant: number;
  readonly uuid: string;
  readonly json: unknown;
}
export type Kind = keyof Kinds;

/** A declared column or field: its kind, with a question mark where it may be null. */
export type Declared = Kind | `${Kind}?`;
export type Declarations = Readonly<Record<string, Declared>>;

/** The value that a declared column or field holds in memory. */
export type ValueOf<D extends Declared> = D extends Kind
  ? Kinds[D]
  : D extends `${infer K extends Kind}?`
    ? Kinds[K] | null
    : never;

/** The names in D that hold kind K, nullable or not. */
export type NamesOf<D, K extends Kind> = {
  [N in keyof D]: D[N] extends K | `${K}?` ? N : never;
}[keyof D] &
  string;

type Pair<K extends Kind, C, F> = readonly [Expression<K, C, F>, Expression<K, C, F>];
type Comparable = Exclude<Kind, 'json'>;

/** Something that is true, false or unknown. A guard holds only when it is true. */
export type Condition<C, F> =
  | { readonly col: NamesOf<C, 'bool'> }
  | { readonly field: NamesOf<F, 'bool'> }
  | { readonly lit: boolean | null }
  | { readonly coalesce: readonly Condition<C, F>[] }
  | { [K in Comparable]: { readonly eq: Pair<K, C, F> } }[Comparable]
  | { [K in Comparable]: { readonly ne: Pair<K, C, F> } }[Comparable]
  | { readonly lt: Pair<'int', C, F> }
  | { readonly lt: Pair<'instant', C, F> }
  | { readonly lte: Pair<'int', C, F> }
  | { readonly lte: Pair<'instant', C, F> }
  | { readonly isNull: { [K in Kind]: Expression<K, C, F> }[Kind] }
  | { readonly and: readonly Condition<C, F>[] }
  | { readonly or: readonly Condition<C, F>[] }
  | { readonly not: Condition<C, F> };

/** An expression of kind K over the columns C and the event's fields F. */
export type Expression<K extends Kind, C, F> = K extends 'bool'
  ? Condition<C, F>
  :
      | { readonly col: NamesOf<C, K> }
      | { readonly field: NamesOf<F, K> }
      | { readonly lit: K extends 'instant' | 'json' | 'uuid' ? null : Kinds[K] | null }
      | { readonly coalesce: readonly Expression<K, C, F>[] }
      | (K extends 'text' ? { readonly actor: true } : never)
      | Ordered<K, C, F>;

/** What only integers and instants have. */
type Ordered<K extends Kind, C, F> =
  | (K extends 'int' | 'instant'
      ?
          | { readonly least: readonly Expression<K, C, F>[] }
          | { readonly greatest: readonly Expression<K, C, F>[] }
      : never)
  | (K extends 'int'
      ?
          | { readonly increment: Expression<'int', C, F> }
          | { readonly backoff: Backoff<Expression<'int', C, F>> }
      : never)
  | (K extends 'instant'
      ?
          | { readonly clock: true }
          | { readonly after: readonly [Expression<'instant', C, F>, Expression<'int', C, F>] }
      : never);

interface Backoff<N> {
  readonly failures: N;
  readonly baseMs: number;
  readonly capMs: number;
}

/** Any expression, without its types: what code that walks declarations reads. */
export type Node =
  | { readonly col: string }
  | { readonly field: string }
  | { readonly lit: unknown }
  | { readonly clock: true }
  | { readonly actor: true }
  | { readonly after: readonly [Node, Node] }
  | { readonly increment: Node }
  | { readonly backoff: Backoff<Node> }
  | { readonly coalesce: readonly Node[] }
  | { readonly least: readonly Node[] }
  | { readonly greatest: readonly Node[] }
  | { readonly eq: readonly [Node, Node] }
  | { readonly ne: readonly [Node, Node] }
  | { readonly lt: readonly [Node, Node] }
  | { readonly lte: readonly [Node, Node] }
  | { readonly isNull: Node }
  | { readonly and: readonly Node[] }
  | { readonly or: readonly Node[] }
  | { readonly not: Node };

/** The column's value before the transition. */
export const col = <const N extends string>(name: N) => ({ col: name });
/** The value that the event brings. */
export const field = <const N extends string>(name: N) => ({ field: name });
export const lit = <const V extends string | number | boolean | null>(value: V) => ({ lit: value });
/** The one reading of the database's clock that a row gets, taken after the row was locked. */
export const clock = { clock: true } as const;
/**
 * The sender's name, as the journal keeps it. Of operators' events only: an owner is a column, and
 * a claim brings its owner in a field.
 */
export const actor = { actor: true } as const;
/** The instant so many milliseconds after another one. */
export const after = <const T, const M>(time: T, ms: M) => ({ after: [time, ms] as const });
/** One more, staying at 2,147,483,647: a counter never becomes the reason that a write fails. */
export const increment = <const A>(count: A) => ({ increment: count });
/**
 * Milliseconds to wait after so many failures: by the row's dice between half of the base and `base
 * × 2^failures`, which the cap bounds. Failures are taken as between 0 and 30, so it is finite for
 * every number.
 */
export const backoff = <const N>(failures: N, baseMs: number, capMs: number) => ({
  backoff: { failures, baseMs, capMs },
});
export const coalesce = <const A extends readonly unknown[]>(...values: A) => ({
  coalesce: values,
});
/** The smallest of those that are not null. */
export const least = <const A extends readonly unknown[]>(...values: A) => ({ least: values });
/** The largest of those that are not null. */
export const greatest = <const A extends readonly unknown[]>(...values: A) => ({
  greatest: values,
});
export const eq = <const A, const B>(a: A, b: B) => ({ eq: [a, b] as const });
export const ne = <const A, const B>(a: A, b: B) => ({ ne: [a, b] as const });
export const lt = <const A, const B>(a: A, b: B) => ({ lt: [a, b] as const });
export const lte = <const A, const B>(a: A, b: B) => ({ lte: [a, b] as const });
export const isNull = <const A>(value: A) => ({ isNull: value });
export const and = <const A extends readonly unknown[]>(...conditions: A) => ({ and: conditions });
export const or = <const A extends readonly unknown[]>(...conditions: A) => ({ or: conditions });
export const not = <const A>(condition: A) => ({ not: condition });

/**
 * A guard: every condition must be true. Each is named by what is wrong when it is not (`expired`,
 * `not_lapsed`): problem codes, "why not" and the picture take these names from here.
 */
export const when = <const P>(conditions: P) => ({ type: 'when' as const, params: conditions });
/** An effect: each column gets its expression, all of them over the row before the transition. */
export const set = <const P>(columns: P) => ({ type: 'set' as const, params: columns });
