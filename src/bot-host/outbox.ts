// Runs in a bot host thread. Owns the way of every event from this host to the broadcaster.

import type { MessagePort } from 'node:worker_threads';
import { type Batch, encodeBatch } from '../shared/contract/batch.js';
import type { Item } from '../shared/contract/events.js';
import type { InFlight } from '../shared/memory/in-flight.js';

/** A batch leaves when it holds this many items, or at the end of the tick. */
const BATCH_ITEMS = 64;
/** At this many times the limit the whole host is held up, for at most {@link HOLD_MS} a batch. */
const HOLD_FACTOR = 4;
/** Not longer, because a dead broadcaster is replaced with a message that the host must be able to take. */
const HOLD_MS = 100;

/**
 * Collects items and posts them in batches. Bounded twice: {@link hasRoom} is asked before an `info` line, which is
 * skipped when there is none; all else is never skipped, and a host that goes on with it is held up until there is room.
 */
export class Outbox {
  #port: MessagePort;
  #inFlight: InFlight;
  readonly #limit: number;
  #items: Item[] = [];
  #scheduled = false;

  constructor(port: MessagePort, inFlight: InFlight, limit: number) {
    this.#port = port;
    this.#inFlight = inFlight;
    this.#limit = limit;
  }

  /** The broadcaster is a new one: posts to it from now on. What the old one has not taken is lost. */
  attach(port: MessagePort, inFlight: InFlight): void {
    this.#port.close();
    this.#port = port;
    this.#inFlight = inFlight;
  }

  close(): void {
    this.flush();
    this.#port.close();
  }

  /**
   * Whether there are less than `limit` bytes on their way to the broadcaster, or less than half of that for a bot that
   * writes much: the other half is for its neighbours.
   */
  hasRoom(writesMuch: boolean): boolean {
    return this.#inFlight.bytes <= (writesMuch ? this.#limit / 2 : this.#limit);
  }

  add(item: Item): void {
    this.#items.push(item);
    if (this.#items.length >= BATCH_ITEMS) {
      this.flush();
    } else if (!this.#scheduled) {
      this.#scheduled = true;
      setImmediate(() => {
        this.#scheduled = false;
        this.flush();
      });
    }
  }

  /** Posts what there is. Always called before an exit is reported. */
  flush(): void {
    if (this.#items.length === 0) return;
    this.#inFlight.waitBelow(this.#limit * HOLD_FACTOR, HOLD_MS);
    const bytes = encodeBatch(this.#items);
    const batch: Batch = { bytes };
    this.#items = [];
    this.#inFlight.add(bytes.byteLength);
    this.#port.postMessage(batch, [bytes.buffer]);
  }
}
