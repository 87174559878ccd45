// A service that saves a document and that the crash sweep kills. Its arguments are the saves in
// their order, as JSON, and where the writer hears of their verdicts; the last one may name a bug.
//
// - Who saves does what the browser does: no answer is no verdict, so it sends the same save again.

import { randomUUID } from 'node:crypto';
import { openSaves, type Save, type SaveOutcome } from '../../../services/documents/save.ts';
import { sweptChild } from './swept-child.ts';

await sweptChild(async (database, [given = '[]', writer = '', mutant]) => {
  const saves = openSaves(database);

  async function tell(id: string, { outcome }: SaveOutcome): Promise<void> {
    const request = { method: 'POST', body: JSON.stringify({ id, outcome }) };
    await (await fetch(writer, request)).arrayBuffer();
  }

  /** The bug: another try is another save. */
  function again(save: Save): Save {
    if (mutant !== 'another id for another try' || !save.save) return save;
    return { ...save, save: { ...save.save, id: randomUUID() } };
  }

  return {
    async work() {
      for (const save of JSON.parse(given) as readonly Save[]) {
        const outcome = await saves.save(save).catch(() => saves.save(again(save)));
        await tell(save.save?.id ?? '', outcome);
      }
    },
    close: async () => undefined,
  };
});
