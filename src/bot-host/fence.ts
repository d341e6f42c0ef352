// Runs in a bot host of a node in a cluster. Keeps what a bot sends from leaving once its node has lost its lease: another node may
// have started the bot. Timers are too late for that: when a frozen process wakes, a bot's code may run before them.

import { LeaseDeadline, type SharedLease } from '../shared/memory/lease-deadline.js';

/** The check of a bot before it sends; null without a cluster. */
export interface Fence {
  /** @throws Error when the lease is lost: nothing may be sent. */
  check(): void;
}

export class LeaseFence implements Fence {
  readonly #deadline: LeaseDeadline;

  constructor(lease: SharedLease) {
    this.#deadline = new LeaseDeadline(lease);
  }

  check(): void {
    if (this.#deadline.hasPassed) throw new Error('this node has lost its lease');
  }

  /** @param stays whether the bot keeps its connections without the lease. */
  forBot(stays: boolean): BotFence {
    return new BotFence(this, stays);
  }
}

/** The fence of one run. Whether the run is bound to the lease can change while it runs. */
export class BotFence implements Fence {
  readonly #lease: Fence;
  stays: boolean;

  constructor(lease: Fence, stays: boolean) {
    this.#lease = lease;
    this.stays = stays;
  }

  check(): void {
    if (!this.stays) this.#lease.check();
  }
}
