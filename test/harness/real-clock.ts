// Before each test file. Files share a process, so one that leaves its mocked clock would stop the timers of those after it.

import { afterAll, expect } from 'vitest';

const REAL = Symbol.for('drover.test.timers');
const names = [
  'setTimeout',
  'setInterval',
  'setImmediate',
  'clearTimeout',
  'clearInterval',
  'Date',
  'performance',
] as const;
const clocks = (): unknown[] => [
  ...names.map((name) => globalThis[name]),
  Date.now,
  performance.now,
];

// Those of the first file are the real ones.
const shared = globalThis as { [REAL]?: unknown[] };
shared[REAL] ??= clocks();
const real = shared[REAL];

afterAll(() => {
  const left = clocks();
  const replaced = [...names, 'Date.now', 'performance.now'].filter(
    (_, at) => left[at] !== real[at],
  );
  expect(replaced, 'clocks that are still mocked').toEqual([]);
});
