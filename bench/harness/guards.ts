// Runs in the bench process. Owns the comparison of figures with guards.json, which is all that can fail CI here.

import { type Bound, describeBound, type Figure, meets } from './bench.js';
import { number } from './table.js';

/** guards.json: by bench, by figure, the bound that it must stay within. */
export type Guards = Record<string, Record<string, Bound>>;

/** What is wrong with one bench's figures, a line each; empty when all guarded figures are within their bounds. */
export function brokenGuards(bench: string, figures: readonly Figure[], guards: Guards): string[] {
  const measured = new Map(figures.map((figure) => [figure.id, figure]));
  const broken: string[] = [];
  for (const [id, bound] of Object.entries(guards[bench] ?? {})) {
    const figure = measured.get(id);
    // A guard that nothing feeds guards nothing: a renamed figure must not pass unseen.
    if (figure === undefined) broken.push(`${bench}: ${id} has a guard but was not measured`);
    else if (!meets(figure.value, bound)) {
      broken.push(
        `${bench}: ${id} is ${number(figure.value)} ${figure.unit}, its guard is ${describeBound(bound)}`,
      );
    }
  }
  return broken;
}

/** Reads guards.json. @throws Error that names the entry which is not a bound. */
export function parseGuards(text: string): Guards {
  const parsed: unknown = JSON.parse(text);
  const guards: Guards = {};
  for (const [bench, figures] of entries(parsed, 'guards.json')) {
    const bounds: Record<string, Bound> = {};
    for (const [id, bound] of entries(figures, bench))
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
