import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Line } from '../../../dashboard/src/hub/messages.js';
import {
  align,
  baseOf,
  commonOf,
  limitsAfter,
  limitsBefore,
} from '../../../dashboard/src/side/align.js';
import { diffOf } from '../../../dashboard/src/side/config-diff.js';

function line(at: number, id = `e-${at}`): Line {
  const text = `at ${at}`;
  return { id, n: 0, at, level: 'info', scope: 'bot', bot: 'a', transport: null, dir: null, text };
}
const log = (...at: number[]): Line[] => at.map((ms) => line(ms));
const ALWAYS = { fromMs: Number.NEGATIVE_INFINITY, toMs: Number.POSITIVE_INFINITY };
const shown = (rows: ReturnType<typeof align>): (number | undefined)[][] =>
  rows.map(({ cells }) => cells.map((cell) => cell?.at));

describe('logs on one time axis', () => {
  it('share a row when their lines follow each other within a short time', () => {
    expect(shown(align([log(1000, 1030, 2000), log(1010, 5000)], ALWAYS))).toEqual([
      [1000, 1010],
      [1030, undefined],
      [2000, undefined],
      [undefined, 5000],
    ]);
  });

  it('every line is there once, and is not after a line of a later row', () => {
    const times = fc
      .array(fc.nat({ max: 600 }), { maxLength: 30 })
      .map((all) => all.sort((a, b) => a - b));
    fc.assert(
      fc.property(fc.array(times, { minLength: 1, maxLength: 6 }), (all) => {
        const logs = all.map((at) => at.map((ms, n) => line(ms, `e-${ms}-${n}`)));
        const rows = align(logs, ALWAYS);
        for (const [at, of] of logs.entries()) {
          expect(rows.flatMap(({ cells }) => cells[at] ?? [])).toEqual(of);
        }
        let last = Number.NEGATIVE_INFINITY;
        for (const { cells } of rows) {
          const of = cells.flatMap((cell) => cell?.at ?? []);
          expect(Math.min(...of)).toBeGreaterThanOrEqual(last);
          last = Math.max(...of);
        }
        expect(new Set(rows.map(({ key }) => key)).size).toBe(rows.length);
      }),
    );
  });

  it('show only the time that is loaded of all of them', () => {
    const busy = { lines: log(500, 600, 700), isWholeBefore: false, isWholeAfter: true };
    const quiet = { lines: log(10, 650), isWholeBefore: true, isWholeAfter: false };
    const common = commonOf([busy, quiet]);
    expect(common).toEqual({ fromMs: 500, toMs: 650 });
    expect(shown(align([busy.lines, quiet.lines], common))).toEqual([
      [500, undefined],
      [600, 650],
    ]);
    expect([busy, quiet].map((one) => limitsBefore(one, common))).toEqual([true, false]);
    expect([busy, quiet].map((one) => limitsAfter(one, common))).toEqual([false, true]);
    // Of a log that is still being searched nothing is known.
    const searched = { lines: [], isWholeBefore: false, isWholeAfter: true };
    expect(align([busy.lines, []], commonOf([busy, searched]))).toEqual([]);
    expect(limitsBefore(searched, commonOf([busy, searched]))).toBe(true);
  });

  it('keep the numbers of rows when more is loaded before and after them', () => {
    const rows = align([log(1000, 2000), log(1500)], ALWAYS);
    const more = align([log(100, 200, 1000, 2000, 3000), log(1500)], ALWAYS);
    expect(baseOf(more, { rows, base: 7 })).toBe(5);
    // The first rows were cut.
    expect(baseOf(align([log(2000, 3000), []], ALWAYS), { rows, base: 7 })).toBe(9);
    expect(baseOf(rows, { rows: [], base: 0 })).toBe(0);
  });
});

describe('two configurations', () => {
  it('are compared field by field', () => {
    const one = {
      kind: 'painter',
      labels: { team: 'a' },
      config: { greeting: 'hello', at: { x: 1, y: 2 }, list: [1, 2] },
      host_group: null,
    };
    const other = {
      kind: 'painter',
      labels: {},
      config: { greeting: 'hi', at: { x: 1 }, list: [1, 2], extra: true },
      host_group: 'g',
    };
    const rows = diffOf(one, other);
    expect(rows.filter(({ isSame }) => !isSame)).toEqual([
      { path: 'labels.team', one: '"a"', other: undefined, isSame: false },
      { path: 'config.greeting', one: '"hello"', other: '"hi"', isSame: false },
      { path: 'config.at.y', one: '2', other: undefined, isSame: false },
      { path: 'config.extra', one: undefined, other: 'true', isSame: false },
      { path: 'host_group', one: 'null', other: '"g"', isSame: false },
    ]);
    expect(rows.filter(({ isSame }) => isSame).map(({ path }) => path)).toEqual([
      'kind',
      'config.at.x',
      'config.list',
    ]);
    expect(diffOf(one, one).every(({ isSame }) => isSame)).toBe(true);
  });
});
