// The drafts of earlier pages, offered: what each would change, and two buttons.

import type { DocumentSession, SessionSnapshot, Sibling } from '../../../client/index.ts';
import type { Json } from '../../../kinds/json.ts';
import { button, byId, element, timeOf } from './elements.ts';

type Attributes = Readonly<Record<string, Json>>;
const attributesOf = (content: unknown) =>
  (content as { readonly attributes: Attributes }).attributes;

/** What it would change, field by field. */
function changesOf(content: unknown, shown: unknown): HTMLElement {
  const now = attributesOf(shown);
  const changed = Object.entries(attributesOf(content)).filter(([id, value]) => now[id] !== value);
  const rows = changed.map(([id, value]) =>
    element(
      'tr',
      {},
      element('th', { scope: 'row' }, id),
      element('td', {}, typeof value === 'string' ? value : JSON.stringify(value)),
    ),
  );
  return element('table', {}, ...rows);
}

function offerOf(session: DocumentSession, sibling: Sibling, shown: unknown): HTMLElement {
  const { key, at, base, stale, alive, content } = sibling;
  const about = `From ${timeOf(at)}, made from version ${base}${stale ? ', which is older' : ''}.`;
  return element(
    'li',
    { 'data-draft': key, 'data-alive': String(alive), 'data-stale': String(stale) },
    element('p', {}, alive ? `${about} It is open in another tab.` : about),
    changesOf(content, shown),
    ...(alive
      ? []
      : [
          button('Continue with it', () => void session.adopt(key)),
          button('Throw it away', () => void session.discardSibling(key)),
        ]),
  );
}

/** Shows what is offered; nothing where there is nothing. */
export function showDrafts(session: DocumentSession, snapshot: SessionSnapshot): void {
  const { siblings, content } = snapshot;
  byId('drafts', HTMLElement).hidden = siblings.length === 0;
  byId('draft-list', HTMLUListElement).replaceChildren(
    ...siblings.map((sibling) => offerOf(session, sibling, content)),
  );
}
