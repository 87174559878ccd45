// `openDocument`: one session for all who hold a document in a page, however often it is mounted.
//
// - A session is the document's, not a component's: it outlives the last holder for as long as
//   there is work to bring home, and opening again in that time gives the same session.
// - Each holder closes for itself. A holder that was closed refuses edits, instead of losing them,
//   holds nothing more, and hears of no conflict.
// - Each holder hears of a conflict, also one that is there already when it opens.

import { browserEnvironment } from './browser.ts';
import {
  type Adopted,
  adopt,
  type Copied,
  type DiscardResult,
  discardAndReload,
  discardSibling,
  keepAsCopy,
  type Rebased,
  type Resolve,
  rebase,
  undo,
} from './choices.ts';
import type { Environment } from './environment.ts';
import { type Closed, close, type Flushed, flush } from './saving.ts';
import { type Core, parts as ownParts, type SessionOptions, startSession } from './session.ts';
import type { SessionSnapshot } from './session-snapshot.ts';
import { createStreams, type Streams, type StreamsOptions } from './streams.ts';

export interface OpenOptions extends SessionOptions {
  /** The fault kit's, in tests. */
  readonly environment?: Environment;
}

export interface Unsubscribe {
  (): void;
  readonly unsubscribe: () => void;
}

type Listener = (snapshot: SessionSnapshot) => void;

/** `gone`: it was deleted, or never was. `closed`: the session ended before it was read. */
export type Loaded = 'loaded' | 'gone' | 'closed';

/** A session in the hands of one holder. All calls may be passed on without their object. */
export interface DocumentSession {
  getSnapshot(): SessionSnapshot;
  /** Calls at once, as a Svelte store does, and then after every change. */
  subscribe(listener: Listener | { readonly next?: Listener }): Unsubscribe;
  /** Resolves when there is a content to edit, or when there will be none. */
  whenLoaded(): Promise<Loaded>;
  /**
   * Replaces the content. It must not be changed in place, before or after.
   * @throws Error before the first read, and after `close`.
   */
  edit(content: unknown | ((content: unknown) => unknown)): void;
  flush(): Promise<Flushed>;
  close(): Promise<Closed>;
  rebase(resolve: Resolve): Promise<Rebased>;
  discardAndReload(): Promise<DiscardResult>;
  keepAsCopy(name: string): Promise<Copied>;
  /** Keeps other people's versions away while something is open, such as a cell. */
  hold(): () => void;
  adopt(key: string): Promise<Adopted>;
  discardSibling(key: string): Promise<boolean>;
  undo(): boolean;
  /** Ends a choice that waits. */
  cancel(): void;
  /** Goes on after a sign-in, for the same user only. */
  signedIn(user: string): 'resumed' | 'another-user';
}

interface Shared {
  readonly core: Core;
  /** The newest holder's headers are those that are sent: an old one may have an old token. */
  readonly options: Mutable<SessionOptions>;
  readonly holders: Set<SessionOptions>;
  holds: number;
}

type Mutable<T> = { -readonly [K in keyof T]: T[K] };

interface Room {
  readonly sessions: Map<string, Shared>;
  readonly streams: Map<string, readonly [Streams, Mutable<StreamsOptions>]>;
}

const rooms = new WeakMap<Environment, Room>();
let browser: Environment | null = null;

function roomOf(environment: Environment): Room {
  const known = rooms.get(environment);
  if (known) return known;
  const room: Room = { sessions: new Map(), streams: new Map() };
  rooms.set(environment, room);
  return room;
}

function streamsOf(room: Room, environment: Environment, options: SessionOptions): Streams {
  const { url, user, headers = {} } = options;
  const key = JSON.stringify([url, user]);
  const own = { url, user, headers };
  const [streams, theirs] = room.streams.get(key) ?? [createStreams(environment, own), own];
  if (options.headers) theirs.headers = headers;
  room.streams.set(key, [streams, theirs]);
  return streams;
}

function sharedOf(options: OpenOptions, parts: typeof ownParts): Shared {
  browser ??= options.environment ? null : browserEnvironment();
  const environment = options.environment ?? browser ?? browserEnvironment();
  const room = roomOf(environment);
  const key = JSON.stringify([options.url, options.kind.id, options.user, options.id]);
  const streams = streamsOf(room, environment, options);
  const known = room.sessions.get(key);
  if (known) {
    if (options.headers) known.options.headers = options.headers;
    known.core.send({ type: 'reopen' });
    return known;
  }
  const holders = new Set<SessionOptions>();
  const own: SessionOptions = {
    ...options,
    onConflict: (conflict) => {
      for (const { onConflict } of holders) queueMicrotask(() => onConflict(conflict));
    },
  };
  const core = startSession(own, { environment, streams, parts });
  const shared: Shared = { core, options: own, holders, holds: 0 };
  room.sessions.set(key, shared);
  core.listen(() => {
    const hasEnded = core.machine().matches({ holding: 'ended' });
    if (hasEnded && room.sessions.get(key) === shared) room.sessions.delete(key);
  });
  return shared;
}

/** Opens a document, or takes hold of the session that this page has of it already. */
export function openDocument(options: OpenOptions): DocumentSession {
  return openWith(options, ownParts);
}

/** `openDocument` with parts of another making. */
export function openWith(options: OpenOptions, parts: typeof ownParts): DocumentSession {
  const shared = sharedOf(options, parts);
  const { core } = shared;
  const holder = { ...options };
  shared.holders.add(holder);
  let closed: Promise<Closed> | null = null;
  const releases = new Set<() => void>();
  const met = core.getSnapshot();
  if (met.status === 'conflict') queueMicrotask(() => options.onConflict(met.conflict));

  return {
    getSnapshot: core.getSnapshot,
    subscribe(listener) {
      const next = typeof listener === 'function' ? listener : listener.next;
      const run = () => next?.(core.getSnapshot());
      const stop = core.listen(run);
      if (typeof listener === 'function') run();
      return Object.assign(stop, { unsubscribe: stop });
    },
    whenLoaded: () =>
      core.until<Loaded>(() => {
        if (core.facts().base.version > 0) return 'loaded';
        if (core.machine().matches({ lane: 'gone' })) return 'gone';
        return core.machine().matches({ holding: 'ended' }) ? 'closed' : undefined;
      }),
    edit(content) {
      if (closed) throw new Error('This holder was closed: nothing was edited.');
      const facts = core.facts();
      if (facts.base.version === 0) throw new Error('The document is not loaded.');
      const next = typeof content === 'function' ? content(facts.content) : content;
      if (next !== facts.content) core.send({ type: 'edit', content: next });
    },
    flush: () => flush(core),
    close() {
      if (closed) return closed;
      shared.holders.delete(holder);
      for (const release of releases) release();
      closed = shared.holders.size > 0 ? flush(core).then(outcomeOf) : close(core);
      return closed;
    },
    rebase: (resolve) => rebase(core, resolve),
    discardAndReload: () => discardAndReload(core),
    keepAsCopy: (name) => keepAsCopy(core, name),
    hold() {
      shared.holds += 1;
      if (shared.holds === 1) core.send({ type: 'hold' });
      const release = () => {
        if (!releases.delete(release)) return;
        shared.holds -= 1;
        if (shared.holds === 0) core.send({ type: 'release' });
      };
      releases.add(release);
      return release;
    },
    adopt: (key) => adopt(core, key),
    discardSibling: (key) => discardSibling(core, key),
    undo: () => undo(core),
    cancel: () => core.send({ type: 'cancel' }),
    signedIn(user) {
      if (user !== core.options.user) return 'another-user';
      core.signedIn();
      return 'resumed';
    },
  };
}

/** Where the work is when a holder leaves and others stay. */
function outcomeOf(flushed: Flushed): Closed {
  if (flushed.outcome === 'saved') return 'saved';
  return flushed.safe === 'page' ? 'kept' : 'drafted';
}
