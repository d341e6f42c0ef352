// Runs in the bus thread. The past of one bot's fields in a cluster: the bot may have been on several nodes, each of which has a part
// of it in its journal.

import type {
  Asked,
  FieldHistory,
  FieldHistoryRequest,
  HistoryPoint,
} from '../../shared/contract/journal-messages.js';
import type { FieldHistoryQuestion } from './history-messages.js';
import { askAll, type HistoryNodes } from './history-nodes.js';

/** @throws DroverError when no node has answered. */
export async function mergedFieldHistory(
  nodes: Pick<HistoryNodes, 'of' | 'ask'>,
  { token, ...request }: Asked<FieldHistoryRequest>,
  cancelled?: AbortSignal,
): Promise<Uint8Array> {
  const question: FieldHistoryQuestion = { kind: 'field-history', request, token };
  const { afterMs } = request;
  const { answers, missing } = await askAll<FieldHistory>(
    nodes,
    null,
    afterMs,
    question,
    cancelled,
  );
  // The nodes have cut the same range into the same parts.
  const { from_ms, step_ms } = (answers[0] as (typeof answers)[number]).answer;
  const parts = new Map<number, HistoryPoint>();
  for (const point of answers.flatMap(({ answer }) => answer.points)) {
    const part = Math.floor((point.at_ms - from_ms) / step_ms);
    const known = parts.get(part);
    parts.set(part, known ? merged(known, point) : point);
  }
  const befores = answers.flatMap(({ answer }) => answer.before ?? []);
  const history: FieldHistory = {
    from_ms,
    step_ms,
    before: befores.sort(byTime).at(-1) ?? null,
    points: [...parts.values()].sort(byTime),
    missing,
  };
  return Buffer.from(JSON.stringify(history));
}

function byTime(one: HistoryPoint, other: HistoryPoint): number {
  return one.at_ms - other.at_ms;
}

/** The newer one says what was last. */
function merged(one: HistoryPoint, other: HistoryPoint): HistoryPoint {
  const [older, newer] = one.at_ms <= other.at_ms ? [one, other] : [other, one];
  const values = Object.entries(newer.values).map(([name, { last, min, max }]) => {
    const before = older.values[name];
    return [name, { last, min: least(min, before?.min), max: most(max, before?.max) }] as const;
  });
  return {
    at_ms: newer.at_ms,
    count: one.count + other.count,
    complete: one.complete && other.complete,
    values: Object.fromEntries(values),
  };
}

function least(one: number | null, other: number | null = null): number | null {
  return one === null || other === null ? (one ?? other) : Math.min(one, other);
}

function most(one: number | null, other: number | null = null): number | null {
  return one === null || other === null ? (one ?? other) : Math.max(one, other);
}
