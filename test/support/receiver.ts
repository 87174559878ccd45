// A mail server that keeps its answers back until the test gives them, so that whatever a test does
// to the service hits running sends.

import { openMailSink } from './mail-sink.ts';
import { signal } from './signal.ts';

const keyOf = (mail: string): string => /^message-id: (\S+)/im.exec(mail)?.[1] ?? '';

/** Opens one that lets so many mails pass and keeps back what it thinks of the others. */
export async function openReceiver(passing = 0) {
  const kept: ((answer?: Error) => void)[] = [];
  const waiting = new Set<() => void>();
  let left = passing;
  const look = () => {
    for (const each of waiting) each();
  };
  const sink = await openMailSink(async (stage) => {
    if (stage !== 'data') return undefined;
    // The mail is counted right after this answer.
    setImmediate(look);
    left -= 1;
    if (left >= 0) return undefined;
    const answer = signal<Error | undefined>();
    kept.push(answer.give);
    const given = await answer.given;
    setImmediate(look);
    return given;
  });

  async function until(isSo: () => boolean): Promise<void> {
    const reached = signal();
    const check = () => {
      if (isSo()) reached.give();
    };
    waiting.add(check);
    check();
    await reached.given;
    waiting.delete(check);
  }

  function answer(choose: (index: number) => Error | undefined): void {
    for (const [i, give] of kept.splice(0).entries()) give(choose(i));
  }

  return {
    url: sink.url,
    /** Resolves when so many mails wait for their answer. */
    held: (count: number) => until(() => kept.length >= count),
    /** Resolves when so many mails were accepted. */
    accepted: (count: number) => until(() => sink.mails.length >= count),
    /** Resolves when so many different mails were accepted. */
    acceptedOnce: (count: number) => until(() => new Set(sink.mails.map(keyOf)).size >= count),
    /** Answers those that wait, each as it is told: undefined accepts. */
    answer,
    /** Accepts all, those that wait and those that come. */
    open() {
      left = Number.POSITIVE_INFINITY;
      answer(() => undefined);
    },
    /** Lets so many pass from here on, and keeps back the others. */
    hold(passingFirst: number) {
      left = passingFirst;
    },
    /** The Message-IDs of what was accepted, with repetitions. */
    keys: () => sink.mails.map(keyOf).sort(),
    close: sink.close,
  };
}
