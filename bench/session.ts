// `npm run bench -- session`: what a keystroke costs the main thread, in a document of 1 MB. The
// edit is made as an editor makes it: a new content that shares all but a path with the one
// before.

import { openDocument } from '../client/open-document.ts';
import {
  fakeBrowser,
  manualClock,
  scriptedServer,
  settle,
  wireServer,
} from '../client/testing/index.ts';
import { kinds } from '../kinds/all.ts';
import { spreadsheet } from '../kinds/spreadsheet.ts';

const keystrokes = 2000;
const cellsOf = (count: number) =>
  Object.fromEntries(Array.from({ length: count }, (_, i) => [`A${i + 1}`, `${'x'.repeat(980)}`]));

const at = (sorted: readonly number[], part: number): string =>
  (sorted[Math.floor((sorted.length - 1) * part)] ?? 0).toFixed(3);

export async function sessionBench(): Promise<string> {
  const clock = manualClock();
  const wire = wireServer({ kinds, now: () => clock.now() });
  const browser = fakeBrowser({ server: scriptedServer(wire, clock), clock, user: 'ada' });
  const content = { cells: cellsOf(1000) };
  wire.create({ id: 'sheet', kind: 'spreadsheet', content, owner: 'ada' });
  const { environment } = browser.openPage();
  const options = { url: 'http://127.0.0.1', id: 'sheet', kind: spreadsheet, user: 'ada' };
  const session = openDocument({ ...options, environment, onConflict: () => {} });
  await settle();
  const size = JSON.stringify(content).length;
  // A page has subscribers, and each looks at the snapshot.
  session.subscribe(() => {});
  browser.goOffline();

  const edits: number[] = [];
  const drafts: number[] = [];
  // The processor's time, which other work on the machine does not lengthen.
  let used = 0;
  for (let i = 0; i < keystrokes; i += 1) {
    const start = performance.now();
    const cpu = process.cpuUsage();
    session.edit((now: unknown) => {
      const { cells } = now as { cells: Record<string, string> };
      return { cells: { ...cells, A500: `typed ${i}` } };
    });
    edits.push(performance.now() - start);
    const { user, system } = process.cpuUsage(cpu);
    used += user + system;
    if (i % 20 !== 0) continue;
    const before = performance.now();
    await clock.advance(250);
    drafts.push(performance.now() - before);
  }
  const [e, d] = [edits.toSorted((a, b) => a - b), drafts.toSorted((a, b) => a - b)];
  return [
    `A document of ${size} units, ${keystrokes} keystrokes. Milliseconds of the main thread.`,
    '',
    '| what                           | median | 99 % | most |',
    '| ------------------------------ | -----: | ---: | ---: |',
    `| a keystroke, the copy included | ${at(e, 0.5)} | ${at(e, 0.99)} | ${at(e, 1)} |`,
    `| its draft, behind it           | ${at(d, 0.5)} | ${at(d, 0.99)} | ${at(d, 1)} |`,
    '',
    `A keystroke takes ${(used / keystrokes / 1000).toFixed(3)} ms of processor time in the mean.`,
  ].join('\n');
}
