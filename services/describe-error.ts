// Turns whatever was thrown into text for people, for a column such as `last_error`.
//
// - It never throws and never waits: a failure that cannot be described could not be recorded
//   either, and its run would stay claimed for ever.
// - What it reads of a stranger's object it reads guarded: getters, proxies and `toString` may
//   throw.
// - Names, codes and messages only. A stack belongs in the log.

import { inspect, types } from 'node:util';
import { storable } from '../persistence/text.ts';

const longest = 2000;
const longestPart = 1000;
const deepestCause = 5;
const widestAggregate = 3;

function guarded<T>(read: () => T): T | undefined {
  try {
    return read();
  } catch {
    return undefined;
  }
}

/** Text of a value that is no error. Getters and the value's own `inspect` are not called. */
function show(value: unknown): string {
  if (typeof value === 'string') return value;
  const options = { depth: 2, breakLength: Number.POSITIVE_INFINITY, customInspect: false };
  const limits = { maxArrayLength: 10, maxStringLength: longestPart };
  return (
    guarded(() => inspect(value, { ...options, ...limits })) ?? `something of type ${typeof value}`
  );
}

function part(error: object, name: string): unknown {
  return guarded(() => (error as Record<string, unknown>)[name]);
}

function textPart(error: object, name: string): string {
  const value = part(error, name);
  return value === undefined || value === '' ? '' : show(value).slice(0, longestPart);
}

const isError = (value: unknown): value is object =>
  typeof value === 'object' &&
  value !== null &&
  (types.isNativeError(value) || guarded(() => value instanceof Error) === true);

function headline(thrown: unknown): string {
  if (!isError(thrown)) {
    const kind = thrown === undefined ? 'nothing was thrown' : 'thrown, but no Error';
    return `${show(thrown).slice(0, longestPart)} (${kind})`;
  }
  const message = textPart(thrown, 'message');
  const name = textPart(thrown, 'name') || 'Error';
  const code = textPart(thrown, 'code');
  return `${name}${code && ` [${code}]`}${message && `: ${message}`}`;
}

/** What is behind an error: its cause, or the first few errors that it stands for. */
function reasonsOf(thrown: object): readonly unknown[] {
  const errors = part(thrown, 'errors');
  const several = guarded(() => (Array.isArray(errors) ? errors.slice(0, widestAggregate) : []));
  const hasCause = guarded(() => 'cause' in thrown) === true;
  return [...(hasCause ? [part(thrown, 'cause')] : []), ...(several ?? [])];
}

/** Describes a thrown value in at most 2,000 UTF-16 units that Postgres can store. Never throws. */
export function describeError(thrown: unknown): string {
  const lines: string[] = [];
  const seen = new Set<unknown>();
  const add = (value: unknown, depth: number): void => {
    const before = depth === 0 ? '' : 'caused by ';
    if (depth > deepestCause) return void lines.push(`${before}more that is not shown`);
    if (isError(value)) {
      if (seen.has(value)) return void lines.push(`${before}an error that is already named`);
      seen.add(value);
    }
    lines.push(`${before}${headline(value)}`);
    if (isError(value)) for (const reason of reasonsOf(value)) add(reason, depth + 1);
  };
  add(thrown, 0);
  return storable(lines.join('\n'), longest);
}
