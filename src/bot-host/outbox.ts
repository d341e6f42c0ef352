// Runs in a bot host thread. Owns the items that wait to be posted to the broadcaster, and the port to it.
//
// Low rates are cheap because items are gathered where nobody waits. A batch wakes the broadcaster, the journal and the
// fronts, which costs as much as 20 to 50 lines; one line at a time, 50 bots with 10 lines/s each took a sixth of a core.
//   - On an idle host an item leaves at the end of its tick: nothing was posted within the last GATHER_MS.
//   - Otherwise it leaves GATHER_MS after the last batch, while a stream is open; while none is, up to IDLE_GATHER_MS.
//   - What somebody waits for leaves at the end of its tick: a change of a status, a line that is not `info`.
//   - A full batch leaves at once: a host that writes much never waits. So does everything before an answer to main or a
//     front (an exit, a stop, the result of a command): flush().
// A kill -9 of the service loses what is gathered, so the time without streams is bounded too.

import { type Batch, encodeBatch } from '../shared/contract/batch.js';
import type { Item } from '../shared/contract/events.js';
import type { HostPort } from '../shared/contract/threads.js';
import type { InFlight } from '../shared/memory/in-flight.js';

/** A batch with this many items is full. */
const BATCH_ITEMS = 64;
/** At this many times the limit the whole host waits, for at most {@link HOLD_MS} per batch. */
const HOLD_FACTOR = 4;
/** The host must not wait longer, because it has to receive the message that replaces a dead broadcaster. */
const HOLD_MS = 100;
/** Time between two batches while a stream is open, in ms: a share of the 20 ms in which a busy stream delivers. */
const GATHER_MS = 5;
/** Time between two batches while no stream is open, in ms. REST reads see bots' lines and `data` this much later. */
const IDLE_GATHER_MS = 100;

/**
 * Collects items and posts them in batches, as the head of this file says. Bounded twice: an `info` line is skipped when {@link hasRoom} is false; other
 * items are never skipped, and the host is blocked until there is room.
 */
export class Outbox {
  #port: HostPort;
  #inFlight: InFlight;
  readonly #limit: number;
  readonly #hasStreams: () => boolean;
  readonly #encode: typeof encodeBatch;
  #items: Item[] = [];
  /** Whether the items are posted at the end of this tick. */
  #atTickEnd = false;
  /** The timer that posts them. */
  #timer: NodeJS.Timeout | undefined;
  #postedAt = Number.NEGATIVE_INFINITY;

  /** @param hasStreams whether a stream is open, at any front. @param encode packs a batch for the port. */
  constructor(
    port: HostPort,
    inFlight: InFlight,
    limit: number,
    hasStreams: () => boolean,
    encode = encodeBatch,
  ) {
    this.#port = port;
    this.#inFlight = inFlight;
    this.#limit = limit;
    this.#hasStreams = hasStreams;
    this.#encode = encode;
  }

  /** Posts to a new broadcaster from now on. Batches that the old one has not processed are lost. */
  attach(port: HostPort, inFlight: InFlight): void {
    this.#port.close();
    this.#port = port;
    this.#inFlight = inFlight;
  }

  close(): void {
    this.flush();
    clearTimeout(this.#timer);
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
      return;
    }
    if (this.#atTickEnd) return;
    if (isAwaited(item)) this.#postAtTickEnd();
    else if (this.#timer === undefined) this.#gather();
  }

  /** Posts all items now. Called before an exit is reported, and before a call is answered. */
  flush(): void {
    if (this.#items.length === 0) return;
    this.#inFlight.waitBelow(this.#limit * HOLD_FACTOR, HOLD_MS);
    this.#postedAt = performance.now();
    const bytes = this.#encode(this.#items);
    const batch: Batch = { bytes };
    this.#items = [];
    this.#inFlight.add(bytes.byteLength);
    this.#port.postMessage(batch, [bytes.buffer]);
  }

  #gather(): void {
    const gatherMs = this.#hasStreams() ? GATHER_MS : IDLE_GATHER_MS;
    const waitMs = this.#postedAt + gatherMs - performance.now();
    if (waitMs <= 0) {
      this.#postAtTickEnd();
      return;
    }
    this.#timer = setTimeout(() => {
      this.#timer = undefined;
      this.flush();
    }, waitMs);
  }

  #postAtTickEnd(): void {
    setImmediate(() => {
      this.#atTickEnd = false;
      this.flush();
    });
    // Set only now, because a bot may call with no room on the stack for the calls above.
    this.#atTickEnd = true;
  }
}

/** Somebody may wait for it: what a bot reports about its state, or about a fault. */
function isAwaited(item: Item): boolean {
  return item.kind === 'log' ? item.level !== 'info' : item.patch.status !== undefined;
}
