// Statistics: medians, spreads and per-round ratios.

/** A series with one value per round. */
export interface Summary {
  median: number;
  min: number;
  max: number;
}

/** Per-round ratios of two series and their summary. */
export interface RatioSummary extends Summary {
  /** One ratio per round. */
  ratios: number[];
}

/**
 * The value below which `percent` of the values lie, interpolated between the two nearest ranks.
 * @throws RangeError if there are no values, or one is not finite.
 */
export function percentile(values: readonly number[], percent: number): number {
  if (!values.every(Number.isFinite)) throw new RangeError('a measurement is not a finite number');
  const sorted = values.toSorted((a, b) => a - b);
  const rank = (Math.min(100, Math.max(0, percent)) / 100) * (sorted.length - 1);
  const below = sorted[Math.floor(rank)];
  const above = sorted[Math.ceil(rank)];
  if (below === undefined || above === undefined) throw new RangeError('there are no measurements');
  return below + (above - below) * (rank - Math.floor(rank));
}

/** The middle value, or the mean of the two middle ones. @throws RangeError like {@link percentile}. */
export function median(values: readonly number[]): number {
  return percentile(values, 50);
}

/** Median, lowest and highest. @throws RangeError like {@link percentile}. */
export function summarize(values: readonly number[]): Summary {
  return { median: median(values), min: percentile(values, 0), max: percentile(values, 100) };
}

/** A line through points. */
export interface Line {
  slope: number;
  intercept: number;
  /** R²: 1 when all points are on the line. */
  fit: number;
}

/** The line with the least squares. @throws RangeError if there are fewer than two different x, or a number is not finite. */
export function lineThrough(points: readonly (readonly [x: number, y: number])[]): Line {
  const mean = (at: 0 | 1): number =>
    points.reduce((sum, point) => sum + point[at], 0) / points.length;
  const [meanX, meanY] = [mean(0), mean(1)];
  let [xx, xy, yy] = [0, 0, 0];
  for (const [x, y] of points) {
    xx += (x - meanX) ** 2;
    xy += (x - meanX) * (y - meanY);
    yy += (y - meanY) ** 2;
  }
  if (!(xx > 0) || !Number.isFinite(yy)) throw new RangeError('no line goes through these points');
  const slope = xy / xx;
  return {
    slope,
    intercept: meanY - slope * meanX,
    fit: yy === 0 ? 1 : (xy * xy) / (xx * yy),
  };
}

/**
 * Divides two series round by round and summarizes the ratios. A disturbance of the whole machine affects both measurements of
 * a round and cancels out, unlike in a ratio of two medians.
 * @throws RangeError if the series differ in length, are empty, or contain other than positive numbers.
 */
export function ratioSummary(over: readonly number[], under: readonly number[]): RatioSummary {
  if (over.length !== under.length) {
    throw new RangeError(`${over.length} measurements cannot be paired with ${under.length}`);
  }
  const ratios = over.map((value, round) => {
    const divisor = under[round] ?? Number.NaN;
    if (!(value > 0 && divisor > 0)) {
      throw new RangeError(`no ratio of ${value} and ${divisor} in round ${round + 1}`);
    }
    return value / divisor;
  });
  return { ...summarize(ratios), ratios };
}

/** Means of two series, round by round, for a control that was measured twice. */
export function meanOfPairs(first: readonly number[], second: readonly number[]): number[] {
  if (first.length !== second.length) {
    throw new RangeError(`${first.length} measurements cannot be paired with ${second.length}`);
  }
  return first.map((value, round) => (value + (second[round] ?? Number.NaN)) / 2);
}

/**
 * Whether a ratio differs from 1 by more than the same control differed from itself in any round.
 * A ratio inside the noise floor shows no difference, regardless of its digits.
 */
export function exceedsNoise(ratio: Summary, noise: Summary): boolean {
  const floor = Math.max(Math.abs(Math.log(noise.min)), Math.abs(Math.log(noise.max)));
  return Math.abs(Math.log(ratio.median)) > floor;
}
