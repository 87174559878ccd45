// Tells whoever has documents open what happened to them: each new version, and a deletion. One
// look at the database serves every stream of the process.
//
// - A wake-up only says that something changed; what did is read by version. So nothing is lost
//   with a wake-up, and the poll finds it.
// - A watch begins with the version that is current then: what came between somebody's read and the
//   watch is not missed.
// - What somebody may not read, or not any more, is missing: the same as if it never was.
// - What was announced is not a receipt: it may come before the answer to the very save.

import type { Logger } from 'pino';
import type { DeletedEvent, MissingEvent, VersionEvent } from '../../kinds/wire.ts';
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
  | { readonly event: 'version'; readonly data: VersionEvent }
  | { readonly event: 'deleted'; readonly data: DeletedEvent }
  | { readonly event: 'missing'; readonly data: MissingEvent };

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
  isMissing: boolean;
}

const usualPollMs = 5_000;
const mostVersions = 1_000;

const versionEvent = (row: VersionRow): Announcement => ({
  event: 'version',
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
  const wasAway = watch.isGone || watch.isMissing;
  if (at !== null && !watch.isGone) {
    const data = { id: watch.id, at: printInstant(at), by: by ?? '' };
    watch.tell({ event: 'deleted', data });
  }
  // Whoever was told that it is gone is told what is there.
  if (at === null && wasAway) watch.version = version - 1;
  watch.isGone = at !== null;
  watch.isMissing = false;
}

/** Starts to look, at each wake-up and every few seconds. */
export function startAnnouncements(options: AnnouncementsOptions): Announcements {
  const { database, wakes, log, pollMs = usualPollMs } = options;
  const watches = new Set<Watch>();
  const closing = new AbortController();
  let looks: Promise<unknown> = Promise.resolve();

  async function look(some: readonly Watch[]): Promise<readonly Watch[]> {
    const states = await readStates(database.db, some);
    const seen = new Set(states.map(({ n }) => n));
    for (const [n, watch] of some.entries()) {
      if (seen.has(n) || watch.isMissing) continue;
      watch.isMissing = true;
      watch.tell({ event: 'missing', data: { id: watch.id } });
    }
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
        (id): Watch => ({ actor, id, tell, version: undefined, isGone: false, isMissing: false }),
      );
      const readable = await lookNext(() => mine);
      for (const watch of mine) watches.add(watch);
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
