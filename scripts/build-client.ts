// `npm run build:client`: the packages of the browser, as JavaScript and declarations in dist/.
// Each entry is a file of its own; what they share is shared.

import { execFileSync } from 'node:child_process';
import { build } from 'vite';
import { clientEntries, withoutDescriptions } from './client-entries.ts';

const outDir = 'dist/client';

await build({
  configFile: false,
  logLevel: 'warn',
  plugins: [withoutDescriptions],
  build: {
    outDir,
    target: 'es2023',
    minify: false,
    sourcemap: true,
    lib: { entry: { ...clientEntries }, formats: ['es'] },
    rollupOptions: { external: [/^xstate/] },
  },
});
execFileSync('npx', ['tsc', '--project', 'scripts/client.tsconfig.json'], { stdio: 'inherit' });
console.log(`The client is in ${outDir}.`);
