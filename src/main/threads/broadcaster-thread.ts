// Runs in main. Owns the broadcaster's thread.

import type { EventLoopUtilization } from 'node:perf_hooks';
import type { Block, LoopEvents } from '../../shared/contract/slow-turn.js';
import type {
  BroadcasterEvents,
  BroadcasterMethods,
  BroadcasterPeer,
  BroadcasterStart,
} from '../../shared/contract/threads.js';
import { DroverError } from '../../shared/errors.js';
import { WORKERS } from '../../shared/package-paths.js';
import type { EventSink } from './service-events.js';
import { SupervisedThread, type Turning } from './supervised-thread.js';
import { startWorker } from './thread-source.js';

/** Pause before a lost broadcaster is replaced, in ms, so that one that dies at once does not spin. */
const RESTART_MS = 20;
const IDLE: EventLoopUtilization = { active: 0, idle: 0, utilization: 0 };

/**
 * Gives a new broadcaster the state and the ports that the lost one had. It works with the broadcaster that it is given
 * and no other: that one may die during the restore, and the next restore begins while this one still waits for answers.
 */
export type Restore = (broadcaster: BroadcasterPeer, reason: string) => Promise<void>;

/** Who is notified of what happens to the thread. */
export interface BroadcasterListener {
  restore: Restore;
  /** Called when the broadcaster's event loop was blocked. */
  slow: LoopEvents['slow'];
}

/**
 * The channel to the present broadcaster. A replacement writes to the same ring. What was on its way to the lost one is
 * lost too; `restore` declares that on the stream.
 *
 * Register everything that needs a channel to the broadcaster with `restore` before attaching it to `peer`. Then either the
 * broadcaster that it was attached to lives, or it dies and the restore that follows attaches it again.
 */
export class BroadcasterThread implements EventSink {
  readonly #thread: SupervisedThread<BroadcasterEvents, BroadcasterMethods>;
  #listener: BroadcasterListener | undefined;

  constructor(workerData: BroadcasterStart) {
    this.#thread = new SupervisedThread<BroadcasterEvents, BroadcasterMethods>({
      source: () => startWorker(WORKERS.broadcaster, workerData),
      methods: { slow: (turn) => this.#listener?.slow(turn) },
      lost: () => new DroverError('unavailable', 'the broadcaster was lost'),
      prepare: async (peer, replaces) => {
        if (replaces !== undefined) await this.#listener?.restore(peer, replaces);
      },
      restart: { pauseMs: () => RESTART_MS, healthyMs: 0 },
    });
    void this.#thread.start();
  }

  /** To be called in the turn in which it was created, before anything can be told. */
  listen(listener: BroadcasterListener): void {
    this.#listener = listener;
  }

  get peer(): BroadcasterPeer {
    return this.#thread.peer;
  }

  get ready(): Promise<BroadcasterPeer> {
    return this.#thread.ready;
  }

  utilization(): EventLoopUtilization {
    return this.#thread.utilization() ?? IDLE;
  }

  /** For the watch over its loop. */
  get turning(): Turning {
    return this.#thread;
  }

  /** Blocks its loop. For drills. */
  block(block: Block): void {
    this.#thread.peer.tell('block', block);
  }

  /** Ends the thread. Nothing is published after that. */
  async stop(): Promise<void> {
    await this.#thread.stop((peer) => peer.tell('shutdown', null));
  }

  /** Kills the broadcaster as a crash would, which is safe because it owns no socket. For drills. */
  async kill(): Promise<void> {
    const { gone } = this.#thread;
    this.#thread.kill();
    await gone;
  }
}
