// The history checker of document sessions: what was edited, what the user chose, what the server
// and the storage have, and whether they fit together. Asked after every step of a run.
//
// - Every edit puts a mark of its own into the content, so that it can be found again wherever the
//   content went: in a revision, in a draft, on a screen.
// - A mark may go by a choice of the user, and by a crash in the 300 ms before it had to be in the
//   draft. Nothing else excuses it.

import { isDeepStrictEqual } from 'node:util';
import { type Draft, decodeDraft } from '../../client/draft-record.ts';
import type { DocumentSession } from '../../client/open-document.ts';
import type { FakePage } from '../../client/testing/fake-browser.ts';
import type { Json } from '../../kinds/json.ts';
import { documentId, type Stage } from './sessions.ts';

export const draftLagMs = 300;

interface Mark {
  readonly page: string;
  readonly at: number;
  /** The page was hidden after the edit, so that it must be in the draft. */
  hidden: boolean;
}

/** A page with its session, as a run knows it. */
export interface Desk {
  readonly page: FakePage;
  session: DocumentSession;
  closed: boolean;
  frozen: boolean;
  hidden: boolean;
  /** The storage failed it, and it has not said since that the work is safe. */
  trouble: boolean;
  /** It went back to a base of its own past, so that it may meet its own version there. */
  wentBack: boolean;
  /** Choices under way. */
  choosing: number;
  shown: unknown;
}

export const marksOf = (content: unknown): readonly string[] => {
  const attributes = (content as { attributes?: object } | null)?.attributes ?? {};
  return Object.keys(attributes).filter((name) => name.startsWith('m'));
};

export function historyOf(at: Stage) {
  const marks = new Map<string, Mark>();
  const excused = new Set<string>();
  const findings: string[] = [];
  /** Save ids that were discarded, and the version at which. */
  const thrown = new Map<string, number>();
  let checked = 1;
  let slots = new Map<string, readonly string[]>();

  const find = (text: string) => {
    if (findings.length < 5 && !findings.includes(text)) findings.push(text);
  };
  const read = new Map<string, readonly Draft[]>();
  const draftIn = (text: string): readonly Draft[] => {
    const known = read.get(text);
    if (known) return known;
    const decoded = decodeDraft(text);
    const found = decoded.type === 'draft' ? [decoded.draft] : [];
    read.set(text, found);
    return found;
  };
  const draftsNow = () =>
    [...at.browser.storage.entries(), ...at.browser.mirror.entries()].flatMap(([key, text]) => {
      if (!key.startsWith('fencepost:draft:')) return [];
      return draftIn(text).map((draft) => [key, draft] as const);
    });
  const revisions = () => at.wire.ids().flatMap((id) => at.wire.stored(id).revisions);

  // Revisions are never taken back, so that what was found in one need not be looked for again.
  const stored = new Set<string>();
  const looked = new Set<unknown>();
  const kept = () => {
    for (const revision of revisions()) {
      if (looked.has(revision)) continue;
      looked.add(revision);
      for (const mark of marksOf(revision.content)) stored.add(mark);
    }
    const found = new Set(stored);
    for (const [, { content }] of draftsNow()) for (const mark of marksOf(content)) found.add(mark);
    return found;
  };

  const checkMarks = (desks: readonly Desk[]) => {
    const safe = kept();
    for (const [mark, { page, at: madeAt, hidden }] of marks) {
      if (excused.has(mark) || safe.has(mark)) continue;
      const desk = desks.find((each) => each.page.name === page);
      if (desk?.trouble) continue;
      const isDue = hidden || at.clock.elapsed() - madeAt >= draftLagMs;
      if (isDue) find(`edit ${mark} of ${page} is in no revision and in no draft`);
    }
  };

  /** What a session says of where its content is. */
  const checkWord = ({ page, session, closed }: Desk) => {
    if (closed) return;
    const { safe, content, status } = session.getSnapshot();
    if (status === 'loading' || content === null) return;
    const isStored = () =>
      revisions().findLast((each) => isDeepStrictEqual(each.content, content)) !== undefined;
    const isDrafted = () =>
      draftsNow().some(([, draft]) => isDeepStrictEqual(draft.content, content));
    if (safe === 'server' && !isStored()) find(`${page.name} says stored, and it is not`);
    if (safe === 'draft' && !isDrafted()) find(`${page.name} says drafted, and it is not`);
  };

  const checkRequests = ({ page, frozen }: Desk) => {
    if (frozen) return;
    const mine = at.server.log.filter((each) => each.page === page.name);
    // Nobody waits for what was abandoned, nor for what a stored save came after.
    const over = mine.flatMap(({ status, body }) =>
      status === 200 ? [body['saveIds'], body['after']].flat().map(String) : [],
    );
    const waiting = mine.filter(
      ({ method, status, body }) =>
        method === 'PUT' && status === undefined && !over.includes(String(body['saveId'])),
    );
    const saves = waiting.filter(({ body }) => !body['after']);
    if (saves.length > 1 || waiting.length > 2) {
      find(`${page.name} has ${waiting.length} saves open, ${saves.length} of them no flush`);
    }
  };

  /** A session that is told of its own save as of somebody else's. */
  const checkConflict = ({ page, session, closed, wentBack }: Desk) => {
    const snapshot = session.getSnapshot();
    if (closed || wentBack || snapshot.status !== 'conflict') return;
    const last = at.server.log.findLast((each) => each.page === page.name && each.status === 409);
    const { writer } = snapshot.conflict;
    if (writer !== null && last?.body['writer'] === writer) {
      find(`${page.name} is in conflict with itself`);
    }
  };

  const checkOverwrites = () => {
    const { revisions: all } = at.wire.stored(documentId);
    for (; checked < all.length; checked += 1) {
      const [before, after] = [all[checked - 1], all[checked]];
      if (!before || !after?.writer || after.saveId === null) continue;
      const thrownAt = thrown.get(after.saveId);
      if (thrownAt !== undefined && after.version > thrownAt) {
        find(`version ${after.version} of ${after.writer} had been thrown away`);
      }
      const page = after.writer.replace(/-id-\d+$/, '');
      const has = new Set(marksOf(after.content));
      // What a user chose away is gone from the version on top of it too, as it is meant to be.
      const gone = marksOf(before.content).filter((mark) => !has.has(mark) && !excused.has(mark));
      if (gone.length > 0) {
        find(`version ${after.version} of ${page} overwrote ${gone} of version ${before.version}`);
      }
    }
  };

  /**
   * Who else was told that the server has a content: a page that abandoned saves and heard that
   * they had committed, and a page that found the draft of a dead one to be what is stored.
   */
  const isToldOtherwise = (key: string, desks: readonly Desk[]): boolean => {
    const page = desks.find((desk) => key.includes(`:${desk.page.name}-id-`))?.page.name;
    return (
      page === undefined ||
      at.server.log.some(
        (each) => each.page === page && each.path.endsWith('/abandon') && each.status === 200,
      )
    );
  };

  /** Contents that the server said to have. */
  const receipts = () =>
    at.server.log
      .filter(({ method, status }) => method !== 'GET' && (status === 200 || status === 201))
      .map(({ body }) => body['content']);

  const checkSlots = (desks: readonly Desk[]) => {
    const now = new Map<string, readonly string[]>();
    for (const [key, { content }] of draftsNow()) {
      now.set(key, [...(now.get(key) ?? []), ...marksOf(content)]);
    }
    for (const [key, had] of slots) {
      const has = now.get(key);
      const gone = had.filter(
        (mark) => marks.has(mark) && !excused.has(mark) && !has?.includes(mark),
      );
      if (gone.length === 0) continue;
      const received = new Set(receipts().flatMap(marksOf));
      const elsewhere = new Set([...now.values()].flat());
      const isTold = isToldOtherwise(key, desks);
      // Of another page's marks, a page hears by a read that they are stored.
      const isForeign = (mark: string) => !key.includes(`:${marks.get(mark)?.page}-id-`);
      const lost = gone.filter(
        (mark) =>
          !received.has(mark) &&
          !elsewhere.has(mark) &&
          !((isTold || isForeign(mark)) && stored.has(mark)),
      );
      if (lost.length > 0) find(`the draft ${key} lost ${lost} without a receipt`);
    }
    slots = now;
  };

  return {
    findings,
    excused,
    /** An edit was made. */
    edited(mark: string, page: string) {
      marks.set(mark, { page, at: at.clock.elapsed(), hidden: false });
    },
    /** From here on, everything the page has must be in its draft. */
    hidden(page: string) {
      for (const mark of marks.values()) if (mark.page === page) mark.hidden = true;
    },
    /** A discard is over: of what the page had sent before it, nothing may arrive any more. */
    threwAway(saveIds: readonly string[]) {
      for (const saveId of saveIds) thrown.set(saveId, at.stored().version);
    },
    saveIdsOf: (page: string): readonly string[] =>
      at.server.puts().flatMap((put) => (put.page === page ? [String(put.body['saveId'])] : [])),
    excuse(list: readonly string[]) {
      for (const mark of list) excused.add(mark);
    },
    /** The page dies: what it had no time to bring to the draft is excused. */
    crashed(desk: Desk) {
      const safe = kept();
      for (const [mark, { page, at: madeAt, hidden }] of marks) {
        if (page !== desk.page.name || safe.has(mark)) continue;
        const wasDue = hidden || at.clock.elapsed() - madeAt >= draftLagMs;
        if (!wasDue || desk.trouble) excused.add(mark);
      }
    },
    check(desks: readonly Desk[]) {
      checkMarks(desks);
      for (const desk of desks) {
        checkWord(desk);
        checkRequests(desk);
        checkConflict(desk);
      }
      checkOverwrites();
      checkSlots(desks);
    },
    /** At the end, when all is well again: nobody is left with work that is not on the server. */
    checkEnd(desks: readonly Desk[]) {
      for (const { page, session, closed } of desks) {
        const { status, safe } = session.getSnapshot();
        if (!closed && (status !== 'saved' || safe !== 'server')) {
          find(`${page.name} ends ${status}, its work in ${safe}`);
        }
      }
    },
    marks: () => marks.size,
    content: (mark: string, content: unknown): Json => {
      const { attributes = {} } = (content ?? {}) as { attributes?: Record<string, Json> };
      return { attributes: { ...attributes, [mark]: 1 } };
    },
  };
}

export type History = ReturnType<typeof historyOf>;
