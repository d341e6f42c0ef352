import type { Progress } from './progress.js';
import {
  exceedsNoise,
  meanOfPairs,
  type RatioSummary,
  ratioSummary,
  type Summary,
} from './stats.js';
import { number, type Table } from './table.js';

/** One entry of the registry (registry.ts). */
export interface Bench {
  /** As on the command line, in guards.json and in the name of the results file. */
  name: string;
  /** One line for --help. */
  about: string;
  /** @throws Error when what was measured is not right: a wrong answer, an error under load, a dead server. */
  run(options: BenchOptions, progress: Progress): Promise<BenchResult>;
}

export interface BenchOptions {
  /** The form for CI: fewer and shorter rounds. */
  short: boolean;
  /** Overrides the bench's own number of rounds. */
  rounds: number | undefined;
}

export interface BenchResult {
  figures: Figure[];
  tables: Table[];
  /** Every single measurement, for the results file. */
  measurements: unknown;
}

/** Lowest and highest value that is good enough. */
export interface Bound {
  min?: number;
  max?: number;
}

/** One number by which a bench is judged. */
export interface Figure {
  /** Unique in its bench; guards.json names it. */
  id: string;
  value: number;
  /** `x` for a ratio. */
  unit: string;
  /** Where the value is a median over rounds: its spread, and the ratios behind it. */
  spread?: Summary | RatioSummary;
  /** What the same ratio gives when a control is compared with itself. */
  noise?: RatioSummary;
  /** What the project wants to reach. Shown; only guards.json makes a bench fail. */
  target?: Bound;
}

/** The series that a ratio is built from, each with one number per round. */
export interface RatioParts {
  id: string;
  subject: readonly number[];
  control: readonly number[];
  /** The same control measured a second time in each round. Where it is `control`'s twin, their mean is the control. */
  noise: { first: readonly number[]; again: readonly number[] };
  /** Of what was measured, more is better (frames per CPU second) or less is (CPU per request). */
  better: 'more' | 'less';
  target?: Bound;
}

/** The subject compared with a control. Above 1 the subject is better, for every kind of measurement. */
export function ratioFigure(parts: RatioParts): Figure {
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
    ...(parts.target === undefined ? {} : { target: parts.target }),
  };
}

/**
 * How many times the control's the subject's is: for costs and latencies whose target is stated like that. Below 1 the
 * subject is the better one.
 */
export function timesFigure(parts: Omit<RatioParts, 'better'>): Figure {
  return ratioFigure({ ...parts, better: 'more' });
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

/** The table that a reader looks at first: each figure with its spread, its noise floor and what it must reach. */
export function figureTable(
  title: string,
  figures: readonly Figure[],
  notes: string[] = [],
): Table {
  return {
    title,
    header: ['figure', 'median', 'lowest', 'highest', 'noise floor', 'must reach', ''],
    rows: figures.map((figure) => [
      figure.id,
      `${number(figure.value)} ${figure.unit}`,
      figure.spread ? number(figure.spread.min) : '',
      figure.spread ? number(figure.spread.max) : '',
      figure.noise ? describeNoise(figure.noise) : '',
      figure.target ? describeBound(figure.target) : '',
      verdict(figure),
    ]),
    notes,
  };
}

function describeNoise({ median, min, max }: Summary): string {
  return `${number(median)} (${number(min)} to ${number(max)})`;
}

function verdict(figure: Figure): string {
  if (figure.target !== undefined) return meets(figure.value, figure.target) ? 'reached' : 'missed';
  if (figure.spread === undefined || figure.noise === undefined) return '';
  return exceedsNoise(figure.spread, figure.noise) ? '' : 'no difference';
}
