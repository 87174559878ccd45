// What a document is to answer, in memory and one save after the other: the specification that the
// SQL is compared with. Histories of saves are generated here too.

import { randomUUID } from 'node:crypto';
import type { Save } from '../../services/documents/save.ts';

interface Version {
  readonly save: string | null;
  readonly writer: string | null;
}

/** A document that has version 1. Answers as `told` (documents.ts) does. */
export function documentModel() {
  const versions: Version[] = [{ save: null, writer: null }];
  /** By writer and save: the version, or null for what was overtaken. */
  const receipts = new Map<string, number | null>();

  const keyOf = (writer: string, save: string) => `${writer} ${save}`;

  function send({ base, after = [], save }: Save): string {
    if (save === null) throw new Error('the model knows saves with an id only');
    const { id, writer } = save;
    const current = versions.length;
    const key = keyOf(writer, id);
    const known = receipts.get(key);
    if (known !== undefined) {
      return `${known === current ? 'replayed' : 'superseded'} ${known} of ${current}`;
    }
    const last = versions.at(-1);
    const isMine = last?.writer === writer && last.save !== null && after.includes(last.save);
    if (base !== current && !isMine) return `conflict with ${current}`;
    versions.push({ save: id, writer });
    receipts.set(key, versions.length);
    for (const each of after) {
      if (!receipts.has(keyOf(writer, each))) receipts.set(keyOf(writer, each), null);
    }
    return `saved ${versions.length} of ${versions.length}`;
  }

  return {
    get version() {
      return versions.length;
    },
    send,
  };
}

export const orders = <T>(items: readonly T[]): readonly (readonly T[])[] =>
  items.length < 2
    ? [items]
    : items.flatMap((first, i) =>
        orders(items.filter((_, j) => j !== i)).map((rest) => [first, ...rest]),
      );

/** All ways to run two sequences beside each other, each in its own order. */
export function interleavings<T>(a: readonly T[], b: readonly T[]): readonly (readonly T[])[] {
  const [firstA, ...restA] = a;
  const [firstB, ...restB] = b;
  if (firstA === undefined) return [b];
  if (firstB === undefined) return [a];
  return [
    ...interleavings(restA, b).map((rest) => [firstA, ...rest]),
    ...interleavings(a, restB).map((rest) => [firstB, ...rest]),
  ];
}

/** A step of a history: a save as somebody sends it when its turn comes. */
export interface Step {
  readonly name: string;
  /** `version` is the document's at that time. */
  readonly save: (version: number) => Save;
}

/** A save that is minted once, when it is sent first, and is the same each time after. */
export function sentAgain(name: string, mint: (version: number) => Save): readonly Step[] {
  let minted: Save | undefined;
  const save = (version: number): Save => {
    minted ??= mint(version);
    return minted;
  };
  return [
    { name, save },
    { name: `${name} again`, save },
  ];
}

/** Three saves of one writer, each behind those before it, all of them from version 1. */
export function chain(save: (base: number, text: string, more?: object) => Save) {
  const ids = [randomUUID(), randomUUID(), randomUUID()];
  return ['A', 'AB', 'ABC'].map((text, i): Step => {
    const made = save(1, text, { id: ids[i], after: ids.slice(0, i) });
    return { name: `s${i + 1}`, save: () => made };
  });
}
