// Contents that are one table of entries by id, as those of both kinds are: what they have in
// common, and how a change of them is told.

import { jsonProblems, mostProblems } from './content.ts';
import { equal, isObject, type Json, type JsonObject, member, pointerTo } from './json.ts';
import type { ContentProblem, EntryRules } from './kind.ts';

/** The entries of a content that has them under this name; none where it has not. */
export function entriesOf(content: Json, name: string): JsonObject {
  const table = isObject(content) ? member(content, name) : undefined;
  return isObject(table) ? table : {};
}

/** Finds what is wrong with the shape of JSON that is to be one table of entries. */
function shapeProblems(content: Json, rules: EntryRules): readonly ContentProblem[] {
  const { name, faultOf } = rules;
  const wrong = (pointer: string, detail: string): readonly ContentProblem[] => [
    { code: 'wrong_shape', pointer, detail },
  ];
  if (!isObject(content)) return wrong('', `A content is an object with "${name}".`);
  const foreign = Object.keys(content).find((each) => each !== name);
  if (foreign !== undefined) {
    return wrong(pointerTo('', foreign), `"${name}" is all that a content of this kind has.`);
  }
  const table = member(content, name);
  if (!isObject(table)) return wrong(pointerTo('', name), `"${name}" is an object, by id.`);
  const found: ContentProblem[] = [];
  for (const id of Object.keys(table)) {
    const fault = faultOf(id, table[id]);
    if (fault) found.push({ ...fault, pointer: pointerTo(pointerTo('', name), id) });
    if (found.length >= mostProblems) break;
  }
  return found;
}

/** Finds what keeps a value from being one table of entries. */
export function tableProblems(content: unknown, rules: EntryRules): readonly ContentProblem[] {
  const problems = jsonProblems(content);
  return problems.length > 0 ? problems : shapeProblems(content as Json, rules);
}

const mostNamed = 3;

function list(verb: string, ids: readonly string[]): string {
  const named = ids.slice(0, mostNamed).join(', ');
  const more = ids.length > mostNamed ? ` and ${ids.length - mostNamed} more` : '';
  return `${verb} ${named}${more}`;
}

/** Says which entries were set, changed and removed. */
export function describeEntries(before: JsonObject, after: JsonObject): string {
  const added: string[] = [];
  const changed: string[] = [];
  for (const [id, value] of Object.entries(after)) {
    const old = member(before, id);
    if (old === undefined) added.push(id);
    else if (!equal(old, value)) changed.push(id);
  }
  const removed = Object.keys(before).filter((id) => !Object.hasOwn(after, id));
  const parts = [
    ...(added.length > 0 ? [list('adds', added)] : []),
    ...(changed.length > 0 ? [list('changes', changed)] : []),
    ...(removed.length > 0 ? [list('removes', removed)] : []),
  ];
  return parts.length > 0 ? parts.join('; ') : 'changes nothing';
}
