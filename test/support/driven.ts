// A provider driven by hand: one change, asked for and polled to its end, without a worker.

import type {
  Answer,
  Change,
  ExternalOperation,
  Progress,
  Provider,
} from '../../services/operations/provider.ts';

export const never = new AbortController().signal;

export function told<T>(answer: Answer<T>): T {
  if (answer.result === 'ok') return answer.value;
  throw new Error(`${answer.result}: ${answer.error}`);
}

export const asked = (provider: Provider, change: Change) =>
  provider.issue(change, Number.POSITIVE_INFINITY);

const mostPolls = 50;

/** Polls until it has ended. Between two polls the provider does what it can. */
export async function polledToEnd(
  provider: Provider,
  change: Change,
  operations: readonly ExternalOperation[],
): Promise<Progress> {
  let progress: Progress = { operations, state: 'going' };
  for (let polls = 0; progress.state === 'going'; polls += 1) {
    if (polls === mostPolls) throw new Error(`not at its end: ${JSON.stringify(progress)}`);
    progress = told(await provider.poll(change, progress.operations, never));
    await provider.close();
  }
  return progress;
}

export async function driven(provider: Provider, change: Change): Promise<Progress> {
  return await polledToEnd(provider, change, told(await asked(provider, change)));
}
