// `fencepost/client/words`: the status of a session as a sentence, for pages that have none of
// their own. An entry of its own, because a page with its own words need not load these.

import type { SessionSnapshot } from './session-snapshot.ts';
import type { Status } from './status.ts';

type Described = Pick<SessionSnapshot, 'status' | 'safe' | 'draftTrouble'>;

export const statusTexts: Readonly<Record<Status, string>> = {
  loading: 'Loading',
  saved: 'Saved',
  dirty: 'Edited',
  saving: 'Saving',
  unconfirmed: 'Not confirmed yet, trying again',
  settling: 'Finishing what is under way',
  offline: 'Offline, kept on this device',
  conflict: 'Somebody else saved first: choose',
  'signed-out': 'Signed out, sign in to go on',
  'read-only': 'Read only',
  gone: 'Deleted, keep it as a new document',
  blocked: 'Refused, change it to go on',
};

/**
 * The status as a sentence; it says so where the work is nowhere but in this page, and cannot be
 * kept elsewhere. That the draft is a moment behind the keystroke is not said: a screen reader
 * would read one sentence and the other in turn for as long as somebody types.
 */
export function describeStatus({ status, safe, draftTrouble }: Described): string {
  if (safe !== 'page' || draftTrouble === null) return statusTexts[status];
  return `${status === 'offline' ? 'Offline' : statusTexts[status]}. Only in this page`;
}
