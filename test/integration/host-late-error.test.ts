// An error of a host's thread that comes when its task is over already: the service must not end of it.

import type { Worker } from 'node:worker_threads';
import { expect, it, vi } from 'vitest';
import { createLags } from '../../src/shared/memory/loop-lag.js';

// The built one: its thread's entry is built too.
const { HostThread } = (await import(
  new URL('../../dist/src/main/threads/host-thread.js', import.meta.url).href
)) as typeof import('../../src/main/threads/host-thread.js');

it('a late error of the thread is reported', async () => {
  const made = new Promise<Worker>((resolve) => process.once('worker', resolve));
  const options = {
    maxHeapMb: 64,
    inFlightBytes: 65_536,
    botLinesPerSecond: 100,
    kindLoadMs: 10_000,
    lagOf: () => ({ buffer: createLags(1), block: 0 }),
  };
  const sink = { peer: { tell() {} } } as unknown as ConstructorParameters<typeof HostThread>[2];
  const host = new HostThread(0, options, sink, { exited() {}, failed() {} });
  const worker = await made;
  const write = vi.spyOn(process.stderr, 'write').mockReturnValue(true);
  // Not to be had from a real thread at a given moment: the first ends the task, the second finds none.
  worker.emit('error', new Error('first'));
  worker.emit('error', new Error('too late'));
  const said = write.mock.calls.map(([text]) => String(text));
  write.mockRestore();
  await host.gone;
  expect(said).toContain('drover: bot host 0: too late\n');
});
