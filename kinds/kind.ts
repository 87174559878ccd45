// What a kind of document is: pure functions over contents. The server checks and describes by
// them, the client merges by them. A new kind is one file beside this one and a line in all.ts.
//
// - `check` is total: any value whatever gets an answer, also one that is no JSON at all.
// - All else is called with contents that `check` found nothing wrong with.
// - A kind that cannot merge has no `merge`: then a conflict is the user's to decide as a whole.

import type { Json } from './json.ts';

export interface ContentProblem {
  readonly code: string;
  /** Where in the content: a JSON pointer, '' for all of it. */
  readonly pointer: string;
  readonly detail: string;
}

/** What a table of entries by id is judged by. */
export interface EntryRules {
  /** Of the one member that a content has. */
  readonly name: string;
  /** Says what is wrong with an entry: its code and a sentence. */
  faultOf(id: string, value: unknown): { code: string; detail: string } | undefined;
}

/** A place that both sides changed, each in its own way. Absent: it is not there on that side. */
export interface MergeChoice {
  readonly id: string;
  readonly pointer: string;
  readonly base?: Json;
  readonly mine?: Json;
  readonly theirs?: Json;
}

export interface Merge {
  /** All that is undisputed. What is disputed stands as theirs, until somebody chooses. */
  readonly content: Json;
  readonly choices: readonly MergeChoice[];
}

export type Side = 'mine' | 'theirs';

export interface Kind {
  readonly id: string;
  /** All that `check` asks for beside JSON, where the contents are one table of entries. */
  readonly table?: EntryRules;
  /** The content of a document in which nothing was done yet. */
  readonly empty: Json;
  /** Finds what keeps a value from being a content of this kind; the first few places only. */
  check(content: unknown): readonly ContentProblem[];
  /** Says in a sentence for people what changed. */
  describe(before: Json, after: Json): string;
  merge?(base: Json, mine: Json, theirs: Json): Merge;
  /** Puts one side of a choice into a content. */
  choose?(content: Json, choice: MergeChoice, side: Side): Json;
}

/** What a kind that merges offers. */
export type MergingKind = Kind & Required<Pick<Kind, 'merge' | 'choose'>>;
