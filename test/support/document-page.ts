// What runs in the page of the browser tests: a session of one document, within reach of the test.

import { openDocument } from '../../client/index.ts';
import { record } from '../../kinds/record.ts';

const session = openDocument({
  url: location.origin,
  id: new URLSearchParams(location.search).get('id') ?? 'plan',
  kind: record,
  user: 'ada',
  onConflict: () => {},
});

/** Resolves with the first snapshot that has all of these members. */
const when = (members: Readonly<Record<string, unknown>>) =>
  new Promise((resolve) => {
    const stop = session.subscribe({
      next: (snapshot) => {
        const has = Object.entries(members).every(
          ([name, value]) =>
            JSON.stringify((snapshot as unknown as Record<string, unknown>)[name]) ===
            JSON.stringify(value),
        );
        if (!has) return;
        stop();
        resolve(snapshot);
      },
    });
    session.hold()();
  });

Object.assign(globalThis, { session, when });
