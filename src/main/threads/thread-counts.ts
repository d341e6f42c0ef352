// Runs in main. Owns the allocation of counter blocks and loop histograms to threads. Each thread writes its own.

import type { ActivityTimer } from '../../shared/activity-timer.js';
import { blockCells, FRONT_CELLS } from '../../shared/contract/metric-layout.js';
import type { SlowTurn } from '../../shared/contract/slow-turn.js';
import type { Counts } from '../../shared/contract/threads.js';
import { watchLag } from '../../shared/lag-watch.js';
import { createCounters, type SharedCounters, setCell } from '../../shared/memory/counters.js';
import { createLags, type SharedLag } from '../../shared/memory/loop-lag.js';
import { watchMessages } from './main-activity.js';

/** The event loops before those of the fronts. */
const FIRST = ['main', 'broadcaster'];
/** The bus thread of a cluster. */
const BUS = 'cluster-bus';
/** Room for routes; src/shared/contract/routes/table.ts has fewer. */
const MAX_ROUTES = 96;

export class ThreadCounts {
  /** Names of the measured threads, in the order of their histograms. */
  readonly loops: readonly string[];
  readonly lags: SharedArrayBuffer;
  readonly #counters: SharedCounters;
  readonly #fronts: number;
  readonly #hosts: number;
  #watch: ActivityTimer | undefined;

  /** @param hosts how many shared hosts there may be. All reserved hosts share one histogram. @param hasBus whether there is a bus thread. */
  constructor(fronts: number, hosts: number, hasBus = false) {
    this.#fronts = fronts;
    this.#hosts = hosts;
    const numbered = (name: string, count: number): string[] =>
      Array.from({ length: count }, (_, number) => `${name}-${number}`);
    this.loops = [
      ...FIRST,
      ...numbered('front', fronts),
      ...numbered('host', hosts),
      'dedicated',
      'journal',
      'rules',
      ...(hasBus ? [BUS] : []),
    ];
    this.lags = createLags(this.loops.length);
    this.#counters = createCounters(fronts + 1, blockCells(MAX_ROUTES));
  }

  /** The names of the threads that were started, in the order of their histograms; null for others. @param hosts how many shared hosts were started. */
  started(hosts: number): (string | null)[] {
    const first = FIRST.length + this.#fronts;
    return this.loops.map((name, at) =>
      at >= first + hosts && at < first + this.#hosts ? null : name,
    );
  }

  /** Measures main's loop from now on, while it works. @param slow is called when it was blocked. */
  start(slow: (turn: SlowTurn) => void): void {
    const watch = watchLag(this.#lag(0), { slow });
    this.#watch = watch;
    watchMessages(() => watch.note());
  }

  stop(): void {
    this.#watch?.stop();
  }

  get broadcaster(): Counts {
    return { counters: this.#counters, block: this.#fronts, lag: this.#lag(1) };
  }

  front(number: number): Counts {
    const lag = this.#lag(FIRST.length + number);
    return { counters: this.#counters, block: number, lag };
  }

  /** Resets the gauges of a front that has exited. Its counters stay. */
  frontGone(number: number): void {
    setCell(this.#counters, number, FRONT_CELLS.blocked, 0);
  }

  host(number: number): SharedLag {
    return this.#lag(FIRST.length + this.#fronts + Math.min(number, this.#hosts));
  }

  get journal(): SharedLag {
    return this.#lag(this.loops.indexOf('journal'));
  }

  get rules(): SharedLag {
    return this.#lag(this.loops.indexOf('rules'));
  }

  get bus(): SharedLag {
    return this.#lag(this.loops.indexOf(BUS));
  }

  #lag(block: number): SharedLag {
    return { buffer: this.lags, block };
  }
}
