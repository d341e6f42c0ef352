// Runs in main. Owns the broadcaster's thread: starts it, and when it dies starts another on the same ring.

import { Worker } from 'node:worker_threads';
import { Rpc } from './contract/rpc.js';
import type { BroadcasterMethods, BroadcasterStart, StreamIdentity } from './contract/threads.js';
import { DroverError, messageOf } from './errors.js';

type Peer = Rpc<never, BroadcasterMethods>;

/** Pause before a dead broadcaster is replaced, in ms, so that one that dies at once does not spin. */
const RESTART_MS = 20;

/**
 * The channel to whichever broadcaster there is now. What was on its way to one that died is lost, which `restore` has
 * to declare on the stream.
 */
export class BroadcasterThread {
  readonly #stream: StreamIdentity;
  readonly #restore: (reason: string) => Promise<void>;
  #worker: Worker;
  #peer: Peer;
  /** Resolves when the present broadcaster has everything that it needs. */
  #ready: Promise<void> = Promise.resolve();
  #stopping = false;

  /** @param restore gives a new broadcaster the state and the ports that the dead one had. */
  constructor(stream: StreamIdentity, restore: (reason: string) => Promise<void>) {
    this.#stream = stream;
    this.#restore = restore;
    [this.#worker, this.#peer] = this.#start();
  }

  /** The present broadcaster. Calls reject with `unavailable` when it dies before it answers. */
  get peer(): Peer {
    return this.#peer;
  }

  /** Resolves when there is a broadcaster that has been restored. */
  get ready(): Promise<void> {
    return this.#ready;
  }

  /** Ends the thread; nothing more is published. */
  async stop(): Promise<void> {
    this.#stopping = true;
    const ended = new Promise((resolve) => this.#worker.once('exit', resolve));
    this.#peer.tell('shutdown', null);
    await ended;
    // Whoever still has something to say waits for the end of the process.
    this.#ready = new Promise(() => {});
  }

  /** Kills the broadcaster as a crash would. It owns no socket, so that is safe. For drills. */
  async kill(): Promise<void> {
    await this.#worker.terminate();
  }

  #start(): [Worker, Peer] {
    const workerData: BroadcasterStart = { stream: this.#stream };
    const worker = new Worker(new URL('../workers/broadcaster.js', import.meta.url), {
      workerData,
    });
    const peer: Peer = new Rpc<never, BroadcasterMethods>(worker, {} as never);
    let reason = 'its thread was ended';
    worker.once('error', (error) => {
      reason = messageOf(error);
    });
    worker.once('exit', () => {
      if (!this.#stopping) this.#ready = this.#restart(reason);
      // After that: those whose calls this rejects wait for the next broadcaster.
      peer.close(new DroverError('unavailable', 'the broadcaster was lost'));
    });
    return [worker, peer];
  }

  async #restart(reason: string): Promise<void> {
    await new Promise((resolve) => setTimeout(resolve, RESTART_MS));
    [this.#worker, this.#peer] = this.#start();
    await this.#restore(reason);
  }
}
