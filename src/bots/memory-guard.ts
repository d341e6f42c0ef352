// Runs in main. Owns the search for hosts that use more memory than they may. V8's own limit is no help: it ends the whole
// process when one allocation is larger than the little that it adds for a thread that reaches its limit, and it does not
// count what lies outside of the heap.

import type { HostThread } from './host-thread.js';
import { probeMemory } from './memory-probe.js';

/** How often the hosts are looked at, in ms. */
const LOOK_MS = 100;
/** How long a host may take to answer, in ms; one in native code does later. */
const PROBE_WITHIN_MS = 5000;
const MB = 2 ** 20;

export class MemoryGuard {
  readonly #hosts: () => Iterable<HostThread>;
  readonly #limitMb: number;
  /** The last count of heartbeats that was seen of each host, and the process's memory then. */
  readonly #seen = new WeakMap<HostThread, { beats: number; rss: number }>();
  readonly #asked = new WeakSet<HostThread>();
  readonly #timer: NodeJS.Timeout;

  /** @param limitMb what one host may use, in MB. */
  constructor(hosts: () => Iterable<HostThread>, limitMb: number) {
    this.#hosts = hosts;
    this.#limitMb = limitMb;
    this.#timer = setInterval(() => this.#look(), LOOK_MS);
  }

  stop(): void {
    clearInterval(this.#timer);
  }

  #look(): void {
    const rss = process.memoryUsage.rss();
    for (const host of this.#hosts()) {
      const { beats } = host;
      const seen = this.#seen.get(host);
      if (seen?.beats !== beats) this.#seen.set(host, { beats, rss });
      const used = host.heap?.used ?? 0;
      const room = this.#limitMb * MB - used;
      // A host that is busy does not beat. What it has taken since is at most what the process has; half is suspicious.
      const grown = seen?.beats === beats ? rss - seen.rss : 0;
      if (room < 0 || grown > room / 2) void this.#ask(host);
    }
  }

  async #ask(host: HostThread): Promise<void> {
    if (this.#asked.has(host) || host.isEnding) return;
    this.#asked.add(host);
    const used = await probeMemory(host.threadId, this.#limitMb * MB, PROBE_WITHIN_MS);
    this.#asked.delete(host);
    if (used === undefined || used <= this.#limitMb * MB || host.isEnding) return;
    const usedMb = Math.round(used / MB);
    const error: NodeJS.ErrnoException = new Error(
      `out of memory: it used ${usedMb} MB, hosts.max_heap_mb is ${this.#limitMb}`,
    );
    error.code = 'ERR_WORKER_OUT_OF_MEMORY';
    // It would be that of main.
    delete error.stack;
    host.kill(error);
  }
}
