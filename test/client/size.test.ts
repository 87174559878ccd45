// What a page has to load, and that a server may import it.

import { gzipSync } from 'node:zlib';
import { build } from 'vite';
import { describe, expect, it } from 'vitest';
import { withoutDescriptions } from '../../scripts/client-entries.ts';

/** The entry and all that it needs, minified, in one file that is never written. */
async function bundleOf(entry: string): Promise<string> {
  const built = await build({
    configFile: false,
    logLevel: 'silent',
    plugins: [withoutDescriptions],
    build: {
      write: false,
      target: 'es2023',
      minify: true,
      // Not as a library: Vite leaves the white space in those.
      rollupOptions: { input: entry, preserveEntrySignatures: 'strict', output: { format: 'es' } },
    },
    // Under test, Vite would take XState's build for development.
    resolve: { conditions: ['module', 'browser', 'import'] },
  });
  const outputs = (Array.isArray(built) ? built : [built]).flatMap((each) =>
    'output' in each ? each.output : [],
  );
  return outputs.flatMap((each) => (each.type === 'chunk' ? [each.code] : [])).join('\n');
}

describe('fencepost/client', () => {
  it('has at most 16.7 kB gzipped, of which XState is 2.9', async () => {
    const bundle = await bundleOf('client/index.ts');
    const size = gzipSync(bundle).length;
    process.stdout.write(`fencepost/client: ${size} bytes gzipped, with XState\n`);
    expect(size).toBeLessThanOrEqual(16_700);
    // What is written for the diagrams is not for pages.
    expect(bundle.match(/\bdescription:["`]/g)).toBeNull();
  });

  it('touches no window when it is imported', async () => {
    expect(typeof globalThis.window).toBe('undefined');
    expect(Object.keys(await import('../../client/index.ts')).toSorted()).toEqual([
      ...['browserEnvironment', 'openDocument'],
    ]);
  });
});
