// Runs in tabs. Owns the time range of the page, a part of the address that every view has. Without an end it is live: its right edge
// is now.

import { computed } from '@preact/signals';
import { type Bounds, boundsOf, rangeIn, rangeParameters, type TimeRange } from '../range/range.js';
import { recorded } from './event-source.js';
import { changeQuery, go, hrefIn, hrefTo, RANGE_PARAMETERS, route } from './route.js';
import { serverNow } from './time.js';

/** What is shown on each side of a moment, in ms. */
export const AROUND_MS = 5 * 60_000;

/** Changes only with the range: much else of an address changes. */
const written = computed(() => {
  const { query } = route.value;
  return RANGE_PARAMETERS.map((name) => query.get(name) ?? '').join(' ');
});
/** The range of the address. What cannot be read in it is left out. */
export const timeRange = computed<TimeRange>(() => {
  void written.value;
  const range = rangeIn(route.peek().query);
  return recorded.value ? within(range, recorded.value.range) : range;
});
/** The part of a recording that is chosen; all of it where that is none. */
function within(range: TimeRange, whole: { fromMs: number; toMs: number }): TimeRange {
  const { fromMs = whole.fromMs, toMs = whole.toMs } = boundsOf(range, whole.toMs);
  const from = { ms: Math.max(fromMs, whole.fromMs) };
  const isNone = toMs <= from.ms || fromMs >= whole.toMs;
  if (isNone) return { from: { ms: whole.fromMs }, toMs: whole.toMs, momentMs: undefined };
  return { from, toMs: Math.min(toMs, whole.toMs), momentMs: range.momentMs };
}

/** Whether its right edge is now. */
export const isLive = computed(() => timeRange.value.toMs === undefined);

/** The range of the address in times, by the service's clock: at the moment of the call, while it is live. */
export function presentBounds(): Bounds {
  return boundsOf(timeRange.value, serverNow());
}

/** Minutes on each side of a moment. */
export function rangeAround(momentMs: number): TimeRange {
  return { from: { ms: momentMs - AROUND_MS }, toMs: momentMs + AROUND_MS, momentMs };
}

/** The address of a view at a moment, for example of the log when an incident happened. */
export function hrefAt(
  view: string,
  momentMs: number,
  part = '',
  query: Record<string, string> = {},
): string {
  return hrefIn(view, part, { ...query, ...rangeParameters(rangeAround(momentMs)) });
}

/** Shows another range. The browser's way back leads to the one before. */
export function showRange(range: TimeRange): void {
  const { view, part, query } = route.peek();
  // A link to one line says where the log is, as a range does.
  go(hrefTo(view, part, { ...Object.fromEntries(query), at: '', ...rangeParameters(range) }));
}

/** Shows another moment of the range; one of a live range is fixed at its present end. */
export function showMoment(momentMs: number): void {
  const { from, toMs = serverNow() } = timeRange.peek();
  const { fromMs } = boundsOf(timeRange.peek(), serverNow());
  const range: TimeRange = {
    from: from && { ms: Math.min(fromMs ?? momentMs, momentMs) },
    toMs: Math.max(toMs, momentMs),
    momentMs,
  };
  changeQuery({ ...rangeParameters(range), at: '' });
}

/** The moment that is shown; undefined: now. */
export const shownMoment = computed(() => {
  const { momentMs, toMs } = timeRange.value;
  return momentMs ?? toMs;
});
