// Storages that fail as those of browsers do.

import type { Mirror, StorageArea } from '../environment.ts';

export interface FakeStorage extends StorageArea {
  /** UTF-16 units that fit, keys and values; as in browsers 5,242,880. */
  quota: number;
  /** The next write is cut off in the middle, as by a crash. */
  tear(): void;
  /** What every use throws, until it is null again. */
  error: Error | null;
  entries(): readonly (readonly [string, string])[];
}

const named = (name: string): Error => Object.assign(new Error(name), { name });

/** What Chromium throws where the user blocked storage. */
export const securityError = (): Error => named('SecurityError');

export function fakeStorage(): FakeStorage {
  const slots = new Map<string, string>();
  let torn = false;
  const sizeWith = (key: string, value: string) => {
    let size = key.length + value.length;
    for (const [name, text] of slots) if (name !== key) size += name.length + text.length;
    return size;
  };
  const storage: FakeStorage = {
    quota: 5_242_880,
    error: null,
    get length() {
      if (storage.error) throw storage.error;
      return slots.size;
    },
    key: (index) => [...slots.keys()][index] ?? null,
    getItem(key) {
      if (storage.error) throw storage.error;
      return slots.get(key) ?? null;
    },
    setItem(key, value) {
      if (storage.error) throw storage.error;
      if (sizeWith(key, value) > storage.quota) throw named('QuotaExceededError');
      slots.set(key, torn ? value.slice(0, Math.floor(value.length / 2)) : value);
      torn = false;
    },
    removeItem(key) {
      if (storage.error) throw storage.error;
      slots.delete(key);
    },
    tear() {
      torn = true;
    },
    entries: () => [...slots],
  };
  return storage;
}

export interface FakeMirror extends Mirror {
  error: Error | null;
  entries(): readonly (readonly [string, string])[];
}

export function fakeMirror(): FakeMirror {
  const copies = new Map<string, string>();
  const check = () => {
    if (mirror.error) throw mirror.error;
  };
  const mirror: FakeMirror = {
    error: null,
    async put(key, text) {
      check();
      copies.set(key, text);
    },
    async remove(key) {
      check();
      copies.delete(key);
    },
    async list(prefix) {
      check();
      return [...copies].filter(([key]) => key.startsWith(prefix));
    },
    entries: () => [...copies],
  };
  return mirror;
}
