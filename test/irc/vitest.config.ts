// `npm run test:irc`: tests that need installed IRC servers. They are separate from `npm test`, which needs only Node.

import { defineConfig } from 'vitest/config';
import { PATIENCE_MS } from '../harness/patience.js';

export default defineConfig({
  test: {
    root: new URL('../..', import.meta.url).pathname,
    include: ['test/irc/**/*.test.ts'],
    pool: 'forks',
    maxWorkers: 1,
    testTimeout: 90_000,
    hookTimeout: 120_000,
    expect: { poll: { timeout: PATIENCE_MS } },
  },
});
