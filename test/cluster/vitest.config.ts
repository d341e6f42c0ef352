// `npm run test:cluster`: tests that need a NATS server (`nats-server`). They are separate from `npm test`, which needs only Node.

import { defineConfig } from 'vitest/config';
import { PATIENCE_MS } from '../harness/patience.js';

export default defineConfig({
  test: {
    root: new URL('../..', import.meta.url).pathname,
    include: ['test/cluster/**/*.test.ts'],
    pool: 'forks',
    maxWorkers: 1,
    testTimeout: 90_000,
    hookTimeout: 120_000,
    expect: { poll: { timeout: PATIENCE_MS } },
  },
});
