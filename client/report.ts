// Errors of the page's own functions, such as a subscriber: they must stop nothing here, and must
// not be hidden either.

/** Reports an error as if nobody had caught it. A server, where nothing runs, has no such function. */
export const report = (error: unknown): void => globalThis.reportError?.(error);
