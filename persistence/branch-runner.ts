// Carries out what was accepted, oldest first, one at a time on the whole server. The provider
// `postgres` kicks it after each request and at each poll: a crash is mended by the next poll.

import type { BranchSession, ClientClass } from './branch-session.ts';
import { openBranchSession } from './branch-session.ts';
import { abandon, carryOut, openAgain } from './branch-steps.ts';
import type { Database } from './database.ts';
import { sqlstateOf } from './sqlstate.ts';
import { storable } from './text.ts';

export interface BranchRunnerOptions {
  readonly database: Database;
  /** Told of what failed; it is tried again at the next kick. */
  readonly onError: (error: unknown) => void;
  /** Another client class of node-postgres, for tests that end it in the middle. */
  readonly clientClass?: ClientClass;
}

export interface BranchRunner {
  /** Begins to work unless it works already, here or in another process. Returns at once. */
  kick(): void;
  /** Resolves when nothing is under way here. */
  settled(): Promise<void>;
}

const longestError = 2000;

/**
 * It will not pass by itself: a missing or doubled name, a missing right, what the server cannot
 * do. An object in use (55006), for example, may be free the next time.
 */
const isFinal = (error: unknown): boolean => /^(0A|22|23|3D|42)/.test(sqlstateOf(error) ?? '');

async function carryOutOne(session: BranchSession, id: number): Promise<unknown> {
  try {
    await carryOut(session, id);
    return undefined;
  } catch (error) {
    const said = storable(error instanceof Error ? error.message : String(error), longestError);
    if (isFinal(error)) await abandon(session, id, said);
    else {
      await openAgain(session, id);
      await session.query(
        `update fencepost.branch_operation set failures = failures + 1, last_error = $2,
           updated_at = clock_timestamp() where id = $1`,
        [id, said],
      );
    }
    return error;
  }
}

export function openBranchRunner(options: BranchRunnerOptions): BranchRunner {
  const { database, onError, clientClass } = options;
  let working: Promise<void> | undefined;
  let again = false;

  /** Each of those that are open is tried once. */
  async function round(session: BranchSession): Promise<void> {
    const open = await session.query<{ id: number }>(
      `select id from fencepost.branch_operation where status in ('scheduling', 'running')
       order by id`,
    );
    for (const { id } of open) {
      const error = await carryOutOne(session, id);
      if (error !== undefined) onError(error);
    }
  }

  async function work(): Promise<void> {
    try {
      do {
        again = false;
        const session = await openBranchSession(database, clientClass);
        if (!session) return;
        try {
          await round(session);
        } finally {
          await session.close();
        }
      } while (again);
    } catch (error) {
      onError(error);
    }
  }

  return {
    kick() {
      again = true;
      working ??= work().finally(() => {
        working = undefined;
      });
    },
    async settled() {
      await working;
    },
  };
}
