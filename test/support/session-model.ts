// The machine as a model of the real session. Each move is made twice: in the world, with the fault
// kit, and on the machine alone, as the events that it ought to become there. Then both must be in
// the same states, with the same facts.
//
// - Requests are kept back, so that a move decides how each is answered.
// - The model's clock stands still: its timers are sent as events, by the moves that let time pass.

import { createActor, SimulatedClock } from 'xstate';
import type { HttpAnswer } from '../../client/environment.ts';
import { parts, startSession } from '../../client/session.ts';
import { settle } from '../../client/testing/manual-clock.ts';
import { type Fault, gate } from '../../client/testing/scripted-server.ts';
import { record } from '../../kinds/record.ts';
import { documentSession } from '../../machines/document-session.ts';
import type { SessionEvent } from '../../machines/session-events.ts';
import { delaysMs, retryMs } from '../../machines/session-setup.ts';
import { arrowOf } from './beside-xstate.ts';
import { documentId, stage, url } from './sessions.ts';

type Model = ReturnType<typeof modelOf>;

function modelOf(taken: Set<string>) {
  const actor = createActor(documentSession, {
    clock: new SimulatedClock(),
    inspect: (event) => {
      if (event.type !== '@xstate.microstep') return;
      for (const transition of event._transitions) taken.add(arrowOf(transition));
    },
  });
  actor.start();
  return actor;
}

/** A request that waits for a move to answer it. */
interface Kept {
  readonly method: string;
  answer(fault?: Fault): void;
}

function reality() {
  const at = stage({ random: () => 1 });
  const page = at.browser.openPage();
  const kept: Kept[] = [];
  const send = page.environment.fetch;
  const { clock } = page.environment;
  const environment = {
    ...page.environment,
    // A request waits for its move, however long that takes.
    clock: {
      ...clock,
      setTimeout: (run: () => void, ms: number) => (ms === 30_000 ? 0 : clock.setTimeout(run, ms)),
    },
    fetch: async (to: string, request: Parameters<typeof send>[1]): Promise<HttpAnswer> => {
      const { until, open } = gate();
      kept.push({
        method: request.method,
        answer(fault) {
          if (fault) at.server.script(request.method, fault);
          open();
        },
      });
      await until;
      return send(to, request);
    },
  };
  const core = startSession(
    { url, id: documentId, kind: record, user: 'ada', onConflict: () => {} },
    { environment, parts, streams: { listen: () => () => {} } },
  );
  return { at, page, core, kept };
}

export interface Pair {
  readonly model: Model;
  readonly real: ReturnType<typeof reality>;
  edits: number;
}

const contextOf = ({ model }: Pair) => model.getSnapshot().context;
const can = ({ model }: Pair, state: object) => model.getSnapshot().matches(state as never);
const tell = ({ model }: Pair, event: SessionEvent): void => model.send(event);

const drafted = (pair: Pair): void => {
  const { generation, base } = contextOf(pair);
  if (can(pair, { draft: 'writing' })) {
    tell(pair, { type: 'draft.written', generation, base: base.version });
  }
};

/** Timers of the model run out, in their order. Where none is armed, nothing happens. */
function runOut(pair: Pair, timers: readonly (readonly [string, string])[]): void {
  for (const [name, state] of timers) {
    pair.model.send({ type: `xstate.after.${name}.${state}` } as never);
    drafted(pair);
  }
}

const root = 'documentSession';
const pauseTimers = [
  ['draft', `${root}.draft.behind`],
  ['debounce', `${root}.lane.dirty.pending.typing`],
] as const;
const retryTimers = [
  pauseTimers[0],
  ...['unconfirmed', 'loading.waiting', 'clean.behind', 'readOnly.behind', 'dirty.unchecked'].map(
    (state) => ['retry', `${root}.lane.${state}`] as const,
  ),
  ['retry', 'settling'],
] as const;
const lingerTimers = [...pauseTimers, ['linger', `${root}.holding.lingering`]] as const;

/** Something is tried again after a time that depends on what happened before. */
const isRetrying = (pair: Pair): boolean =>
  [
    ...['unconfirmed', 'settling', { loading: 'waiting' }, { clean: 'behind' }],
    ...[{ readOnly: 'behind' }, { dirty: 'unchecked' }],
  ].some((lane) => can(pair, { lane }));
const isLingering = (pair: Pair): boolean => can(pair, { holding: 'lingering' });

function letPass(pair: Pair, ms: number, timers: readonly (readonly [string, string])[]): boolean {
  pair.real.at.advance(ms);
  runOut(pair, timers);
  return true;
}

function both(pair: Pair, event: SessionEvent): void {
  pair.real.core.send(event);
  tell(pair, event);
  drafted(pair);
}

const oldest = (pair: Pair, ...methods: readonly string[]): Kept | undefined => {
  const i = pair.real.kept.findIndex(({ method }) => methods.includes(method));
  return i < 0 ? undefined : pair.real.kept.splice(i, 1)[0];
};

const problem = (code: string) => ({ code, detail: code });

/** The save that the oldest request on the wire is for. */
function sentSave(pair: Pair): number {
  const sent = contextOf(pair).unanswered.filter(({ phase }) => phase === 'sent');
  return sent[0]?.number ?? 0;
}

function answerSave(
  pair: Pair,
  fault: Fault | undefined,
  event: (save: number) => SessionEvent,
): boolean {
  const save = sentSave(pair);
  if (save === 0) return false;
  const request = oldest(pair, 'PUT');
  if (!request) return false;
  request.answer(fault);
  tell(pair, event(save));
  return true;
}

function readModel(pair: Pair): SessionEvent {
  const { version, content, by } = pair.real.at.stored();
  return {
    type: 'document.read',
    sequence: contextOf(pair).reads,
    document: {
      ...{ version, content, access: 'owner', name: documentId, updatedBy: by },
      updatedAt: new Date(pair.real.at.clock.now()).toISOString(),
    },
  };
}

export interface Move {
  readonly name: string;
  /** False where the move is not possible here. */
  readonly make: (pair: Pair) => boolean;
}

const move = (name: string, make: Move['make']): Move => ({ name, make });

type Simple = 'flush' | 'hold' | 'release' | 'cancel' | 'signed.in' | 'reopen' | 'close';
type OfBrowser = 'hide' | 'show' | 'sleep' | 'wake' | 'online' | 'offline';
const simple = (type: Simple | OfBrowser): Move =>
  move(type, (pair) => {
    both(pair, { type });
    return true;
  });

/** Numbers that only one page uses here make what the server has predictable. */
const isSimple = (pair: Pair): boolean => contextOf(pair).unanswered.length <= 1;

export const moves: readonly Move[] = [
  move('edit', (pair) => {
    if (contextOf(pair).base.version === 0) return false;
    pair.edits += 1;
    both(pair, { type: 'edit', content: { attributes: { a: pair.edits } } });
    return true;
  }),
  move('a pause', (pair) =>
    isRetrying(pair) || isLingering(pair) ? false : letPass(pair, delaysMs.debounce, pauseTimers),
  ),
  move('the time of a retry', (pair) =>
    !isRetrying(pair) || isLingering(pair)
      ? false
      : letPass(pair, retryMs(contextOf(pair)), retryTimers),
  ),
  move('the time of a return', (pair) =>
    isRetrying(pair) || !isLingering(pair) ? false : letPass(pair, delaysMs.linger, lingerTimers),
  ),
  move('the save is stored', (pair) => {
    if (!isSimple(pair)) return false;
    const current = pair.real.at.stored();
    const save = contextOf(pair).unanswered[0];
    if (!save || save.base !== current.version) return false;
    const version = current.version + 1;
    return answerSave(pair, undefined, (number) => ({
      ...{ type: 'save.stored', save: number, version, current: version },
    }));
  }),
  move('somebody saved first', (pair) => {
    if (!isSimple(pair) || sentSave(pair) === 0) return false;
    const { at } = pair.real;
    at.wire.saveAs(documentId, 'bob', { attributes: { b: at.stored().version } });
    const { version, by, writer } = at.stored();
    return answerSave(pair, undefined, (save) => ({
      type: 'save.conflicted',
      save,
      conflict: {
        ...{ version, by, writer, saveId: null, baseKnown: true, contentUnchanged: false },
        at: new Date(at.clock.now()).toISOString(),
        plan: null,
      },
    }));
  }),
  move('the save is lost', (pair) =>
    answerSave(pair, { type: 'kill' }, (save) => ({ type: 'save.unclear', save, waitMs: 0 })),
  ),
  move('the save is refused', (pair) =>
    answerSave(pair, { type: 'reply', status: 422, body: problem('no') }, (save) => ({
      ...{ type: 'save.refused', save, problem: problem('no') },
    })),
  ),
  move('nobody is signed in', (pair) =>
    answerSave(pair, { type: 'redirect' }, (save) => ({
      ...{ type: 'signed.out', save, problem: problem('signed_out') },
    })),
  ),
  move('the right is gone', (pair) =>
    answerSave(pair, { type: 'reply', status: 403, body: problem('read_only') }, (save) => ({
      ...{ type: 'access.lost', save, problem: problem('read_only') },
    })),
  ),
  move('the document is gone', (pair) =>
    answerSave(pair, { type: 'reply', status: 410, body: problem('document_gone') }, () => ({
      ...{ type: 'document.gone', problem: problem('document_gone') },
    })),
  ),
  move('a read comes', (pair) => {
    const reads = pair.real.kept.filter(({ method }) => method === 'GET');
    if (reads.length !== 1) return false;
    oldest(pair, 'GET')?.answer();
    tell(pair, readModel(pair));
    return true;
  }),
  move('a read finds more', (pair) => {
    const reads = pair.real.kept.filter(({ method }) => method === 'GET');
    if (reads.length !== 1 || contextOf(pair).unanswered.length > 0) return false;
    const { at } = pair.real;
    at.wire.saveAs(documentId, 'bob', { attributes: { b: at.stored().version } });
    oldest(pair, 'GET')?.answer();
    tell(pair, readModel(pair));
    return true;
  }),
  move('a read fails', (pair) => {
    const request = oldest(pair, 'GET');
    if (!request || pair.real.kept.some(({ method }) => method === 'GET')) return false;
    request.answer({ type: 'kill' });
    tell(pair, { type: 'read.failed', sequence: contextOf(pair).reads });
    return true;
  }),
  move('an abandon is answered', (pair) => {
    const request = oldest(pair, 'POST');
    if (!request) return false;
    request.answer({ type: 'kill' });
    tell(pair, { type: 'abandon.failed' });
    return true;
  }),
  move('somebody saves', (pair) => {
    const { at, core } = pair.real;
    if (contextOf(pair).unanswered.length > 0) return false;
    at.wire.saveAs(documentId, 'bob', { attributes: { b: at.stored().version } });
    const foreign = { version: at.stored().version, by: 'bob', at: null };
    core.send({ type: 'version.announced', foreign });
    tell(pair, { type: 'version.announced', foreign });
    return true;
  }),
  ...(['hide', 'show', 'sleep', 'wake', 'online', 'offline'] as const).map(simple),
  ...(['flush', 'hold', 'release', 'cancel', 'signed.in', 'close', 'reopen'] as const).map(simple),
  move('discard', (pair) => {
    const wasDiscarding = can(pair, { lane: 'discarding' });
    both(pair, { type: 'discard' });
    // With nothing unanswered there is nobody to ask.
    if (!wasDiscarding && can(pair, { lane: { discarding: 'abandoning' } })) {
      if (contextOf(pair).unanswered.length === 0) {
        tell(pair, { type: 'saves.abandoned', committed: [] });
      }
    }
    return true;
  }),
  move('choose', (pair) => {
    if (contextOf(pair).base.version === 0) return false;
    pair.edits += 1;
    const { base } = contextOf(pair);
    const content = { attributes: { c: pair.edits } };
    both(pair, { type: 'choose', why: 'adopt', content, base, stored: false });
    return true;
  }),
];

export function startPair(taken: Set<string>): Pair {
  return { model: modelOf(taken), real: reality(), edits: 0 };
}

/** What both must agree on. */
function told(context: ReturnType<Model['getSnapshot']>['context']) {
  const { content, generation, savedGeneration, lineage, unanswered, reads, failures } = context;
  const { base, held, choice, discarded, draft, foreign } = context;
  return {
    ...{ content, generation, savedGeneration, lineage, unanswered, reads, failures },
    ...{ base, held, choice, discarded, draft, foreign: foreign?.version },
  };
}

export const realState = ({ real }: Pair) => ({
  value: real.core.machine().value,
  facts: told(real.core.facts()),
});
export const modelState = ({ model }: Pair) => ({
  value: model.getSnapshot().value,
  facts: told(model.getSnapshot().context),
});

/** States that differ in nothing that decides what can happen next. */
export function keyOf({ model }: Pair): string {
  const { value, context } = model.getSnapshot();
  return JSON.stringify([
    value,
    context.unanswered.map(({ phase, flush }) => [phase, flush]),
    context.generation > context.savedGeneration,
    context.unanswered.at(-1)?.generation === context.generation,
    context.held,
    context.foreign !== null,
    context.conflict !== null,
  ]);
}

export async function makeMove(pair: Pair, { name, make }: Move): Promise<boolean> {
  const made = make(pair);
  drafted(pair);
  await settle();
  // Time that passes takes a round of promises for each timer.
  if (name.includes('time') || name.includes('pause'))
    for (let i = 0; i < 3; i += 1) await settle();
  return made;
}
