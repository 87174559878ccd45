// Random walks of document sessions: edits, pages that come and go, a second writer, and a network,
// a server and a storage that fail. After every step the history checker is asked.

import type { Parts } from '../../client/session.ts';
import { settle } from '../../client/testing/manual-clock.ts';
import type { Fault } from '../../client/testing/scripted-server.ts';
import { gate } from '../../client/testing/scripted-server.ts';
import { type Dice, diceOf } from './dice.ts';
import { type Desk, type History, historyOf, marksOf } from './session-history.ts';
import { documentId, type Stage, stage } from './sessions.ts';

export interface WalkOptions {
  readonly seed: number;
  readonly steps: number;
  readonly parts?: Partial<Parts>;
}

export interface WalkReport {
  readonly findings: readonly string[];
  readonly steps: readonly string[];
  readonly faults: number;
  readonly statuses: ReadonlySet<string>;
}

interface Walk {
  readonly at: Stage;
  readonly dice: Dice;
  readonly history: History;
  readonly desks: Desk[];
  readonly gates: { open(): void }[];
  marks: number;
  faults: number;
  sick: boolean;
}

async function sit(walk: Walk): Promise<void> {
  const { session, page } = await walk.at.open();
  const desk: Desk = {
    ...{ page, session, closed: false, frozen: false, hidden: false },
    ...{ trouble: walk.sick, wentBack: false, choosing: 0, shown: null },
  };
  walk.desks.push(desk);
  watch(walk, desk);
}

/** A choice excuses what it takes from the screen; nothing else does. */
function watch({ history }: Walk, desk: Desk): void {
  const { session } = desk;
  session.subscribe(({ content }) => {
    if (content === desk.shown || desk.session !== session) return;
    const has = new Set(marksOf(content));
    const gone = marksOf(desk.shown).filter((mark) => !has.has(mark));
    desk.shown = content;
    if (desk.choosing > 0) history.excuse(gone);
  });
}

function choosing(desk: Desk, choice: Promise<unknown>): void {
  desk.choosing += 1;
  choice.finally(() => {
    desk.choosing -= 1;
  });
}

type Step = (walk: Walk, desk: Desk) => void | Promise<void>;

const edit: Step = (walk, { page, session }) => {
  if (session.getSnapshot().version === 0) return;
  walk.marks += 1;
  const mark = `m${walk.marks}`;
  walk.history.edited(mark, page.name);
  session.edit((content: unknown) => walk.history.content(mark, content));
};

const rebase: Step = ({ history, dice }, { session }) => {
  const takesMine = dice.chance(0.3);
  session.rebase(({ mine, theirs, merge }) => {
    if (!takesMine && merge) return merge.content;
    // Mine over theirs: what was looked at may go, from here on. What came later was not.
    const has = new Set(marksOf(mine));
    history.excuse(marksOf(theirs).filter((mark) => !has.has(mark)));
    return mine;
  });
};

const discard: Step = ({ history }, desk) => {
  const saveIds = history.saveIdsOf(desk.page.name);
  const done = desk.session.discardAndReload().then(({ outcome }) => {
    if (outcome === 'reloaded') history.threwAway(saveIds);
  });
  choosing(desk, done);
};

const undo: Step = (_, desk) => {
  const { session } = desk;
  desk.wentBack = true;
  desk.choosing += 1;
  // Not before everybody who looks has seen what it did.
  const over = () => {
    Promise.resolve().then(() => {
      desk.choosing -= 1;
    });
  };
  // A choice that waits for an answer takes effect later.
  if (session.undo() && session.getSnapshot().status === 'settling') {
    const stop = session.subscribe({
      next: ({ status }) => {
        if (status === 'settling') return;
        stop();
        over();
      },
    });
  } else over();
};

const adopt: Step = ({ dice }, desk) => {
  const { siblings } = desk.session.getSnapshot();
  if (siblings.length === 0) return;
  desk.wentBack = true;
  choosing(desk, desk.session.adopt(dice.pick(siblings).key));
};

const discardSibling: Step = async ({ dice, history }, { session }) => {
  const { siblings } = session.getSnapshot();
  if (siblings.length === 0) return;
  const sibling = dice.pick(siblings);
  if (await session.discardSibling(sibling.key)) history.excuse(marksOf(sibling.content));
};

const hide: Step = ({ history }, desk) => {
  history.hidden(desk.page.name);
  desk.page.hide();
  desk.hidden = true;
};

const show: Step = (_, desk) => {
  desk.page.show();
  desk.hidden = false;
};

const freeze: Step = ({ history }, desk) => {
  history.hidden(desk.page.name);
  desk.page.leave();
  desk.frozen = true;
};

const wake: Step = (_, desk) => {
  if (desk.frozen) desk.page.comeBack();
  desk.frozen = false;
};

const crash: Step = async (walk, desk) => {
  walk.history.crashed(desk);
  desk.page.crash();
  walk.desks.splice(walk.desks.indexOf(desk), 1);
  if (walk.desks.length === 0) await sit(walk);
};

const close: Step = (_, desk) => {
  desk.session.close();
  desk.closed = true;
};

const reopen: Step = (walk, desk) => {
  if (!desk.closed) return;
  desk.session = walk.at.openNow(desk.page);
  desk.closed = false;
  desk.shown = desk.session.getSnapshot().content;
  watch(walk, desk);
};

/** Somebody else saves, on top of what is stored. */
const foreign: Step = (walk) => {
  walk.marks += 1;
  const { content } = walk.at.stored();
  walk.at.wire.saveAs(documentId, 'bob', walk.history.content(`mb${walk.marks}`, content));
};

function faultOf(walk: Walk): Fault {
  const { until, open } = gate();
  const made: readonly Fault[] = [
    { type: 'drop' },
    { type: 'kill' },
    { type: 'truncate' },
    { type: 'twice' },
    { type: 'slow', ms: 2000 },
    { type: 'reply', status: 500 },
    { type: 'reply', status: 429, retryAfter: 2 },
    { type: 'lie', status: 502 },
    {
      type: 'lie',
      status: 200,
      body: { saveId: 'another', verdict: 'saved', version: 99, currentVersion: 99 },
    },
    { type: 'page' },
    { type: 'redirect' },
    { type: 'hold', until },
    ...[1, 2, 3].map(() => ({ type: 'delay', until }) as const),
  ];
  const fault = walk.dice.pick(made);
  if (fault.type === 'hold' || fault.type === 'delay') walk.gates.push({ open });
  walk.faults += 1;
  return fault;
}

const scriptFault: Step = (walk) =>
  walk.at.server.script(walk.dice.pick(['PUT', 'PUT', 'PUT', 'GET', 'POST']), faultOf(walk));

const openGate: Step = ({ gates }) => gates.shift()?.open();

const sicken: Step = (walk) => {
  walk.sick = true;
  walk.faults += 1;
  if (walk.dice.chance(0.5)) walk.at.browser.storage.quota = 0;
  else walk.at.browser.storage.error = new Error('blocked');
  walk.at.browser.mirror.error = new Error('blocked');
};

const cure: Step = (walk) => {
  walk.sick = false;
  walk.at.browser.storage.quota = 5_242_880;
  walk.at.browser.storage.error = null;
  walk.at.browser.mirror.error = null;
};

const signIn: Step = ({ at, desks }) => {
  at.browser.signIn('ada');
  for (const { session, frozen } of desks) if (!frozen) session.signedIn('ada');
};

/** What can happen, how often, and whether it needs a page that runs and holds its session. */
const table: readonly (readonly [string, number, Step, 'page'?])[] = [
  ['edit', 30, edit, 'page'],
  ['flush', 4, (_, { session }) => void session.flush(), 'page'],
  ['hide', 8, hide, 'page'],
  ['show', 6, show, 'page'],
  ['freeze', 2, freeze, 'page'],
  ['crash', 3, crash],
  ['open', 2, async (walk) => void (walk.desks.length < 3 && (await sit(walk)))],
  ['close', 2, close, 'page'],
  ['reopen', 4, reopen],
  ['rebase', 6, rebase, 'page'],
  ['discard', 5, discard, 'page'],
  ['copy', 1, (_, desk) => choosing(desk, desk.session.keepAsCopy('copy')), 'page'],
  ['undo', 2, undo, 'page'],
  ['adopt', 4, adopt, 'page'],
  ['discard sibling', 1, discardSibling, 'page'],
  ['cancel', 1, (_, { session }) => session.cancel(), 'page'],
  ['wake', 5, wake],
  ['somebody else saves', 6, foreign],
  ['fault', 14, scriptFault],
  ['open gate', 8, openGate],
  ['offline', 2, ({ at }) => at.browser.goOffline()],
  ['online', 4, ({ at }) => at.browser.goOnline()],
  ['cut', 1, ({ at }) => at.browser.cutNetwork()],
  ['cut streams', 1, ({ at }) => at.server.cutStreams()],
  ['sicken', 1, sicken],
  ['cure', 3, cure],
  ['sign out', 1, ({ at }) => at.browser.signIn(null)],
  ['sign in', 4, signIn],
  ['clock jumps', 1, ({ at, dice }) => at.clock.jump(dice.pick([-3_600_000, 3_600_000]))],
  ['a moment', 10, ({ at, dice }) => at.advance(dice.below(400))],
  ['a second', 10, ({ at, dice }) => at.advance(dice.below(2000))],
  ['a minute', 1, ({ at }) => at.advance(60_000)],
];
const total = table.reduce((sum, [, weight]) => sum + weight, 0);

function draw(dice: Dice): (typeof table)[number] {
  let left = dice.below(total);
  for (const row of table) {
    if (left < row[1]) return row;
    left -= row[1];
  }
  throw new Error('The weights do not add up.');
}

function note(walk: Walk): void {
  for (const desk of walk.desks) {
    if (walk.sick) desk.trouble = true;
    else if (!desk.frozen && desk.session.getSnapshot().safe !== 'page') desk.trouble = false;
    // From here on its base is its own newest version: it has no past to be in conflict with.
    if (desk.choosing === 0 && desk.session.getSnapshot().status === 'saved') desk.wentBack = false;
  }
}

/** Everything works again, and everybody decides. */
async function heal(walk: Walk): Promise<void> {
  const { at, desks } = walk;
  await cure(walk, undefined as never);
  at.browser.goOnline();
  at.browser.signIn('ada');
  for (const method of ['PUT', 'GET', 'POST']) at.server.forget(method);
  for (const { open } of walk.gates) open();
  for (const desk of desks) {
    wake(walk, desk);
    if (!desk.closed) desk.page.show();
    desk.session.signedIn('ada');
  }
  // Each round lets one conflict be decided; two pages may be in each other's way.
  for (let round = 0; round < 5; round += 1) {
    await at.advance(120_000);
    for (const { session, closed } of desks) {
      if (!closed) session.rebase(({ merge, mine }) => merge?.content ?? mine);
      await settle();
    }
  }
  await at.advance(120_000);
}

export async function walkOf({ seed, steps, parts = {} }: WalkOptions): Promise<WalkReport> {
  const dice = diceOf(seed);
  const at = stage({ random: dice.next, parts });
  const history = historyOf(at);
  const walk: Walk = {
    ...{ at, dice, history, desks: [], gates: [], marks: 0, faults: 0, sick: false },
  };
  const taken: string[] = [];
  const statuses = new Set<string>();
  await sit(walk);
  for (let i = 0; i < steps && history.findings.length === 0; i += 1) {
    const [name, , step, needsPage] = draw(dice);
    const able = walk.desks.filter((desk) => !needsPage || (!desk.closed && !desk.frozen));
    if (able.length === 0) continue;
    const desk = dice.pick(able);
    taken.push(`${name} (${desk.page.name})`);
    await step(walk, desk);
    await settle();
    note(walk);
    for (const { session } of walk.desks) statuses.add(session.getSnapshot().status);
    history.check(walk.desks);
  }
  if (history.findings.length === 0) {
    await heal(walk);
    note(walk);
    history.check(walk.desks);
    history.checkEnd(walk.desks);
  }
  for (const { page } of walk.desks) page.crash();
  return { findings: history.findings, steps: taken, faults: walk.faults, statuses };
}
