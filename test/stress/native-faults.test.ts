// Native code of bots in processes that crashes, never returns, or takes memory without end: the service and the bots in threads
// notice nothing. Needs Linux and a C compiler.

import { execFileSync } from 'node:child_process';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, it } from 'vitest';
import {
  create,
  createNeighbour,
  expectComplete,
  expectUndisturbed,
  incidents,
  invoke,
  remove,
  snapshotFrom,
  statusFrom,
  watch,
} from '../harness/bots.js';
import { ISOLATION_KINDS } from '../harness/isolation.js';
import { requireTool } from '../harness/needs.js';
import { makeDir, removeDir, type Service, startService, stopClean } from '../harness/service.js';
import type { SseStream } from '../harness/sse.js';

const SOURCE = fileURLToPath(new URL('native-faults.c', import.meta.url));
const isLinux = process.platform === 'linux';

const dir = makeDir();
let service: Service | undefined;
let stream: SseStream | undefined;

beforeAll(async () => {
  if (!isLinux) return;
  requireTool('cc', 'gcc libc6-dev');
  service = await startService({
    config: {
      kinds: [ISOLATION_KINDS],
      stream: { ring_bytes: 64 * 2 ** 20 },
      hosts: { count: 1, max_heap_mb: 128 },
      // On a busy machine memory grows slowly, too.
      watchdog: { hang_ms: 6000 },
      restart: { backoff_ms: 10, backoff_cap_ms: 200 },
    },
  });
  stream = await watch(service);
});
afterAll(async () => {
  stream?.close();
  await stopClean(service);
  removeDir(dir);
});

it.runIf(isLinux).each([
  ['a segmentation fault', 1, 'host_lost', /its process was ended by SIGSEGV/],
  ['a deadlock', 2, 'hang', /was blocked for \d+ ms; bot \S+ was alone there$/],
  ['memory outside of the heap', 3, 'out_of_memory', /out of memory: its process used \d+ MB/],
  // The system refuses it, so nothing of it is ever used.
  ['8 GB at once', 4, 'host_lost', /its process was ended by SIGABRT/],
] as const)('%s', { timeout: 60_000 }, async (name, fault, type, reason) => {
  if (!service || !stream) return;
  const file = path.join(dir, `fault-${fault}.node`);
  const flags = ['-shared', '-fPIC', `-DFAULT=${fault}`, '-o', file, SOURCE, '-lpthread'];
  execFileSync('cc', flags);
  const neighbour = `neighbour-${fault}`;
  await createNeighbour(service, stream, neighbour);
  const id = `breaker-${fault}`;
  const body = { id, kind: 'breaker', dedicated: true, isolation: 'process' };
  expect((await create(service, body)).status, name).toBe(201);
  await statusFrom(stream, 0, id, 'alive');
  // The process may end before it has sent its answer.
  expect([200, 503]).toContain((await invoke(service, id, 'native', { file })).status);
  await snapshotFrom(stream, 0, id, (s) => s.status === 'alive' && s.restarts === 1);
  const [report] = await incidents(service, id);
  expect(report).toMatchObject({ type, suspect: id });
  expect(report?.reason).toMatch(reason);
  if (fault === 4) {
    expect(report?.stderr?.join('\n')).toContain('8 GB: Cannot allocate memory');
  }
  expect(report?.last_commands.at(-1)).toBe(`native on ${id}`);
  await expectUndisturbed(stream, neighbour);
  expectComplete(stream);
  for (const bot of [neighbour, id]) await remove(service, bot);
});
