// Only the journal thread runs at a lower priority than the rest of the service.

import { readdirSync, readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { skipWithout } from '../harness/needs.js';
import { startService } from '../harness/service.js';

/** Niceness of each thread: field 19 of its stat. Field 2, the name, may contain spaces. */
function niceness(pid: number | undefined): number[] {
  return readdirSync(`/proc/${pid}/task`).map((thread) => {
    const stat = readFileSync(`/proc/${pid}/task/${thread}/stat`, 'utf8');
    return Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[16]);
  });
}

it('one thread has a lower priority than the others', async (context) => {
  skipWithout(context, process.platform === 'linux', 'Linux');
  const service = await startService();
  const own = Math.max(...niceness(process.pid));
  const yielding = (): number => niceness(service.child.pid).filter((nice) => nice > own).length;
  await expect.poll(yielding).toBeGreaterThan(0);
  // The journal thread, and any thread that LMDB starts from it.
  expect(yielding()).toBeLessThan(3);
  expect(await service.stop()).toBe(0);
});
