// Runs in main. Owns the watch over the heartbeats of the bot hosts. It has a timer only while a host is awake: a host says so
// before its code runs.

import type { HostThread } from '../threads/host-thread.js';

/** How often the heartbeats are checked, in ms, at most. */
const CHECK_MS = 500;

export class Watchdog {
  readonly #hosts: () => Iterable<HostThread>;
  readonly #hangMs: number;
  readonly #hung: (host: HostThread, forMs: number) => void;
  /** The last count seen of each host, since when, and how much of that time was forgiven. */
  readonly #seen = new WeakMap<HostThread, { beats: number; since: number; forgiven: number }>();
  #checkedAt = 0;
  readonly #checkMs: number;
  /** Hosts that were reported; they are on their way out. */
  readonly #reported = new WeakSet<HostThread>();
  #timer: NodeJS.Timeout | undefined;
  #isStopped = false;

  /** @param hung is called once for a host without a heartbeat for `hangMs`. */
  constructor(
    hosts: () => Iterable<HostThread>,
    hangMs: number,
    hung: (host: HostThread, forMs: number) => void,
  ) {
    this.#hosts = hosts;
    this.#hangMs = hangMs;
    this.#hung = hung;
    this.#checkMs = Math.min(CHECK_MS, hangMs / 4);
    this.watch();
  }

  /** A host is awake. */
  watch(): void {
    if (this.#timer !== undefined || this.#isStopped) return;
    this.#checkedAt = performance.now();
    this.#timer = setInterval(() => this.#check(), this.#checkMs);
    this.#check();
  }

  stop(): void {
    this.#isStopped = true;
    clearInterval(this.#timer);
  }

  #check(): void {
    const now = performance.now();
    const late = now - this.#checkedAt - this.#checkMs;
    this.#checkedAt = now;
    // When main itself was held up (the process was suspended, or had no processor) the hosts may have been too: that time is
    // forgiven. One such pause is forgiven whole; of many at most hangMs, or a main that is late at each check would find nothing.
    const bound = late > this.#checkMs ? Math.max(late, this.#hangMs) : 0;
    let isAnyAwake = false;
    for (const host of this.#hosts()) {
      const seen = this.#seen.get(host);
      const { beats, isAsleep } = host;
      if (!isAsleep) isAnyAwake = true;
      if (!seen || seen.beats !== beats || isAsleep) {
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
    if (isAnyAwake) return;
    clearInterval(this.#timer);
    this.#timer = undefined;
  }
}
