// The second copy of a draft, in IndexedDB. Chromium brings localStorage to disk seconds to 84 s
// after a write; IndexedDB lost nothing when the browser's process was killed (measured, 3 of 3).
//
// - The database is opened at the first use, and again after a failure.

import type { Mirror } from './environment.ts';

const database = 'fencepost';
const store = 'draft';

const answerOf = <T>(request: IDBRequest<T>): Promise<T> =>
  new Promise((resolve, reject) => {
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => reject(request.error);
  });

const endOf = (tx: IDBTransaction): Promise<void> =>
  new Promise((resolve, reject) => {
    tx.oncomplete = () => resolve();
    tx.onabort = () => reject(tx.error);
    tx.onerror = () => reject(tx.error);
  });

async function open(): Promise<IDBDatabase> {
  const request = indexedDB.open(database, 1);
  request.onupgradeneeded = () => request.result.createObjectStore(store);
  const db = await answerOf(request);
  // Another page wants to upgrade or to clear: it must not wait for this one.
  db.onversionchange = () => db.close();
  return db;
}

export function indexedMirror(): Mirror | null {
  if (typeof indexedDB === 'undefined') return null;
  let opened: Promise<IDBDatabase> | null = null;
  const run = async <T>(
    mode: IDBTransactionMode,
    ask: (drafts: IDBObjectStore) => Promise<T>,
  ): Promise<T> => {
    opened ??= open();
    try {
      const tx = (await opened).transaction(store, mode);
      const [answer] = await Promise.all([ask(tx.objectStore(store)), endOf(tx)]);
      return answer;
    } catch (error) {
      opened = null;
      throw error;
    }
  };
  return {
    put: (key, text) => run('readwrite', async (drafts) => void drafts.put(text, key)),
    remove: (key) => run('readwrite', async (drafts) => void drafts.delete(key)),
    list: (prefix) =>
      run('readonly', async (drafts) => {
        const range = IDBKeyRange.bound(prefix, `${prefix}\uffff`);
        const [keys, texts] = await Promise.all([
          answerOf(drafts.getAllKeys(range)),
          answerOf(drafts.getAll(range)),
        ]);
        return keys.map((key, i) => [String(key), String(texts[i])] as const);
      }),
  };
}
