// `npm run test:stress`: timing, floods, memory, kills and laps. One file at a time: each of them keeps two cores busy, and
// what it looks at would otherwise be the load of another file.

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
