// What the listener and the frame do for every request, and are not to do again for each.

import { IncomingMessage, ServerResponse } from 'node:http';
import express from 'express';
import helmet from 'helmet';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { guardHeaders } from '../../../services/http/guard-headers.ts';
import { listen } from '../../../services/http/listener.ts';

const anywhere = { host: '127.0.0.1', port: 0 };

describe('a request to the listener', () => {
  it('comes to express with the prototype that express wants it to have', async () => {
    const app = express().use((request, response) => {
      response.json({ path: request.path, type: request.get('x-type'), ip: request.ip });
    });
    const http = await listen(app, anywhere);
    onTestFinished(() => http.close(0));
    const set = vi.spyOn(Object, 'setPrototypeOf');
    onTestFinished(() => set.mockRestore());
    const changes: boolean[] = [];
    set.mockImplementation((object: object, prototype: object | null) => {
      const isOurs = object instanceof IncomingMessage || object instanceof ServerResponse;
      if (isOurs) changes.push(Object.getPrototypeOf(object) !== prototype);
      return Reflect.setPrototypeOf(object, prototype) && object;
    });
    const answer = await fetch(`${http.url}/a?b=1`, { headers: { 'x-type': 'c' } });
    expect(await answer.json()).toEqual({ path: '/a', type: 'c', ip: '127.0.0.1' });
    expect(changes).toEqual([false, false]);
  });
});

describe('the header fields that guard answers', () => {
  it('are all that helmet sets', async () => {
    const directives = { defaultSrc: ["'none'"], frameAncestors: ["'none'"] };
    const app = express().disable('x-powered-by');
    app.use(helmet({ contentSecurityPolicy: { useDefaults: false, directives } }));
    app.use((_, response) => void response.send(response.getHeaders()));
    const http = await listen(app, anywhere);
    onTestFinished(() => http.close(0));
    const asked: unknown = await (await fetch(http.url)).json();
    const ours = guardHeaders().map(([name, value]) => [name.toLowerCase(), value]);
    expect(Object.fromEntries(ours)).toEqual(asked);
    expect(ours.length).toBeGreaterThan(10);
  });
});
