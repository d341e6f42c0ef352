import { expect, it, onTestFinished, vi } from 'vitest';
import { TokenUses } from '../../../src/front/token-uses.js';

it('reports uses every 5 s, on demand and at the end, and nothing when there are none', () => {
  vi.useFakeTimers();
  onTestFinished(() => void vi.useRealTimers());
  let used: Record<string, number> = {};
  const take = (): Record<string, number> => {
    const taken = used;
    used = {};
    return taken;
  };
  const reports: Record<string, number>[] = [];
  const uses = new TokenUses({ takeUses: take }, (report) => reports.push(report));
  used = { a: 1 };
  vi.advanceTimersByTime(4999);
  expect(reports).toEqual([]);
  vi.advanceTimersByTime(1);
  expect(reports).toEqual([{ a: 1 }]);
  vi.advanceTimersByTime(5000);
  expect(reports).toEqual([{ a: 1 }]);
  used = { b: 2 };
  uses.flush();
  used = { c: 3 };
  uses.stop();
  used = { d: 4 };
  vi.advanceTimersByTime(60_000);
  expect(reports).toEqual([{ a: 1 }, { b: 2 }, { c: 3 }]);
});
