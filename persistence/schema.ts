// The tables as Kysely sees them. Instants are whole microseconds (`database.ts` parses them so);
// versions, counters and fences are integers.

import type { ColumnType, Generated, JSONColumnType } from 'kysely';

/** Written by the database or given as text, read as microseconds. */
type Instant = ColumnType<number, string | undefined, never>;

interface MachineInstalledTable {
  machine: string;
  number: number;
  hash: string;
  definition: JSONColumnType<object, string, never>;
  current: boolean;
  retired_at: Instant | null;
  installed_at: Instant;
}

interface JournalTable {
  machine: string;
  run: string;
  seq: number;
  at: Instant;
  event: string | null;
  actor: string;
  from_status: string;
  to_status: string;
  fence: number;
  definition: number;
  xact: Generated<string>;
}

interface LostWriteTable {
  machine: string;
  run: string;
  event: string;
  fence: number;
  found_fence: number;
  found_status: string;
  at: Instant;
}

interface QuarantineTable {
  machine: string;
  run: string;
  event: string;
  sqlstate: string;
  reason: string;
  at: Instant;
}

interface MailboxTable {
  id: Generated<number>;
  message_id: string;
  recipient: string;
  sender: string;
  subject: string;
  body: string;
  raw: string;
  received_at: Instant;
}

/** The kernel's own columns, which every table of runs has. */
interface RunTable {
  id: string;
  status: string;
  seq: number;
  event: string | null;
  actor: string | null;
  definition: number;
}

interface DeliveryTable extends RunTable {
  channel: string;
  recipient: string;
  payload: string;
  message_key: string;
  redrive_of: string | null;
  enqueued_by: string | null;
  max_failures: Generated<number>;
  max_lease_losses: Generated<number>;
  give_up_at: Instant;
  created_at: Instant;
  attempts: number;
  failures: number;
  lease_losses: number;
  next_attempt_at: Instant;
  lease_expires_at: Instant | null;
  lease_owner: string | null;
  maybe_twice: boolean;
  last_error: string | null;
  receipt: JSONColumnType<object | null>;
  finished_at: Instant | null;
}

interface DocumentTable {
  id: string;
  kind: string;
  name: string;
  owner: string;
  version: Generated<number>;
  hash: string;
  last_save: string | null;
  last_writer: string | null;
  created_at: Instant;
  updated_at: Instant;
  updated_by: string;
  deleted_at: Instant | null;
  deleted_by: string | null;
}

interface DocumentRevisionTable {
  document: string;
  version: number;
  content: string;
  hash: string;
  author: string;
  writer: string | null;
  save: string | null;
  proposal: string | null;
  step: number | null;
  name: string | null;
  restored_from: number | null;
  at: Instant;
  kept: Generated<number>;
}

interface DocumentSaveTable {
  document: string;
  writer: string;
  save: string;
  version: number | null;
  hash: string | null;
  at: Instant;
}

interface DocumentGrantTable {
  document: string;
  grantee: string;
  access: 'reader' | 'editor';
  granted_by: string;
  granted_at: Instant;
}

interface IdempotencyTable {
  principal: string;
  route: string;
  key: string;
  fingerprint: string;
  status: number;
  headers: string;
  body: string;
  run: string | null;
  at: Instant;
}

interface ProposalTable extends RunTable {
  proposer: string;
  risk: string;
  four_eyes: string;
  plan_hash: string;
  steps: number;
  rationale: string;
  link: string | null;
  linked_to: string | null;
  created_at: Instant;
  expires_at: Instant;
  fence: number;
  lease_expires_at: Instant | null;
  lease_owner: string | null;
  next_step: number;
  open_step: number | null;
  approved_by: string | null;
  approved_at: Instant | null;
  executed_by: string | null;
  rejected_by: string | null;
  reason: string | null;
  finished_at: Instant | null;
}

interface ProposalStepTable {
  proposal: string;
  index: number;
  tool: string;
  tool_version: number;
  arguments: string;
}

interface ProposalReceiptTable {
  proposal: string;
  index: number;
  outcome: string;
  output: string | null;
  error: string | null;
  fence: number;
  at: Instant;
}

interface NoteTable {
  id: string;
  text: string;
  written_at: Instant;
}

interface OperationTable extends RunTable {
  provider: string;
  target: string;
  action: string;
  request: JSONColumnType<object>;
  principal: string;
  idempotency_key: string;
  fingerprint: string;
  created_at: Instant;
  fence: number;
  lease_expires_at: Instant | null;
  lease_owner: string | null;
  deadline_at: Instant | null;
  next_poll_at: Instant | null;
  issued_at: Instant | null;
  issue_mark: string | null;
  settles_at: Instant | null;
  refusals: number;
  polls: number;
  operations: JSONColumnType<object[]> | null;
  outcome: string | null;
  error: string | null;
  last_error: string | null;
  finished_at: Instant | null;
}

interface BranchTable {
  name: string;
  parent: string;
  created_at: Instant;
}

interface BranchOperationTable {
  id: Generated<number>;
  action: string;
  branch: string;
  parent: string | null;
  keep_as: string | null;
  status: Generated<string>;
  failures: Generated<number>;
  last_error: string | null;
  parent_allows: boolean | null;
  branch_allows: boolean | null;
  closed_at: Instant | null;
  opened_at: Instant | null;
  swapped_at: Instant | null;
  created_at: Instant;
  updated_at: Instant;
}

export interface Schema {
  'fencepost.machine_installed': MachineInstalledTable;
  'fencepost.journal': JournalTable;
  'fencepost.lost_write': LostWriteTable;
  'fencepost.quarantine': QuarantineTable;
  'fencepost.mailbox': MailboxTable;
  'fencepost.delivery': DeliveryTable;
  'fencepost.document': DocumentTable;
  'fencepost.document_revision': DocumentRevisionTable;
  'fencepost.document_save': DocumentSaveTable;
  'fencepost.document_grant': DocumentGrantTable;
  'fencepost.idempotency': IdempotencyTable;
  'fencepost.proposal': ProposalTable;
  'fencepost.proposal_step': ProposalStepTable;
  'fencepost.proposal_receipt': ProposalReceiptTable;
  'fencepost.note': NoteTable;
  'fencepost.operation': OperationTable;
  'fencepost.branch': BranchTable;
  'fencepost.branch_operation': BranchOperationTable;
}
