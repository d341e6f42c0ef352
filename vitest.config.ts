import { defineConfig } from 'vitest/config';
import { PATIENCE_MS } from './test/harness/patience.js';
import { hasUws } from './test/harness/uws-binary.js';

/** These measure the memory or the timers of their process, or replace modules that other files use. */
const ALONE = [
  'front/auth',
  'bot-host/bot-leaks',
  'shared/filter',
  'bot-host/host-memory',
  'kinds/irc-lifetime',
  'main/memory-guard',
  'shared/name-hash',
  'shared/process-memory',
  'front/subscriber-group',
].map((name) => `test/unit/${name}.test.ts`);

export default defineConfig({
  test: {
    projects: [
      {
        extends: true,
        test: {
          name: 'uws',
          include: ['test/**/*.test.ts'],
          env: { TEST_ENGINE: hasUws ? 'uws' : 'node' },
          exclude: [
            ...ALONE,
            // These have their own commands and configurations.
            'test/browser/**',
            'test/cluster/**',
            'test/irc/**',
            'test/packaging/**',
            'test/stress/**',
            '**/node_modules/**',
            'dist/**',
          ],
        },
      },
      { extends: true, test: { name: 'alone', include: ALONE, isolate: true } },
      {
        // What clients see, once more on the other engine.
        extends: true,
        test: {
          name: 'node',
          include: ['test/conformance/**/*.test.ts', 'test/fuzz/**/*.test.ts'],
          env: { TEST_ENGINE: 'node' },
        },
      },
    ],
    // Each test file may start a service of several threads. Many only wait for it: five files at a time fill two cores.
    pool: 'forks',
    maxWorkers: 5,
    // One process for many files: to load again for each what all of them import takes half the time of unit tests.
    isolate: false,
    setupFiles: ['test/harness/real-clock.ts'],
    fileParallelism: true,
    // No test measures time; these limits only end a test that hangs. Nothing is retried.
    testTimeout: 90_000,
    hookTimeout: 120_000,
    // How long `expect.poll` waits before it takes that for never.
    expect: { poll: { timeout: PATIENCE_MS } },
  },
});
