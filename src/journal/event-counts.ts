// The statistics of events that match a query: `GET /api/stats?query=`. They are counted one by one, the newest first.

import { LEVELS } from '../shared/contract/event-kinds.js';
import type { JournalStatus, StatsRequest } from '../shared/contract/journal-messages.js';
import type { Filter } from '../shared/stream/filter.js';
import { KIND_CODE } from '../shared/stream/frame.js';
import type { Block } from './block.js';
import {
  candidates,
  Found,
  limits,
  type QueryParts,
  type Search,
  type Wanted,
} from './event-search.js';
import { Slices } from './slices.js';
import { pointsOf, Sum } from './stats.js';

/** Longest count for one answer, in ms: then the answer says how far it came. */
const COUNT_MS = 1500;
/** Longest count while not even one point is complete, in ms. */
const MAX_COUNT_MS = 5000;

/**
 * The counts of a range as JSON: a {@link StatsAnswer} and the state of the journal. Yields to other work.
 * @throws DroverError `bad_request`.
 */
export async function readCounts(
  parts: QueryParts,
  request: StatsRequest,
  filter: Filter | null,
  journal: () => JournalStatus,
): Promise<string> {
  const { after, before, width } = pointsOf(request, 1);
  const wanted: Wanted = {
    order: 'newest',
    afterSeq: null,
    beforeSeq: null,
    afterMs: after,
    beforeMs: before,
  };
  const search = limits(parts, wanted, filter);
  const found = new Counted(search, width);
  const countedFrom = await count(parts, search, found);
  const now = Date.now() / 1000;
  const end = Math.min(before / 1000, now);
  const buckets = [...found.points]
    .filter(([second]) => countedFrom === null || second >= countedFrom)
    .sort(([one], [other]) => one - other)
    .map(([second, sum]) => {
      const covered = Math.min(second + width, end) - Math.max(second, after / 1000);
      return sum.point(second, Math.max(covered, 1));
    });
  const countedFromMs = countedFrom === null ? null : countedFrom * 1000;
  return JSON.stringify({
    step_s: width,
    buckets,
    counted_from_ms: countedFromMs,
    journal: journal(),
  });
}

/** @returns the first second from which on everything is counted; null when all is. */
async function count(parts: QueryParts, search: Search, found: Counted): Promise<number | null> {
  if (search.first >= search.end) return null;
  const began = performance.now();
  const slices = new Slices(parts);
  for (const done of candidates(parts, search, found)) {
    const ms = performance.now() - began;
    if (ms > COUNT_MS && done > search.first) {
      const from = found.completeFrom(parts.reader.headUpTo(done)?.clock ?? 0);
      if (from < found.end) return from;
      // Counts the incomplete point as far as it was read, so that every answer makes progress.
      if (ms > MAX_COUNT_MS) return found.end - found.width;
    }
    if (slices.isOver) await slices.turn();
  }
  return null;
}

class Counted extends Found {
  /** Points by their first second. */
  readonly points = new Map<number, Sum>();
  readonly width: number;
  /** The end of the last point, in s. */
  readonly end: number;

  constructor(search: Search, width: number) {
    super(search);
    this.width = width;
    this.end = Math.ceil((search.request.beforeMs ?? 0) / 1000 / width) * width;
  }

  take(block: Block, seq: number): boolean {
    if (!this.matches(block, seq)) return false;
    const kind = block.kind(seq);
    const isBroken = block.hasBroken && block.isBroken(seq);
    const second = Math.floor(block.time(seq) / 1000 / this.width) * this.width;
    let point = this.points.get(second);
    if (!point) {
      point = new Sum();
      this.points.set(second, point);
    }
    const isLine = kind === KIND_CODE.log && !isBroken;
    point.count(isLine ? block.level(seq) : LEVELS.length);
    return false;
  }

  /** The first point that no frame is in whose time is up to this, in s. */
  completeFrom(clockMs: number): number {
    return (Math.floor(clockMs / 1000 / this.width) + 1) * this.width;
  }
}
