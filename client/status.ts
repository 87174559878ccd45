// The one status of a session, for people and for screen readers, derived from the machine. The
// lane's tags are the statuses; the connection makes `offline` of those that wait for the network.

import { isDrafted, isUnsaved } from '../machines/session-facts.ts';
import type { SessionState } from '../machines/session-logic.ts';

export type MachineSnapshot = SessionState;

/** Where the content is: on the server, in the browser's storage, or in this page alone. */
export type Safety = 'server' | 'draft' | 'page';

const statuses = [
  ...(['loading', 'saved', 'dirty', 'saving', 'unconfirmed', 'settling', 'conflict'] as const),
  ...(['signed-out', 'read-only', 'gone', 'blocked'] as const),
];

/** A tag of the lane, or `offline`. words.ts has a sentence for each. */
export type Status = (typeof statuses)[number] | 'offline';

const waitingForNetwork: readonly Status[] = ['loading', 'dirty', 'saving', 'unconfirmed'];

export function statusOf(snapshot: MachineSnapshot): Status {
  const tagged = statuses.find((status) => snapshot.hasTag(status)) ?? 'loading';
  const isOffline = snapshot.matches({ connection: 'offline' });
  return isOffline && waitingForNetwork.includes(tagged) ? 'offline' : tagged;
}

export function safetyOf({ context }: MachineSnapshot): Safety {
  if (!isUnsaved(context)) return 'server';
  return isDrafted(context) ? 'draft' : 'page';
}
