import { expect, it } from 'vitest';
import { ownThread, threadWaitMs } from '../../../src/shared/thread-waits.js';

it.runIf(process.platform === 'linux')('the wait of this thread is known, and only grows', () => {
  const thread = ownThread();
  expect(thread).toBeGreaterThan(0);
  const before = threadWaitMs(thread);
  const until = performance.now() + 20;
  while (performance.now() < until);
  expect(threadWaitMs(thread)).toBeGreaterThanOrEqual(before);
});

it('a thread that there is not has waited for nothing', () => {
  expect(threadWaitMs(0)).toBe(0);
});
