// Runs after tsc. Each module costs a start about a millisecond, so what a thread loads at its start is bundled.

import { copyFileSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { basename, resolve } from 'node:path';
import { defineConfig } from 'rolldown';

const typebox = 'dist/src/shared/contract/typebox.js';
const lmdb = 'dist/src/shared/lmdb/lmdb.js';
const packr = 'dist/src/shared/contract/packr.js';
const nats = 'dist/src/cluster/wire/nats.js';
const yaml = 'dist/src/shared/fleet/yaml.js';
const busValidators = 'dist/src/generated/bus-validators.js';
// The same depth as src/shared/package-paths.ts, so that its relative paths work in a bundle too.
const chunks = 'src/chunks';

// Remove chunks of an earlier build.
rmSync(`dist/${chunks}`, { recursive: true, force: true });

// lmdb reads its dictionary for compression beside itself, and looks for its binary from the folder of the package with its
// name.
mkdirSync('dist/src/shared/lmdb/dict', { recursive: true });
copyFileSync('node_modules/lmdb/dict/dict.txt', 'dist/src/shared/lmdb/dict/dict.txt');
writeFileSync(
  'dist/src/shared/lmdb/package.json',
  `${JSON.stringify({ name: 'lmdb', private: true, type: 'module' })}\n`,
);

/** A module that re-exports packages, with these in it. Their licences must be part of the copy. */
const inPlace = (file, options, ...packages) => ({
  input: file,
  platform: 'node',
  logLevel: 'warn',
  ...options,
  // The bundler renames nothing in a module with eval, so that it works.
  checks: { eval: false },
  output: { file, banner: packages.map(licence).join('\n'), ...options.output },
});

function licence(name) {
  const folder = `node_modules/${name}`;
  const { version, license } = JSON.parse(readFileSync(`${folder}/package.json`, 'utf8'));
  const file = readdirSync(folder).find((one) => /^licen[cs]e(\.\w+)?$/i.test(one));
  const text = file ? `\n${readFileSync(`${folder}/${file}`, 'utf8').trim()}` : '';
  return `/*\n${name.replace(/.*node_modules\//, '')} ${version}, ${license}${text}\n*/`;
}

function inThePlaceOf(...modules) {
  return Object.fromEntries(modules.map((name) => [name, `dist/${name}.js`]));
}

/** In a separate folder: the package leaves out the folders of modules that are in bundles. */
function programs(...modules) {
  return Object.fromEntries(
    modules.map((name) => [`src/programs/${basename(name)}`, `dist/${name}.js`]),
  );
}

export default defineConfig([
  // TypeBox as one file instead of 300. Kinds import it from here too.
  inPlace(typebox, {}, 'typebox'),
  inPlace(
    nats,
    {},
    '@nats-io/transport-node',
    '@nats-io/jetstream',
    '@nats-io/kv',
    '@nats-io/nats-core',
    '@nats-io/nkeys',
    '@nats-io/nuid',
    'tweetnacl',
  ),
  inPlace(yaml, {}, 'yaml'),
  // Its native part is a package beside the build, which finds its binary by its own folder.
  inPlace(packr, { external: ['msgpackr-extract'] }, 'msgpackr'),
  inPlace(
    lmdb,
    // Values of a store are small. Without the native part of msgpackr.
    { transform: { define: { 'process.env.MSGPACKR_NATIVE_ACCELERATION_DISABLED': '"true"' } } },
    'lmdb',
    'lmdb/node_modules/msgpackr',
    '@harperfast/extended-iterable',
    'detect-libc',
    'node-gyp-build-optional-packages',
    'ordered-binary',
    'weak-lru-cache',
  ),
  // Only nodes of a cluster load it. Nobody reads it, and most of its bytes are indentation.
  inPlace(busValidators, { external: [/package-paths/], output: { minify: true } }),
  // Main and the other threads, in place of their entries, programs that run as processes, and their shared code in
  // dist/src/chunks. Not the bot hosts: they share modules with the kinds, which are not part of the bundle.
  {
    input: {
      ...inThePlaceOf(
        'src/cli/main',
        'workers/broadcaster',
        'workers/cluster-bus',
        'workers/front',
        'workers/host-relay',
        'workers/journal',
        'workers/rules',
      ),
      ...programs(
        'src/cli/cluster/nats-keeper',
        'src/cli/cluster/try-node',
        'src/journal/verify-journal',
        'src/main/store/verify-store',
      ),
    },
    platform: 'node',
    logLevel: 'warn',
    // Packages are not bundled.
    external: [
      /^[a-z@]/i,
      ...[typebox, packr, lmdb, nats, yaml, busValidators].map((file) => resolve(file)),
    ],
    output: {
      dir: 'dist',
      entryFileNames: '[name].js',
      chunkFileNames: `${chunks}/[name].js`,
      sourcemap: true,
    },
  },
]);
