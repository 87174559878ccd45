// The mailbox as a page: one HTML document without a script, made on the server. Everything that
// came by mail is a stranger's text and goes through `escaped`.

import { createHash } from 'node:crypto';
import { printInstant } from '../../persistence/instant.ts';

export interface ListedMail {
  readonly message_id: string;
  readonly recipient: string;
  readonly sender: string;
  readonly subject: string;
  readonly body: string;
  readonly times: number;
  readonly first_at: number;
  readonly last_at: number;
}

const style = `
:root { color-scheme: light dark; --ground: #f6f5f1; --card: #fff; --text: #1d1d1f;
  --quiet: #5c5b57; --line: #dedbd2; --warn: #8a3b00; --warn-ground: #fdeede; }
@media (prefers-color-scheme: dark) { :root { --ground: #17171a; --card: #212125; --text: #ececea;
  --quiet: #a8a7a2; --line: #38383d; --warn: #ffc48a; --warn-ground: #3d2a17; } }
* { box-sizing: border-box; }
body { margin: 0; background: var(--ground); color: var(--text);
  font: 1rem/1.5 system-ui, sans-serif; }
main { max-width: 46rem; margin: 0 auto; padding: 2rem 1rem 4rem; }
h1 { font-size: 1.6rem; margin: 0; }
header p { color: var(--quiet); margin: .25rem 0 1.5rem; }
ol { list-style: none; margin: 0; padding: 0; display: grid; gap: 1rem; }
article { background: var(--card); border: 1px solid var(--line); border-radius: .6rem;
  padding: 1rem 1.25rem; }
h2 { font-size: 1.1rem; margin: 0 0 .5rem; overflow-wrap: anywhere; }
dl { display: grid; grid-template-columns: max-content 1fr; gap: .15rem 1rem; margin: 0; }
dt { color: var(--quiet); }
dd { margin: 0; overflow-wrap: anywhere; }
code, pre { font: .875rem/1.5 ui-monospace, monospace; }
pre { white-space: pre-wrap; overflow-wrap: anywhere; margin: .5rem 0 0; }
summary { cursor: pointer; margin-top: .75rem; width: max-content; }
a { color: inherit; }
:focus-visible { outline: 3px solid currentColor; outline-offset: 2px; border-radius: .2rem; }
.again { color: var(--warn); background: var(--warn-ground); border-radius: .3rem;
  padding: .05rem .4rem; font-weight: 600; }
`;

/** No script, no request to anywhere; the one style is named by its hash. */
export const pagePolicy = [
  "default-src 'none'",
  `style-src 'sha256-${createHash('sha256').update(style).digest('base64')}'`,
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ');

const entities: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};
const escaped = (text: string): string => text.replaceAll(/[&<>"']/g, (c) => entities[c] ?? c);

function time(instant: number): string {
  const iso = printInstant(instant);
  return `<time datetime="${iso}">${iso.slice(0, 10)} ${iso.slice(11, 19)} UTC</time>`;
}

function card(mail: ListedMail, place: number): string {
  const { times } = mail;
  const came = times === 1 ? 'once' : `<strong class="again">${times} times</strong>`;
  const when = times === 1 ? time(mail.last_at) : `${time(mail.first_at)} to ${time(mail.last_at)}`;
  return `<li><article aria-labelledby="mail-${place}">
<h2 id="mail-${place}">${escaped(mail.subject) || '(no subject)'}</h2>
<dl>
<dt>To</dt><dd>${escaped(mail.recipient)}</dd>
<dt>From</dt><dd>${escaped(mail.sender)}</dd>
<dt>Came</dt><dd>${came}, ${when}</dd>
<dt>Message-ID</dt><dd><code>${escaped(mail.message_id) || '(none)'}</code></dd>
</dl>
<details><summary>Text</summary><pre>${escaped(mail.body)}</pre></details>
</article></li>`;
}

/** Renders the page. `mails` come newest first; `limit` is what they were cut to. */
export function mailboxPage(mails: readonly ListedMail[], limit: number): string {
  const count = mails.length === 1 ? '1 mail' : `${mails.length} mails`;
  const cut = mails.length === limit ? ', the newest' : '';
  const list = `<ol>\n${mails.map(card).join('\n')}\n</ol>`;
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Development mailbox: ${count}</title>
<style>${style}</style>
</head>
<body>
<main>
<header>
<h1>Development mailbox</h1>
<p>${count}${cut}. <a href="">Look again</a></p>
</header>
${mails.length === 0 ? '<p>No mail has come yet.</p>' : list}
</main>
</body>
</html>
`;
}
