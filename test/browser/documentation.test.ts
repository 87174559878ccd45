// /docs in a browser, as the service serves it: under its own policy, from its own origin.

import { pino } from 'pino';
import { describe, expect, it } from 'vitest';
import { createApp } from '../../services/http/app.ts';
import { documentationRoutes } from '../../services/http/documentation.ts';
import { operationOf } from '../../services/http/openapi.ts';
import { describedRoutes } from '../../services/routes.ts';
import { keys, readiness } from '../support/open-api.ts';
import { useOpened } from '../support/opened.ts';
import { serve, useBrowser } from '../support/pages.ts';

const browser = useBrowser();
const database = useOpened();

describe('/docs', () => {
  it('lists every operation, with nothing from elsewhere and nothing to complain of', async () => {
    const described = describedRoutes();
    const routes = documentationRoutes(described);
    const app = createApp({
      log: pino({ enabled: false }),
      readiness,
      identify: keys.identify,
      stopping: new AbortController().signal,
      served: () => ({ routes, database: database() }),
    });
    const url = await serve(app);
    const page = await browser.page();
    const said: string[] = [];
    const asked: string[] = [];
    page.on('console', (message) => {
      if (['error', 'warning'].includes(message.type())) said.push(message.text());
    });
    page.on('request', (request) => asked.push(request.url()));
    const answer = await page.goto(`${url}/docs`);
    expect(answer?.headers()['content-security-policy']).toContain("default-src 'none'");

    const operations = page.locator('.opblock');
    await operations.first().waitFor();
    const shown = await operations.evaluateAll((blocks) =>
      blocks.map((block) => block.id.replace(/^operations-[^-]*-/, '')),
    );
    const { paths } = await (await fetch(`${url}/openapi.json`)).json();
    const documented = described.filter(({ path, method }) => paths[path]?.[method]);
    expect(documented.length).toBeGreaterThan(20);
    expect(shown.toSorted()).toEqual(documented.map(operationOf).toSorted());

    // One is opened: its schemas and its problems are drawn as well.
    await page.locator('#operations-Deliveries-enqueueDelivery').click();
    await page.getByText('Idempotency-Key').or(page.getByText('idempotency-key')).first().waitFor();
    expect(said).toEqual([]);
    expect(asked.filter((each) => !each.startsWith(url) && !each.startsWith('data:'))).toEqual([]);
  });
});
