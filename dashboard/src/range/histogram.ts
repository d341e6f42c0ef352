// Runs in tabs. Owns the counts of one histogram: of a query, in bars of equal length. A count that takes long arrives in parts, the
// newest first.

import { signal } from '@preact/signals';
import type { Counted } from '../model/event-source.js';

export const SEVERITIES = ['error', 'warn', 'state', 'info'] as const;
export type Severity = (typeof SEVERITIES)[number];
export type Counts = Readonly<Record<Severity, number>>;

/** A range whose ends are multiples of the step, in s. */
export interface Bars {
  fromS: number;
  toS: number;
  stepS: number;
}

/** Asks the source of events. Times in ms. */
export type AskStats = (
  where: { after: number; before: number; step: number },
  signal: AbortSignal,
) => Promise<Counted>;

/** Bound of the answers that one count takes: beyond it the oldest bars stay empty, and it says so. */
const MAX_ANSWERS = 40;

export class Histogram {
  readonly version = signal(0);
  /** Bars from here on are counted, in s; undefined before the first answer. */
  countedFromS: number | undefined;
  error: Error | undefined;
  #bars: Bars | undefined;
  readonly #counts = new Map<number, Counts>();
  readonly #ask: AskStats;
  #abort = new AbortController();

  constructor(ask: AskStats) {
    this.#ask = ask;
  }

  get bars(): Bars | undefined {
    return this.#bars;
  }

  /** Whether older bars are still to come. */
  get isCounting(): boolean {
    const { bars, error } = this;
    return (
      bars !== undefined && error === undefined && (this.countedFromS ?? bars.toS) > bars.fromS
    );
  }

  /** The counts of the bar that begins then, in s. */
  at(second: number): Counts | undefined {
    return this.#counts.get(second);
  }

  close(): void {
    this.#abort.abort();
  }

  /** Shows these bars. Those that were counted are kept, except for the last one, which may have been growing. */
  async show(bars: Bars, nowMs: number): Promise<void> {
    const before = this.#bars;
    this.#abort.abort();
    this.#abort = new AbortController();
    const { signal } = this.#abort;
    const isSameStep = before?.stepS === bars.stepS;
    const isCounted = isSameStep && !this.isCounting && this.error === undefined;
    const isKept = isCounted && before !== undefined && bars.fromS >= before.fromS;
    if (!isKept) {
      this.#counts.clear();
      this.countedFromS = undefined;
    }
    for (const second of this.#counts.keys()) if (second < bars.fromS) this.#counts.delete(second);
    this.#bars = bars;
    this.error = undefined;
    // What was the last second may have got more since; of a range that is over nothing does.
    const newS = isKept
      ? Math.max(bars.fromS, Math.min(before.toS, bars.toS) - bars.stepS)
      : bars.fromS;
    this.#changed();
    try {
      await this.#count(newS, Math.min(bars.toS * 1000, nowMs), bars, signal);
    } catch (thrown) {
      if (signal.aborted) return;
      this.error = thrown as Error;
      this.#changed();
    }
  }

  async #count(
    newS: number,
    endMs: number,
    { fromS, stepS }: Bars,
    signal: AbortSignal,
  ): Promise<void> {
    let before = endMs;
    const after = newS * 1000;
    for (let answers = 0; answers < MAX_ANSWERS && before > after; answers++) {
      const stats = await this.#ask({ after, before, step: stepS }, signal);
      if (signal.aborted) return;
      for (const { at_ms, levels } of stats.buckets) {
        const of = (name: string): number => levels[name] ?? 0;
        this.#counts.set(at_ms / 1000, {
          error: of('error'),
          warn: of('warn'),
          state: of('state'),
          info: of('info'),
        });
      }
      const from = stats.counted_from_ms ?? null;
      before = from ?? after;
      // Everything that was counted before is older.
      this.countedFromS = before <= after ? fromS : before / 1000;
      this.#changed();
    }
  }

  #changed(): void {
    this.version.value = this.version.peek() + 1;
  }
}
