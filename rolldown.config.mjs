// Runs after tsc. Puts TypeBox into dist/src/contract/typebox.js, in place of the import of its 300 files.

import { readFileSync } from 'node:fs';
import { defineConfig } from 'rolldown';

const file = 'dist/src/contract/typebox.js';

export default defineConfig({
  input: file,
  platform: 'node',
  logLevel: 'warn',
  output: {
    file,
    // A copy of the code comes with its licence.
    banner: `/*\n${readFileSync('node_modules/typebox/license', 'utf8').trim()}\n*/`,
  },
});
