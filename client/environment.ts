// What a session needs of the world, so that a test can give it another one. browser.ts gives it
// the browser's; client/testing the fault kit's.

export type Timer = ReturnType<typeof setTimeout> | number;

export interface Clock {
  now(): number;
  setTimeout(run: () => void, ms: number): Timer;
  clearTimeout(timer: Timer): void;
}

/** What of a `Response` is looked at. */
export interface HttpAnswer {
  readonly status: number;
  readonly type: string;
  readonly redirected: boolean;
  readonly headers: { get(name: string): string | null };
  text(): Promise<string>;
}

export interface HttpRequest {
  readonly method: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string;
  readonly keepalive: boolean;
  readonly redirect: 'manual';
  readonly signal: AbortSignal;
}

export interface StorageArea {
  readonly length: number;
  key(index: number): string | null;
  getItem(key: string): string | null;
  setItem(key: string, value: string): void;
  removeItem(key: string): void;
}

/** The second copy of a draft, which survives a kill of the browser. */
export interface Mirror {
  put(key: string, text: string): Promise<void>;
  remove(key: string): Promise<void>;
  /** The copies whose key begins so. */
  list(prefix: string): Promise<readonly (readonly [string, string])[]>;
}

/** What of `navigator.locks` is used. */
export interface Locks {
  request(
    name: string,
    options: { readonly ifAvailable?: boolean },
    run: (lock: unknown) => Promise<void>,
  ): Promise<void>;
  query(): Promise<{ readonly held?: readonly { readonly name?: string }[] | undefined }>;
}

export interface Channel {
  postMessage(message: unknown): void;
  listen(hear: (message: unknown) => void): void;
  close(): void;
}

export type PageEvent = 'hide' | 'show' | 'sleep' | 'wake' | 'online' | 'offline';

/** The life of the page that the session runs in. */
export interface Page {
  isHidden(): boolean;
  isOnline(): boolean;
  /** Returns how to stop listening. */
  listen(hear: (event: PageEvent) => void): () => void;
}

export interface StreamHandlers {
  readonly opened: () => void;
  readonly heard: (event: { readonly type: string; readonly data: string }) => void;
  readonly lost: () => void;
}

/** A stream of server-sent events, as long as it holds. Returns how to close it. */
export type OpenStream = (
  url: string,
  headers: Readonly<Record<string, string>>,
  handlers: StreamHandlers,
) => () => void;

export interface Environment {
  readonly fetch: (url: string, request: HttpRequest) => Promise<HttpAnswer>;
  readonly openStream: OpenStream;
  readonly clock: Clock;
  random(): number;
  uuid(): string;
  /** Throws, or is null, where the browser forbids it. Asked each time, since that may change. */
  storage(): StorageArea | null;
  readonly mirror: Mirror | null;
  readonly locks: Locks | null;
  channel(name: string): Channel | null;
  readonly page: Page;
}
