// Before each test file. Files share a process, so one that leaves its mocked clock would stop the timers of those after it.

import { afterAll, expect } from 'vitest';

const REAL = Symbol.for('drover.test.timers');
const names = [
  'setTimeout',
  'setInterval',
  'setImmediate',
  'clearTimeout',
  'clearInterval',
] as const;
const timers = () => names.map((name) => globalThis[name]);

// Those of the first file are the real ones.
const shared = globalThis as { [REAL]?: ReturnType<typeof timers> };
shared[REAL] ??= timers();
const real = shared[REAL];

afterAll(() => {
  const left = timers();
  const replaced = names.filter((_, at) => left[at] !== real[at]);
  expect(replaced, 'timers that are still mocked').toEqual([]);
});
