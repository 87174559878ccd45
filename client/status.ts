// The one status of a session, for people and for screen readers, derived from the machine. The
// lane's tags are the statuses; the connection makes `offline` of those that wait for the network.

import type { SnapshotFrom } from 'xstate';
import type { documentSession } from '../machines/document-session.ts';
import { isDrafted, isUnsaved } from '../machines/session-facts.ts';

export type MachineSnapshot = SnapshotFrom<typeof documentSession>;

/** Where the content is: on the server, in the browser's storage, or in this page alone. */
export type Safety = 'server' | 'draft' | 'page';

export const statusTexts = {
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
} as const;

export type Status = keyof typeof statusTexts;

const waitingForNetwork: readonly Status[] = ['loading', 'dirty', 'saving', 'unconfirmed'];
const statuses = Object.keys(statusTexts) as Status[];

export function statusOf(snapshot: MachineSnapshot): Status {
  const tagged = statuses.find((status) => snapshot.hasTag(status)) ?? 'loading';
  const isOffline = snapshot.matches({ connection: 'offline' });
  return isOffline && waitingForNetwork.includes(tagged) ? 'offline' : tagged;
}

export function safetyOf({ context }: MachineSnapshot): Safety {
  if (!isUnsaved(context)) return 'server';
  return isDrafted(context) ? 'draft' : 'page';
}

/** The status as a sentence; it says so where the work is nowhere but in this page. */
export function describeStatus(status: Status, safe: Safety): string {
  const isRisky = safe === 'page' && !['dirty', 'saving', 'loading'].includes(status);
  return isRisky ? `${statusTexts[status]}. Only in this page` : statusTexts[status];
}
