// Workers of branch operations that the crash sweep kills. The first argument says where the fake
// is; the last one may name a bug.

import { openWakeListener } from '../../../persistence/wake-listener.ts';
import type { Answer, ExternalOperation, Provider } from '../../../services/operations/provider.ts';
import { accountProvider, startOperationWorkers } from './dbops-worker.ts';
import { sweptChild } from './swept-child.ts';

/** The bug: the call is made when its intent is not written yet. */
function calledBeforeIntent(real: Provider): Provider {
  let early: Answer<readonly ExternalOperation[]> | undefined;
  return {
    ...real,
    async mark(change, signal) {
      const mark = await real.mark(change, signal);
      early = await real.issue(change, Number.POSITIVE_INFINITY);
      return mark;
    },
    async issue(change, latest) {
      return early ?? (await real.issue(change, latest));
    },
  };
}

await sweptChild(async (database, [account = '', mutant]) => {
  const wakes = await openWakeListener(database);
  const real = accountProvider(JSON.parse(account));
  const provider = mutant === 'the intent after the call' ? calledBeforeIntent(real) : real;
  return {
    work: () => startOperationWorkers(database, wakes, provider).idle,
    close: wakes.close,
  };
});
