// Runs in main. Finds the bot that holds the event loop of its host, and how long ago a host has beaten, from outside: the hosts'
// callbacks cost nothing more for it.
// A timer runs only while a host is awake.

import type { HostThread } from '../threads/host-thread.js';

/** The part of a host that is watched. */
export type WatchedLoop = Pick<
  HostThread,
  'isAsleep' | 'beats' | 'codeChanges' | 'lastBot' | 'waitedMs' | 'lateMs'
>;

/** How often the hosts are looked at, in ms, at most. A hold is measured to within so much. */
const LOOK_MS = 100;

interface Seen {
  beats: number;
  /** For how long that count has not changed, in ms. */
  silentMs: number;
  changes: number;
  /** Whose code has run since, null for none. */
  bot: string | null;
  /** For how long, in ms. */
  heldMs: number;
  /** What the thread had waited for a processor when this began to count, in ms. */
  waitedMs: number;
}

export class LoopWatch<Host extends WatchedLoop> {
  readonly #hosts: () => Iterable<Host>;
  readonly #slowMs: number;
  readonly #held: (host: Host, bot: string, forMs: number) => void;
  readonly #lookMs: number;
  readonly #seen = new WeakMap<Host, Seen>();
  #lookedAt = 0;
  #timer: NodeJS.Timeout | undefined;
  #isStopped = false;

  /**
   * @param slowMs from how long on a hold is reported, or null for never.
   * @param held is called when it is over: the code of the bot ran for so long, and nothing else in that host.
   */
  constructor(
    hosts: () => Iterable<Host>,
    slowMs: number | null,
    held: (host: Host, bot: string, forMs: number) => void,
  ) {
    this.#hosts = hosts;
    this.#slowMs = slowMs ?? Number.POSITIVE_INFINITY;
    this.#held = held;
    this.#lookMs = Math.min(LOOK_MS, this.#slowMs / 2);
  }

  /** To be called when a host is awake. */
  watch(): void {
    if (this.#timer !== undefined || this.#isStopped) return;
    this.#lookedAt = performance.now();
    this.#timer = setInterval(() => this.#look(), this.#lookMs);
  }

  stop(): void {
    this.#isStopped = true;
    clearInterval(this.#timer);
  }

  /** How late the loop is: at worst in its last seconds of work, or for as long as it has been held, in ms. */
  delayMs(host: Host): number {
    if (host.isAsleep) return 0;
    const held = this.#seen.get(host)?.heldMs ?? 0;
    // Below that the loop may just have had nothing to do until the next beat.
    return Math.max(host.lateMs, held <= 2 * LOOK_MS ? 0 : Math.round(held - LOOK_MS));
  }

  /** For how long it has not beaten, in ms; 0 while nothing runs there. */
  silentMs(host: Host): number {
    return host.isAsleep ? 0 : Math.round(this.#seen.get(host)?.silentMs ?? 0);
  }

  #look(): void {
    const now = performance.now();
    // When main itself was held up (the process was suspended, or had no processor) the host may have been too.
    const passed = Math.min(now - this.#lookedAt, 2 * this.#lookMs);
    this.#lookedAt = now;
    let isAnyAwake = false;
    for (const host of this.#hosts()) {
      const { isAsleep, beats, codeChanges: changes } = host;
      if (!isAsleep) isAnyAwake = true;
      const seen = this.#seen.get(host);
      const silentMs = seen?.beats === beats && !isAsleep ? seen.silentMs + passed : 0;
      if (seen) Object.assign(seen, { beats, silentMs });
      if (seen && seen.changes === changes && !isAsleep) {
        if (seen.heldMs === 0) {
          seen.bot = host.lastBot;
          seen.waitedMs = seen.bot === null ? 0 : host.waitedMs;
        }
        seen.heldMs += passed;
        continue;
      }
      if (seen) this.#over(host, seen);
      this.#seen.set(host, { beats, silentMs, changes, bot: null, heldMs: 0, waitedMs: 0 });
    }
    if (isAnyAwake) return;
    clearInterval(this.#timer);
    this.#timer = undefined;
  }

  /** To be called when other code runs there. It began between two looks, so the hold lasted about one more period. */
  #over(host: Host, { bot, heldMs, waitedMs }: Seen): void {
    const forMs = heldMs + this.#lookMs;
    if (bot === null || heldMs === 0 || forMs < this.#slowMs) return;
    // A bot is not to blame for a busy machine.
    const own = forMs - (host.waitedMs - waitedMs);
    if (own >= this.#slowMs) this.#held(host, bot, Math.round(own));
  }
}
