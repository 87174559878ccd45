// Starts what runs of documents in a process: the thinning of revisions, and the announcements of
// new versions.

import type { Ground } from '../ground.ts';
import { type Announcements, startAnnouncements } from './announcements.ts';
import { startThinning } from './thinning.ts';

export function startDocuments({ log, database, wakes, shutdown }: Ground): Announcements {
  const thinning = startThinning({ database, log });
  shutdown.defer('thinning', thinning.close);
  const announcements = startAnnouncements({ database, wakes, log });
  shutdown.defer('announcements', announcements.close);
  return announcements;
}
