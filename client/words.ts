// `fencepost/client/words`: the status of a session as a sentence, for pages that have none of
// their own. An entry of its own, because a page with its own words need not load these.

import type { Safety, Status } from './status.ts';

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

/** The status as a sentence; it says so where the work is nowhere but in this page. */
export function describeStatus(status: Status, safe: Safety): string {
  const isRisky = safe === 'page' && !['dirty', 'saving', 'loading'].includes(status);
  return isRisky ? `${statusTexts[status]}. Only in this page` : statusTexts[status];
}
