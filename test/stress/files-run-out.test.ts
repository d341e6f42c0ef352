// A service that runs out of file descriptors keeps running, and recovers when some are free again.

import { execFileSync } from 'node:child_process';
import { setTimeout as delay } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { call } from '../harness/api.js';
import { requireTool, skipWithout } from '../harness/needs.js';
import { startService } from '../harness/service.js';

/** Longer than both intervals of the memory checks, 0.1 s and 1 s. */
const LOOKS_MS = 2500;

it('no file can be opened for a while', async (context) => {
  skipWithout(context, process.platform === 'linux', 'Linux');
  requireTool('prlimit', 'util-linux');
  const service = await startService();
  const { pid } = service.child;
  const softLimit = (files: string): void => {
    execFileSync('prlimit', ['--pid', String(pid), `--nofile=${files}:`]);
  };
  const [, before = ''] =
    /^(\d+)/.exec(
      execFileSync('prlimit', ['--pid', String(pid), '--nofile', '-o', 'SOFT', '--noheadings'])
        .toString()
        .trim(),
    ) ?? [];
  softLimit('3');
  await delay(LOOKS_MS);
  expect(service.child.exitCode).toBe(null);
  softLimit(before);
  const { json } = await call(service, 'GET', '/api/pressure');
  expect(json).toMatchObject({ memory: { used_bytes: expect.any(Number) } });
  expect((await call(service, 'GET', '/metrics')).status).toBe(200);
  expect(await service.stop()).toBe(0);
});
