// The session of one document: the machine, with its effects in the world, and the calls of the
// page. open-document.ts shares it among the page's holders.
//
// - All decisions are the machine's. What is here starts it, tells it what happens, and waits.
// - Who listens is told when the machine stands still, so that an edit or a flush out of a listener
//   meets what is there. A listener that throws stops nobody else.
// - A call that waits is answered by a value; none waits for a network that is away.

import { createActor } from 'xstate';
import type { Kind } from '../kinds/kind.ts';
import type { Conflict, SessionEvent } from '../machines/session-events.ts';
import type { Facts } from '../machines/session-facts.ts';
import { type SessionLogic, type SessionParts, sessionLogic } from '../machines/session-logic.ts';
import { changes, delaysMs, type Effects, retryMs } from '../machines/session-setup.ts';
import { draftEffects } from './draft-effects.ts';
import { type DraftPlace, slotKey } from './draft-record.ts';
import { createDraftStore } from './draft-store.ts';
import { remoteEffects } from './effects.ts';
import type { Environment } from './environment.ts';
import { announcedEvent, saveEvent } from './receipts.ts';
import { report } from './report.ts';
import { type SessionSnapshot, type Sibling, snapshotOf } from './session-snapshot.ts';
import { findSiblings, type Siblings } from './siblings.ts';
import type { MachineSnapshot } from './status.ts';
import type { Streams } from './streams.ts';
import { createTransport, type HeadersSource, type Transport } from './transport.ts';
import { writerLocks } from './writer-lock.ts';

export interface SessionOptions {
  readonly url: string;
  readonly id: string;
  readonly kind: Kind;
  /** Who is signed in, as the server names them. Drafts are this user's alone. */
  readonly user: string;
  readonly headers?: HeadersSource;
  /**
   * Called once for each conflict, and for one that is there when the document is opened. Required,
   * because a conflict that nobody shows loses work.
   */
  readonly onConflict: (conflict: Conflict) => void;
}

/** What of a session can be exchanged, for tests that prove that they see mistakes. */
export interface Parts {
  readonly changes: typeof changes;
  readonly logic: (parts: SessionParts) => SessionLogic;
  readonly readSave: typeof saveEvent;
  readonly mintWriter: (environment: Environment) => string;
  readonly effects: (own: Effects, send: (event: SessionEvent) => void) => Effects;
}

export const parts: Parts = {
  changes,
  logic: sessionLogic,
  readSave: saveEvent,
  mintWriter: (environment) => environment.uuid(),
  effects: (own) => own,
};

/** A session from the inside, as the calls of the page see it. */
export interface Core {
  readonly options: SessionOptions;
  readonly environment: Environment;
  readonly transport: Transport;
  readonly siblings: Siblings;
  send(event: SessionEvent): void;
  machine(): MachineSnapshot;
  facts(): Facts;
  /** Waits for the first answer that is not undefined, asking after every change. */
  until<T>(probe: () => T | undefined): Promise<T>;
  findSiblings(): Promise<void>;
  signedIn(): void;
  getSnapshot(): SessionSnapshot;
  listen(run: () => void): () => void;
}

export interface SessionWorld {
  readonly environment: Environment;
  readonly streams: Streams;
  readonly parts: Parts;
}

/** Starts a session. It ends by itself, when nobody holds it and nothing is left to do. */
export function startSession(options: SessionOptions, world: SessionWorld): Core {
  const { environment, streams } = world;
  const { id, kind, user } = options;
  const { clock, page } = environment;
  const writer = world.parts.mintWriter(environment);
  const place: DraftPlace = { kind: kind.id, user, document: id };
  const slot = slotKey(place, writer);
  const transport = createTransport(environment, options);
  const drafts = createDraftStore(environment);
  const locks = writerLocks(environment.locks);
  const siblings = findSiblings({ place, own: slot, drafts, locks });
  const listeners = new Set<() => void>();

  let isOver = false;
  let moving = 0;
  let told: MachineSnapshot | null = null;
  const notify = () => {
    for (const run of listeners) {
      try {
        run();
      } catch (error) {
        report(error);
      }
    }
  };
  const move = (run: () => void): void => {
    moving += 1;
    try {
      run();
    } finally {
      moving -= 1;
    }
    if (moving > 0 || told === actor.getSnapshot()) return;
    told = actor.getSnapshot();
    notify();
  };
  const send = (event: SessionEvent): void => {
    if (!isOver) move(() => actor.send(event));
  };
  const facts = (): Facts => actor.getSnapshot().context;
  const remote = remoteEffects({
    ...{ transport, id, writer, kind, send },
    mint: () => environment.uuid(),
    readSave: world.parts.readSave,
  });
  const draft = draftEffects({ place, writer, drafts, clock, facts, send });
  const effects = world.parts.effects({ ...remote, ...draft }, send);
  const retry = (known: Facts): number =>
    Math.max(known.waitMs, retryMs(known) * (0.5 + environment.random() / 2));
  const delays = { ...delaysMs, retry };
  const logic = world.parts.logic({ changes: world.parts.changes, effects, delays });
  const actor = createActor(logic, {
    clock: {
      setTimeout: (run, ms) => clock.setTimeout(() => move(run), ms),
      clearTimeout: (timer) => clock.clearTimeout(timer),
    },
  });

  let offered: readonly Omit<Sibling, 'stale'>[] = [];
  let seen: { machine: MachineSnapshot; offered: typeof offered; snapshot: SessionSnapshot };
  const getSnapshot = (): SessionSnapshot => {
    const now = actor.getSnapshot();
    if (seen?.machine !== now || seen.offered !== offered) {
      seen = { machine: now, offered, snapshot: snapshotOf(now, offered) };
    }
    return seen.snapshot;
  };
  const find = async (): Promise<void> => {
    if (facts().base.version === 0) return;
    offered = await siblings.find(facts().base);
    notify();
  };

  const hearNetwork = () => {
    const knows = !actor.getSnapshot().matches({ connection: 'offline' });
    if (page.isOnline() !== knows) send({ type: page.isOnline() ? 'online' : 'offline' });
  };
  const leaveLock = locks.live(slot);
  const leavePage = page.listen((event) => {
    send({ type: event });
    // A frozen page is told neither that the network went nor that it came.
    if (event === 'wake' || event === 'show') hearNetwork();
    if (event === 'show') find();
  });
  const leaveStream = streams.listen(id, {
    opened: () => send({ type: 'stream.opened' }),
    lost: () => send({ type: 'stream.lost' }),
    heard(type, data) {
      const event = announcedEvent(type, data, { writer, numberOf: remote.numberOf });
      if (event) send(event);
    },
  });

  let conflict: Conflict | null = null;
  let isLoaded = false;
  actor.subscribe((now) => {
    if (!isOver && now.matches({ holding: 'ended' })) {
      for (const leave of [leavePage, leaveStream, leaveLock]) leave();
      isOver = true;
      actor.stop();
    }
    const isConflict = now.matches({ lane: 'conflict' });
    const met = isConflict ? now.context.conflict : null;
    if (met && !conflict) options.onConflict(met);
    conflict = met;
    if (!isLoaded && now.context.base.version > 0) {
      isLoaded = true;
      find();
    }
  });
  actor.start();
  hearNetwork();

  return {
    ...{ options, environment, transport, siblings, send, facts, getSnapshot },
    machine: () => actor.getSnapshot(),
    findSiblings: find,
    signedIn() {
      remote.signedIn();
      send({ type: 'signed.in' });
    },
    listen(run) {
      listeners.add(run);
      return () => listeners.delete(run);
    },
    until(probe) {
      return new Promise((resolve) => {
        const ask = () => {
          const answer = probe();
          if (answer === undefined) return;
          listeners.delete(ask);
          resolve(answer);
        };
        listeners.add(ask);
        ask();
      });
    },
  };
}
