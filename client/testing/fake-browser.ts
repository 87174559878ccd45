// A browser with pages: what they share (storage, its mirror, locks, channels, the network, who is
// signed in) and the life of each.
//
// - A page that crashed runs nothing more; what it had sent reaches the server all the same.
// - A frozen page runs no timer. Those that came due run when it is thawed, before it is told.

import type { Clock, Environment, HttpAnswer, PageEvent, Timer } from '../environment.ts';
import { fakeChannels, fakeLocks } from './fake-locks.ts';
import { fakeMirror, fakeStorage } from './fake-storage.ts';
import type { ManualClock } from './manual-clock.ts';
import type { Caller, ScriptedServer } from './scripted-server.ts';

export interface FakeBrowserOptions {
  readonly server: ScriptedServer;
  readonly clock: ManualClock;
  readonly user: string;
  /** From 0 to 1, for the jitter. */
  readonly random?: () => number;
  readonly withLocks?: boolean;
  readonly withMirror?: boolean;
}

export interface FakePage {
  readonly name: string;
  readonly environment: Environment;
  /** Another tab is in front; both events of a close fire. */
  hide(): void;
  show(): void;
  freeze(): void;
  thaw(): void;
  /** Into the back-forward cache, and back. */
  leave(): void;
  comeBack(): void;
  /** The process is killed. Nothing of the page runs any more. */
  crash(): void;
}

type Life = 'running' | 'frozen' | 'dead';

function pageClock(clock: Clock, life: () => Life) {
  const due: (() => void)[] = [];
  const own: Clock = {
    now: () => clock.now(),
    setTimeout: (run, ms) =>
      clock.setTimeout(() => {
        if (life() === 'running') run();
        if (life() === 'frozen') due.push(run);
      }, ms),
    clearTimeout: (timer: Timer) => clock.clearTimeout(timer),
  };
  const runDue = () => {
    for (const run of due.splice(0)) run();
  };
  return { own, runDue };
}

export function fakeBrowser(options: FakeBrowserOptions) {
  const { server, clock, random = () => 0.5, withLocks = true, withMirror = true } = options;
  const storage = fakeStorage();
  const mirror = fakeMirror();
  const locks = fakeLocks();
  const channels = fakeChannels();
  const state: { user: string | null; up: boolean } = { user: options.user, up: true };
  const pages = new Set<(event: PageEvent) => void>();
  let count = 0;

  function openPage(): FakePage {
    count += 1;
    const name = `page-${count}`;
    let life: Life = 'running';
    let hidden = false;
    let ids = 0;
    const hearers = new Set<(event: PageEvent) => void>();
    const tell = (event: PageEvent) => {
      if (life === 'running') for (const hear of [...hearers]) hear(event);
    };
    pages.add(tell);
    const lifeNow = (): Life => life;
    const { own, runDue } = pageClock(clock, lifeNow);
    const caller: Caller = { page: name, user: () => state.user, isUp: () => state.up };
    const send = server.fetchFor(caller);
    /** Nobody is there to hear an answer. */
    const unheard = new Promise<HttpAnswer>(() => {});
    const environment: Environment = {
      async fetch(url, request) {
        if (lifeNow() !== 'running') return unheard;
        const answer = await send(url, request).catch((error: unknown) => {
          if (lifeNow() === 'dead') return unheard;
          throw error;
        });
        if (lifeNow() === 'frozen') throw new TypeError('Failed to fetch');
        return lifeNow() === 'dead' ? unheard : answer;
      },
      openStream: server.streamFor(caller),
      clock: own,
      random,
      uuid: () => {
        ids += 1;
        return `${name}-id-${ids}`;
      },
      storage: () => storage,
      mirror: withMirror ? mirror : null,
      locks: withLocks ? locks.locksOf(name) : null,
      channel: (channel) => (withLocks ? channels.channelOf(name, channel) : null),
      page: {
        isHidden: () => hidden,
        isOnline: () => state.up,
        listen(hear) {
          hearers.add(hear);
          return () => hearers.delete(hear);
        },
      },
    };
    const hide = () => {
      hidden = true;
      tell('hide');
    };
    const sleep = () => {
      tell('sleep');
      life = 'frozen';
    };
    const wake = () => {
      life = 'running';
      runDue();
      tell('wake');
    };
    const show = () => {
      hidden = false;
      tell('show');
    };
    return {
      name,
      environment,
      hide,
      show,
      freeze: sleep,
      thaw: wake,
      leave() {
        hide();
        hide();
        sleep();
      },
      comeBack() {
        hidden = false;
        wake();
        tell('show');
      },
      crash() {
        life = 'dead';
        pages.delete(tell);
        locks.endPage(name);
        channels.endPage(name);
      },
    };
  }

  return {
    storage,
    mirror,
    openPage,
    locks: locks.names,
    goOffline() {
      state.up = false;
      server.cutStreams();
      for (const tell of pages) tell('offline');
    },
    goOnline() {
      state.up = true;
      for (const tell of pages) tell('online');
    },
    /** The network dies and the browser does not notice. */
    cutNetwork() {
      state.up = false;
    },
    mendNetwork() {
      state.up = true;
    },
    signIn(user: string | null) {
      state.user = user;
    },
    get user() {
      return state.user;
    },
  };
}

export type FakeBrowser = ReturnType<typeof fakeBrowser>;
