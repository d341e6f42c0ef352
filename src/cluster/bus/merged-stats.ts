// Runs in the bus thread. The statistics of `GET /api/stats` in a cluster: the sum of those of the nodes.

import {
  type Asked,
  JOURNAL_OFF,
  type JournalStatus,
  type MissingNode,
  type StatsAnswer,
  type StatsRequest,
} from '../../shared/contract/journal-messages.js';
import { nodesOfKey } from '../../shared/stream/filter.js';
import { largestScopes } from '../../shared/stream/scope-counts.js';
import type { CountsQuestion, StatsQuestion } from './history-messages.js';
import { askAll, type HistoryNodes } from './history-nodes.js';

/** Default range, in ms, as a single journal has it (src/journal/stats.ts). */
const RANGE_MS = 3_600_000;
type Bucket = StatsAnswer['buckets'][number];
type NodeStats = StatsAnswer & { journal: JournalStatus };

/** @param self this node: its journal's state is the one in the answer. @throws DroverError when no node has answered. */
export async function mergedStats(
  nodes: Pick<HistoryNodes, 'of' | 'ask'>,
  self: string,
  { token, ...request }: Asked<StatsRequest>,
  cancelled?: AbortSignal,
): Promise<Uint8Array> {
  // The same range for each of them.
  const before = request.before ?? Date.now();
  const after = request.after ?? before - RANGE_MS;
  const { search } = request;
  const { nodes: wanted, key } =
    typeof search?.filter === 'string' ? nodesOfKey(search.filter) : { nodes: null, key: null };
  const question: StatsQuestion | CountsQuestion = {
    kind: search ? 'counts' : 'stats',
    request: {
      ...request,
      after,
      before,
      ...(search ? { search: { ...search, filter: key } } : {}),
    },
    token,
  };
  const { answers, missing } = await askAll<NodeStats>(nodes, wanted, after, question, cancelled);
  const own = answers.find(({ node }) => node === self)?.answer;
  const all = answers.map(({ answer }) => answer);
  // All nodes have counted from there on.
  const from = Math.max(...all.map(({ counted_from_ms: ms }) => ms ?? Number.NEGATIVE_INFINITY));
  const buckets = sum(all.flatMap((answer) => answer.buckets)).filter(({ at_ms }) => at_ms >= from);
  const merged: NodeStats & { missing: MissingNode[] } = {
    step_s: all[0]?.step_s ?? 0,
    buckets,
    ...(search ? { counted_from_ms: Number.isFinite(from) ? from : null } : {}),
    journal: own?.journal ?? JOURNAL_OFF,
    missing,
  };
  return Buffer.from(JSON.stringify(merged));
}

function sum(buckets: readonly Bucket[]): Bucket[] {
  const sums = new Map<number, Bucket>();
  for (const bucket of buckets) {
    const { at_ms } = bucket;
    const before = sums.get(at_ms);
    sums.set(at_ms, before ? added(before, bucket) : bucket);
  }
  return [...sums.values()]
    .sort((one, other) => one.at_ms - other.at_ms)
    .map((bucket) => ({ ...bucket, scopes: largestScopes(bucket.scopes) }));
}

function added(one: Bucket, other: Bucket): Bucket {
  return {
    at_ms: one.at_ms,
    events: one.events + other.events,
    per_second: Math.round((one.per_second + other.per_second) * 1000) / 1000,
    levels: addedCounts(one.levels, other.levels),
    other: one.other + other.other,
    scopes: addedCounts(one.scopes, other.scopes),
  };
}

function addedCounts(
  one: Record<string, number>,
  other: Record<string, number>,
): Record<string, number> {
  const counts = { ...one };
  for (const [name, count] of Object.entries(other)) counts[name] = (counts[name] ?? 0) + count;
  return counts;
}
