// The words of a document session: what can happen to it, and the data that comes with it. The
// machine, its facts and the client share them. Versions are integers; content is any JSON value
// and is never changed in place.

export interface Base {
  readonly version: number;
  /** Null where it is not known: of a draft from an earlier page only the version is. */
  readonly content: unknown;
}

export interface Foreign {
  readonly version: number;
  readonly by: string | null;
  readonly at: string | null;
}

export interface Conflict extends Foreign {
  readonly writer: string | null;
  readonly saveId: string | null;
  readonly baseKnown: boolean;
  /** The version is new and the content is that of the base: a name or an owner changed. */
  readonly contentUnchanged: boolean;
  /** The step of a plan that wrote the version, where one did; `by` proposed that plan then. */
  readonly plan: { readonly proposal: string; readonly step: number } | null;
}

/** Why something is not possible: a code to switch on, a text to show. */
export interface Problem {
  readonly code: string;
  readonly detail: string;
  readonly pointers?: readonly string[];
  readonly limit?: number;
}

export interface ReadDocument {
  readonly version: number;
  readonly content: unknown;
  readonly access: 'owner' | 'editor' | 'reader';
  readonly name: string;
  readonly updatedAt: string;
  readonly updatedBy: string;
}

/** A snapshot on its way to the server. */
export interface Save {
  readonly number: number;
  readonly generation: number;
  readonly lineage: number;
  readonly content: unknown;
  readonly base: number;
  /** Saves of this page that were unanswered when it was made; it contains all of them. */
  readonly after: readonly number[];
  /** Sent beside another one because the page was hidden. */
  readonly flush: boolean;
  readonly phase: 'sent' | 'unclear';
}

export type Why = 'adopt' | 'rebase' | 'undo' | 'discard';

/** What a choice replaced, to come back to. */
export interface Shelved {
  readonly why: Why;
  readonly content: unknown;
  readonly base: Base;
  readonly stored: boolean;
}

export interface Discarded {
  readonly ended: 'reloaded' | 'edited' | 'failed';
  /** Versions that unanswered saves had produced after all. */
  readonly committed: readonly number[];
}

export type SessionEvent =
  // The page.
  | { readonly type: 'edit'; readonly content: unknown }
  | { readonly type: 'flush' }
  | { readonly type: 'hold' }
  | { readonly type: 'release' }
  | {
      readonly type: 'choose';
      readonly why: Why;
      readonly content: unknown;
      readonly base: Base;
      /** The content is that of the base. */
      readonly stored: boolean;
    }
  | { readonly type: 'cancel' }
  | { readonly type: 'discard' }
  | { readonly type: 'signed.in' }
  | { readonly type: 'copy.stored'; readonly generation: number }
  | { readonly type: 'close' }
  | { readonly type: 'reopen' }
  // The browser.
  | { readonly type: 'hide' }
  | { readonly type: 'show' }
  | { readonly type: 'sleep' }
  | { readonly type: 'wake' }
  | { readonly type: 'online' }
  | { readonly type: 'offline' }
  | { readonly type: 'draft.written'; readonly generation: number; readonly base: number }
  | { readonly type: 'draft.failed'; readonly because: string }
  // The server.
  | {
      readonly type: 'document.read';
      readonly sequence: number;
      readonly document: ReadDocument;
    }
  | { readonly type: 'read.failed'; readonly sequence: number }
  | {
      readonly type: 'save.stored';
      readonly save: number;
      readonly version: number;
      readonly current: number;
    }
  | { readonly type: 'save.overtaken'; readonly save: number }
  | { readonly type: 'save.conflicted'; readonly save: number; readonly conflict: Conflict }
  | { readonly type: 'save.refused'; readonly save: number; readonly problem: Problem }
  | { readonly type: 'save.unclear'; readonly save: number; readonly waitMs: number }
  | { readonly type: 'save.announced'; readonly save: number }
  | { readonly type: 'version.announced'; readonly foreign: Foreign }
  | { readonly type: 'stream.opened' }
  | { readonly type: 'stream.lost' }
  | {
      readonly type: 'signed.out';
      /** The save that was not taken for it, if it was a save. */
      readonly save: number | null;
      readonly problem: Problem;
    }
  | {
      readonly type: 'access.lost';
      /** The save that was refused for it, if it was a save. */
      readonly save: number | null;
      readonly problem: Problem;
    }
  | { readonly type: 'document.gone'; readonly problem: Problem }
  /** The stream says that there is none for us. A read tells whether that is so. */
  | { readonly type: 'document.missed' }
  | {
      readonly type: 'saves.abandoned';
      readonly committed: readonly { readonly save: number; readonly version: number }[];
    }
  | { readonly type: 'abandon.failed' };
