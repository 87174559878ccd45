// The panel of a conflict: three sides beside each other, a choice for each disputed attribute, and
// the ways out. Whatever is chosen, nothing is decided before a person decided it.

import type { DocumentSession, Sides } from '../../../client/index.ts';
import type { Json } from '../../../kinds/json.ts';
import type { MergeChoice, Side } from '../../../kinds/kind.ts';
import { record } from '../../../kinds/record.ts';
import { button, byId, element, timeOf } from './elements.ts';

const shown = (value: Json | undefined): string => {
  if (value === undefined) return 'removed';
  return typeof value === 'string' ? value : JSON.stringify(value);
};

function optionOf(choice: MergeChoice, side: Side): HTMLElement {
  const attributes = { type: 'radio', name: choice.id, value: side };
  const input = element('input', side === 'theirs' ? { ...attributes, checked: '' } : attributes);
  return element('td', {}, element('label', {}, input, shown(choice[side])));
}

function tableOf(choices: readonly MergeChoice[]): HTMLElement {
  const head = ['Field', 'Before', 'Mine', 'Theirs'].map((text) =>
    element('th', { scope: 'col' }, text),
  );
  const rows = choices.map((choice) =>
    element(
      'tr',
      {},
      element('th', { scope: 'row' }, choice.id),
      element('td', {}, shown(choice.base)),
      optionOf(choice, 'mine'),
      optionOf(choice, 'theirs'),
    ),
  );
  return element('table', {}, element('tr', {}, ...head), ...rows);
}

const chosen = (name: string): Side => {
  const picked = document.querySelector(`#conflict input[name="${CSS.escape(name)}"]:checked`);
  return picked?.getAttribute('value') === 'mine' ? 'mine' : 'theirs';
};

/** Asks for a decision about the sides, and shows it until it is taken. */
function decided(session: DocumentSession, sides: Sides): Promise<unknown> {
  const body = byId('conflict-body', HTMLDivElement);
  const { merge, theirsBy, theirsAt } = sides;
  const choices = merge?.choices ?? [];
  return new Promise((resolve) => {
    const merged = () =>
      choices.reduce<Json>(
        (content, choice) => record.choose(content, choice, chosen(choice.id)),
        merge?.content ?? (sides.theirs as Json),
      );
    const leave = (next: () => Promise<unknown>) => () => {
      resolve(null);
      next();
    };
    body.replaceChildren(
      element('p', {}, `${theirsBy} saved at ${timeOf(theirsAt)}. Nothing was overwritten.`),
      choices.length > 0
        ? tableOf(choices)
        : element('p', {}, 'You and they changed different fields.'),
      ...(merge ? [button('Save both', () => resolve(merged()))] : []),
      button(
        'Take theirs',
        leave(() => session.discardAndReload()),
      ),
      button(
        'Keep mine as a copy',
        leave(() => session.keepAsCopy('Copy of mine')),
      ),
    );
  });
}

/** Shows the conflict until it is resolved, in whatever way. */
export async function resolveConflict(session: DocumentSession): Promise<void> {
  const panel = byId('conflict', HTMLElement);
  const { outcome } = await session.rebase((sides) => {
    panel.hidden = false;
    return decided(session, sides);
  });
  panel.hidden = outcome !== 'failed';
}
