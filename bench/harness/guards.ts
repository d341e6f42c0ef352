// Compares metrics with guards.json.

import { type Bound, describeBound, type Metric, meets } from './bench.js';
import { number } from './table.js';

/** guards.json: bounds by bench and metric. */
export type Guards = Record<string, Record<string, Bound>>;

/** One line per metric outside of its bounds; empty if all are within. */
export function brokenGuards(bench: string, metrics: readonly Metric[], guards: Guards): string[] {
  const measured = new Map(metrics.map((metric) => [metric.id, metric]));
  const broken: string[] = [];
  for (const [id, bound] of Object.entries(guards[bench] ?? {})) {
    const metric = measured.get(id);
    // A guard without a metric is an error, so that a renamed metric is noticed.
    if (metric === undefined) broken.push(`${bench}: ${id} has a guard but was not measured`);
    else if (!meets(metric.value, bound)) {
      broken.push(
        `${bench}: ${id} is ${number(metric.value)} ${metric.unit}, its guard is ${describeBound(bound)}`,
      );
    }
  }
  return broken;
}

/** Reads guards.json. @throws Error that names the invalid entry. */
export function parseGuards(text: string): Guards {
  const parsed: unknown = JSON.parse(text);
  const guards: Guards = {};
  for (const [bench, metrics] of entries(parsed, 'guards.json')) {
    const bounds: Record<string, Bound> = {};
    for (const [id, bound] of entries(metrics, bench))
      bounds[id] = parseBound(bound, `${bench}: ${id}`);
    guards[bench] = bounds;
  }
  return guards;
}

function parseBound(value: unknown, where: string): Bound {
  const bound: Bound = {};
  for (const [side, limit] of entries(value, where)) {
    if ((side !== 'min' && side !== 'max') || typeof limit !== 'number') {
      throw new Error(`guards.json: ${where} must have a number "min", a number "max" or both`);
    }
    bound[side] = limit;
  }
  if (bound.min === undefined && bound.max === undefined) {
    throw new Error(`guards.json: ${where} has neither "min" nor "max"`);
  }
  return bound;
}

function entries(value: unknown, where: string): [string, unknown][] {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw new Error(`guards.json: ${where} must be an object`);
  }
  return Object.entries(value);
}
