// The kind `record`: attributes by id, `{ attributes: { price: 12, tags: ["a"] } }`. An attribute
// is any JSON value, and is taken as a whole.
//
// The merge, attribute by attribute:
// - What one side changed is taken from that side; what both made the same is that.
// - What both changed differently, or one removed and the other changed, is a choice for a person.
//   Nothing of it is decided here: until somebody chooses, what is stored stands.
// - Ids are data. `__proto__`, `constructor` and `toString` are attributes like any other.

import { describeEntries, entriesOf, tableProblems } from './entries.ts';
import { equal, type Json, type JsonObject, member, pointerTo } from './json.ts';
import type { EntryRules, MergeChoice, MergingKind } from './kind.ts';

const name = 'attributes';
const longestId = 200;

function faultOf(id: string): { code: string; detail: string } | undefined {
  if (id.length > 0 && id.length <= longestId) return undefined;
  return { code: 'bad_attribute', detail: `An attribute's id has 1 to ${longestId} characters.` };
}

const table: EntryRules = { name, faultOf };

const attributesOf = (content: Json): JsonObject => entriesOf(content, name);

/** Own properties, also for ids that mean something to JavaScript: an assignment would not do. */
function withAttributes(entries: readonly (readonly [string, Json | undefined])[]): Json {
  const there = entries.filter(([, value]) => value !== undefined);
  return { [name]: Object.fromEntries(there) as JsonObject };
}

interface Sides {
  readonly base: Json | undefined;
  readonly mine: Json | undefined;
  readonly theirs: Json | undefined;
}

const isDisputed = ({ base, mine, theirs }: Sides): boolean =>
  !equal(mine, theirs) && !equal(base, mine) && !equal(base, theirs);

/** What is disputed stands as theirs. */
const merged = ({ base, mine, theirs }: Sides): Json | undefined =>
  equal(base, theirs) ? mine : theirs;

function choiceOf(id: string, { base, mine, theirs }: Sides): MergeChoice {
  return {
    id,
    pointer: pointerTo(pointerTo('', name), id),
    ...(base !== undefined && { base }),
    ...(mine !== undefined && { mine }),
    ...(theirs !== undefined && { theirs }),
  };
}

export const record: MergingKind = {
  id: 'record',
  empty: { attributes: {} },
  table,
  check: (content) => tableProblems(content, table),
  describe: (before, after) => describeEntries(attributesOf(before), attributesOf(after)),

  merge(base, mine, theirs) {
    const tables = [attributesOf(base), attributesOf(mine), attributesOf(theirs)] as const;
    const [old, ours, stored] = tables;
    const ids = new Set([stored, ours, old].flatMap(Object.keys));
    const rows = [...ids].map((id) => {
      const sides = { base: member(old, id), mine: member(ours, id), theirs: member(stored, id) };
      return { id, sides };
    });
    return {
      content: withAttributes(rows.map(({ id, sides }) => [id, merged(sides)])),
      choices: rows
        .filter(({ sides }) => isDisputed(sides))
        .map(({ id, sides }) => choiceOf(id, sides)),
    };
  },

  choose(content, choice, side) {
    const others = Object.entries(attributesOf(content)).filter(([id]) => id !== choice.id);
    return withAttributes([...others, [choice.id, choice[side]]]);
  },
};
