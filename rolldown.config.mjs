// Runs after tsc. A module costs a start about a millisecond: what a thread loads at its start is put together.

import { readFileSync, rmSync } from 'node:fs';
import { resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { Ajv } from 'ajv';
import standalone from 'ajv/dist/standalone/index.js';
import { defineConfig } from 'rolldown';

const typebox = 'dist/src/shared/contract/typebox.js';
// As deep as src/shared/package-paths.ts, whose relative paths must hold in a bundle too.
const chunks = 'src/chunks';

// Of the build before, which may have had others.
rmSync(`dist/${chunks}`, { recursive: true, force: true });

/**
 * Stands in for src/shared/validators.ts with the code that Ajv makes of our schemas, so that a start neither loads Ajv nor
 * compiles.
 */
const validators = {
  name: 'validators',
  async load(id) {
    if (id !== resolve('dist/src/shared/validators.js')) return null;
    const { AJV_OPTIONS, SCHEMAS } = await import(pathToFileURL('dist/src/shared/schemas.js'));
    const ajv = new Ajv({
      ...AJV_OPTIONS,
      schemas: SCHEMAS,
      code: { source: true, esm: true },
    });
    const names = Object.keys(SCHEMAS);
    const code = standalone.default(ajv, Object.fromEntries(names.map((name) => [name, name])));
    return `import { require } from './package-paths.js';
${code}
const validators = { ${names.join(', ')} };
export const validatorOf = (name) => validators[name];`;
  },
};

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
    plugins: [validators],
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
