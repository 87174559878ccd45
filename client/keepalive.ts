// The bytes that requests of a dying page may carry: 65,536 at once, all requests of the page
// together, until their answers were read (measured in Chromium). Beyond it a plain request is
// sent, which the browser may cut off; the draft is written before either.

const mostBytes = 65_536;

export interface KeepaliveBudget {
  /** Returns how to give the bytes back, or null where there is no room. */
  take(body: string): (() => void) | null;
}

export function keepaliveBudget(): KeepaliveBudget {
  let used = 0;
  return {
    take(body) {
      // No text is shorter in bytes than in units: a large one need not be encoded to be refused.
      if (body.length > mostBytes) return null;
      const bytes = new TextEncoder().encode(body).length;
      if (used + bytes > mostBytes) return null;
      used += bytes;
      return () => {
        used -= bytes;
      };
    },
  };
}

const budgets = new WeakMap<object, KeepaliveBudget>();

/** The one budget of a page. */
export function budgetOf(page: object): KeepaliveBudget {
  const budget = budgets.get(page) ?? keepaliveBudget();
  budgets.set(page, budget);
  return budget;
}
