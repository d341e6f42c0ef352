// Runs in a front thread. Owns the account of what replays may write beside live streams.
//
// A replay costs more than the front's time: the journal reads and decompresses it, the system copies it, and its client reads
// it, often on the same machine. At full speed that takes CPU time from what the live streams need. So beside live streams
// replays get a budget of bytes for each ms. It is a token bucket: a timer that fires late costs nothing.
//
// The budget is for all replays together, but each must catch up with the stream, so many get more than a few. They rest at
// least as long as they work, unless they are in the majority: after a restart most clients wait for their replays.

/** Longest time that replays block the event loop, in ms. */
const TURN_MS = 1;
/** Bytes that a rest waits for, and the most that are made up for after a late timer. */
const TURN_BYTES = 128 * 1024;
const MAX_CREDIT = 4 * TURN_BYTES;
/** The budget: some 320,000 lines a second. At full speed the latency of live streams rose to 1.6 to 2.2 times. */
const BYTES_PER_MS = 76 * 1024;
/** The least part of the budget for each stream: some 17,000 lines a second. */
const LEAST_BYTES_PER_MS = 4 * 1024;
/** Bytes that a ms of the journal's search counts as, so that the journal searches a fourth of the time. */
const BYTES_PER_SEARCH_MS = 4 * BYTES_PER_MS;
/** A shorter rest is one turn of the event loop, in ms. */
const SHORTEST_MS = 0.5;

/** The streams of a front. */
export interface StreamCounts {
  /** Number of live streams. */
  live: number;
  replaying: number;
}

export class ReplayPace {
  /** Bytes that may be written; below 0 after a large write. */
  #credit = MAX_CREDIT;
  #bytesPerMs = BYTES_PER_MS;
  #hasLive = false;
  /** When the turn began, by performance.now(). */
  #began = Number.NEGATIVE_INFINITY;
  /** The rest after a turn that took as long. */
  #restsUntil = 0;

  /** How long the next turn must wait, in ms; 0 for none. @param now by performance.now(), as everywhere here. */
  wait(now: number): number {
    if (!this.#hasLive) return 0;
    const credit = this.#creditAt(now);
    const forBytes = credit > 0 ? 0 : (TURN_BYTES - credit) / this.#bytesPerMs;
    const rest = Math.max(forBytes, this.#restsUntil - now);
    return rest < SHORTEST_MS ? 0 : rest;
  }

  begin(now: number, { live, replaying }: StreamCounts): void {
    this.#credit = this.#creditAt(now);
    this.#began = now;
    this.#hasLive = live > 0;
    this.#bytesPerMs = Math.max(BYTES_PER_MS, replaying * LEAST_BYTES_PER_MS);
  }

  wrote(bytes: number): void {
    this.#credit -= bytes;
  }

  /** The journal has searched for a part of so many bytes. Its time counts where that is more than the bytes will. */
  searched(ms: number, bytes: number): void {
    this.#credit -= Math.max(0, ms * BYTES_PER_SEARCH_MS - bytes);
  }

  /** Whether the turn must end. */
  isOver(now: number): boolean {
    return now - this.#began >= TURN_MS || (this.#hasLive && this.#credit <= 0);
  }

  end(now: number, { live, replaying }: StreamCounts): void {
    this.#hasLive = live > 0;
    this.#restsUntil = replaying > live ? now : 2 * now - this.#began;
  }

  #creditAt(now: number): number {
    return Math.min(this.#credit + (now - this.#began) * this.#bytesPerMs, MAX_CREDIT);
  }
}
