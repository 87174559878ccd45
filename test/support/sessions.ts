// A browser, a server and a document to open, for tests of the client. Time stands still until a
// test lets it pass.

import { openWith } from '../../client/open-document.ts';
import { parts as ownParts, type Parts } from '../../client/session.ts';
import {
  type FakeBrowserOptions,
  type FakePage,
  fakeBrowser,
} from '../../client/testing/fake-browser.ts';
import { manualClock, settle } from '../../client/testing/manual-clock.ts';
import { scriptedServer } from '../../client/testing/scripted-server.ts';
import { type WireServerOptions, wireServer } from '../../client/testing/wire-server.ts';
import { kinds } from '../../kinds/all.ts';
import type { Json } from '../../kinds/json.ts';
import { record } from '../../kinds/record.ts';
import type { Conflict } from '../../machines/session-events.ts';
import { besideXState } from './beside-xstate.ts';

export const url = 'http://127.0.0.1';
export const documentId = 'plan';

/** A record with these attributes. */
export const attributes = (of: { readonly [id: string]: Json }): Json => ({ attributes: of });

export interface StageOptions extends Partial<Omit<FakeBrowserOptions, 'server' | 'clock'>> {
  readonly content?: Json;
  readonly normalise?: WireServerOptions['normalise'];
  readonly parts?: Partial<Parts>;
}

export function stage(options: StageOptions = {}) {
  const { content = attributes({ a: 0 }), normalise, user = 'ada', parts, ...browsing } = options;
  const clock = manualClock();
  const wire = wireServer({ kinds, now: () => clock.now(), ...(normalise && { normalise }) });
  const server = scriptedServer(wire, clock);
  const browser = fakeBrowser({ server, clock, user, ...browsing });
  wire.create({ id: documentId, kind: 'record', content, owner: 'ada' });
  wire.grant(documentId, 'bob', 'editor');
  const conflicts: Conflict[] = [];

  const openNow = (page: FakePage, as = user, id = documentId) =>
    openWith(
      {
        ...{ url, id, kind: record, user: as, environment: page.environment },
        onConflict: (conflict) => conflicts.push(conflict),
      },
      { ...ownParts, ...(parts?.changes ? {} : { logic: besideXState() }), ...parts },
    );
  return {
    ...{ clock, wire, server, browser, conflicts, openNow },
    /** Opens the document in a page, and waits until it is there. */
    async open(page: FakePage = browser.openPage(), as = user) {
      const session = openNow(page, as);
      await settle();
      return { session, page };
    },
    advance: (ms: number) => clock.advance(ms),
    stored: () => wire.current(documentId),
    drafts: () => browser.storage.entries().filter(([key]) => key.startsWith('fencepost:draft:')),
  };
}

export type Stage = ReturnType<typeof stage>;

/** The content of the only draft there is. */
export function draftContent({ drafts }: Stage): Json | undefined {
  const [first, ...others] = drafts();
  if (!first || others.length > 0) return undefined;
  return JSON.parse(first[1].slice(first[1].indexOf('\n') + 1));
}

export const debounceMs = 800;
