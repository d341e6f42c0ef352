// `npm run test:stress`: timing, floods, memory, kills and laps. One file at a time: each keeps two cores busy, and would
// otherwise measure another file's load.

import { defineConfig } from 'vitest/config';
import { PATIENCE_MS } from '../harness/patience.js';

export default defineConfig({
  test: {
    root: new URL('../..', import.meta.url).pathname,
    include: ['test/stress/**/*.test.ts'],
    pool: 'forks',
    isolate: false,
    fileParallelism: false,
    testTimeout: 90_000,
    hookTimeout: 120_000,
    expect: { poll: { timeout: PATIENCE_MS } },
  },
});
