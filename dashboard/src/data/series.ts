// One field over time, from the journal and from what has come since.

import type { BotHistory, BotHistoryPoint } from '../../../src/client/index.js';

export type FieldValue = BotHistoryPoint['values'][string]['last'];

/** The value from then on, until the next one. */
export interface Step {
  /** Unix epoch ms. */
  at: number;
  last: FieldValue;
  min: number | null;
  max: number | null;
}

/** A value that came on the stream. */
export interface LiveValue {
  at: number;
  value: FieldValue;
}

/** @param live oldest first; what the history has too is left out. */
export function stepsOf(history: BotHistory, name: string, live: readonly LiveValue[]): Step[] {
  const { before, points, from_ms } = history;
  const steps: Step[] = [];
  const add = (at: number, values: BotHistoryPoint['values'][string] | undefined): void => {
    if (values) steps.push({ at, ...values });
  };
  if (before) add(from_ms, before.values[name]);
  for (const point of points) add(point.at_ms, point.values[name]);
  const end = points.at(-1)?.at_ms ?? from_ms;
  for (const { at, value } of live) {
    if (at <= end) continue;
    const number = typeof value === 'number' ? value : null;
    steps.push({ at, last: value, min: number, max: number });
  }
  return steps;
}

/** The steps that change the value: the history of a text. */
export function valueChanges(steps: readonly Step[]): Step[] {
  return steps.filter(({ last }, at) => at === 0 || steps[at - 1]?.last !== last);
}

/** A moment of a chart. Lowest and highest number are those since the moment before it. */
export interface Row {
  at: number;
  value: number | null;
  min: number | null;
  max: number | null;
}

/**
 * The rows of a chart. The lowest and the highest number of a part are of its time, which is at most `stepMs`; after it, and until now,
 * the value is what it was last.
 */
export function chartRows(steps: readonly Step[], stepMs: number, to: number): Row[] {
  const rows: Row[] = [];
  const stay = (at: number): void => {
    const value = rows.at(-1)?.value ?? null;
    rows.push({ at, value, min: value, max: value });
  };
  for (const { at, last, min, max } of steps) {
    const before = rows.at(-1);
    if (before && before.at < at - stepMs) stay(at - stepMs);
    rows.push({ at, value: typeof last === 'number' ? last : null, min, max });
  }
  if ((rows.at(-1)?.at ?? to) < to) stay(to);
  return rows;
}

export interface Bounds {
  min: number;
  max: number;
}

/** The lowest and the highest number; undefined when there is none. */
export function boundsOf(steps: readonly Step[]): Bounds | undefined {
  let bounds: Bounds | undefined;
  for (const { min, max } of steps) {
    if (min === null || max === null) continue;
    bounds = bounds
      ? { min: Math.min(bounds.min, min), max: Math.max(bounds.max, max) }
      : { min, max };
  }
  return bounds;
}

/**
 * The line of a sparkline as an SVG path: steps from `from` to `to` (Unix epoch ms) in a box. Where the field was missing or no number,
 * the line has a gap.
 */
export function sparkPath(
  steps: readonly Step[],
  { from, to, width, height }: { from: number; to: number; width: number; height: number },
): string {
  const bounds = boundsOf(steps);
  if (!bounds || to <= from) return '';
  const { min, max } = bounds;
  const x = (at: number): string =>
    (((Math.max(at, from) - from) / (to - from)) * width).toFixed(1);
  // One value is drawn in the middle.
  const y = (value: number): string =>
    (max === min ? height / 2 : height - ((value - min) / (max - min)) * height).toFixed(1);
  let path = '';
  let isDrawing = false;
  for (const [at, step] of steps.entries()) {
    const end = Math.min(steps[at + 1]?.at ?? to, to);
    if (typeof step.last !== 'number') {
      isDrawing = false;
      continue;
    }
    path += `${isDrawing ? 'L' : 'M'}${x(step.at)} ${y(step.last)}H${x(end)}`;
    isDrawing = true;
  }
  return path;
}
