/** Buckets of 10 µs up to 100 ms, then of 1 ms up to 20 s; longer latencies count in the last one. */
const FINE_US = 10;
const FINE_BUCKETS = 10_000;
const COARSE_US = 1_000;
const COARSE_BUCKETS = 19_900;
const FINE_LIMIT_US = FINE_US * FINE_BUCKETS;

/** A latency histogram in fixed memory, cheap enough to count every response. Autocannon's own has buckets of 1 ms, too wide for
 * loopback. */
export class LatencyHistogram {
  readonly #buckets = new Uint32Array(FINE_BUCKETS + COARSE_BUCKETS);
  #count = 0;
  #maxMs = 0;

  get count(): number {
    return this.#count;
  }

  get maxMs(): number {
    return this.#maxMs;
  }

  record(ms: number): void {
    const us = ms * 1_000;
    const bucket =
      us < FINE_LIMIT_US
        ? Math.max(0, Math.floor(us / FINE_US))
        : Math.min(
            FINE_BUCKETS + Math.floor((us - FINE_LIMIT_US) / COARSE_US),
            this.#buckets.length - 1,
          );
    this.#buckets[bucket] = (this.#buckets[bucket] ?? 0) + 1;
    this.#count++;
    if (ms > this.#maxMs) this.#maxMs = ms;
  }

  /** Clears the histogram. */
  reset(): void {
    this.#buckets.fill(0);
    this.#count = 0;
    this.#maxMs = 0;
  }

  /** The non-empty buckets and their counts, to send to another process. */
  pairs(): [bucket: number, count: number][] {
    const pairs: [number, number][] = [];
    this.#buckets.forEach((count, bucket) => {
      if (count > 0) pairs.push([bucket, count]);
    });
    return pairs;
  }

  /** Adds the counts of another histogram. */
  add(pairs: readonly (readonly [bucket: number, count: number])[], maxMs: number): void {
    for (const [bucket, count] of pairs) {
      this.#buckets[bucket] = (this.#buckets[bucket] ?? 0) + count;
      this.#count += count;
    }
    this.#maxMs = Math.max(this.#maxMs, maxMs);
  }

  /** The percentile in ms (upper edge of its bucket); NaN if empty. */
  percentileMs(percent: number): number {
    if (this.#count === 0) return Number.NaN;
    const rank = Math.max(1, Math.ceil((percent / 100) * this.#count));
    let seen = 0;
    for (let bucket = 0; bucket < this.#buckets.length - 1; bucket++) {
      seen += this.#buckets[bucket] ?? 0;
      if (seen >= rank) return Math.min(upperEdgeMs(bucket), this.#maxMs);
    }
    return this.#maxMs;
  }
}

function upperEdgeMs(bucket: number): number {
  const us =
    bucket < FINE_BUCKETS
      ? (bucket + 1) * FINE_US
      : FINE_LIMIT_US + (bucket - FINE_BUCKETS + 1) * COARSE_US;
  return us / 1_000;
}
