import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    projects: [
      {
        extends: true,
        test: {
          name: 'auto',
          include: ['test/**/*.test.ts'],
          // These need a browser or IRC servers on the machine; they have commands of their own.
          exclude: [
            'test/browser/**',
            'test/irc/**',
            'test/packaging/**',
            '**/node_modules/**',
            'dist/**',
          ],
        },
      },
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
    // Each test file may start a service of several threads. Many only wait for it: four files at a time fill two cores.
    pool: 'forks',
    maxWorkers: 4,
    fileParallelism: true,
    // No test measures time; these only end one that hangs. Shared machines can be slow.
    testTimeout: 60_000,
    hookTimeout: 60_000,
    // On a shared CI machine a process may get no turn for seconds. A test that fails once and passes then is shown as
    // such; one that fails three times has failed.
    retry: process.env['CI'] ? 2 : 0,
  },
});
