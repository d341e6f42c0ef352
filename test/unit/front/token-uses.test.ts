import { expect, it, onTestFinished, vi } from 'vitest';
import { TokenStreams } from '../../../src/front/access/token-streams.js';
import { TokenUses } from '../../../src/front/access/token-uses.js';
import type { TokenUse } from '../../../src/shared/contract/tokens.js';

const at = (at_ms: number): TokenUse => ({ at_ms, from: null });

it('reports uses every 5 s, on demand and at the end, and nothing when there are none', () => {
  vi.useFakeTimers();
  onTestFinished(() => void vi.useRealTimers());
  let used: Record<string, TokenUse> = {};
  const take = (): Record<string, TokenUse> => {
    const taken = used;
    used = {};
    return taken;
  };
  const reports: Record<string, TokenUse>[] = [];
  const uses = new TokenUses({ takeUses: take }, new TokenStreams(), (report) =>
    reports.push(report),
  );
  used = { a: at(1) };
  vi.advanceTimersByTime(4999);
  expect(reports).toEqual([]);
  vi.advanceTimersByTime(1);
  expect(reports).toEqual([{ a: at(1) }]);
  vi.advanceTimersByTime(5000);
  expect(reports).toEqual([{ a: at(1) }]);
  used = { b: at(2) };
  uses.flush();
  used = { c: at(3) };
  uses.stop();
  used = { d: at(4) };
  vi.advanceTimersByTime(60_000);
  expect(reports).toEqual([{ a: at(1) }, { b: at(2) }, { c: at(3) }]);
});

it('an open stream is a use of its token, every 15 minutes', () => {
  vi.useFakeTimers();
  onTestFinished(() => void vi.useRealTimers());
  const streams = new TokenStreams();
  const sink = { write: () => true, end: () => {}, close: () => {} };
  const reports: Record<string, TokenUse>[] = [];
  const uses = new TokenUses({ takeUses: () => ({}) }, streams, (report) => reports.push(report));
  onTestFinished(() => uses.stop());
  streams.add('a', sink);
  vi.advanceTimersByTime(900_000);
  expect(reports).toEqual([{ a: at(Date.now()) }]);
  streams.remove('a', sink);
  vi.advanceTimersByTime(900_000);
  expect(reports).toHaveLength(1);
});
