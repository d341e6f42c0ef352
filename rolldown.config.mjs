// Runs after tsc. Each module costs a start about a millisecond, so what a thread loads at its start is bundled.

import { readFileSync, rmSync } from 'node:fs';
import { resolve } from 'node:path';
import { defineConfig } from 'rolldown';

const typebox = 'dist/src/shared/contract/typebox.js';
// As deep as src/shared/package-paths.ts, whose relative paths must hold in a bundle too.
const chunks = 'src/chunks';

// Of the build before, which may have had others.
rmSync(`dist/${chunks}`, { recursive: true, force: true });

export default defineConfig([
  // TypeBox, in place of the import of its 300 files. Kinds take it from here too.
  {
    input: typebox,
    platform: 'node',
    logLevel: 'warn',
    output: {
      file: typebox,
      // A copy of the code comes with its licence.
      banner: `/*\n${readFileSync('node_modules/typebox/license', 'utf8').trim()}\n*/`,
    },
  },
  // The process and the threads, in the places of their entries, and what they share in dist/src/chunks. Not the bot hosts: they
  // share modules with the kinds, which come from elsewhere.
  {
    input: Object.fromEntries(
      ['src/cli/main', 'workers/broadcaster', 'workers/front', 'workers/journal'].map((name) => [
        name,
        `dist/${name}.js`,
      ]),
    ),
    platform: 'node',
    logLevel: 'warn',
    // Packages stay what npm installs.
    external: [/^[a-z@]/i, resolve(typebox)],
    output: {
      dir: 'dist',
      entryFileNames: '[name].js',
      chunkFileNames: `${chunks}/[name].js`,
      sourcemap: true,
    },
  },
]);
