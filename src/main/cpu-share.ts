// In main. How much of a core this process uses.

/** Averages are over at least so long, in ms. */
const WINDOW_MS = 1000;

export class CpuShare {
  #since = performance.now();
  #used = process.cpuUsage();
  #share = 0;

  /** Since about the last time that this was asked. */
  get share(): number {
    const now = performance.now();
    const forMs = now - this.#since;
    if (forMs < WINDOW_MS) return this.#share;
    const { user, system } = process.cpuUsage(this.#used);
    this.#share = Math.round((user + system) / forMs) / 1000;
    this.#since = now;
    this.#used = process.cpuUsage();
    return this.#share;
  }
}
