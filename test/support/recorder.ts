// Keeps what happens in the runs of a process, so that a test waits for events instead of for time.

import type { RunsEvent } from '../../services/runs/events.ts';

export interface Recorder {
  readonly events: readonly RunsEvent[];
  readonly observe: (event: RunsEvent) => void;
  /** The events of one type. */
  of<T extends RunsEvent['type']>(type: T): readonly Extract<RunsEvent, { readonly type: T }>[];
  /** Resolves as soon as there are so many events of the type, those that came before included. */
  seen(type: RunsEvent['type'], count?: number): Promise<void>;
  /** Resolves as soon as this is true, which is asked at each event. */
  until(isTrue: () => boolean): Promise<void>;
}

export function recorder(): Recorder {
  const events: RunsEvent[] = [];
  const waiting = new Set<() => void>();
  const self: Recorder = {
    events,
    observe(event) {
      events.push(event);
      for (const look of waiting) look();
    },
    of: <T extends RunsEvent['type']>(type: T) =>
      events.filter((event): event is Extract<RunsEvent, { readonly type: T }> => {
        return event.type === type;
      }),
    seen: (type, count = 1) => self.until(() => self.of(type).length >= count),
    until: (isTrue) =>
      new Promise((resolve) => {
        const look = () => {
          if (!isTrue()) return;
          waiting.delete(look);
          resolve();
        };
        waiting.add(look);
        look();
      }),
  };
  return self;
}
