// The header fields by which every answer keeps browsers from mistakes, as helmet knows them. They
// are the same for every answer, so helmet is asked once: asking it for each was a twentieth of a
// small request.

import type { IncomingMessage, ServerResponse } from 'node:http';
import helmet from 'helmet';

/** Answers are data. A page has a policy of its own. */
const noContent = { defaultSrc: ["'none'"], frameAncestors: ["'none'"] };

export type HeaderField = readonly [name: string, value: string];

/** Asks helmet for what it would set. */
export function guardHeaders(): readonly HeaderField[] {
  const guard = helmet({ contentSecurityPolicy: { useDefaults: false, directives: noContent } });
  const fields: HeaderField[] = [];
  const response = {
    setHeader: (name: string, value: string) => fields.push([name, value]),
    removeHeader: () => undefined,
  };
  // All that helmet does with an answer is to set and to remove fields.
  guard({} as IncomingMessage, response as unknown as ServerResponse, (error) => {
    if (error) throw error;
  });
  return fields;
}
