// `npm run test:packaging`: the shipped artifacts. Separate from `npm test`, because it needs a registry or npm's cache,
// perl, and systemd's commands.

import { defineConfig } from 'vitest/config';
import { PATIENCE_MS } from '../harness/patience.js';

export default defineConfig({
  test: {
    root: new URL('../..', import.meta.url).pathname,
    include: ['test/packaging/**/*.test.ts'],
    pool: 'forks',
    maxWorkers: 2,
    testTimeout: 120_000,
    hookTimeout: 300_000,
    expect: { poll: { timeout: PATIENCE_MS } },
  },
});
