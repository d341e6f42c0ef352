// drover bench: it keeps both cores busy while it measures.

import { mkdirSync, readdirSync } from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { startCli } from '../harness/cli.js';
import { makeDir, removeDir } from '../harness/service.js';

let home: string;
beforeAll(() => {
  home = makeDir();
});
afterAll(() => removeDir(home));

it('bench starts its own service, measures it and removes it completely', async () => {
  const temporary = path.join(home, 'tmp');
  mkdirSync(temporary);
  const args = ['bench', '--streams', '3', '--rate', '50', '--for', '1s', '--json'];
  // A variable that would change the service or keep it from starting: bench ignores it.
  const env = { TMPDIR: temporary, DROVER_HTTP_PORT: 'nonsense' };
  const { code, stdout, stderr } = await startCli(home, args, { env }).ended;
  // A warning of its service, on a machine that allows fewer open files than the default wants.
  const others = stderr.replace(/^drover: warning: only \d+ files can be open: .*\n/, '');
  expect({ code, others }).toEqual({ code: 0, others: '' });
  const metrics = JSON.parse(stdout) as Record<string, number>;
  expect(metrics).toMatchObject({
    streams: 3,
    events_per_second: 50,
    delivery_ms: { p50: expect.any(Number), p99: expect.any(Number) },
    request_ms: { p50: expect.any(Number), p99: expect.any(Number) },
  });
  expect(metrics['delivered_per_second']).toBeGreaterThan(0);
  expect(metrics['requests_per_second']).toBeGreaterThan(0);
  expect(readdirSync(temporary)).toEqual([]);
});

it('bench leaves no service behind after SIGKILL', async () => {
  const temporary = path.join(home, 'killed');
  mkdirSync(temporary);
  const bench = startCli(home, ['bench', '--for', '40s'], { env: { TMPDIR: temporary } });
  const files = (): string[] => readdirSync(temporary, { recursive: true }).map(String);
  const isReady = expect.poll(files);
  await isReady.toContainEqual(expect.stringMatching(/pin\.txt$/));
  bench.child.kill('SIGKILL');
  // The service deletes its files as its last step.
  await expect.poll(files).toEqual([]);
});
