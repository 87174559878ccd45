// Which route of a table a request is for. Express asks each of its routes in turn, by a regular
// expression; here those with as many segments are compared, segment by segment.
//
// - A path is matched as it was sent: by case, and to the last slash. A parameter is one segment
//   that is not empty.
// - Of several routes the first in the table is taken. HEAD is answered by what answers GET.
// - A path that is known is so for every method: what it has is said, for a 405.

export interface Matchable {
  readonly method: string;
  /** Parameters in braces: `/v1/deliveries/{id}` */
  readonly path: string;
}

export type Params = Readonly<Record<string, string>>;

export type Match<R> =
  | { readonly route: R; readonly params: Params }
  /** The methods that the path has, in order. */
  | { readonly route?: never; readonly allow: readonly string[] };

interface Segment {
  readonly text: string;
  readonly isParameter: boolean;
}

interface Pattern<R> {
  readonly route: R;
  readonly method: string;
  readonly segments: readonly Segment[];
}

const segmentOf = (text: string): Segment => {
  const name = /^\{(\w+)\}$/.exec(text)?.[1];
  return name === undefined ? { text, isParameter: false } : { text: name, isParameter: true };
};

/** The routes by how many segments they have, in the table's order. */
function patternsOf<R extends Matchable>(table: readonly R[]) {
  const patterns = new Map<number, Pattern<R>[]>();
  for (const route of table) {
    const segments = route.path.split('/').map(segmentOf);
    const others = patterns.get(segments.length) ?? [];
    others.push({ route, method: route.method.toUpperCase(), segments });
    patterns.set(segments.length, others);
  }
  return patterns;
}

function fits({ segments }: Pattern<unknown>, given: readonly string[]): boolean {
  for (let i = 0; i < segments.length; i += 1) {
    const { text, isParameter } = segments[i] as Segment;
    if (isParameter ? given[i] === '' : given[i] !== text) return false;
  }
  return true;
}

function paramsOf({ segments }: Pattern<unknown>, given: readonly string[]): Params {
  const params: Record<string, string> = {};
  for (const [i, { text, isParameter }] of segments.entries()) {
    if (isParameter) params[text] = decodeURIComponent(given[i] ?? '');
  }
  return params;
}

/**
 * Makes what finds the route for a method and a path. It returns undefined for a path that no route
 * has, and throws URIError for one with half an escape in a parameter.
 */
export function matcherOf<R extends Matchable>(table: readonly R[]) {
  const patterns = patternsOf(table);
  return (method: string, path: string): Match<R> | undefined => {
    const given = path.split('/');
    const wanted = method === 'HEAD' ? 'GET' : method;
    const some = patterns.get(given.length) ?? [];
    const found = some.find((each) => each.method === wanted && fits(each, given));
    if (found) return { route: found.route, params: paramsOf(found, given) };
    const known = some.find((each) => fits(each, given));
    if (!known) return undefined;
    // What cannot be read is not asked for at all, by whichever method.
    paramsOf(known, given);
    const same = some.filter(({ route }) => route.path === known.route.path);
    return { allow: same.map((each) => each.method).toSorted() };
  };
}
