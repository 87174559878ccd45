// Machines as the API shows them: the shapes of its answers.

import { z } from 'zod';
import { printInstant } from '../../persistence/instant.ts';
import type { MachineDetails } from './catalogue.ts';
import type { TransitionEvent } from './stream.ts';

const sender = z
  .enum(['claim', 'owner', 'operator', 'sweep'])
  .meta({ id: 'EventSender', description: 'Who may send an event' });

export const machineSummary = z
  .strictObject({
    id: z.string(),
    description: z.string(),
    statuses: z.array(z.string()),
    initial: z.string(),
  })
  .meta({ id: 'MachineSummary' });

const condition = z
  .strictObject({
    name: z.string().meta({ description: 'What a refusal says if it is not true' }),
    words: z.string(),
  })
  .meta({ id: 'MachineCondition' });

const arrow = z
  .strictObject({
    id: z.string(),
    from: z.string(),
    to: z.string(),
    event: z.string(),
    by: sender,
    description: z.string().nullable(),
    guard: z.array(condition).meta({ description: 'All of them must be true' }),
    isElse: z.boolean().meta({ description: 'Taken only if no arrow before it can be' }),
    effect: z.array(z.string()).meta({ description: 'What changes, in words' }),
    fence: z.enum(['none', 'judged', 'raised']),
  })
  .meta({ id: 'MachineArrow' });

export const machineDetails = z
  .strictObject({
    ...machineSummary.shape,
    definition: z.record(z.string(), z.unknown()).meta({ description: 'The declaration as it is' }),
    arrows: z.array(arrow),
    checks: z.array(condition).meta({ description: 'What the database holds true' }),
    commands: z.array(
      z.strictObject({ name: z.string(), from: z.array(z.string()), description: z.string() }),
    ),
    operatorEvents: z.array(
      z.strictObject({
        event: z.string(),
        fields: z.record(z.string(), z.string()).meta({ description: 'Their kinds' }),
        from: z.array(z.string()),
      }),
    ),
    statements: z.array(
      z.strictObject({
        event: z.string(),
        selector: z.enum(['ids', 'claim', 'sweep', 'heal']),
        name: z.string(),
        sql: z.string(),
      }),
    ),
    mermaid: z.string(),
    svg: z.string(),
  })
  .meta({ id: 'Machine' });

export const machineCounts = z
  .strictObject({
    counts: z.array(
      z.strictObject({
        status: z.string(),
        runs: z.int().meta({ description: 'No more than 10,000 are counted' }),
        more: z.boolean().meta({ description: 'There are more than were counted' }),
        shown: z.string().meta({ description: 'For people: 17, or 10,000+' }),
      }),
    ),
  })
  .meta({ id: 'MachineCounts' });

export const transition = z
  .strictObject({
    run: z.uuid(),
    seq: z.int(),
    at: z.iso.datetime().meta({ description: 'UTC, to the microsecond' }),
    event: z.string().nullable().meta({ description: 'Null: a write from outside the service' }),
    actor: z.string(),
    from: z.string(),
    to: z.string(),
    fence: z.int(),
  })
  .meta({ id: 'Transition' });

export function detailsAnswer(details: MachineDetails): z.input<typeof machineDetails> {
  const { definition, sketch, statements, operatorEvents, ...rest } = details;
  return {
    ...rest,
    statuses: [...rest.statuses],
    definition: definition as unknown as Record<string, unknown>,
    arrows: sketch.arrows.map(({ description, by, guard, effect, short: _, ...own }) => ({
      ...own,
      by: by ?? 'operator',
      description: description ?? null,
      guard: [...guard],
      effect: [...effect],
    })),
    checks: [...sketch.checks],
    commands: sketch.commands.map(({ from, ...own }) => ({ ...own, from: [...from] })),
    statements: [...statements],
    operatorEvents: operatorEvents.map(({ from, fields, event }) => ({
      event,
      fields: { ...fields },
      from: [...from],
    })),
  };
}

export function transitionAnswer(event: TransitionEvent): z.input<typeof transition> {
  const { run, seq, at, actor, from, to, fence } = event;
  return { run, seq, at: printInstant(at), event: event.event, actor, from, to, fence };
}
