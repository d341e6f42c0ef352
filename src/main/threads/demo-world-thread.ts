// Runs in main. Owns the demo world's thread, which is not replaced: without it the service is complete.

import type { DemoWorldMethods } from '../../kinds/demo-world/messages.js';
import { DroverError } from '../../shared/errors.js';
import { WORKERS } from '../../shared/package-paths.js';
import { SupervisedThread } from './supervised-thread.js';
import { startWorker } from './thread-source.js';

export class DemoWorldThread {
  readonly #thread: SupervisedThread<never, DemoWorldMethods>;

  /** @param failed gets one line when the demo world fails, at its start or later. */
  constructor(failed: (message: string) => void) {
    this.#thread = new SupervisedThread<never, DemoWorldMethods>({
      source: () => startWorker(WORKERS.demoWorld),
      methods: {} as never,
      lost: (reason) => new DroverError('internal', `the demo world failed: ${reason}`),
      exited: ({ reason, isExpected }) => {
        if (!isExpected) failed(`the demo world failed: ${reason}`);
      },
    });
  }

  /** @returns the URL where its bots log in. @throws Error when it cannot listen. */
  async start(): Promise<string> {
    const peer = await this.#thread.start();
    const { httpUrl } = await peer.call('listen', null);
    return httpUrl;
  }

  /** Resolves when the thread has exited. */
  async close(): Promise<void> {
    await this.#thread.stop((peer) => peer.tell('close', null));
  }
}
