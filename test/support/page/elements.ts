// Elements of the test page, made without a framework.

type Child = Node | string;

/** Finds an element of editor.html. */
export function byId<T extends HTMLElement>(id: string, type: new () => T): T {
  const found = document.getElementById(id);
  if (!(found instanceof type)) throw new Error(`There is no #${id}.`);
  return found;
}

export function element(
  name: string,
  attributes: Readonly<Record<string, string>> = {},
  ...children: readonly Child[]
): HTMLElement {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.append(...children);
  return made;
}

export function button(text: string, run: () => void): HTMLElement {
  const made = element('button', { type: 'button' }, text);
  made.addEventListener('click', run);
  return made;
}

export const timeOf = (at: string | number): string =>
  new Date(at).toLocaleTimeString('en-GB', { hour: '2-digit', minute: '2-digit' });
