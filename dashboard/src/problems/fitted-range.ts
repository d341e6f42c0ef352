// The part of the last day in which there were incidents. Pure.

const MINUTE_MS = 60_000;
/** Of these the page shows the shortest that has all incidents of the last day. */
const LENGTHS_MS = [15, 30, 60, 120, 360, 720].map((minutes) => minutes * MINUTE_MS);
/** The time shown before the first incident, as a share of the time since. */
const MARGIN = 0.05;

export interface Range {
  after: number;
  before: number;
}

/** Without the empty part before the first incident. @param firstMs undefined when there is none. */
export function fitted({ after, before }: Range, firstMs: number | undefined): Range {
  const needed = firstMs === undefined ? before - after : (before - firstMs) * (1 + MARGIN);
  const length = LENGTHS_MS.find((one) => one >= needed) ?? before - after;
  return { after: Math.max(after, before - length), before };
}
