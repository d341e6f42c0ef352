// The range of the page of incidents: that of the address, or the part of the last day in which there were some.

import { serverNow } from '../model/time.js';
import { timeRange } from '../model/time-range.js';
import { boundsOf, rangeParameters } from '../range/range.js';
import type { Range } from './fitted-range.js';

const DAY_MS = 24 * 60 * 60 * 1000;
/** At the moment of the call, while the end is now. */
export function incidentRange(): Range {
  const now = serverNow();
  const { fromMs, toMs = now } = boundsOf(timeRange.peek(), now);
  return { after: fromMs ?? Math.max(0, toMs - DAY_MS), before: Math.max(toMs, (fromMs ?? 0) + 1) };
}

/** Whether the start is a default. */
export function isFree(): boolean {
  return timeRange.peek().from === undefined;
}

/** Changes only with the range of the address. */
export function rangeKey(): string {
  return Object.values(rangeParameters(timeRange.value)).join(' ');
}
