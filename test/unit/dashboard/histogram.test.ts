import { describe, expect, it } from 'vitest';
import { type AskStats, Histogram } from '../../../dashboard/src/range/histogram.js';
import { stepFor } from '../../../dashboard/src/range/steps.js';
import type { Stats } from '../../../src/client/index.js';

const journal = {} as Stats['journal'];

/** A service with these lines, in s; an answer counts `most` bars. */
function service(lines: number[], most = 1000) {
  const asked: { after: number; before: number }[] = [];
  const ask: AskStats = async ({ after, before, step }) => {
    asked.push({ after, before });
    const end = Math.ceil(before / 1000 / step) * step;
    const from = Math.max(after / 1000, end - most * step);
    const seconds = new Map<number, number>();
    for (const line of lines) {
      if (line < from || line * 1000 >= before) continue;
      const at = Math.floor(line / step) * step;
      seconds.set(at, (seconds.get(at) ?? 0) + 1);
    }
    return {
      step_s: step,
      buckets: [...seconds].map(([at, count]) => ({
        at_ms: at * 1000,
        events: count,
        per_second: count / step,
        levels: { info: count },
        other: 0,
        scopes: {},
      })),
      counted_from_ms: from > after / 1000 ? from * 1000 : null,
      journal,
    };
  };
  return { ask, asked, lines };
}

const shown = (histogram: Histogram): [number, number][] => {
  const { fromS = 0, toS = 0, stepS = 1 } = histogram.bars ?? {};
  const found: [number, number][] = [];
  for (let at = fromS; at < toS; at += stepS) {
    const count = histogram.at(at)?.info;
    if (count !== undefined) found.push([at, count]);
  }
  return found;
};

describe('a histogram', () => {
  it('takes a count in parts', async () => {
    const { ask, asked } = service([100, 101, 119, 130, 131, 159], 2);
    const histogram = new Histogram(ask);
    await histogram.show({ fromS: 100, toS: 160, stepS: 10 }, 160_000);
    expect(asked).toHaveLength(3);
    expect(shown(histogram)).toEqual([
      [100, 2],
      [110, 1],
      [130, 2],
      [150, 1],
    ]);
    expect(histogram.isCounting).toBe(false);
  });

  it('counts only what is new when its range moves on', async () => {
    const { ask, asked, lines } = service([100, 101, 119]);
    const histogram = new Histogram(ask);
    await histogram.show({ fromS: 100, toS: 120, stepS: 10 }, 119_500);
    lines.push(119.7, 125);
    await histogram.show({ fromS: 110, toS: 130, stepS: 10 }, 126_000);
    expect(asked).toEqual([
      { after: 100_000, before: 119_500 },
      { after: 110_000, before: 126_000 },
    ]);
    expect(shown(histogram)).toEqual([
      [110, 2],
      [120, 1],
    ]);
    await histogram.show({ fromS: 110, toS: 130, stepS: 10 }, 127_000);
    expect(asked.at(-1)).toEqual({ after: 120_000, before: 127_000 });
  });

  it('counts again with another step, with an earlier beginning, and after an error', async () => {
    const { ask, asked } = service([100]);
    let isBroken = false;
    const histogram = new Histogram((where, signal) => {
      if (isBroken) throw new Error('the journal is off');
      return ask(where, signal);
    });
    await histogram.show({ fromS: 100, toS: 120, stepS: 10 }, 120_000);
    await histogram.show({ fromS: 100, toS: 120, stepS: 5 }, 120_000);
    await histogram.show({ fromS: 90, toS: 120, stepS: 5 }, 120_000);
    isBroken = true;
    await histogram.show({ fromS: 90, toS: 120, stepS: 5 }, 120_000);
    expect(histogram.error?.message).toBe('the journal is off');
    isBroken = false;
    await histogram.show({ fromS: 90, toS: 120, stepS: 5 }, 120_000);
    expect(asked.map(({ after }) => after)).toEqual([100_000, 100_000, 90_000, 90_000]);
    expect(histogram.error).toBeUndefined();
    expect(shown(histogram)).toEqual([[100, 1]]);
  });
});

it('bars have whole lengths', () => {
  expect(stepFor(60_000, 120)).toBe(1);
  expect(stepFor(900_000, 120)).toBe(10);
  expect(stepFor(86_400_000, 120)).toBe(1200);
  expect(stepFor(9e12, 120)).toBe(604_800);
});
