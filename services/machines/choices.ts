// What a caller may do with a run, as the API shows it: each event and command with whether it is
// allowed now, and in words why not. Any domain's page of a run uses it.

import { z } from 'zod';
import { choicesOf } from '../../machines/allowed.ts';
import type { Machine, Sender } from '../../machines/status-machine.ts';
import type { Principal } from '../http/route.ts';
import type { Scope } from '../http/scopes.ts';

export const choice = z
  .strictObject({
    name: z.string(),
    kind: z.enum(['event', 'command']),
    by: z.enum(['claim', 'owner', 'operator', 'sweep']),
    allowed: z.boolean().meta({ description: 'Whether the caller may do it now' }),
    because: z
      .array(z.strictObject({ code: z.string(), text: z.string() }))
      .meta({ description: 'What stands against it' }),
  })
  .meta({ id: 'Choice', description: 'An event or a command of a run' });

export interface ChoicesOptions {
  readonly machine: Machine;
  readonly row: { readonly status: string; readonly [column: string]: unknown };
  /** When the row was read, in microseconds, by the database's clock. */
  readonly at: number;
  readonly principal: Principal;
  /** The scope that an operator needs, by the name of the event or command. */
  readonly scopeOf: (name: string) => Scope;
  /** What stands against it besides what the machine says. */
  readonly also?: Readonly<Record<string, string>>;
  /** Events of others that a caller asks for, and this process then sends. */
  readonly asked?: readonly string[];
}

const others: Readonly<Record<Exclude<Sender, 'operator'>, string>> = {
  claim: 'A worker does this.',
  owner: 'The worker that has it does this.',
  sweep: 'The reaper does this, when its time has come.',
};

const words = (code: string): string => code.replaceAll('_', ' ');
const list = (statuses: readonly string[]): string =>
  statuses.map((each) => `"${each}"`).join(' or ') || 'no status';

/** Says of every event and command whether the caller may do it now, and why not. */
export function choicesFor(options: ChoicesOptions): z.input<typeof choice>[] {
  const { machine, row, at, principal, scopeOf, also = {}, asked = [] } = options;
  return choicesOf(machine, row, at, principal.sub).map(({ name, kind, by, because, from }) => {
    const against = because.map((code) =>
      code === 'wrong_status'
        ? { code, text: `It is "${row.status}"; this is possible from ${list(from)}.` }
        : { code, text: `The condition is not true: ${words(code)}.` },
    );
    if (by !== 'operator' && !asked.includes(name))
      against.push({ code: 'not_for_callers', text: others[by] });
    else if (!principal.scopes.has(scopeOf(name))) {
      const text = `A token with the scope ${scopeOf(name)} is needed.`;
      against.push({ code: 'insufficient_scope', text });
    }
    const reason = also[name];
    if (reason !== undefined) against.push({ code: reason, text: `It was: ${words(reason)}.` });
    return { name, kind, by, allowed: against.length === 0, because: against };
  });
}
