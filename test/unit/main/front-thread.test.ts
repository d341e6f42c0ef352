import { expect, it, vi } from 'vitest';
import { FrontThread, type FrontThreadOptions } from '../../../src/main/threads/front-thread.js';
import { FakeThread } from './thread-fixture.js';

it('a front that ends during its start is named in the error', async () => {
  const thread = new FakeThread();
  const tell = vi.fn();
  const options = {
    front: 3,
    startData: () => ({}),
    tls: () => ({ named: (message: string) => message }),
    broadcaster: { peer: { tell }, ready: new Promise(() => {}) },
    journal: { attachFront() {}, detachFront() {} },
    control: {},
    exited() {},
  };
  const front = new FrontThread(options as unknown as FrontThreadOptions, () => thread);
  const started = front.start();
  thread.exit();
  await expect(started).rejects.toThrow(/^front 3 has ended$/);
  await vi.waitFor(() => expect(tell).toHaveBeenCalledWith('detachFront', { front: 3 }));
});
