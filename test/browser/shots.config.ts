// `npm run shots`: pictures of every view of the dashboard, to be looked at. No test: nothing in it can fail but the driving.

import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    root: new URL('../..', import.meta.url).pathname,
    include: ['test/browser/*.shots.ts'],
    pool: 'forks',
    testTimeout: 300_000,
    hookTimeout: 60_000,
  },
});
