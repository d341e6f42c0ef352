// Runs in a bot host thread. Owns the items that wait to be posted to the broadcaster, and the port to it.

import type { MessagePort } from 'node:worker_threads';
import { type Batch, encodeBatch } from '../shared/contract/batch.js';
import type { Item } from '../shared/contract/events.js';
import type { InFlight } from '../shared/memory/in-flight.js';

/** A batch is posted when it has this many items, or at the end of the tick. */
const BATCH_ITEMS = 64;
/** At this many times the limit the whole host waits, for at most {@link HOLD_MS} per batch. */
const HOLD_FACTOR = 4;
/** Not longer, because the host must be able to receive the message that replaces a dead broadcaster. */
const HOLD_MS = 100;

/**
 * Collects items and posts them in batches. Bounded twice: an `info` line is skipped when {@link hasRoom} is false; other
 * items are never skipped, and the host is blocked until there is room.
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

  /** Posts to a new broadcaster from now on. Batches that the old one has not processed are lost. */
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
   * Whether less than `limit` bytes are in flight to the broadcaster. For a bot that writes much, half of that: the other
   * half is for the other bots of the host.
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

  /** Posts all items now. Called before an exit is reported. */
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
