// Known bugs of executors, as other ways to carry out a step. None of them minds a failing tool:
// what is asked of them is only to stay whole when the process dies.

import { proposal } from '../../machines/proposal.ts';
import { send } from '../../persistence/door.ts';
import { insertReceipt } from '../../persistence/proposals.ts';
import { type Tx, transaction } from '../../persistence/transaction.ts';
import type { RunInHand, runStep, StepEnd, StepOptions } from '../../services/proposals/step.ts';
import { callTool } from '../../services/proposals/use-tool.ts';

type RunStep = typeof runStep;

interface Parts {
  readonly within: (work: (tx: Tx) => Promise<unknown>) => Promise<void>;
  readonly open: (tx: Tx) => Promise<unknown>;
  readonly tool: (tx: Tx) => Promise<unknown>;
  readonly close: (tx: Tx) => Promise<unknown>;
  readonly receipt: (tx: Tx) => Promise<unknown>;
}

function partsOf(options: StepOptions, run: RunInHand, index: number): Parts {
  const { id, fence } = run;
  const step = run.steps[index];
  if (!step) throw new Error(`there is no step ${index}`);
  const { proposer, approvedBy, requestedBy } = run;
  const context = { proposal: id, step: index, proposer, approvedBy, requestedBy };
  const known = { id, fence, step: index };
  const ok = { outcome: 'ok', output: null, error: null } as const;
  return {
    within: async (work) => void (await transaction(options.database, work)),
    open: (tx) => send(tx, proposal, 'step.open', known),
    tool: (tx) =>
      callTool(tx, { ...options, step, context: { ...context, outputOf: () => undefined } }),
    close: (tx) => send(tx, proposal, 'step.ok', { ...known, lease_ms: options.leaseMs }),
    receipt: (tx) => insertReceipt(tx, { proposal: id, index, fence, ...ok }),
  };
}

const made =
  (work: (parts: Parts) => Promise<unknown>): RunStep =>
  async (options, run, index): Promise<StepEnd> => {
    await work(partsOf(options, run, index));
    return { end: 'ok', output: null };
  };

export const stepMutants: Readonly<Record<string, RunStep>> = {
  'the receipt is written after the commit': made(async ({ within, ...part }) => {
    await within(async (tx) => {
      await part.open(tx);
      await part.tool(tx);
      await part.close(tx);
    });
    await within(part.receipt);
  }),
  'the receipt is written before the step is closed': made(async ({ within, ...part }) => {
    await within(part.receipt);
    await within(async (tx) => {
      await part.open(tx);
      await part.tool(tx);
      await part.close(tx);
    });
  }),
  'the run is not locked while the tool runs': made(async ({ within, ...part }) => {
    await within(part.open);
    await within(async (tx) => {
      await part.tool(tx);
      await part.close(tx);
      await part.receipt(tx);
    });
  }),
  'the run moves in a transaction of its own': made(async ({ within, ...part }) => {
    await within(async (tx) => {
      await part.tool(tx);
      await part.receipt(tx);
    });
    await within(async (tx) => {
      await part.open(tx);
      await part.close(tx);
    });
  }),
};
