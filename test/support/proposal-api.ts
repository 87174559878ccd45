// The proposals' HTTP API for tests: with an executor whose events can be waited for, people who
// have tokens, and streams of events.

import { onTestFinished } from 'vitest';
import type { Database } from '../../persistence/database.ts';
import type { FourEyes } from '../../services/proposals/propose.ts';
import { proposalRoutes } from '../../services/proposals/routes.ts';
import type { NewStep, ToolRegistry } from '../../services/proposals/tools.ts';
import type { Answered, Sent } from './api-client.ts';
import { readEvents } from './event-stream.ts';
import { openApi, tokenOf } from './open-api.ts';
import { executing, toolsWith, type Watched } from './plans.ts';

interface Given {
  readonly tools?: ToolRegistry;
  readonly fourEyes?: FourEyes;
  readonly concurrency?: number;
}

/** Routes that stand on an executor, for the whole table. */
export const plansOn = (executor: Watched, tools: ToolRegistry = toolsWith()) =>
  ({ executor, tools, fourEyes: 'high-risk', previewMs: 5000, pauseMs: 50 }) as const;

/** Opens the API for one test, to ada, who proposes, and grace. */
export async function openProposalApi(database: Database, given: Given = {}) {
  const { tools = toolsWith(), fourEyes = 'high-risk', concurrency = 10 } = given;
  const executor = executing(database, tools, { concurrency });
  const routes = proposalRoutes({ ...plansOn(executor, tools), fourEyes, database });
  const api = await openApi({ database, routes });

  async function person(sub: string) {
    const token = await tokenOf(sub);
    const call = (method: string, path: string, body?: unknown, headers: Sent['headers'] = {}) =>
      api.call(method, path, { token, headers, ...(body !== undefined && { body }) });
    const to = (id: string, what: string, body?: unknown): Promise<Answered> =>
      call('POST', `/v1/proposals/${id}/${what}`, body);
    return { token, call, to };
  }
  const [ada, grace] = [await person('ada'), await person('grace')];

  async function proposed(steps: readonly NewStep[], more: object = {}) {
    const { status, body } = await ada.call('POST', '/v1/proposals', { steps, ...more });
    if (status !== 201) throw new Error(JSON.stringify(body));
    return { id: String(body['id']), planHash: String(body['planHash']) };
  }
  async function approved(steps: readonly NewStep[], more: object = {}) {
    const { id, planHash } = await proposed(steps, more);
    const { status, body } = await grace.to(id, 'approve', { planHash });
    if (status !== 200) throw new Error(JSON.stringify(body));
    return id;
  }

  return {
    ...{ api, executor, ada, grace, proposed, approved },
    /** Has a plan executed, and waits for its end. */
    async executed(steps: readonly NewStep[]) {
      const id = await approved(steps);
      await grace.to(id, 'execute');
      await executor.ended(id);
      return id;
    },
    async follow(id: string, lastEventId?: string) {
      const route = routes.find(({ path }) => path === '/v1/proposals/{id}/events');
      if (!route || !('events' in route)) throw new Error('there is no stream');
      const gone = new AbortController();
      onTestFinished(() => gone.abort());
      const response = await fetch(`${api.url}/v1/proposals/${id}/events`, {
        headers: {
          authorization: `Bearer ${grace.token}`,
          ...(lastEventId !== undefined && { 'last-event-id': lastEventId }),
        },
        signal: gone.signal,
      });
      return { response, gone, ...readEvents(route, response) };
    },
  };
}
