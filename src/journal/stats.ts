// Runs in the journal thread. Owns the counts of events that are not written yet: in buckets of 10 s, by level and by scope.

import { LEVELS } from '../shared/contract/event-kinds.js';
import type {
  JournalStatus,
  StatsAnswer,
  StatsRequest,
} from '../shared/contract/journal-messages.js';
import { DroverError } from '../shared/errors.js';
import { largestScopes, OTHER_SCOPES } from '../shared/stream/scope-counts.js';
import { type Readable, Slices } from './slices.js';
import type { BucketCounts, State, Tables } from './tables.js';

/** Length of a bucket, in s. */
export const BUCKET_S = 10;
/** Scopes that are counted by name in one bucket; the rest share one count. */
const MAX_SCOPES = 200;
/** Most points of one answer, and the target when no step is given. */
const MAX_POINTS = 1000;
const POINTS = 300;
/** Most buckets that are removed in one transaction. */
const PRUNE_STEP = 20;
/** Buckets that are read at once. */
const READ_STEP = 50;

export class Stats {
  /** Buckets with counts that are not in the table yet. */
  readonly #fresh = new Map<number, BucketCounts>();
  #start = 0;
  #end = 0;
  #bucket: BucketCounts | undefined;

  /** Counts one frame. `level` is LEVELS.length for frames without one. */
  count(time: number, level: number, scope: string | undefined): void {
    if (time < this.#start || time >= this.#end || !this.#bucket) this.#turn(time);
    const { levels, scopes } = this.#bucket as BucketCounts;
    levels[level] = (levels[level] ?? 0) + 1;
    if (scope !== undefined) scopes[scope] = (scopes[scope] ?? 0) + 1;
  }

  /** Adds the counts to the table. In a transaction; call {@link written} after its commit. */
  write({ stats }: Tables, state: State): void {
    for (const [second, fresh] of this.#fresh) {
      const before = stats.get(second);
      const sum = new Sum();
      if (before) sum.add(before);
      sum.add(fresh);
      const { counts } = sum;
      stats.putSync(second, counts);
      state.stats += sizeOf(counts) - sizeOf(before);
    }
  }

  written(): void {
    this.#fresh.clear();
    this.#bucket = undefined;
  }

  /** Removes some of the buckets that ended before `time`, or exceed `maxBytes`. In a transaction. */
  prune({ stats }: Tables, state: State, time: number, maxBytes: number): void {
    const end = Math.floor(time / 1000) - BUCKET_S;
    for (const second of [...stats.getKeys({ limit: PRUNE_STEP })]) {
      if (second >= end && state.stats <= maxBytes) break;
      state.stats -= sizeOf(stats.get(second));
      stats.removeSync(second);
    }
  }

  #turn(time: number): void {
    const second = Math.floor(time / 1000 / BUCKET_S) * BUCKET_S;
    this.#start = second * 1000;
    this.#end = this.#start + BUCKET_S * 1000;
    this.#bucket = this.#fresh.get(second) ?? { levels: [], scopes: Object.create(null) };
    this.#fresh.set(second, this.#bucket as BucketCounts);
  }
}

/**
 * The statistics of a range of time as JSON: a {@link StatsAnswer} and the state of the journal. Yields to other work.
 * @throws DroverError `bad_request`.
 */
export async function readStats(
  parts: Readable & { tables: Tables },
  request: StatsRequest,
  journal: () => JournalStatus,
): Promise<string> {
  const { after, before, width } = pointsOf(request, BUCKET_S);
  // The range may cover a part of the first and the last point only; buckets are counted whole.
  const from = Math.floor(after / 1000 / BUCKET_S) * BUCKET_S;
  const to = Math.min(Math.ceil(before / 1000 / BUCKET_S) * BUCKET_S, Date.now() / 1000);
  const points = new Map<number, Sum>();
  const slices = new Slices(parts);
  const end = Math.ceil(before / 1000);
  let start = from;
  for (let count = READ_STEP; count === READ_STEP; ) {
    count = 0;
    // Reads in steps, because a cursor that stays open across a yield keeps LMDB from reusing old pages.
    for (const { key, value } of parts.tables.stats.getRange({ start, end, limit: READ_STEP })) {
      const at = Math.floor(key / width) * width;
      const point = points.get(at) ?? new Sum();
      points.set(at, point);
      point.add(value);
      start = key + 1;
      count += 1;
    }
    if (slices.isOver) await slices.turn();
  }
  const buckets: string[] = [];
  for (const [second, sum] of points) {
    const covered = Math.min(second + width, to) - Math.max(second, from);
    buckets.push(JSON.stringify(sum.point(second, Math.max(covered, 1))));
    if (slices.isOver) await slices.turn();
  }
  return `{"step_s":${width},"buckets":[${buckets.join(',')}],"journal":${JSON.stringify(journal())}}`;
}

/**
 * The range of a request in Unix epoch ms, and the length of a point in s. @param least its shortest length.
 * @throws DroverError `bad_request`.
 */
export function pointsOf(
  request: Pick<StatsRequest, 'after' | 'before' | 'stepS'>,
  least: number,
): { after: number; before: number; width: number } {
  const before = request.before ?? Date.now();
  const after = request.after ?? before - 3_600_000;
  const range = Math.max(0, before - after) / 1000;
  const step = request.stepS ?? Math.ceil(range / POINTS / least) * least;
  if (range / Math.max(step, 1) > MAX_POINTS) {
    throw new DroverError('bad_request', `more than ${MAX_POINTS} points; take a larger step`);
  }
  return { after, before, width: Math.max(step, least) };
}

/** Counts of one or more buckets. */
export class Sum {
  readonly #levels: number[] = new Array(LEVELS.length + 1).fill(0);
  readonly #scopes = new Map<string, number>();

  add({ levels, scopes }: BucketCounts): void {
    for (const [code, count] of levels.entries()) {
      this.#levels[code] = (this.#levels[code] as number) + (count ?? 0);
    }
    for (const [scope, count] of Object.entries(scopes)) {
      const name = this.#scopes.has(scope) || this.#scopes.size < MAX_SCOPES ? scope : OTHER_SCOPES;
      this.#scopes.set(name, (this.#scopes.get(name) ?? 0) + count);
    }
  }

  /** Counts one event. @param level LEVELS.length for one without a level. */
  count(level: number): void {
    this.#levels[level] = (this.#levels[level] ?? 0) + 1;
  }

  get counts(): BucketCounts {
    return { levels: this.#levels, scopes: Object.fromEntries(this.#scopes) };
  }

  /** @param covered seconds of it that the range covers. */
  point(second: number, covered: number): StatsAnswer['buckets'][number] {
    const events = this.#levels.reduce((total, count) => total + count, 0);
    return {
      at_ms: second * 1000,
      events,
      per_second: Math.round((events / covered) * 1000) / 1000,
      levels: Object.fromEntries(LEVELS.map((level, code) => [level, this.#levels[code] ?? 0])),
      other: this.#levels[LEVELS.length] ?? 0,
      scopes: largestScopes(Object.fromEntries(this.#scopes)),
    };
  }
}

/** Approximate bytes of a bucket. */
function sizeOf(counts: BucketCounts | undefined): number {
  if (!counts) return 0;
  return Object.keys(counts.scopes).reduce((size, name) => size + name.length + 8, 64);
}
