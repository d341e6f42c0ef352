import { HEARTBEAT, positionComment } from '../../shared/stream/stream-text.js';
import type { Subscriber } from './subscriber.js';

/** How often a blocked subscriber gets a heartbeat, in ms. */
const TOUCH_MS = 4000;
/** Longest interval between two sweeps, in ms. */
const SWEEP_MS = 1000;

export interface KeepaliveOptions {
  epoch: string;
  /** A stream that was silent for this long gets a heartbeat, in ms. */
  heartbeatMs: number;
  /** A stream that takes nothing for this long is closed, in ms. */
  stallMs: number;
}

export interface KeepaliveActions {
  write(subscriber: Subscriber, bytes: Uint8Array): void;
  /** Closes a stream that has stalled. */
  evict(subscriber: Subscriber): void;
  /** A sweep is due, or a subscriber accepts bytes again. */
  wake(): void;
}

/**
 * Runs in a front thread. Owns the sweep timer, which runs while there are streams. A sweep sends heartbeats and closes stalled streams. It runs inside the
 * fan-out's passes, so that 10,000 heartbeats are sliced like everything else.
 */
export class Keepalive {
  readonly #options: KeepaliveOptions;
  readonly #actions: KeepaliveActions;
  readonly #sweepMs: number;
  #timer: NodeJS.Timeout | undefined;
  #isStopped = false;
  #due = false;

  constructor(options: KeepaliveOptions, actions: KeepaliveActions) {
    this.#options = options;
    this.#actions = actions;
    this.#sweepMs = Math.min(SWEEP_MS, options.heartbeatMs, options.stallMs);
  }

  /** There is a stream: sweeps from now on. */
  begin(): void {
    if (this.#isStopped) return;
    this.#timer ??= setInterval(() => {
      this.#due = true;
      this.#actions.wake();
    }, this.#sweepMs);
  }

  /** There is no stream any more. */
  end(): void {
    clearInterval(this.#timer);
    this.#timer = undefined;
  }

  /** Whether the next pass has to sweep. Resets until the timer fires again. */
  takeDue(): boolean {
    const due = this.#due;
    this.#due = false;
    return due;
  }

  /** Closes the subscriber if it stalls, or sends a heartbeat if it was silent for too long. */
  sweep(subscriber: Subscriber, now: number): void {
    const { epoch, heartbeatMs, stallMs } = this.#options;
    const { write, evict, wake } = this.#actions;
    if (subscriber.blockedAt !== 0) {
      if (now - subscriber.blockedAt >= stallMs) {
        evict(subscriber);
      } else if (now - subscriber.writtenAt >= TOUCH_MS) {
        // Two reasons: uWebSockets closes a connection that is not written to for 10 s, regardless of the stall limit; and
        // a client that reads slowly but steadily accepts two bytes long before the engine reports it as writable.
        const { blockedAt } = subscriber;
        subscriber.blockedAt = 0;
        write(subscriber, HEARTBEAT);
        if (subscriber.blockedAt !== 0) subscriber.blockedAt = blockedAt;
        else wake();
      }
    } else if (subscriber.hasStarted && now - subscriber.writtenAt >= heartbeatMs) {
      // When the filter matches nothing, the client's last event id grows old. The position keeps it current, so that a
      // later resume is still exact and reads nothing from the journal.
      const { filter } = subscriber.group;
      const beat = filter ? Buffer.from(positionComment(epoch, subscriber.cursor)) : HEARTBEAT;
      write(subscriber, beat);
    }
  }

  /** Stops for good: a timer would keep the thread alive. */
  stop(): void {
    this.#isStopped = true;
    this.end();
  }
}
