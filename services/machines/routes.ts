// The machines' HTTP API: which there are, all about one, how many runs it has, and what happens to
// them as it happens.

import { z } from 'zod';
import type { Machine } from '../../machines/status-machine.ts';
import type { Database } from '../../persistence/database.ts';
import { problem, problemKind } from '../http/problem.ts';
import { eventRoute, type Route, route } from '../http/route.ts';
import {
  detailsAnswer,
  machineCounts,
  machineDetails,
  machineSummary,
  transition,
  transitionAnswer,
} from './answers.ts';
import { catalogueOf, countRuns } from './catalogue.ts';
import { followEvents, presentEvent } from './stream.ts';

export interface MachineRoutesOptions {
  readonly database: Database;
  readonly machines: readonly Machine[];
  /** How long a stream waits where nothing happened before it looks again. */
  readonly pauseMs?: number;
}

const notFound = problemKind('machine_not_found', 404, 'There is no such machine');
const unknownEvent = problemKind('unknown_event', 400, 'The stream cannot go on behind this event');

const params = z.strictObject({ id: z.string().meta({ description: 'Names a machine' }) });

export function machineRoutes(options: MachineRoutesOptions): readonly Route[] {
  const { database, machines, pauseMs } = options;
  const catalogue = catalogueOf(machines);
  const missing = (id: string) =>
    problem(notFound, `No machine is called ${id}. GET /v1/machines lists them.`);

  const list = route({
    method: 'get',
    path: '/v1/machines',
    scope: 'machines:read',
    operation: 'listMachines',
    summary: 'List the machines',
    answers: { 200: z.strictObject({ items: z.array(machineSummary) }) },
  }).handle(async () => {
    const items = catalogue.list().map((each) => ({ ...each, statuses: [...each.statuses] }));
    return { status: 200, body: { items } };
  });

  const show = route({
    method: 'get',
    path: '/v1/machines/{id}',
    scope: 'machines:read',
    operation: 'getMachine',
    summary: 'Look at a machine: as data, in words, as pictures and as SQL',
    params,
    answers: { 200: machineDetails },
    problems: [notFound],
  }).handle(async ({ params: { id } }) => {
    const machine = catalogue.find(id);
    if (!machine) return missing(id);
    return { status: 200, body: detailsAnswer(await catalogue.describe(machine)) };
  });

  const counts = route({
    method: 'get',
    path: '/v1/machines/{id}/counts',
    scope: 'machines:read',
    operation: 'countMachineRuns',
    summary: 'Count the runs in each status, up to 10,000',
    params,
    answers: { 200: machineCounts },
    problems: [notFound],
  }).handle(async ({ params: { id } }) => {
    const machine = catalogue.find(id);
    if (!machine) return missing(id);
    return { status: 200, body: { counts: [...(await countRuns(database, machine))] } };
  });

  const events = eventRoute({
    path: '/v1/machines/{id}/events',
    scope: 'machines:read',
    operation: 'followMachine',
    summary: 'Follow the transitions of all runs of a machine',
    params,
    events: { transition },
    problems: [notFound, unknownEvent],
  }).handle(async ({ params: { id }, lastEventId, signal }) => {
    const machine = catalogue.find(id);
    if (!machine) return missing(id);
    const after = lastEventId ?? (await presentEvent(database));
    const followed = followEvents(database, machine, {
      after,
      signal,
      ...(pauseMs !== undefined && { pauseMs }),
    });
    if (!followed) {
      return problem(unknownEvent, 'Last-Event-ID is no id of an event of this stream.');
    }
    return (async function* () {
      for await (const event of followed) {
        yield { event: 'transition' as const, data: transitionAnswer(event), id: event.id };
      }
    })();
  });

  return [list, show, counts, events];
}
