// A host thread's error that arrives after its task has ended must not end the service.

import type { Worker } from 'node:worker_threads';
import { expect, it, vi } from 'vitest';
import { createLags } from '../../src/shared/memory/loop-lag.js';
import { createQuota } from '../../src/shared/memory/quota.js';
import { setOf } from '../harness/kind-sets.js';

// The built module: the entry of its thread is built as well.
const { HostThread } = (await import(
  new URL('../../dist/src/main/threads/host-thread.js', import.meta.url).href
)) as typeof import('../../src/main/threads/host-thread.js');

it('a late error of the thread is reported', async () => {
  const made = new Promise<Worker>((resolve) => process.once('worker', resolve));
  const options = {
    maxHeapMb: 64,
    inFlightBytes: 65_536,
    botLinesPerSecond: 100,
    networkAllow: null,
    commandTimeoutMs: 10_000,
    kindLoadMs: 10_000,
    streams: createQuota({ total: 1, perToken: 1, perAddress: 1 }, 1),
    lagOf: () => ({ buffer: createLags(1), block: 0 }),
  };
  const sink = { peer: { tell() {} } } as unknown as ConstructorParameters<typeof HostThread>[3];
  const host = new HostThread(0, options, setOf(), sink, {
    awake() {},
    exited() {},
    lateError() {},
    flooded() {},
    used() {},
    offered() {},
    kindFailed() {},
    failed() {},
  });
  const worker = await made;
  const write = vi.spyOn(process.stderr, 'write').mockReturnValue(true);
  // Emitted here, because a real thread cannot be timed: the first ends the task, the second finds none.
  worker.emit('error', new Error('first'));
  worker.emit('error', new Error('too late'));
  const said = write.mock.calls.map(([text]) => String(text));
  write.mockRestore();
  await host.gone;
  expect(said).toContain('drover: bot host 0: too late\n');
});
