// The world of a session in a browser. Nothing here runs when the module is imported, so that a
// server may import it to render.

import type { Channel, Environment, Locks, Page, PageEvent } from './environment.ts';
import { indexedMirror } from './indexed-mirror.ts';
import { openStream } from './sse.ts';

function channel(name: string): Channel | null {
  if (typeof BroadcastChannel === 'undefined') return null;
  const open = new BroadcastChannel(name);
  return {
    postMessage: (message) => open.postMessage(message),
    listen: (hear) => {
      open.onmessage = ({ data }) => hear(data);
    },
    close: () => open.close(),
  };
}

/**
 * Where a page is left by a link or a reload, Chromium says `visible` until after `pagehide`: what
 * is sent then must outlive the page all the same.
 */
let isLeft = false;

/**
 * `pagehide` and `visibilitychange` both fire when a tab is closed; `freeze` and `resume` are
 * Chromium's. Source: https://developer.chrome.com/docs/web-platform/page-lifecycle-api
 */
function listen(hear: (event: PageEvent) => void): () => void {
  const stop = new AbortController();
  const options = { signal: stop.signal };
  const on = (target: EventTarget, type: string, run: (event: Event) => void) =>
    target.addEventListener(type, run, options);
  const isPersisted = (event: Event) => 'persisted' in event && event.persisted === true;
  on(document, 'visibilitychange', () =>
    hear(document.visibilityState === 'hidden' ? 'hide' : 'show'),
  );
  on(document, 'freeze', () => hear('sleep'));
  on(document, 'resume', () => hear('wake'));
  on(window, 'pagehide', (event) => {
    isLeft = true;
    hear('hide');
    if (isPersisted(event)) hear('sleep');
  });
  on(window, 'pageshow', (event) => {
    isLeft = false;
    if (isPersisted(event)) hear('wake');
  });
  on(window, 'online', () => hear('online'));
  on(window, 'offline', () => hear('offline'));
  return () => stop.abort();
}

const page: Page = {
  isHidden: () => isLeft || document.visibilityState === 'hidden',
  isOnline: () => navigator.onLine,
  listen,
};

/** `crypto.randomUUID` is there in secure contexts only; random bytes are there everywhere. */
function uuid(): string {
  const dice = crypto.getRandomValues(new Uint8Array(36));
  // A template of version 4 and variant 1: each 0 is any digit, the 8 one of 8, 9, a and b.
  return '00000000-0000-4000-8000-000000000000'.replace(/[08]/g, (digit, i: number) =>
    (Number(digit) | ((dice[i] ?? 0) & (digit === '8' ? 3 : 15))).toString(16),
  );
}

export function browserEnvironment(): Environment {
  return {
    fetch: (url, request) => fetch(url, request),
    openStream,
    clock: {
      now: () => Date.now(),
      setTimeout: (run, ms) => setTimeout(run, ms),
      clearTimeout: (timer) => clearTimeout(timer),
    },
    random: () => Math.random(),
    uuid,
    storage: () => window.localStorage,
    mirror: indexedMirror(),
    locks: (navigator.locks as Locks | undefined) ?? null,
    channel,
    page,
  };
}
