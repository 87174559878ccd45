// Errors of the page's own functions, such as a subscriber: they must stop nothing here, and must
// not be hidden either.

/** Reports an error as if nobody had caught it, where there is a page to report it to. */
export const report = (error: unknown): void => globalThis.reportError?.(error);
