import type { MessagePort } from 'node:worker_threads';
import { Rpc } from '../../shared/contract/rpc.js';
import type { BroadcasterFrontMethods, FrontBellMethods } from '../../shared/contract/threads.js';
import { Deferred } from '../../shared/deferred.js';
import { DroverError } from '../../shared/errors.js';

/** `Retry-After` while a stream is being replaced, in s. */
const RETRY_AFTER_S = 1;

/** The actions of a front on news from the broadcaster. */
export interface BroadcasterClientActions {
  /** The snapshots of all bots as of just before frame `next`, each the JSON of a `session` event. */
  reset: (next: number, sessions: readonly string[]) => void;
  /** There are new frames, or the mirror is current again. */
  wake: () => void;
}

/**
 * Runs in a front thread. Owns the channel to the current broadcaster: its doorbell, and the baseline that the mirror
 * needs at the start, from a new broadcaster, and after the ring has lapped it.
 */
export class BroadcasterClient {
  readonly #actions: BroadcasterClientActions;
  #peer: Rpc<FrontBellMethods, BroadcasterFrontMethods> | undefined;
  #port: MessagePort | undefined;
  #rebasing: Promise<void> | undefined;
  /** Resolves when there is a channel. */
  #attached = new Deferred();

  constructor(actions: BroadcasterClientActions) {
    this.#actions = actions;
  }

  /** Replaces the channel. Resolves when the mirror has the new broadcaster's baseline. */
  async attach(port: MessagePort): Promise<void> {
    this.detach();
    const { wake } = this.#actions;
    this.#port = port;
    this.#peer = new Rpc<FrontBellMethods, BroadcasterFrontMethods>(port, { wake });
    this.#attached.resolve();
    await this.rebase();
    wake();
  }

  /** Rejects calls that wait for a baseline: no other channel will come. */
  close(): void {
    this.detach();
    // Prevents an unhandled rejection when nobody waits.
    this.#attached.promise.catch(() => {});
    this.#attached.reject(new DroverError('unavailable', 'the stream was replaced', RETRY_AFTER_S));
  }

  detach(): void {
    this.#peer?.close(new DroverError('unavailable', 'the broadcaster was lost'));
    this.#port?.close();
    if (this.#peer) this.#attached = new Deferred();
    this.#peer = undefined;
    this.#rebasing = undefined;
  }

  /** Resets the mirror to the broadcaster's snapshots. Calls at the same time share one request. Rejects after {@link close} only. */
  rebase(): Promise<void> {
    if (this.#rebasing) return this.#rebasing;
    const rebasing = this.#takeBaseline().finally(() => {
      // A newer broadcaster may have been asked meanwhile.
      if (this.#rebasing === rebasing) this.#rebasing = undefined;
    });
    this.#rebasing = rebasing;
    return rebasing;
  }

  async #takeBaseline(): Promise<void> {
    // Waits for a channel: if it returned at once, it would be called in a loop.
    if (!this.#peer) return this.#attached.promise;
    try {
      const baseline = await this.#peer.call('baseline', null);
      this.#actions.reset(baseline.next, baseline.sessions);
      // Subscribers that were lapped together with the mirror wait for it.
      this.#actions.wake();
    } catch {
      // The broadcaster died. Its successor is attached and rebases again.
    }
  }
}
