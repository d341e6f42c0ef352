import type { Progress } from './progress.js';
import type { Measurements } from './rounds.js';
import {
  exceedsNoise,
  meanOfPairs,
  median,
  type RatioSummary,
  ratioSummary,
  type Summary,
  summarize,
} from './stats.js';
import { number, type Table } from './table.js';

/** One entry of the registry (registry.ts). */
export interface Bench {
  /** The name on the command line, in guards.json and of the results file. */
  name: string;
  /** One line for --help. */
  about: string;
  /** @throws Error if a response was wrong, or a request or the server failed. */
  run(options: BenchOptions, progress: Progress): Promise<BenchResult>;
}

export interface BenchOptions {
  /** For CI: fewer and shorter rounds. */
  short: boolean;
  /** Overrides the bench's default number of rounds. */
  rounds: number | undefined;
  /** The directory `dist` of another checkout, which benches that can measure in the same rounds. */
  before: URL | undefined;
  /** Only this part, of benches that have parts; all of them if not given. */
  part: string | undefined;
}

export interface BenchResult {
  metrics: Metric[];
  tables: Table[];
  /** Every single measurement, for the results file. */
  measurements: unknown;
}

/** How often, and for how long, contenders are measured and warmed up. */
export interface TimedPlan {
  rounds: number;
  seconds: number;
  warmUpSeconds: number;
}

/** The full or the short form, with the rounds of the command line. */
export function planOf<Plan extends { rounds: number }>(
  { short: isShort, rounds }: BenchOptions,
  full: Plan,
  short: Plan,
): Plan {
  const form = isShort ? short : full;
  return { ...form, rounds: rounds ?? form.rounds };
}

/** Inclusive bounds. */
export interface Bound {
  min?: number;
  max?: number;
}

/** One number by which a bench is judged. */
export interface Metric {
  /** Unique in its bench; guards.json names it. */
  id: string;
  value: number;
  /** `x` for a ratio. */
  unit: string;
  /** If the value is a median over rounds: its spread and the ratios. */
  spread?: Summary | RatioSummary;
  /** The noise floor: the same ratio of a control to itself. */
  noise?: RatioSummary;
  /** The project's goal, for display only. Only guards.json can fail a bench. */
  target?: Bound | undefined;
}

/** The median of a series with one value per round. */
export function medianMetric(
  id: string,
  unit: string,
  values: readonly number[],
  target?: Bound,
): Metric {
  const spread = summarize(values);
  return { id, value: spread.median, unit, spread, target };
}

/** The series that a ratio is built from, each with one number per round. */
export interface RatioParts {
  id: string;
  subject: readonly number[];
  control: readonly number[];
  /** The same control measured a second time in each round. Where it is `control`'s twin, their mean is the control. */
  noise: { first: readonly number[]; again: readonly number[] };
  /** Whether more is better (frames per CPU second) or less (CPU per request). */
  better: 'more' | 'less';
  target?: Bound | undefined;
}

/** The subject compared with a control. Above 1 the subject is better, for every kind of measurement. */
export function ratioMetric(parts: RatioParts): Metric {
  const { subject, noise } = parts;
  const control =
    parts.control === noise.first ? meanOfPairs(noise.first, noise.again) : parts.control;
  const ratio =
    parts.better === 'more' ? ratioSummary(subject, control) : ratioSummary(control, subject);
  return {
    id: parts.id,
    value: ratio.median,
    unit: 'x',
    spread: ratio,
    noise: ratioSummary(noise.first, noise.again),
    target: parts.target,
  };
}

/**
 * Subject ÷ control, for costs and latencies with such a target. Below 1 the subject is better.
 */
export function factorMetric(parts: Omit<RatioParts, 'better'>): Metric {
  return ratioMetric({ ...parts, better: 'more' });
}

export function meets(value: number, bound: Bound): boolean {
  return (
    value >= (bound.min ?? Number.NEGATIVE_INFINITY) &&
    value <= (bound.max ?? Number.POSITIVE_INFINITY)
  );
}

/** `≥ 0.9`, `≤ 5`, or both. */
export function describeBound(bound: Bound): string {
  const parts: string[] = [];
  if (bound.min !== undefined) parts.push(`≥ ${number(bound.min)}`);
  if (bound.max !== undefined) parts.push(`≤ ${number(bound.max)}`);
  return parts.join(', ');
}

/** The main table: each metric with its spread, noise floor and target. */
export function metricTable(
  title: string,
  metrics: readonly Metric[],
  notes: string[] = [],
): Table {
  return {
    title,
    header: ['metric', 'median', 'lowest', 'highest', 'noise floor', 'must reach', ''],
    rows: metrics.map((metric) => [
      metric.id,
      `${number(metric.value)} ${metric.unit}`,
      metric.spread ? number(metric.spread.min) : '',
      metric.spread ? number(metric.spread.max) : '',
      metric.noise ? describeNoise(metric.noise) : '',
      metric.target ? describeBound(metric.target) : '',
      verdict(metric),
    ]),
    notes,
  };
}

/** A heading, and the cell below it for all measurements of a contender. */
export type Column<Measurement> = readonly [
  heading: string,
  cell: (all: readonly Measurement[]) => string,
];

/** The median of one number of each measurement; empty for a contender that has none. */
export function medianOf<Measurement>(
  pick: (one: Measurement) => number | undefined,
  format: (value: number) => string = number,
): (all: readonly Measurement[]) => string {
  return (all) => {
    const values = all.map(pick).filter((value) => value !== undefined);
    return values.length === 0 ? '' : format(median(values));
  };
}

/** In how many of the rounds something was so. */
export function shareOf<Measurement>(
  isSo: (one: Measurement) => boolean,
): (all: readonly Measurement[]) => string {
  return (all) => `${all.filter(isSo).length} of ${all.length}`;
}

/** One row per contender. */
export function contenderTable<Measurement>(
  title: string,
  measured: Measurements<Measurement>,
  columns: readonly Column<Measurement>[],
  notes: readonly string[] = [],
): Table {
  return {
    title,
    header: ['medians', ...columns.map(([heading]) => heading)],
    rows: [...measured].map(([name, all]) => [name, ...columns.map(([, cell]) => cell(all))]),
    notes,
  };
}

function describeNoise({ median: middle, min, max }: Summary): string {
  return `${number(middle)} (${number(min)} to ${number(max)})`;
}

function verdict(metric: Metric): string {
  if (metric.target !== undefined) return meets(metric.value, metric.target) ? 'reached' : 'missed';
  if (metric.spread === undefined || metric.noise === undefined) return '';
  return exceedsNoise(metric.spread, metric.noise) ? '' : 'no difference';
}
