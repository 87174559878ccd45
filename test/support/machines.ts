// The one list of machines that every generated suite runs on. A machine that is added here gets
// all of them; what stands beside it is what cannot be derived from its declaration.

import { sql } from 'kysely';
import { dbops } from '../../machines/dbops.ts';
import { outbox } from '../../machines/outbox.ts';
import { proposal } from '../../machines/proposal.ts';
import type { Machine } from '../../machines/status-machine.ts';
import type { Database } from '../../persistence/database.ts';

export type Values = Readonly<Record<string, unknown>>;

export interface MachineEntry {
  readonly machine: Machine;
  /**
   * The columns with which runs are born in memory, one row a domain: together they reach every
   * arrow. Instants lie around `moments`. What is left out is null, and the fence is 0.
   */
  readonly births: readonly Values[];
  /** Counters with the count up to which a run is followed: what keeps the states finite. */
  readonly most: Readonly<Record<string, number>>;
  /** Values of event fields beside those that follow from their kinds and guards. */
  readonly samples?: Readonly<Record<string, readonly unknown[]>>;
  /** Text columns that no two runs may share. The run's id is appended to what `births` says. */
  readonly unique?: readonly string[];
  /** Makes the machine's table in a database that has only the service's own. */
  readonly prepare?: (database: Database) => Promise<void>;
}

const hour = 3_600_000_000;
const early = Date.UTC(2030, 0, 1) * 1000;

/** When events happen in memory. What is due at one moment and not at the other lies between. */
export const moments = {
  early,
  between: early + hour,
  late: early + 2 * hour,
  never: early + 9e15,
};

const delivery: Values = {
  channel: 'email',
  recipient: 'ada@example.org',
  payload: '{}',
  message_key: 'key',
  redrive_of: null,
  max_failures: 2,
  max_lease_losses: 2,
  give_up_at: moments.between,
  created_at: early,
  failures: 0,
  lease_losses: 0,
  next_attempt_at: early,
  maybe_twice: false,
};

const plan: Values = {
  proposer: 'ada',
  risk: 'high',
  four_eyes: 'always',
  plan_hash: 'hash',
  steps: 2,
  rationale: '',
  linked_to: null,
  created_at: early,
  expires_at: moments.between,
  next_step: 0,
};

const operation: Values = {
  provider: 'postgres',
  target: 'branch ',
  action: 'reset',
  request: { branch: 'dev' },
  principal: 'ada',
  idempotency_key: 'key ',
  fingerprint: 'print',
  created_at: early,
  refusals: 0,
  polls: 0,
};

export const machineEntries: readonly MachineEntry[] = [
  {
    machine: outbox,
    // Its second lease cannot lapse at either moment, so a run that may lose none is born too.
    births: [delivery, { ...delivery, max_lease_losses: 1 }],
    most: { attempts: 2 },
  },
  {
    machine: proposal,
    births: [
      plan,
      { ...plan, four_eyes: 'never', steps: 1 },
      { ...plan, four_eyes: 'high-risk', risk: 'low', steps: 1 },
    ],
    most: {},
    samples: { step: [1] },
    // A step that is open is never committed. The suites commit every event by itself.
    prepare: async ({ db }) => {
      await sql`alter table fencepost.proposal disable trigger receipted`.execute(db);
    },
  },
  {
    machine: dbops,
    births: [operation],
    most: { fence: 1, refusals: 0, polls: 0 },
    unique: ['target', 'idempotency_key'],
  },
];
