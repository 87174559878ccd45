// `fencepost/client`: the browser half of documents. docs/document-session.md shows it at work.

export { browserEnvironment } from './browser.ts';
export type { Adopted, Copied, DiscardResult, Rebased, Resolve, Sides } from './choices.ts';
export type { Environment } from './environment.ts';
export type { DocumentSession, Loaded, OpenOptions } from './open-document.ts';
export { openDocument } from './open-document.ts';
export type { Closed, Flushed } from './saving.ts';
export type { SessionSnapshot, Sibling } from './session-snapshot.ts';
export type { Safety, Status } from './status.ts';
