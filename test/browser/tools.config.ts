// `npm run long -- shots` and `npm run long -- log-rate`: screenshots and measurements in a browser, separate from the tests.

import { defineConfig } from 'vitest/config';
import { PATIENCE_MS } from '../harness/patience.js';

export default defineConfig({
  test: {
    root: new URL('../..', import.meta.url).pathname,
    include: ['test/browser/*.shots.ts', 'test/browser/*.measure.ts'],
    pool: 'forks',
    testTimeout: 300_000,
    hookTimeout: 60_000,
    expect: { poll: { timeout: PATIENCE_MS } },
  },
});
