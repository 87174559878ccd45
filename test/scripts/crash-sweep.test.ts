// A sample of the crash sweep; `npm run crash-sweep` walks all of it.

import { describe, expect, it } from 'vitest';
import { cloneDatabase } from '../support/database.ts';
import { scenarios } from '../support/sweep/all.ts';
import { atCommits, spread, sweepScenario } from '../support/sweep/sweep.ts';
import { sweepTable } from '../support/sweep/table.ts';
import { messageCutter, steps } from '../support/sweep/wire.ts';

const lanes = 3;
const sample = 6;
const fewestMessages = 30;
const mutants = scenarios.flatMap((scenario) =>
  scenario.mutants.map((mutant) => [scenario.machine, mutant, scenario] as const),
);

describe.each(scenarios.map((scenario) => [scenario.machine, scenario] as const))(
  'the work of %s',
  (_, scenario) => {
    it('keeps its promises wherever it is disturbed', async () => {
      const swept = await sweepScenario({
        scenario,
        lanes,
        clone: cloneDatabase,
        choose: (points) => spread(points, sample),
      });
      const table = sweepTable(swept);
      expect(swept.messages, table).toBeGreaterThan(fewestMessages);
      expect(swept.tried, table).toHaveLength(1 + sample);
      expect(table).toContain('Every promise held at every point.');
    });
  },
);

describe('the crash sweep', () => {
  it('is shown bugs of every machine', () => {
    expect(new Set(mutants.map(([machine]) => machine)).size).toBe(scenarios.length);
  });

  it.each(mutants)('sees in %s the bug "%s", and where', async (_, mutant, scenario) => {
    const swept = await sweepScenario({
      ...{ scenario, mutant, lanes, clone: cloneDatabase },
      choose: atCommits,
      untilFound: true,
    });
    const [undisturbed, ...disturbed] = swept.tried;
    expect(undisturbed?.findings).toEqual([]);
    expect(disturbed.flatMap(({ findings }) => findings)).not.toEqual([]);
    expect(sweepTable(swept)).toContain('Promises were broken at');
  });
});

describe('messages on the wire', () => {
  const text = (type: string, body: string) => {
    const bytes = Buffer.from(`${type}....${body}`, 'latin1');
    bytes.writeInt32BE(bytes.length - 1, 1);
    return bytes;
  };
  const startup = Buffer.concat([Buffer.from([0, 0, 0, 10]), Buffer.from('what..')]);
  const said = [
    startup,
    text('Q', 'begin; set local x = 1\0'),
    text('P', 'outbox.claim.0123456789ab\0with e as (select 1)\0\0\0'),
    text('B', '\0outbox.claim.0123456789ab\0'),
    text('S', ''),
  ];

  it.each([1, 2, 3, 7, 1000])('are found whole in pieces of %d bytes', (size) => {
    const whole = Buffer.concat(said);
    const cut = messageCutter('client');
    const found: Buffer[] = [];
    for (let at = 0; at < whole.length; at += size) {
      found.push(...cut(whole.subarray(at, at + size)));
    }
    expect(found.map(String)).toEqual(said.map(String));
  });

  it('belong to the statement that they ask for or answer', () => {
    const stepOf = steps();
    const asked = said.slice(1).map((message) => stepOf('client', message));
    expect(asked).toEqual(['begin', 'outbox.claim', 'outbox.claim', 'outbox.claim']);
    const answers = ['C', 'Z', 'A', 'C', 'Z', 'Z'].map((type) => stepOf('server', text(type, '')));
    expect(answers).toEqual([
      ...['begin', 'begin', 'notification', 'outbox.claim', 'outbox.claim'],
      'nothing',
    ]);
    expect(stepOf('client', text('Q', 'commit\0'))).toBe('commit of outbox.claim');
  });
});
