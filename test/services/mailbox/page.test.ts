import { describe, expect, it } from 'vitest';
import { type ListedMail, mailboxPage, pagePolicy } from '../../../services/mailbox/page.ts';

const mail: ListedMail = {
  message_id: '<one@fencepost.local>',
  recipient: 'ada@example.com',
  sender: 'me@example.com',
  subject: 'Hello',
  body: 'Text',
  times: 1,
  first_at: 1_700_000_000_000_000,
  last_at: 1_700_000_000_000_000,
};

describe('mailboxPage', () => {
  it('says that nothing came', () => {
    expect(mailboxPage([], 100)).toContain('No mail has come yet.');
  });

  it('says how often each mail came, and when', () => {
    const page = mailboxPage([mail, { ...mail, times: 3, last_at: 1_700_000_060_000_000 }], 100);
    expect(page).toContain('<title>Development mailbox: 2 mails</title>');
    expect(page).toContain('once, <time datetime="2023-11-14T22:13:20.000000Z">');
    expect(page).toContain('<strong class="again">3 times</strong>');
    expect(page).toContain('2023-11-14 22:14:20 UTC</time>');
  });

  it('lets no text of a mail become markup', () => {
    const hostile = `</pre><script>"'&`;
    const fields = ['message_id', 'recipient', 'sender', 'subject', 'body'] as const;
    for (const field of fields) {
      const page = mailboxPage([{ ...mail, [field]: hostile }], 100);
      expect(page).not.toContain('<script>');
      expect(page).toContain('&lt;/pre&gt;&lt;script&gt;&quot;&#39;&amp;');
    }
  });

  it('needs nothing from anywhere and allows nothing else', () => {
    expect(mailboxPage([mail], 100)).not.toMatch(/src=|url\(|@import|<link|<script/);
    expect(pagePolicy).toMatch(/^default-src 'none'; style-src 'sha256-/);
  });
});
