// Builds the dashboard: a script and a style sheet for the first load, scripts for the views that are loaded by page, and a worker,
// with content hashes in their names and compressed copies.

import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { brotliCompressSync, constants, gzipSync } from 'node:zlib';
import { defineConfig, type Plugin } from 'vite';

const outDir = fileURLToPath(new URL('../dist/dashboard', import.meta.url));
const PACKED = /\.(html|js|css|svg)$/;

/** Writes `<file>.br` and `<file>.gz` beside every file. */
function packFiles(): Plugin {
  return {
    name: 'pack-files',
    apply: 'build',
    closeBundle() {
      for (const name of readdirSync(outDir, { recursive: true, encoding: 'utf8' })) {
        if (!PACKED.test(name)) continue;
        const path = join(outDir, name);
        const plain = readFileSync(path);
        const params = {
          [constants.BROTLI_PARAM_QUALITY]: constants.BROTLI_MAX_QUALITY,
          [constants.BROTLI_PARAM_SIZE_HINT]: plain.length,
        };
        writeFileSync(`${path}.br`, brotliCompressSync(plain, { params }));
        writeFileSync(`${path}.gz`, gzipSync(plain, { level: 9 }));
      }
    },
  };
}

export default defineConfig({
  root: fileURLToPath(new URL('.', import.meta.url)),
  logLevel: 'warn',
  // Addresses relative to the page: a proxy may serve it under a path.
  base: './',
  plugins: [packFiles()],
  build: {
    outDir,
    emptyOutDir: true,
    target: 'es2022',
    // The page's Content-Security-Policy does not allow `data:` URLs.
    assetsInlineLimit: 0,
    // The page references its first script; the others are imported when they are needed.
    modulePreload: false,
    reportCompressedSize: false,
  },
  worker: { format: 'es' },
  // `npm run dashboard`: serves the page from its sources and proxies the API to a running service.
  server: {
    port: 8091,
    proxy: Object.fromEntries(
      ['/health', '/auth', '/api', '/api-info', '/events', '/invoke'].map((path) => [
        path,
        { target: process.env['DROVER_URL'] ?? 'http://127.0.0.1:8090' },
      ]),
    ),
  },
});
