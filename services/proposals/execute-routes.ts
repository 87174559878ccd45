// What plans are there for: trying one, and having one executed.
//
// - Neither takes an Idempotency-Key, because neither needs one: a preview leaves nothing, and a
//   plan is executed once, however often it is asked for; its receipts are the answer kept.
// - A preview is for who decides about the plan. It carries tools out that nobody has approved, and
//   holds their locks for as long as it takes: neither is for who may only read, or only propose.
//   Few run at once, or they would have all the connections that saves and claims need.

import { z } from 'zod';
import { problem } from '../http/problem.ts';
import { type Route, route } from '../http/route.ts';
import { previewed, previewedAnswer, progress, progressAnswer, proposalId } from './answers.ts';
import type { Executor } from './executor.ts';
import { type PreviewOptions, preview } from './preview.ts';
import { kinds, missing, refused, refusedKinds } from './problems.ts';

export interface ExecuteRoutesOptions extends PreviewOptions {
  readonly executor: Pick<Executor, 'execute'>;
  /** Previews that this process runs at once; each has a connection for as long as it takes. */
  readonly mostPreviews?: number;
}

const params = z.strictObject({ id: proposalId });
const askAgain = { headers: { 'Retry-After': '1' } };

export function executeRoutes(options: ExecuteRoutesOptions): readonly Route[] {
  const { mostPreviews = 2 } = options;
  const execute = route({
    method: 'post',
    path: '/v1/proposals/{id}/execute',
    scope: 'proposals:execute',
    operation: 'executeProposal',
    summary: 'Have an approved proposal executed, or ask how far it is',
    description:
      'It takes no Idempotency-Key and needs none: a plan is executed once, however often it is ' +
      'asked for. 202: this request started it, or it is being executed. 200: it has ended, and ' +
      'these are its receipts. Follow it at `/v1/proposals/{id}/events`.',
    params,
    answers: { 200: progress, 202: progress },
    problems: [kinds.notFound, ...refusedKinds, kinds.busy],
  }).handle(async ({ params: { id }, principal }) => {
    const told = await options.executor.execute(id, principal.sub);
    switch (told.outcome) {
      case 'started':
      case 'executing':
        return { status: 202, body: progressAnswer(told), location: `/v1/proposals/${id}` };
      case 'finished':
        return { status: 200, body: progressAnswer(told) };
      case 'missing':
        return missing(id);
      case 'refused':
        return refused(told);
      case 'busy':
        return problem(kinds.busy, 'It stays approved. Ask again, or another process.', askAgain);
      case 'stopping':
        return problem(kinds.busy, 'This process is stopping. Ask another one.', askAgain);
      default:
        return told satisfies never;
    }
  });

  let previews = 0;
  const tryOut = route({
    method: 'post',
    path: '/v1/proposals/{id}/preview',
    scope: 'proposals:approve',
    operation: 'previewProposal',
    summary: 'See what a proposal would do, step by step, without doing it',
    description:
      'All steps are run in a transaction that is rolled back, within a time limit. It takes no ' +
      'Idempotency-Key: it leaves nothing behind.',
    params,
    answers: { 200: previewed },
    problems: [kinds.notFound, ...refusedKinds, kinds.previewBusy],
  }).handle(async ({ params: { id }, principal }) => {
    if (previews >= mostPreviews) {
      return problem(kinds.previewBusy, 'Nothing was tried. Ask again.', askAgain);
    }
    previews += 1;
    const tried = await preview(options, { id, actor: principal.sub }).finally(() => {
      previews -= 1;
    });
    switch (tried.outcome) {
      case 'previewed': {
        const { planHash, steps } = tried;
        return { status: 200, body: { id, planHash, steps: steps.map(previewedAnswer) } };
      }
      case 'missing':
        return missing(id);
      case 'refused':
        return refused(tried);
      default:
        return tried satisfies never;
    }
  });

  return [tryOut, execute];
}
