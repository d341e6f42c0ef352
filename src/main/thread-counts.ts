// Runs in main. Owns which thread counts where: the blocks of counters, and the histograms of the threads' loops.

import { blockCells, FRONT } from '../shared/contract/metric-layout.js';
import type { Counts } from '../shared/contract/threads.js';
import { createCounters, type SharedCounters, setCell } from '../shared/memory/counters.js';
import { createLags, LoopLag, type SharedLag } from '../shared/memory/loop-lag.js';

/** Loops before those of the fronts: main's and the broadcaster's. */
const FIRST = ['main', 'broadcaster'];
/** Routes that there is room for; src/front/route-table.ts has fewer. */
const MAX_ROUTES = 64;

export class ThreadCounts {
  /** Names of the threads whose loops are measured, in the order of their histograms. */
  readonly loops: readonly string[];
  readonly lags: SharedArrayBuffer;
  readonly #counters: SharedCounters;
  readonly #fronts: number;
  readonly #hosts: number;
  #end = (): void => {};

  /** @param hosts is how many are shared; those of dedicated bots have one histogram together. */
  constructor(fronts: number, hosts: number) {
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
    ];
    this.lags = createLags(this.loops.length);
    this.#counters = createCounters(fronts + 1, blockCells(MAX_ROUTES));
  }

  /** Measures main's own loop from now on. */
  start(): void {
    this.#end = new LoopLag(this.#lag(0)).watch();
  }

  stop(): void {
    this.#end();
  }

  get broadcaster(): Counts {
    return { counters: this.#counters, block: this.#fronts, lag: this.#lag(1) };
  }

  front(number: number): Counts {
    const lag = this.#lag(FIRST.length + number);
    return { counters: this.#counters, block: number, lag };
  }

  /** A front has died: what is open is not open there any more. Its counts stay. */
  frontGone(number: number): void {
    setCell(this.#counters, number, FRONT.blocked, 0);
  }

  host(number: number): SharedLag {
    return this.#lag(FIRST.length + this.#fronts + Math.min(number, this.#hosts));
  }

  get journal(): SharedLag {
    return this.#lag(this.loops.indexOf('journal'));
  }

  #lag(block: number): SharedLag {
    return { buffer: this.lags, block };
  }
}
