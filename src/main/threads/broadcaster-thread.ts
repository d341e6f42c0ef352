// Runs in main. Owns the broadcaster's thread: starts it, and when it dies starts another on the same ring.

import type { EventLoopUtilization } from 'node:perf_hooks';
import { setTimeout as delay } from 'node:timers/promises';
import { Worker } from 'node:worker_threads';
import { Rpc } from '../../shared/contract/rpc.js';
import type { BroadcasterMethods, BroadcasterStart } from '../../shared/contract/threads.js';
import { DroverError, messageOf } from '../../shared/errors.js';
import { WORKERS } from '../../shared/package-paths.js';
import type { BroadcasterPeer } from '../service-events.js';

/** Pause before a dead broadcaster is replaced, in ms, so that one that dies at once does not spin. */
const RESTART_MS = 20;

/** One life of the broadcaster. */
interface Life {
  worker: Worker;
  peer: BroadcasterPeer;
  /** Resolves with the reason when it is over; the peer is closed by then. */
  over: Promise<string>;
}

/**
 * Gives a new broadcaster the state and the ports that the dead one had. It works with the broadcaster that it is given
 * and no other: that one may die over it, and the next restore then begins while this one is still waiting for answers.
 */
export type Restore = (broadcaster: BroadcasterPeer, reason: string) => Promise<void>;

/**
 * The channel to whichever broadcaster there is now. What was on its way to one that died is lost, which `restore` has
 * to declare on the stream.
 *
 * Whoever needs a channel to the broadcaster is known to `restore` before it attaches itself to `peer`. Then it cannot
 * be left without one: either the broadcaster that it has attached to lives, or it dies, and the restore that follows
 * finds it.
 */
export class BroadcasterThread {
  readonly #start: BroadcasterStart;
  readonly #restore: Restore;
  #life: Life;
  #ready: Promise<BroadcasterPeer>;
  #replacing = false;
  #stopping = false;

  constructor(start: BroadcasterStart, restore: Restore) {
    this.#start = start;
    this.#restore = restore;
    this.#life = this.#begin();
    this.#ready = Promise.resolve(this.#life.peer);
  }

  /** The present broadcaster. Calls reject with `unavailable` when it dies before it answers. */
  get peer(): BroadcasterPeer {
    return this.#life.peer;
  }

  /** Resolves with the broadcaster when there is one that has been restored. */
  get ready(): Promise<BroadcasterPeer> {
    return this.#ready;
  }

  /** How long the present broadcaster has worked and rested since its start. */
  utilization(): EventLoopUtilization {
    return this.#life.worker.performance.eventLoopUtilization();
  }

  /** Ends the thread; nothing more is published. */
  async stop(): Promise<void> {
    this.#stopping = true;
    // Whoever still has something to say waits for the end of the process.
    this.#ready = new Promise(() => {});
    const { peer, over } = this.#life;
    peer.tell('shutdown', null);
    await over;
  }

  /** Kills the broadcaster as a crash would. It owns no socket, so that is safe. For drills. */
  async kill(): Promise<void> {
    await this.#life.worker.terminate();
  }

  #begin(): Life {
    const worker = new Worker(WORKERS.broadcaster, {
      workerData: this.#start,
    });
    const peer: BroadcasterPeer = new Rpc<never, BroadcasterMethods>(worker, {} as never);
    let reason = 'its thread was ended';
    worker.once('error', (error) => {
      reason = messageOf(error);
    });
    const over = new Promise<string>((resolve) => {
      worker.once('exit', () => {
        if (!this.#stopping && !this.#replacing) this.#ready = this.#replace(reason);
        // After that: those whose calls this rejects wait for the next broadcaster.
        peer.close(new DroverError('unavailable', 'the broadcaster was lost'));
        resolve(reason);
      });
    });
    return { worker, peer, over };
  }

  /** Starts broadcasters until one lives long enough to be restored. */
  async #replace(reason: string): Promise<BroadcasterPeer> {
    this.#replacing = true;
    for (;;) {
      await delay(RESTART_MS);
      if (this.#stopping) return new Promise(() => {});
      this.#life = this.#begin();
      const { peer, over } = this.#life;
      const died = await Promise.race([this.#restore(peer, reason), over]);
      if (died === undefined) {
        this.#replacing = false;
        return peer;
      }
      reason = died;
    }
  }
}
