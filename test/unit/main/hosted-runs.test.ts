import { expect, it } from 'vitest';
import { HostedRuns } from '../../../src/main/threads/hosted-runs.js';

it('of a thread that sits in the code of one bot, the others are free', async () => {
  const runs = new HostedRuns();
  runs.add(1, 'stuck');
  runs.add(2, 'other');
  runs.settleAll('stuck');
  expect(await runs.whenFreeOf('other')).toEqual([undefined]);
  let isSettled = false;
  void runs.whenFreeOf('stuck')?.then(() => {
    isSettled = true;
  });
  await new Promise((resolve) => setImmediate(resolve));
  expect(isSettled).toBe(false);
  // They stay known for an incident report.
  expect(runs.botOf(1)).toBe('stuck');
  expect(runs.botOf(2)).toBe('other');
  runs.settleAll();
  await runs.whenFreeOf('stuck');
});
