// `npm run test:cluster`: tests that need a NATS server (`nats-server`). They are separate from `npm test`, which needs only Node.

import { defineConfig } from 'vitest/config';
import { PATIENCE_MS } from '../harness/patience.js';

const root = new URL('../..', import.meta.url).pathname;

export default defineConfig({
  test: {
    root,
    projects: [
      { extends: true, test: { root, name: 'cluster', include: ['test/cluster/**/*.test.ts'] } },
      {
        // What clients see of a single service they see of a node of a cluster.
        extends: true,
        test: {
          root,
          name: 'node',
          include: ['test/conformance/**/*.test.ts'],
          globalSetup: `${root}test/cluster/nats-for-all.ts`,
        },
      },
    ],
    pool: 'forks',
    maxWorkers: 1,
    testTimeout: 90_000,
    hookTimeout: 120_000,
    expect: { poll: { timeout: PATIENCE_MS } },
  },
});
