// A worker of webhooks that the crash sweep kills. Its last argument may name a bug.

import type { outbox } from '../../../machines/outbox.ts';
import { transaction } from '../../../persistence/transaction.ts';
import { openWakeListener } from '../../../persistence/wake-listener.ts';
import type { AnyEnd, Beside, Work } from '../../../services/runs/work.ts';
import { startWorker } from './outbox-worker.ts';
import { sweptChild } from './swept-child.ts';

type Deliveries = Work<typeof outbox>;

await sweptChild(async (database, [mutant]) => {
  const wakes = await openWakeListener(database);
  const late: Promise<unknown>[] = [];

  /** Writes `sent` first and sends then, where the receiver is known to accept. */
  const sentFirst = (work: Deliveries): Deliveries => {
    const unsent = new Map<string, () => Promise<unknown>>();
    return {
      ...work,
      async handle(run, context) {
        if (!run.recipient.endsWith('/good')) return await work.handle(run, context);
        unsent.set(run.id, () => work.handle(run, context));
        return { event: 'sent', fields: { receipt: { status: '200', answer: '' } } };
      },
      onEnded(run, end, outcome) {
        work.onEnded?.(run, end, outcome);
        const send = unsent.get(run.id);
        if (send) late.push(send());
      },
    };
  };

  /** Writes the end in one transaction and what belongs beside it in another. */
  const twoCommits = (work: Deliveries): Deliveries => {
    const besides = new Map<string, Beside>();
    return {
      ...work,
      async handle(run, context) {
        const { beside, ...end } = (await work.handle(run, context)) as AnyEnd;
        if (beside) besides.set(run.id, beside);
        return end as Awaited<ReturnType<Deliveries['handle']>>;
      },
      onEnded(run, end, outcome) {
        work.onEnded?.(run, end, outcome);
        const beside = besides.get(run.id);
        if (beside) late.push(transaction(database, (tx) => beside.write(tx)));
      },
    };
  };

  const changes: Readonly<Record<string, (work: Deliveries) => Deliveries>> = {
    'sent before it is sent': sentFirst,
    'two commits': twoCommits,
  };
  return {
    async work() {
      await startWorker(database, wakes, mutant ? changes[mutant] : undefined).idle;
      await Promise.all(late);
    },
    close: wakes.close,
  };
});
