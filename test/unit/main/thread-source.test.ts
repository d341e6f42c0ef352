import type { Worker } from 'node:worker_threads';
import { expect, it } from 'vitest';
import { startWorker } from '../../../src/main/threads/thread-source.js';

it('a second error of a thread does not end the process', async () => {
  const thread = startWorker(new URL('data:text/javascript,'));
  // A real thread has two only when its memory runs out while it reports the first.
  const worker = thread.port as Worker;
  worker.emit('error', new Error('first'));
  worker.emit('error', new Error('second'));
  await expect(thread.ended).resolves.toMatchObject({ message: 'first' });
  await thread.exited;
});
