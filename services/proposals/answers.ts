// Proposals as the API shows them: the shapes of its answers, and how what was read becomes one.

import { z } from 'zod';
import { proposal as machine } from '../../machines/proposal.ts';
import type { StatusOf } from '../../machines/status-machine.ts';
import { printInstant } from '../../persistence/instant.ts';
import type { JournalEntry } from '../../persistence/journal.ts';
import type { ProposalRow } from '../../persistence/proposals.ts';
import type { Principal } from '../http/route.ts';
import type { Scope } from '../http/scopes.ts';
import { choice, choicesFor } from '../machines/choices.ts';
import type { Progress } from './executor.ts';
import type { PreviewedStep } from './preview.ts';
import { fourEyesPolicies } from './propose.ts';
import { type ShownProposal, summary } from './show.ts';
import { risks, type ToolDescription } from './tools.ts';

type Status = StatusOf<typeof machine>;

export const status = z
  .enum(Object.keys(machine.states) as [Status, ...Status[]])
  .meta({ id: 'ProposalStatus' });
export const proposalId = z.uuid().meta({ id: 'ProposalId', description: 'Names a proposal' });
export const hash = z
  .string()
  .regex(/^[0-9a-f]{64}$/)
  .meta({ id: 'PlanHash', description: "SHA-256 of the plan's exact text, in hexadecimal" });
const instant = z.iso.datetime().meta({ description: 'UTC, to the microsecond' });
const place = z.int().meta({ description: "A step's place in the plan, from 0" });
const risk = z.enum(risks).meta({ id: 'Risk' });

export const proposed = z
  .strictObject({ id: proposalId, status: z.literal(machine.initial), planHash: hash })
  .meta({ id: 'ProposedPlan' });

const keptStep = z
  .strictObject({ step: place, tool: z.string(), reason: z.string() })
  .meta({ id: 'KeptStep', description: 'A step that cannot be undone, and why' });
export const cannotUndo = z.array(keptStep);

export const followUp = z
  .strictObject({ ...proposed.shape, linkedTo: proposalId, cannotUndo })
  .meta({ id: 'FollowUpPlan' });

export const decided = z
  .strictObject({ id: proposalId, status })
  .meta({ id: 'DecidedProposal', description: 'What it is since' });

export const listed = z
  .strictObject({
    id: proposalId,
    status,
    proposer: z.string(),
    risk,
    fourEyes: z.enum(fourEyesPolicies).meta({ description: 'The policy that was frozen into it' }),
    rationale: z.string(),
    planHash: hash,
    stepCount: z.int(),
    nextStep: z.int().meta({ description: 'How many steps are committed' }),
    link: z.enum(['continue', 'compensate']).nullable(),
    linkedTo: proposalId.nullable().meta({ description: 'What it continues or compensates' }),
    createdAt: instant,
    expiresAt: instant,
    approvedBy: z.string().nullable(),
    approvedAt: instant.nullable(),
    executedBy: z.string().nullable(),
    rejectedBy: z.string().nullable(),
    reason: z.string().nullable().meta({ description: 'Why it failed, or was rejected' }),
    finishedAt: instant.nullable(),
  })
  .meta({ id: 'ListedProposal' });

const step = z
  .strictObject({
    step: place,
    tool: z.string(),
    version: z.int(),
    sentence: z.string().nullable().meta({ description: "The tool's words; null: it is gone" }),
    arguments: z.unknown(),
  })
  .meta({ id: 'PlanStep' });

export const receipt = z
  .strictObject({
    step: place,
    outcome: z.enum(['ok', 'failed']),
    output: z.unknown().meta({ description: 'What the tool put out' }),
    error: z.string().nullable(),
    at: instant,
  })
  .meta({ id: 'Receipt' });

export const transition = z
  .strictObject({
    seq: z.int(),
    at: instant,
    event: z.string().nullable().meta({ description: 'Null: a write from outside the service' }),
    actor: z.string(),
    from: status,
    to: status,
    fence: z.int(),
  })
  .meta({ id: 'ProposalTransition' });

export const proposal = z
  .strictObject({
    ...listed.shape,
    plan: z.string().meta({ description: 'The exact text that the hash is of' }),
    steps: z.array(step),
    receipts: z.array(receipt),
    journal: z.array(transition),
    continuedBy: proposalId.nullable(),
    compensatedBy: proposalId.nullable(),
    choices: z.array(choice),
  })
  .meta({ id: 'Proposal' });

export const progress = z
  .strictObject({
    id: proposalId,
    outcome: z
      .enum(['started', 'executing', 'finished'])
      .meta({ description: '`started`: by this request' }),
    status,
    stepCount: z.int(),
    nextStep: z.int(),
    reason: z.string().nullable(),
    receipts: z.array(receipt),
  })
  .meta({ id: 'PlanProgress' });

const previewedStep = z
  .strictObject({
    step: place,
    tool: z.string(),
    version: z.int(),
    sentence: z.string().nullable(),
    outcome: z.enum(['ok', 'failed', 'not_reached']),
    output: z.unknown(),
    error: z.string().nullable(),
  })
  .meta({ id: 'PreviewedStep' });

export const previewed = z
  .strictObject({ id: proposalId, planHash: hash, steps: z.array(previewedStep) })
  .meta({ id: 'Preview' });

export const toolDescription = z
  .strictObject({
    name: z.string(),
    version: z.int(),
    description: z.string(),
    risk,
    input: z
      .record(z.string(), z.unknown())
      .meta({ description: 'A JSON Schema of its arguments' }),
  })
  .meta({ id: 'Tool' });

/** The scope that each event and command of a proposal needs. */
export const scopeOf = (name: string): Scope => {
  if (name === 'approve' || name === 'reject') return 'proposals:approve';
  return name === 'execute' ? 'proposals:execute' : 'proposals:write';
};

type Listed = z.input<typeof listed>;

const ofSummary = ({ link, ...own }: ReturnType<typeof summary>): Listed => ({
  ...own,
  status: own.status as Status,
  risk: own.risk as Listed['risk'],
  fourEyes: own.fourEyes as Listed['fourEyes'],
  link: link as Listed['link'],
});

export const listedAnswer = (row: ProposalRow): Listed => ofSummary(summary(row));

export const transitionAnswer = (entry: JournalEntry): z.input<typeof transition> => ({
  seq: entry.seq,
  at: printInstant(entry.at),
  event: entry.event,
  actor: entry.actor,
  from: entry.from as Status,
  to: entry.to as Status,
  fence: entry.fence,
});

export function proposalAnswer(
  shown: ShownProposal,
  principal: Principal,
): z.input<typeof proposal> {
  const { row, readAt, steps, receipts, journal, plan, continuedBy, compensatedBy } = shown;
  return {
    ...listedAnswer(row),
    ...{ plan, continuedBy, compensatedBy },
    steps: [...steps],
    receipts: [...receipts],
    journal: journal.map(transitionAnswer),
    choices: choicesFor({
      machine,
      row: { ...row },
      at: readAt,
      principal,
      scopeOf,
      asked: ['execute'],
      also: {
        ...(continuedBy !== null && { continue: 'already_followed' }),
        ...(compensatedBy !== null && { compensate: 'already_followed' }),
      },
    }),
  };
}

export const progressAnswer = (told: Progress): z.input<typeof progress> => ({
  id: told.id,
  outcome: told.outcome,
  status: told.status as Status,
  stepCount: told.steps,
  nextStep: told.nextStep,
  reason: told.reason,
  receipts: [...told.receipts],
});

export const previewedAnswer = (step: PreviewedStep): z.input<typeof previewedStep> => ({
  ...step,
});

export const toolAnswer = (tool: ToolDescription): z.input<typeof toolDescription> => ({
  ...tool,
  input: { ...tool.input },
});
