// Sockets that accept only a part of a write, or nothing, at any byte, also between a chunk's size and its data. Needs
// Linux and a C compiler, which builds the send() that does so.

import { execFileSync } from 'node:child_process';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, beforeEach, expect, it, onTestFinished } from 'vitest';
import { raw, requestBytes } from '../harness/http.js';
import { Ledger } from '../harness/ledger.js';
import { requireTool, skipWithout } from '../harness/needs.js';
import { RawStream } from '../harness/raw-stream.js';
import { makeDir, removeDir, type Service, startService, stopClean } from '../harness/service.js';

const SOURCE = fileURLToPath(new URL('short-writes.c', import.meta.url));
const MIB = 2 ** 20;
const SILENT = 400;

const dir = makeDir();
const library = path.join(dir, 'short-writes.so');
const isLinux = process.platform === 'linux';

let service: Service | undefined;
beforeAll(async () => {
  if (!isLinux) return;
  requireTool('cc', 'gcc libc6-dev');
  execFileSync('cc', ['-shared', '-fPIC', '-O1', '-o', library, SOURCE, '-ldl']);
  service = await startService({
    env: { LD_PRELOAD: library },
    config: {
      bots: [
        { id: 'big', kind: 'synthetic', config: { events_per_second: 1000, message_bytes: 8000 } },
        { id: 'many', kind: 'synthetic', config: { events_per_second: 2000, message_bytes: 60 } },
        // Enough bots to make their list larger than any buffer on the way.
        ...Array.from({ length: SILENT }, (_, n) => ({
          id: `silent-${n}`,
          kind: 'synthetic',
          config: { events_per_second: 0 },
        })),
      ],
    },
  });
});
beforeEach((context) => skipWithout(context, isLinux, 'Linux'));
afterAll(async () => {
  await stopClean(service);
  removeDir(dir);
});

it.each([
  ['', false],
  ['?session=big', true],
  ['?session=many', true],
])('every byte arrives, once and in order: /events%s', async (query, filtered) => {
  const { port, token } = service as Service;
  const auth = await token();
  // The bots' earlier lines are on the ring: a client that resumes from there gets large writes at once.
  const first = new Ledger();
  const stream = await RawStream.open(port, { token: auth, onBlock: first.take });
  onTestFinished(() => stream.close());
  await stream.until(() => stream.bodyBytes > 4 * MIB);
  const faults = await Promise.all(
    Array.from({ length: 6 }, async () => {
      const ledger = new Ledger({ filtered });
      // The client sets the start position, so the stream does not repeat it.
      ledger.last = first.first;
      const resumed = await RawStream.open(port, {
        token: auth,
        target: `/events${query}`,
        headers: { 'Last-Event-ID': `${first.epoch}-${first.first}` },
        onBlock: ledger.take,
      });
      onTestFinished(() => resumed.close());
      await resumed.until(() => (ledger.last ?? 0) >= (first.last ?? 0)).catch(() => {});
      return [...ledger.faults, ...(resumed.fault ? [resumed.fault.message] : [])];
    }),
  );
  expect(faults).toEqual(faults.map(() => []));
  expect(stream.fault).toBeUndefined();
  expect(first.faults).toEqual([]);
});

it('responses to requests are complete too', async () => {
  for (let n = 0; n < 50; n++) {
    const { port, token } = service as Service;
    const headers = { Authorization: `Bearer ${await token()}` };
    const answer = await raw(port, requestBytes('GET', '/api/bots', headers));
    expect(answer.status).toBe(200);
    expect((answer.json() as { bots: object[] }).bots).toHaveLength(SILENT + 2);
  }
});
