// Runs in a front thread. Owns what keeps streams alive and gets rid of those that stall: heartbeats, and the stall clock.
// One wheel for all subscribers; the fan-out's passes turn it, so that 10,000 heartbeats are sliced like all else.

import { HEARTBEAT, positionBlock } from '../shared/stream/stream-text.js';
import type { Subscriber } from './subscriber.js';

/** How often a blocked subscriber is tried with a heartbeat, in ms. */
const TOUCH_MS = 4000;
/** How often heartbeats and stalls are looked for, in ms, at most. */
const SWEEP_MS = 1000;

export interface UpkeepOptions {
  epoch: string;
  /** A stream that was silent for this long gets a heartbeat, in ms. */
  heartbeatMs: number;
  /** A stream that takes nothing for this long is closed, in ms. */
  stallMs: number;
}

/** What it does to a subscriber. */
export interface UpkeepActions {
  write(subscriber: Subscriber, bytes: Uint8Array): void;
  /** It has stalled. */
  evict(subscriber: Subscriber): void;
  /** It is time for a pass, or somebody takes bytes again. */
  wake(): void;
}

export class Keepalive {
  readonly #options: UpkeepOptions;
  readonly #actions: UpkeepActions;
  readonly #timer: NodeJS.Timeout;
  #due = false;

  constructor(options: UpkeepOptions, actions: UpkeepActions) {
    this.#options = options;
    this.#actions = actions;
    const sweepMs = Math.min(SWEEP_MS, options.heartbeatMs, options.stallMs);
    this.#timer = setInterval(() => {
      this.#due = true;
      actions.wake();
    }, sweepMs);
  }

  /** Whether the next pass is to tend every subscriber; the one after that is not, until it is time again. */
  takeDue(): boolean {
    const due = this.#due;
    this.#due = false;
    return due;
  }

  /** Closes a subscriber that stalls; gives one that has heard nothing for long a heartbeat. */
  sweep(subscriber: Subscriber, now: number): void {
    const { epoch, heartbeatMs, stallMs } = this.#options;
    const { write, evict, wake } = this.#actions;
    if (subscriber.blockedAt !== 0) {
      if (now - subscriber.blockedAt >= stallMs) {
        evict(subscriber);
      } else if (now - subscriber.writtenAt >= TOUCH_MS) {
        // Three bytes, and two reasons: uWebSockets closes a connection that is not written to for 10 s, whatever the
        // stall clock says; and a client that reads slowly but steadily shows so long before the engine tells of it.
        const { blockedAt } = subscriber;
        subscriber.blockedAt = 0;
        write(subscriber, HEARTBEAT);
        if (subscriber.blockedAt !== 0) subscriber.blockedAt = blockedAt;
        else wake();
      }
    } else if (subscriber.isLive && now - subscriber.writtenAt >= heartbeatMs) {
      // Where a filter lets nothing through the client's last id grows old; this keeps it where the stream is, so that
      // a resume long after is still exact.
      const { filter } = subscriber.group;
      const beat = filter
        ? Buffer.from(`:\n${positionBlock(epoch, subscriber.cursor)}`)
        : HEARTBEAT;
      write(subscriber, beat);
    }
  }

  /** Lets go of what keeps the thread alive. */
  stop(): void {
    clearInterval(this.#timer);
  }
}
