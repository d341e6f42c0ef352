// Runs in main. Owns the demo world's thread.

import { Worker } from 'node:worker_threads';
import type { FromDemoWorld, ToDemoWorld } from '../../kinds/demo-world/messages.js';
import { messageOf } from '../../shared/errors.js';
import { WORKERS } from '../../shared/package-paths.js';

/** A demo world that runs. */
export interface DemoWorldThread {
  /** Where its bots log in. */
  httpUrl: string;
  /** Resolves when the thread has ended. */
  close(): Promise<void>;
}

/**
 * Starts the demo world.
 * @param failed is told, in one line, when it breaks later on. @throws Error when it does not start.
 */
export async function startDemoWorld(failed: (message: string) => void): Promise<DemoWorldThread> {
  const worker = new Worker(WORKERS.demoWorld);
  const ended = new Promise<void>((resolve) => worker.once('exit', () => resolve()));
  const httpUrl = await new Promise<string>((resolve, reject) => {
    worker.on('error', (error) => {
      const message = `the demo world failed: ${messageOf(error)}`;
      failed(message);
      reject(new Error(message));
    });
    worker.on('message', (message: FromDemoWorld) => {
      if (message.type === 'listening') resolve(message.httpUrl);
      else reject(new Error(message.message));
    });
  });
  return {
    httpUrl,
    close() {
      const message: ToDemoWorld = { type: 'close' };
      worker.postMessage(message);
      return ended;
    },
  };
}
