// Runs in main. Owns the search for hosts whose loop stands still.

import type { HostThread } from '../threads/host-thread.js';

/** How often the hosts' heartbeats are looked at, in ms, at most. */
const LOOK_MS = 500;

export class Watchdog {
  readonly #hosts: () => Iterable<HostThread>;
  readonly #hangMs: number;
  readonly #hung: (host: HostThread, forMs: number) => void;
  /** The last count that was seen of each host, since when, and how much of that it was forgiven. */
  readonly #seen = new WeakMap<HostThread, { beats: number; since: number; forgiven: number }>();
  /** When the hosts were looked at last. */
  #looked = performance.now();
  readonly #lookMs: number;
  /** Hosts that were reported; they are on their way out. */
  readonly #reported = new WeakSet<HostThread>();
  readonly #timer: NodeJS.Timeout;

  /** @param hung is called once for a host that stands still for `hangMs`. */
  constructor(
    hosts: () => Iterable<HostThread>,
    hangMs: number,
    hung: (host: HostThread, forMs: number) => void,
  ) {
    this.#hosts = hosts;
    this.#hangMs = hangMs;
    this.#hung = hung;
    this.#lookMs = Math.min(LOOK_MS, hangMs / 4);
    this.#timer = setInterval(() => this.#look(), this.#lookMs);
  }

  stop(): void {
    clearInterval(this.#timer);
  }

  #look(): void {
    const now = performance.now();
    const late = now - this.#looked - this.#lookMs;
    this.#looked = now;
    // Main itself stood still (the process was stopped, or had no processor), and the hosts may have too: they get that
    // time on top. One standstill is forgiven whole; of many not more than hangMs, or a main that is late at each look
    // would find nothing.
    const bound = late > this.#lookMs ? Math.max(late, this.#hangMs) : 0;
    for (const host of this.#hosts()) {
      const seen = this.#seen.get(host);
      const { beats } = host;
      if (!seen || seen.beats !== beats) {
        this.#seen.set(host, { beats, since: now, forgiven: 0 });
        continue;
      }
      const forgiven = Math.max(0, Math.min(late, bound - seen.forgiven));
      seen.forgiven += forgiven;
      seen.since = Math.min(now, seen.since + forgiven);
      if (now - seen.since >= this.#hangMs && !this.#reported.has(host)) {
        this.#reported.add(host);
        this.#hung(host, Math.round(now - seen.since));
      }
    }
  }
}
