// What the machine's effects do in the world. Each is answered by events to the machine.
//
// - A save's number becomes its save id here, once, so that it is the same over all retries.
// - What the kind finds wrong with a content is refused here, without asking the server.
// - An answer to a save that is not this session's own is none.
// - That nobody was signed in, said of a request from before the last sign-in, says nothing.

import type { Kind } from '../kinds/kind.ts';
import type { SaveRequest } from '../kinds/wire.ts';
import type { Problem, Save, SessionEvent } from '../machines/session-events.ts';
import type { Effects } from '../machines/session-setup.ts';
import { abandonEvent, readEvent, type SentSave, type saveEvent } from './receipts.ts';
import { report } from './report.ts';
import type { Answer, Call, Transport } from './transport.ts';

export interface RemoteOptions {
  readonly transport: Transport;
  readonly id: string;
  readonly writer: string;
  readonly kind: Kind;
  readonly mint: () => string;
  readonly send: (event: SessionEvent) => void;
  readonly readSave: typeof saveEvent;
}

export interface Remote extends Pick<Effects, 'put' | 'read' | 'abandon'> {
  /** The number of a save by its save id; undefined where it is not this session's. */
  numberOf(saveId: string): number | undefined;
  signedIn(): void;
}

export const documentPath = (id: string): string => `/v1/documents/${encodeURIComponent(id)}`;

/** What the kind finds wrong with a content. One that fails at looking refuses it. */
export function refusalOf(kind: Kind, content: unknown): Problem | undefined {
  try {
    const problems = kind.check(content);
    const pointers = problems.map(({ pointer }) => pointer);
    return problems[0] && { code: problems[0].code, detail: problems[0].detail, pointers };
  } catch (error) {
    report(error);
    return { code: 'check_failed', detail: String(error) };
  }
}

export function remoteEffects(options: RemoteOptions): Remote {
  const { transport, id, writer, kind, mint, send } = options;
  const path = documentPath(id);
  const ids = new Map<number, string>();
  const numbers = new Map<string, number>();

  const idOf = (number: number): string => {
    const known = ids.get(number);
    if (known !== undefined) return known;
    const saveId = mint();
    ids.set(number, saveId);
    numbers.set(saveId, number);
    return saveId;
  };
  let signIns = 0;
  const ask = (call: Call, read: (answer: Answer) => SessionEvent, unheard: SessionEvent): void => {
    const before = signIns;
    transport(call).then((answer) => {
      const event = read(answer);
      send(event.type === 'signed.out' && before !== signIns ? unheard : event);
    });
  };
  const sentAs = ({ number }: Save): SentSave => ({ save: number, saveId: idOf(number) });

  return {
    put(save) {
      if (!save) return;
      const sent = sentAs(save);
      const problem = refusalOf(kind, save.content);
      if (problem) {
        send({ type: 'save.refused', save: save.number, problem });
        return;
      }
      const body: SaveRequest = {
        saveId: sent.saveId,
        writer,
        expectedVersion: save.base,
        content: save.content as SaveRequest['content'],
        ...(save.after.length > 0 && { after: save.after.map(idOf) }),
      };
      ask({ method: 'PUT', path, body }, (answer) => options.readSave(answer, sent), {
        type: 'save.unclear',
        save: save.number,
        waitMs: 0,
      });
    },
    read(sequence) {
      ask({ method: 'GET', path }, (answer) => readEvent(answer, sequence), {
        type: 'read.failed',
        sequence,
      });
    },
    abandon(saves) {
      const sent = saves.map(sentAs);
      if (sent.length === 0) {
        send({ type: 'saves.abandoned', committed: [] });
        return;
      }
      const body = { writer, saveIds: sent.map(({ saveId }) => saveId) };
      ask(
        { method: 'POST', path: `${path}/abandon`, body },
        (answer) => abandonEvent(answer, sent),
        { type: 'abandon.failed' },
      );
    },
    numberOf: (saveId) => numbers.get(saveId),
    signedIn() {
      signIns += 1;
    },
  };
}
