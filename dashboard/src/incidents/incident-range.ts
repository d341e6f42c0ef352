// The range of the page of incidents: that of the address, or the last day.

import { serverNow } from '../model/time.js';
import { timeRange } from '../model/time-range.js';
import { boundsOf, rangeParameters } from '../range/range.js';

const DAY_MS = 24 * 60 * 60 * 1000;

export interface Range {
  after: number;
  before: number;
}

/** At the moment of the call, while the end is now. */
export function incidentRange(): Range {
  const now = serverNow();
  const { fromMs, toMs = now } = boundsOf(timeRange.peek(), now);
  return { after: fromMs ?? Math.max(0, toMs - DAY_MS), before: Math.max(toMs, (fromMs ?? 0) + 1) };
}

/** Changes only with the range of the address. */
export function rangeKey(): string {
  return Object.values(rangeParameters(timeRange.value)).join(' ');
}
