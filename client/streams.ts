// One stream of versions for all sessions of a page, and, where the browser can, one for all its
// pages: six streams over HTTP/1.1 would block the saves of the seventh tab.
//
// - Who holds the Web Lock of the stream opens it, for the documents of every page, and tells the
//   others what it hears by a BroadcastChannel. A page that falls asleep lets go of the lock.
// - A stream that was opened again may have missed something: every session is told `opened`, and
//   reads. Losing events therefore costs time and nothing else.
// - Without locks or channel each page has a stream of its own.

import type { Channel, Environment } from './environment.ts';
import { membersOf } from './receipts.ts';
import { type Headers, type HeadersSource, parsed, withHeaders } from './transport.ts';

export interface StreamListener {
  readonly opened: () => void;
  readonly lost: () => void;
  readonly heard: (type: string, data: unknown) => void;
}

export interface Streams {
  /** Returns how to stop listening. */
  listen(document: string, listener: StreamListener): () => void;
}

type Message =
  | { readonly type: 'want'; readonly page: string; readonly ids: readonly string[] }
  | { readonly type: 'who' }
  | { readonly type: 'opened' | 'lost' }
  | { readonly type: 'heard'; readonly event: string; readonly id: string; readonly data: unknown };

export interface StreamsOptions {
  readonly url: string;
  readonly user: string;
  /** Read anew for each stream. */
  readonly headers: HeadersSource;
}

const firstWaitMs = 1000;
const mostWaitMs = 30_000;
const gatherMs = 50;

export function createStreams(environment: Environment, options: StreamsOptions): Streams {
  const { clock, locks } = environment;
  const { url, user } = options;
  const name = `fencepost:events:${url}:${user}`;
  const me = environment.uuid();
  const listeners = new Map<string, Set<StreamListener>>();
  /** The documents of other pages, as they said. */
  const wanted = new Map<string, readonly string[]>();
  let channel: Channel | null = null;
  let stopPage = () => {};
  let letGo: (() => void) | null = null;
  let leads = false;
  let isOpen = false;
  let closeStream = () => {};
  let timer: ReturnType<typeof clock.setTimeout> | null = null;
  let waitMs = firstWaitMs;
  /** Counts what ended a stream, so that headers that come after it open none. */
  let drops = 0;

  const all = (run: (listener: StreamListener) => void) => {
    for (const each of [...listeners.values()].flatMap((set) => [...set])) run(each);
  };
  const tell = (message: Message) => channel?.postMessage(message);
  const take = (message: Message) => {
    if (message.type === 'opened') all(({ opened }) => opened());
    if (message.type === 'lost') all(({ lost }) => lost());
    if (message.type !== 'heard') return;
    for (const { heard } of listeners.get(message.id) ?? []) heard(message.event, message.data);
  };
  const both = (message: Message) => {
    tell(message);
    take(message);
  };
  const ids = () => [...new Set([...listeners.keys(), ...[...wanted.values()].flat()])].toSorted();

  const later = (ms: number) => {
    if (timer !== null) clock.clearTimeout(timer);
    timer = clock.setTimeout(open, ms);
  };
  const again = () => {
    later(waitMs * (0.5 + environment.random() / 2));
    waitMs = Math.min(mostWaitMs, waitMs * 2);
  };
  const drop = () => {
    drops += 1;
    if (timer !== null) clock.clearTimeout(timer);
    timer = null;
    closeStream();
    closeStream = () => {};
    if (isOpen) both({ type: 'lost' });
    isOpen = false;
  };
  const stream = (own: Headers) => {
    const query = ids().map((id) => `id=${encodeURIComponent(id)}`);
    closeStream = environment.openStream(`${url}/v1/documents/events?${query.join('&')}`, own, {
      opened: () => {
        isOpen = true;
        waitMs = firstWaitMs;
        both({ type: 'opened' });
      },
      heard: ({ type, data }) => {
        const value = membersOf(parsed(data));
        const { id } = value;
        if (typeof id === 'string') both({ type: 'heard', event: type, id, data: value });
      },
      lost: () => {
        drop();
        // Pages that are there say anew what they want; of those that went nobody told.
        wanted.clear();
        tell({ type: 'who' });
        again();
      },
    });
  };
  function open() {
    drop();
    if (!leads || ids().length === 0) return;
    const mine = drops;
    const ifStill = (run: () => void) => mine === drops && run();
    withHeaders(
      options.headers,
      (own) => ifStill(() => stream(own)),
      () => ifStill(again),
    );
  }
  const lead = () => {
    leads = true;
    tell({ type: 'who' });
    later(gatherMs);
  };
  const rest = () => {
    leads = false;
    drop();
    letGo?.();
    letGo = null;
  };
  const want = () => tell({ type: 'want', page: me, ids: [...listeners.keys()] });

  const stand = () => {
    if (!locks || !channel) return lead();
    if (letGo) return;
    let ended = false;
    let release = () => {};
    letGo = () => {
      ended = true;
      release();
    };
    locks
      .request(name, {}, () => {
        if (ended) return Promise.resolve();
        lead();
        return new Promise<void>((resolve) => {
          release = resolve;
        });
      })
      .catch(() => lead());
  };
  const hear = (raw: unknown) => {
    const message = raw as Message;
    if (message.type === 'who') want();
    else if (message.type === 'want') {
      if (message.ids.length > 0) wanted.set(message.page, message.ids);
      else wanted.delete(message.page);
      // Where a timer is armed, it is the next try that asks for these too.
      if (leads && timer === null) later(gatherMs);
    } else take(message);
  };
  const start = () => {
    channel = environment.channel(name);
    channel?.listen(hear);
    stopPage = environment.page.listen((event) => {
      if (event === 'sleep' || event === 'offline') rest();
      if (event !== 'wake' && event !== 'online') return;
      stand();
      // Who leads may have asked while this page slept.
      want();
    });
    stand();
  };
  const end = () => {
    rest();
    stopPage();
    channel?.close();
    channel = null;
  };

  return {
    listen(document, listener) {
      if (listeners.size === 0) start();
      const set = listeners.get(document) ?? new Set();
      listeners.set(document, set.add(listener));
      want();
      if (leads) later(gatherMs);
      return () => {
        set.delete(listener);
        if (set.size > 0) return;
        listeners.delete(document);
        want();
        if (listeners.size === 0) end();
      };
    },
  };
}
