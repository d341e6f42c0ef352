// Runs in a bot host thread. Owns the count of what each run uses: the time in which its code runs, and its lines.
//
// The time of a run is what passes from the change to its code until the change to that of another run, without the time in which
// the loop was idle: between two callbacks nobody runs. So callbacks of one run in a row cost nothing, and a change costs two reads
// of a clock.

import { performance } from 'node:perf_hooks';
import type { UsageReport } from '../shared/contract/usage.js';
import type { ThreadTimes } from '../shared/thread-waits.js';

/** How often the host reports while code runs in it, in ms. */
const REPORT_MS = 1000;
/** How often open connections are counted meanwhile, in ms: each count looks at every handle of the thread. */
const COUNT_MS = 5000;
/** Shorter idle times count as none, in ms: to sleep and to wake takes longer. */
const SHORT_MS = 0.01;

export interface UsageParts {
  report(report: UsageReport): void;
  /** Open connections by run. */
  connections(): ReadonlyMap<number, number>;
  /** Waits of this thread for a processor; null where the system does not say. */
  times(): ThreadTimes | null;
  /** A monotonic clock, and how long the loop was idle until now, both in ms. */
  now?(): number;
  idle?(): number;
}

interface Used {
  busyMs: number;
  lines: number;
  bytes: number;
}

export class UsageMeter {
  readonly #parts: UsageParts;
  readonly #now: () => number;
  readonly #idle: () => number;
  /** Usage by run since the last report. Bounded by the runs of the host. */
  #used = new Map<number, Used>();
  /** All that the thread did since the last report, the host's own included, in ms. */
  #busyMs = 0;
  #run = 0;
  /** The use of that run; undefined for 0. */
  #current: Used | undefined;
  #since: number;
  #idleBefore: number;
  #timesBefore: ThreadTimes | null;
  #reportedAt: number;
  /** When a run used something for the first time since the last report. */
  #usedSince = 0;
  #countedAt = Number.NEGATIVE_INFINITY;
  #hadConnections = false;

  constructor(parts: UsageParts) {
    this.#parts = parts;
    const { nodeTiming } = performance;
    this.#now = parts.now ?? (() => performance.now());
    this.#idle = parts.idle ?? (() => nodeTiming.idleTime);
    this.#since = this.#now();
    this.#reportedAt = this.#since;
    this.#idleBefore = this.#idle();
    this.#timesBefore = parts.times();
  }

  /** The code of this run runs from now on; 0 for that of none. On the way of many callbacks. */
  change(run: number): void {
    this.#settle();
    this.#run = run;
    this.#current = run === 0 ? undefined : this.#usedBy(run);
  }

  /** The run has published a line. */
  wrote(run: number, bytes: number): void {
    const used = run === this.#run && this.#current ? this.#current : this.#usedBy(run);
    used.lines += 1;
    used.bytes += bytes;
  }

  /** Call it ten times a second while code runs in the thread. */
  tick(): void {
    if (this.#now() - this.#reportedAt >= REPORT_MS) this.#report(false);
  }

  /** Nothing runs in the thread any more: reports what is left. */
  end(): void {
    this.#report(true);
  }

  #usedBy(run: number): Used {
    let used = this.#used.get(run);
    if (!used) {
      used = { busyMs: 0, lines: 0, bytes: 0 };
      if (this.#used.size === 0) this.#usedSince = this.#now();
      this.#used.set(run, used);
    }
    return used;
  }

  /** Adds the time since the last change to the run whose code ran. */
  #settle(): void {
    const now = this.#now();
    let busyMs = now - this.#since;
    this.#since = now;
    if (busyMs >= SHORT_MS) {
      const idle = this.#idle();
      busyMs = Math.max(0, busyMs - (idle - this.#idleBefore));
      this.#idleBefore = idle;
    }
    this.#busyMs += busyMs;
    if (this.#current) this.#current.busyMs += busyMs;
  }

  #report(isLast: boolean): void {
    this.#settle();
    const share = this.#shareWithProcessor();
    const uses: number[] = [];
    for (const [run, { busyMs, lines, bytes }] of this.#used) {
      uses.push(run, busyMs * share, lines, bytes);
    }
    const ms = this.#since - this.#usedSince;
    this.#used = new Map();
    this.#busyMs = 0;
    this.#current = this.#run === 0 ? undefined : this.#usedBy(this.#run);
    this.#reportedAt = this.#since;
    // Without code of a bot nothing was opened, and what was closed by others is seen next time.
    if (uses.length === 0) return;
    this.#parts.report({ ms, uses, connections: this.#connections(isLast), memory: null });
  }

  /** The part of the busy time in which the thread had a processor: on a busy machine it waits for one in the middle of code. */
  #shareWithProcessor(): number {
    const times = this.#parts.times();
    const before = this.#timesBefore;
    this.#timesBefore = times;
    if (!times || !before || this.#busyMs === 0) return 1;
    const ranMs = times.ranMs - before.ranMs;
    const waitedMs = times.waitedMs - before.waitedMs;
    // A bot that blocks the thread in a call runs nothing and does not wait for a processor: it holds the thread, which counts. Where
    // the thread waited only after it was idle, the waits are not in the busy time. Each of the two is a lower bound.
    return Math.min(1, Math.max(ranMs, this.#busyMs - waitedMs) / this.#busyMs);
  }

  /** When the thread falls asleep they are always counted: the count stays until it wakes. */
  #connections(isLast: boolean): number[] | null {
    if (!isLast && this.#since - this.#countedAt < COUNT_MS) return null;
    this.#countedAt = this.#since;
    const counts = this.#parts.connections();
    if (counts.size === 0 && !this.#hadConnections) return null;
    this.#hadConnections = counts.size > 0;
    return [...counts].flat();
  }
}
