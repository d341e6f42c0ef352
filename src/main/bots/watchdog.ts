// Runs in main. Owns the watch over the heartbeats of threads: of the bot hosts, and (src/main/service/service-watch.ts) of the service's own.
// The watch over the hosts has a timer only while a host is awake. A host says so before its code runs.

/** The part of a thread that is watched. */
export interface Beating {
  /** The thread has nothing to do. */
  readonly isAsleep: boolean;
  /** Does not change while the thread's loop does not turn. */
  readonly beats: number;
  /** How long the thread has waited for a processor since its start, in ms; absent when that does not count. */
  readonly waitedMs?: number;
}

/** How often the heartbeats are checked, in ms, at most. */
const CHECK_MS = 500;
/** How much of the time in which a thread waited for a processor is forgiven, as a multiple of what it may hang. */
const MAX_WAITS = 3;

interface Seen {
  /** The last count, since when, and how much of that time was forgiven. */
  beats: number;
  since: number;
  forgiven: number;
  /** How long the thread had waited for a processor at the first check without a beat, in ms. */
  waitedMs: number | undefined;
}

export class Watchdog<Thread extends Beating> {
  readonly #threads: () => Iterable<Thread>;
  readonly #hangMs: number;
  readonly #hung: (thread: Thread, forMs: number) => void;
  readonly #seen = new WeakMap<Thread, Seen>();
  #checkedAt = 0;
  readonly #checkMs: number;
  readonly #isAlwaysOn: boolean;
  /** Threads that were reported; they are on their way out. */
  readonly #reported = new WeakSet<Thread>();
  #timer: NodeJS.Timeout | undefined;
  #isStopped = false;

  /**
   * @param hung is called once for a thread without a heartbeat for `hangMs`.
   * @param everyMs it looks so often at most, also while all are asleep.
   */
  constructor(
    threads: () => Iterable<Thread>,
    hangMs: number,
    hung: (thread: Thread, forMs: number) => void,
    everyMs?: number,
  ) {
    this.#threads = threads;
    this.#hangMs = hangMs;
    this.#hung = hung;
    this.#isAlwaysOn = everyMs !== undefined;
    this.#checkMs = Math.min(everyMs ?? CHECK_MS, hangMs / 4);
    this.watch();
  }

  /** To be called when a thread is awake. */
  watch(): void {
    if (this.#timer !== undefined || this.#isStopped) return;
    this.#checkedAt = performance.now();
    this.#timer = setInterval(() => this.#check(), this.#checkMs);
    this.#check();
  }

  /** To be called for a thread that could not be ended: it is reported again if it hangs for so long once more. */
  again(thread: Thread): void {
    this.#reported.delete(thread);
    this.#seen.delete(thread);
  }

  stop(): void {
    this.#isStopped = true;
    clearInterval(this.#timer);
  }

  #check(): void {
    const now = performance.now();
    const late = now - this.#checkedAt - this.#checkMs;
    this.#checkedAt = now;
    // When main itself was held up (the process was suspended, or had no processor) the threads may have been too: that time is
    // forgiven. One such pause is forgiven whole; of many at most hangMs, or a main that is late at each check would find nothing.
    const bound = late > this.#checkMs ? Math.max(late, this.#hangMs) : 0;
    let isAnyAwake = this.#isAlwaysOn;
    for (const thread of this.#threads()) {
      const seen = this.#seen.get(thread);
      const { beats, isAsleep } = thread;
      if (!isAsleep) isAnyAwake = true;
      if (!seen || seen.beats !== beats || isAsleep) {
        this.#seen.set(thread, { beats, since: now, forgiven: 0, waitedMs: undefined });
        continue;
      }
      const forgiven = Math.max(0, Math.min(late, bound - seen.forgiven));
      seen.forgiven += forgiven;
      seen.since = Math.min(now, seen.since + forgiven);
      seen.waitedMs ??= thread.waitedMs;
      if (this.#ownMs(thread, seen, now) < this.#hangMs || this.#reported.has(thread)) continue;
      // A debugger may have stopped the thread at a breakpoint.
      if (isDebugged()) continue;
      this.#reported.add(thread);
      this.#hung(thread, Math.round(now - seen.since));
    }
    if (isAnyAwake) return;
    clearInterval(this.#timer);
    this.#timer = undefined;
  }

  /** For how long it has hung, without the time in which it waited for a processor. */
  #ownMs(thread: Thread, { since, waitedMs }: Seen, now: number): number {
    const forMs = now - since;
    if (forMs < this.#hangMs || waitedMs === undefined) return forMs;
    const waited = Math.max(0, (thread.waitedMs ?? 0) - waitedMs);
    return forMs - Math.min(waited, MAX_WAITS * this.#hangMs);
  }
}

function isDebugged(): boolean {
  return process.getBuiltinModule('node:inspector').url() !== undefined;
}
