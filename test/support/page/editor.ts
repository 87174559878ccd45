// The test page: a record in a form, edited by fencepost/client in a real browser. It is bundled by
// editor-page.ts, and shows all of what a session says, so that tests look at what people see.

import { type DocumentSession, openDocument, type SessionSnapshot } from '../../../client/index.ts';
import { describeStatus } from '../../../client/words.ts';
import { record } from '../../../kinds/record.ts';
import { resolveConflict } from './conflict-panel.ts';
import { showDrafts } from './draft-list.ts';
import { byId } from './elements.ts';

interface Who {
  readonly user: string;
  readonly token: string;
}

interface Form {
  readonly attributes: Readonly<Record<string, unknown>>;
}

declare global {
  /** What tests look into where the page shows too little. */
  var editor: { readonly session: DocumentSession; readonly statuses: readonly string[] };
}

const main = byId('editor', HTMLElement);
const { user, token } = JSON.parse(main.dataset['who'] ?? '') as Who;
const id = new URL(location.href).searchParams.get('document') ?? '';
const statuses: string[] = [];

const session = openDocument({
  ...{ url: location.origin, id, kind: record, user },
  headers: { authorization: `Bearer ${token}` },
  onConflict: () => void resolveConflict(session),
});

const fields = [
  ...document.querySelectorAll<HTMLInputElement | HTMLTextAreaElement>('#fields [name]'),
];
for (const field of fields) {
  field.addEventListener('input', () => {
    session.edit((content: unknown) => {
      const { attributes } = content as Form;
      return { attributes: { ...attributes, [field.name]: field.value } };
    });
  });
}

const whereItIs = {
  server: 'Everything is on the server.',
  draft: 'What you typed is kept in this browser.',
  page: 'What you typed is in this page only.',
};
const troubles: Readonly<Record<string, string>> = {
  full: 'The storage of this browser is full.',
  blocked: 'The storage of this browser is blocked.',
  'not-json': 'This content cannot be kept as a draft.',
};

/** Sets or removes an attribute of the page, which its style and tests go by. */
function mark(name: string, value: string | null): void {
  if (value === null) delete main.dataset[name];
  else main.dataset[name] = value;
}

function show(snapshot: SessionSnapshot): void {
  const { status, safe, version, draftTrouble, content, access } = snapshot;
  if (statuses.at(-1) !== status) statuses.push(status);
  mark('draftTrouble', draftTrouble);
  mark('safe', safe);
  mark('version', String(version));
  mark('status', status);
  byId('name', HTMLElement).textContent = snapshot.name || 'Loading';
  const line = byId('status', HTMLElement);
  const says = describeStatus(snapshot);
  if (line.textContent !== says) line.textContent = says;
  const trouble = draftTrouble === null ? '' : ` ${troubles[draftTrouble] ?? draftTrouble}`;
  const problem = 'problem' in snapshot && snapshot.problem ? ` ${snapshot.problem.detail}` : '';
  byId('detail', HTMLElement).textContent =
    `Version ${version}. ${whereItIs[safe]}${trouble}${problem}`;
  byId('sign-in', HTMLElement).hidden = status !== 'signed-out';
  byId('undo', HTMLElement).hidden = snapshot.undo === null;
  if (status !== 'conflict') byId('conflict', HTMLElement).hidden = true;
  if (version === 0) return;
  for (const field of fields) {
    const value = String((content as Form).attributes[field.name] ?? '');
    if (field.value !== value) field.value = value;
    field.readOnly = access === 'reader';
  }
  showDrafts(session, snapshot);
}

byId('save', HTMLElement).addEventListener('click', () => void session.flush());
byId('undo', HTMLElement).addEventListener('click', () => session.undo());
byId('fields', HTMLFormElement).addEventListener('submit', (event) => event.preventDefault());
byId('signed-in', HTMLElement).addEventListener('click', async () => {
  const answer = await fetch('/session');
  const { user: now } = (await answer.json()) as { readonly user: string };
  if (session.signedIn(now) === 'resumed') return;
  byId('sign-in-text', HTMLElement).textContent =
    `You are ${now} now. This is the work of ${user}, and stays theirs.`;
});

globalThis.editor = { session, statuses };
session.subscribe(show);
