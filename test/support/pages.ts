// Pages for the tests that need a browser: one browser a file, one page a test, and a server of the
// test's own on 127.0.0.1.
//
// - A page that throws fails its test, whatever the test looks at.
// - After a test its pages and servers are gone; after the file, its browser.

import { once } from 'node:events';
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Browser, BrowserContext, BrowserContextOptions, Page } from 'playwright-core';
import { afterAll, beforeAll, expect, onTestFinished } from 'vitest';
import { launchBrowser } from './chromium.ts';

interface OpenBrowser {
  /** Opens a context: its pages share their storage, as the tabs of one person do. */
  context(options?: BrowserContextOptions): Promise<BrowserContext>;
  /** Opens a page in a context of its own: nothing is shared with another. */
  page(options?: BrowserContextOptions): Promise<Page>;
}

/** Gives the file a browser. */
export function useBrowser(): OpenBrowser {
  let browser: Browser | undefined;
  beforeAll(async () => {
    browser = await launchBrowser();
  });
  afterAll(() => browser?.close());
  async function context(options?: BrowserContextOptions): Promise<BrowserContext> {
    if (!browser) throw new Error('The browser exists once the tests run.');
    const made = await browser.newContext(options);
    const errors: string[] = [];
    made.on('weberror', (event) => errors.push(event.error().message));
    onTestFinished(async () => {
      await made.close();
      expect(errors).toEqual([]);
    });
    return made;
  }
  return { context, page: async (options) => (await context(options)).newPage() };
}

/** Serves a test on 127.0.0.1; returns the address, without a slash at its end. */
export async function serve(listener: RequestListener): Promise<string> {
  const server = createServer(listener);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(async () => {
    server.closeAllConnections();
    server.close();
    await once(server, 'close');
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}
