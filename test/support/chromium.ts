// The browser of the tests. Called by the tests in test/browser.
//
// - It is $CHROME_PATH; else the Chromium of the package @sparticuz/chromium, so that every clone
//   tests the same one and needs neither root nor a download; else /usr/bin/chromium.
// - The package is unpacked once a version, into a folder of its own that is then renamed: of
//   several processes at once one wins, and nobody runs a file that is still written (ETXTBSY).
// - It brings the libraries and fonts that a bare machine lacks; they go into the browser's
//   environment alone.
// - Our own flags. Those of the package share storage between contexts and kill the browser.

import { createReadStream, createWriteStream, existsSync } from 'node:fs';
import { mkdir, mkdtemp, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { fileURLToPath } from 'node:url';
import { createBrotliDecompress } from 'node:zlib';
import { type Browser, type BrowserContext, chromium } from 'playwright-core';
import { extract } from 'tar-fs';

export interface Command {
  readonly executablePath: string;
  readonly env: Record<string, string>;
}

const modules = fileURLToPath(new URL('../../node_modules/', import.meta.url));
const packed = join(modules, '@sparticuz/chromium');
const cache = join(modules, '.cache');
const system = '/usr/bin/chromium';

const flags = [
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
];

/** Playwright turns the back-forward cache off; people have it. */
const ignoreDefaultArgs = ['--disable-back-forward-cache'];

function environment(more: Readonly<Record<string, string>> = {}): Record<string, string> {
  const known = Object.entries(process.env).filter(
    (entry): entry is [string, string] => entry[1] !== undefined,
  );
  return { ...Object.fromEntries(known), ...more };
}

const brotli = (name: string) =>
  [createReadStream(join(packed, 'bin', name)), createBrotliDecompress()] as const;

async function unpackInto(folder: string): Promise<void> {
  const binary = createWriteStream(join(folder, 'chromium'), { mode: 0o755 });
  await Promise.all([
    pipeline(...brotli('chromium.br'), binary),
    pipeline(...brotli('al2023.tar.br'), extract(join(folder, 'al2023'))),
    pipeline(...brotli('fonts.tar.br'), extract(join(folder, 'fonts'))),
    pipeline(...brotli('swiftshader.tar.br'), extract(folder)),
  ]);
  await writeFile(
    join(folder, 'fonts.conf'),
    '<?xml version="1.0"?><fontconfig>' +
      '<include ignore_missing="yes">/etc/fonts/fonts.conf</include>' +
      `<dir>${join(folder, 'fonts')}</dir><cachedir prefix="xdg">fontconfig</cachedir></fontconfig>`,
  );
}

/** Unpacks the package's Chromium unless it is there already. */
async function unpacked(): Promise<string> {
  const { version } = JSON.parse(await readFile(join(packed, 'package.json'), 'utf8'));
  const folder = join(cache, `chromium-${version}`);
  if (existsSync(folder)) return folder;
  await mkdir(dirname(folder), { recursive: true });
  const draft = await mkdtemp(`${folder}.`);
  try {
    await unpackInto(draft);
    await rename(draft, folder);
  } catch (error) {
    await rm(draft, { recursive: true, force: true });
    // Another process was first, and what it made is whole.
    if (!existsSync(folder)) throw error;
  }
  return folder;
}

/** Where the browser is and in which environment it runs. */
export async function browserCommand(): Promise<Command> {
  const asked = process.env['CHROME_PATH'];
  if (asked) return { executablePath: asked, env: environment() };
  if (!existsSync(packed) || process.platform !== 'linux' || process.arch !== 'x64') {
    if (existsSync(system)) return { executablePath: system, env: environment() };
    throw new Error('There is no Chromium for this machine: set CHROME_PATH to one.');
  }
  const folder = await unpacked();
  const libraries = [join(folder, 'al2023/lib'), process.env['LD_LIBRARY_PATH']];
  return {
    executablePath: join(folder, 'chromium'),
    env: environment({
      LD_LIBRARY_PATH: libraries.filter(Boolean).join(':'),
      FONTCONFIG_FILE: join(folder, 'fonts.conf'),
    }),
  };
}

async function pidOf(browser: Browser): Promise<number> {
  const session = await browser.newBrowserCDPSession();
  try {
    const { processInfo } = await session.send('SystemInfo.getProcessInfo');
    const main = processInfo.find(({ type }) => type === 'browser');
    if (!main) throw new Error('the browser does not say which process it is');
    return main.id;
  } finally {
    await session.detach();
  }
}

/** Starts a browser. The caller closes it. */
export async function launchBrowser(): Promise<Browser> {
  return await chromium.launch({ ...(await browserCommand()), args: flags, ignoreDefaultArgs });
}

export interface Profile {
  readonly context: BrowserContext;
  /** The browser's own process: what a test that kills it sends SIGKILL to. */
  readonly pid: number;
}

/** Starts a browser whose storage lies in `folder`, and is still there for the next one. */
export async function launchProfile(folder: string): Promise<Profile> {
  const context = await chromium.launchPersistentContext(folder, {
    ...(await browserCommand()),
    args: flags,
    ignoreDefaultArgs,
  });
  const browser = context.browser();
  if (!browser) throw new Error('a profile belongs to a browser');
  return { context, pid: await pidOf(browser) };
}
