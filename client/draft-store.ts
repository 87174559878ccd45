// Where drafts lie: a slot in localStorage, which other tabs see and a dying page can still write,
// and its mirror in IndexedDB, which survives a kill of the browser.
//
// - Of two copies the one with the higher counter is the draft. Both go together.
// - A write that failed changed nothing: the draft before it stands.
// - Writes and removals of a key reach the mirror in the order in which they were asked for.
// - No failure is for ever: the storage is asked again at every write.

import {
  type Draft,
  type DraftPlace,
  decodeDraft,
  encodeDraft,
  placeKey,
  quarantineKey,
  slotKey,
} from './draft-record.ts';
import type { Environment, StorageArea } from './environment.ts';

export type DraftTrouble = 'full' | 'blocked' | 'not-json';
export type Written =
  | { readonly written: true }
  | { readonly written: false; because: DraftTrouble };

export interface DraftStore {
  /**
   * Writes at once into the slot. Only where that fails does the answer wait for the mirror.
   */
  write(key: string, text: string): Written | Promise<Written>;
  remove(key: string): void;
  read(key: string): Promise<Draft | null>;
  /** The whole drafts of a place, the newest base and counter first. Broken ones are put away. */
  list(place: DraftPlace): Promise<readonly (readonly [string, Draft])[]>;
}

/** QuotaExceededError, and NS_ERROR_DOM_QUOTA_REACHED in Firefox, say that a storage is full. */
export const troubleOf = (error: unknown): DraftTrouble =>
  /quota/i.test(String((error as Error | null)?.name)) ? 'full' : 'blocked';

/** The text of a draft, or that the content has no text from which it would come back. */
export function draftText(...draft: Parameters<typeof encodeDraft>): string | null {
  try {
    return encodeDraft(...draft);
  } catch {
    return null;
  }
}

const newestFirst = ([, a]: readonly [string, Draft], [, b]: readonly [string, Draft]): number =>
  b.base - a.base || b.counter - a.counter;

export function createDraftStore({ storage, mirror }: Environment): DraftStore {
  let queue: Promise<unknown> = Promise.resolve();
  const mirrored = (run: () => Promise<void>): Promise<boolean> => {
    const done = queue.then(run).then(
      () => true,
      () => false,
    );
    queue = done;
    return done;
  };

  const area = (): StorageArea | null => {
    try {
      return storage();
    } catch {
      return null;
    }
  };

  const slotsOf = (beginning: string): readonly (readonly [string, string])[] => {
    try {
      const slots = area();
      return Array.from({ length: slots?.length ?? 0 }, (_, i) => slots?.key(i) ?? '')
        .filter((key) => key.startsWith(beginning))
        .map((key) => [key, slots?.getItem(key) ?? '']);
    } catch {
      return [];
    }
  };

  const copiesOf = async (beginning: string) => {
    await queue;
    const inMirror = await mirror?.list(beginning).catch(() => []);
    return [...slotsOf(beginning), ...(inMirror ?? [])];
  };

  /** Puts a broken text away, where nothing overwrites it; where there is no room, it stays. */
  const quarantine = (key: string, text: string) => {
    try {
      const slots = area();
      slots?.setItem(quarantineKey(key), text);
      if (slots?.getItem(key) === text) slots.removeItem(key);
    } catch {
      // It stays where it is, and is looked at again.
    }
  };

  const wholeDrafts = async (beginning: string) => {
    const newest = new Map<string, Draft>();
    const broken: (readonly [string, string])[] = [];
    for (const [key, text] of await copiesOf(beginning)) {
      const decoded = decodeDraft(text);
      if (decoded.type === 'broken') broken.push([key, text]);
      if (decoded.type !== 'draft') continue;
      const { draft } = decoded;
      const known = newest.get(key);
      if (slotKey(draft, draft.writer) !== key) broken.push([key, text]);
      else if (!known || draft.counter > known.counter) newest.set(key, draft);
    }
    for (const [key, text] of broken) quarantine(key, text);
    return newest;
  };

  return {
    write(key, text) {
      const copied = mirror ? mirrored(() => mirror.put(key, text)) : Promise.resolve(false);
      let because: DraftTrouble = 'blocked';
      try {
        const slots = area();
        slots?.setItem(key, text);
        if (slots?.getItem(key) === text) return { written: true };
      } catch (error) {
        because = troubleOf(error);
      }
      return copied.then((done) => (done ? { written: true } : { written: false, because }));
    },
    remove(key) {
      if (mirror) mirrored(() => mirror.remove(key));
      try {
        area()?.removeItem(key);
      } catch {
        // Blocked storage has no slot of ours.
      }
    },
    read: async (key) => (await wholeDrafts(key)).get(key) ?? null,
    list: async (place) => [...(await wholeDrafts(placeKey(place)))].toSorted(newestFirst),
  };
}
