// Runs after tsc. Each module costs a start about a millisecond, so what a thread loads at its start is bundled.

import { readFileSync, rmSync } from 'node:fs';
import { resolve } from 'node:path';
import { defineConfig } from 'rolldown';

const typebox = 'dist/src/shared/contract/typebox.js';
// The same depth as src/shared/package-paths.ts, so that its relative paths work in a bundle too.
const chunks = 'src/chunks';

// Remove chunks of an earlier build.
rmSync(`dist/${chunks}`, { recursive: true, force: true });

export default defineConfig([
  // TypeBox as one file instead of 300. Kinds import it from here too.
  {
    input: typebox,
    platform: 'node',
    logLevel: 'warn',
    output: {
      file: typebox,
      // The licence must be part of the copy.
      banner: `/*\n${readFileSync('node_modules/typebox/license', 'utf8').trim()}\n*/`,
    },
  },
  // Main and the other threads, in place of their entries, and their shared code in dist/src/chunks. Not the bot hosts: they
  // share modules with the kinds, which are not part of the bundle.
  {
    input: Object.fromEntries(
      ['src/cli/main', 'workers/broadcaster', 'workers/front', 'workers/journal'].map((name) => [
        name,
        `dist/${name}.js`,
      ]),
    ),
    platform: 'node',
    logLevel: 'warn',
    // Packages are not bundled.
    external: [/^[a-z@]/i, resolve(typebox)],
    output: {
      dir: 'dist',
      entryFileNames: '[name].js',
      chunkFileNames: `${chunks}/[name].js`,
      sourcemap: true,
    },
  },
]);
