// The journal's thread, and none of the others, lets the rest of the service go first.

import { readdirSync, readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { skipWithout } from '../harness/needs.js';
import { startService } from '../harness/service.js';

/** Niceness of each thread: the 19th field of its stat, of which the second, the name, may have spaces. */
function niceness(pid: number | undefined): number[] {
  return readdirSync(`/proc/${pid}/task`).map((thread) => {
    const stat = readFileSync(`/proc/${pid}/task/${thread}/stat`, 'utf8');
    return Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[16]);
  });
}

it('one thread yields to the others', async (context) => {
  skipWithout(context, process.platform === 'linux', 'Linux');
  const service = await startService();
  const own = Math.max(...niceness(process.pid));
  const yielding = (): number => niceness(service.child.pid).filter((nice) => nice > own).length;
  await expect.poll(yielding).toBeGreaterThan(0);
  // It, and what LMDB may start from it.
  expect(yielding()).toBeLessThan(3);
  expect(await service.stop()).toBe(0);
});
