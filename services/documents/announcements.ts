// Tells whoever has documents open what happened to them: each new version, and a deletion. One
// look at the database serves every stream of the process.
//
// - A wake-up only says that something changed; what did is read by version. So nothing is lost
//   with a wake-up, and the poll finds it.
// - A watch begins with the version that is current then: what came between somebody's read and the
//   watch is not missed.
// - What was announced is not a receipt: it may come before the answer to the very save.

import type { Logger } from 'pino';
import type { DeletedEvent, VersionEvent } from '../../kinds/wire.ts';
import type { Database } from '../../persistence/database.ts';
import {
  documentTopic,
  readStates,
  readVersionsAfter,
  type StateRow,
  type VersionRow,
  type Watcher,
} from '../../persistence/document-events.ts';
import { printInstant } from '../../persistence/instant.ts';
import type { WakeListener } from '../../persistence/wake-listener.ts';

export type Announcement =
  | { readonly type: 'version'; readonly data: VersionEvent }
  | { readonly type: 'deleted'; readonly data: DeletedEvent };

export interface AnnouncementsOptions {
  readonly database: Database;
  readonly wakes: Pick<WakeListener, 'wait'>;
  readonly log: Logger;
  readonly pollMs?: number;
}

export interface Watching {
  /** Those of the documents that the actor may read. */
  readonly ids: readonly string[];
  stop(): void;
}

export interface Announcements {
  /** Watches documents for somebody, from the version on that is current now. */
  watch(
    actor: string,
    ids: readonly string[],
    tell: (announcement: Announcement) => void,
  ): Promise<Watching>;
  close(): Promise<void>;
}

interface Watch extends Watcher {
  readonly tell: (announcement: Announcement) => void;
  /** The last version that was announced; undefined before the first look. */
  version: number | undefined;
  isGone: boolean;
}

const usualPollMs = 5_000;
const mostVersions = 1_000;

const versionEvent = (row: VersionRow): Announcement => ({
  type: 'version',
  data: {
    id: row.document,
    version: row.version,
    saveId: row.save,
    writer: row.writer,
    by: row.author,
    at: printInstant(row.at),
  },
});

/** Notes how the document stands. Tells of a deletion; what else is to be told is read next. */
function note(watch: Watch, state: StateRow): void {
  const { version, deleted_at: at, deleted_by: by } = state;
  watch.version ??= version - 1;
  const wasGone = watch.isGone;
  watch.isGone = at !== null;
  if (at !== null && !wasGone) {
    const data = { id: watch.id, at: printInstant(at), by: by ?? '' };
    watch.tell({ type: 'deleted', data });
  }
  // Brought back: whoever was told that it is gone is told what is there.
  if (at === null && wasGone) watch.version = version - 1;
}

/** Starts to look, at each wake-up and every few seconds. */
export function startAnnouncements(options: AnnouncementsOptions): Announcements {
  const { database, wakes, log, pollMs = usualPollMs } = options;
  const watches = new Set<Watch>();
  const closing = new AbortController();
  let looks: Promise<unknown> = Promise.resolve();

  async function look(some: readonly Watch[]): Promise<readonly Watch[]> {
    const states = await readStates(database.db, some);
    const readable: Watch[] = [];
    const behind = new Map<string, number>();
    for (const state of states) {
      const watch = some[state.n];
      if (!watch) continue;
      readable.push(watch);
      note(watch, state);
      const { version = 0, id } = watch;
      if (state.deleted_at !== null || version >= state.version) continue;
      behind.set(id, Math.min(version, behind.get(id) ?? version));
    }
    const asked = [...behind].map(([id, version]) => ({ id, version }));
    const rows = asked.length > 0 ? await readVersionsAfter(database.db, asked, mostVersions) : [];
    for (const row of rows) {
      for (const watch of readable) {
        if (watch.id !== row.document || row.version <= (watch.version ?? 0)) continue;
        watch.version = row.version;
        watch.tell(versionEvent(row));
      }
    }
    return readable;
  }

  /** One look after the other, so that each version is told once and in order. */
  function lookNext(some: () => readonly Watch[]): Promise<readonly Watch[]> {
    const mine = looks.then(() => look(some()));
    looks = mine.catch(() => undefined);
    return mine;
  }

  async function run(): Promise<void> {
    while (!closing.signal.aborted) {
      await wakes.wait(documentTopic, pollMs, closing.signal);
      if (closing.signal.aborted || watches.size === 0) continue;
      try {
        await lookNext(() => [...watches]);
      } catch (error) {
        log.warn({ err: error, tryAgainMs: pollMs }, 'documents: nothing could be announced');
      }
    }
  }

  const running = run();
  return {
    async watch(actor, ids, tell) {
      const mine = [...new Set(ids.map((id) => id.toLowerCase()))].map(
        (id): Watch => ({ actor, id, tell, version: undefined, isGone: false }),
      );
      const readable = await lookNext(() => mine);
      for (const watch of readable) watches.add(watch);
      return {
        ids: readable.map(({ id }) => id),
        stop() {
          for (const watch of mine) watches.delete(watch);
        },
      };
    },
    async close() {
      closing.abort();
      await running;
      await looks;
    },
  };
}
