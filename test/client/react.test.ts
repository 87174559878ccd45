// @vitest-environment happy-dom
// A session in React as it is: a snapshot, a subscription, and a double mount.

import { useSelector } from '@xstate/react';
import {
  act,
  createElement,
  StrictMode,
  useCallback,
  useEffect,
  useState,
  useSyncExternalStore,
} from 'react';
import { createRoot } from 'react-dom/client';
import { afterEach, describe, expect, it } from 'vitest';
import type { DocumentSession } from '../../client/index.ts';
import { settle } from '../../client/testing/index.ts';
import { attributes, debounceMs, stage } from '../support/sessions.ts';

Object.assign(globalThis, { IS_REACT_ACT_ENVIRONMENT: true });

const root = createRoot(document.body.appendChild(document.createElement('main')));
afterEach(() => act(() => root.render(null)));
const shown = () => document.body.textContent;

/** The hook of docs/document-session.md. */
function useOpened(open: () => DocumentSession) {
  const [session, setSession] = useState<DocumentSession>();
  useEffect(() => {
    const opened = open();
    setSession(opened);
    return () => void opened.close();
  }, [open]);
  const subscribe = useCallback(
    (run: () => void) => session?.subscribe(run) ?? (() => {}),
    [session],
  );
  return [session, useSyncExternalStore(subscribe, () => session?.getSnapshot())] as const;
}

let session: DocumentSession | undefined;

function Whole({ open }: { readonly open: () => DocumentSession }) {
  const [opened, snapshot] = useOpened(open);
  session = opened;
  return createElement('p', null, `${snapshot?.status} ${JSON.stringify(snapshot?.content)}`);
}

function Status({ of }: { readonly of: DocumentSession }) {
  return createElement(
    'p',
    null,
    useSelector(of, ({ status }) => status),
  );
}

describe('a session in React', () => {
  it('is one session and one load, although it is mounted twice', async () => {
    const at = stage();
    const page = at.browser.openPage();
    const open = () => at.openNow(page);
    await act(async () => {
      root.render(createElement(StrictMode, null, createElement(Whole, { open })));
      await settle();
    });
    expect(shown()).toBe('saved {"attributes":{"a":0}}');
    expect(at.server.log.filter(({ method }) => method === 'GET')).toHaveLength(1);
    await act(async () => {
      session?.edit(attributes({ a: 1 }));
      await at.advance(debounceMs);
    });
    expect(shown()).toBe('saved {"attributes":{"a":1}}');
    expect(at.stored().version).toBe(2);
  });

  it('is what useSelector takes', async () => {
    const at = stage();
    const { session: opened } = await at.open();
    await act(async () => root.render(createElement(Status, { of: opened })));
    expect(shown()).toBe('saved');
    await act(async () => opened.edit(attributes({ a: 1 })));
    expect(shown()).toBe('dirty');
  });
});
