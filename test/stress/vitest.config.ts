// `npm run test:stress`: timing, floods, memory, kills and laps. Two files at a time: most of them wait for half of their time.

import { defineConfig } from 'vitest/config';
import { PATIENCE_MS } from '../harness/patience.js';
import { hasUws } from '../harness/uws-binary.js';

export default defineConfig({
  test: {
    root: new URL('../..', import.meta.url).pathname,
    include: ['test/stress/**/*.test.ts'],
    // What these load, floods and kills measure was set with it. `TEST_ENGINE=node npm run test:stress` runs node:http.
    env: { TEST_ENGINE: process.env['TEST_ENGINE'] ?? (hasUws ? 'uws' : 'node') },
    pool: 'forks',
    isolate: false,
    maxWorkers: 2,
    testTimeout: 90_000,
    hookTimeout: 120_000,
    expect: { poll: { timeout: PATIENCE_MS } },
  },
});
