// A promise that is resolved from outside: how a test waits for a callback.

export interface Signal<T> {
  readonly given: Promise<T>;
  give(value: T): void;
}

export function signal<T = void>(): Signal<T> {
  let give: (value: T) => void = () => undefined;
  const given = new Promise<T>((resolve) => {
    give = resolve;
  });
  return { given, give: (value) => give(value) };
}
