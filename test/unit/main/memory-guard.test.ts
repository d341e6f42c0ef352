// Run by vitest. Clocks, and what the process takes, are mocked: with other hosts busy too they are not ours to choose.

import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { MemoryGuard } from '../../../src/main/bots/memory-guard.js';
import type { HostThread } from '../../../src/main/threads/host-thread.js';

const MB = 2 ** 20;
const LIMIT_MB = 1000;

let ownMb: number;
let guard: MemoryGuard;
let hosts: Host[];

class Host {
  beats = 1;
  heap = { used: 0, limit: LIMIT_MB * MB };
  isLost = false;
  isExamined = false;
  reason: string | undefined;

  beat(usedMb: number): void {
    this.beats += 1;
    this.heap = { ...this.heap, used: usedMb * MB };
  }

  kill(error: Error): void {
    this.isLost = true;
    this.reason = error.message;
  }
}

beforeEach(() => {
  vi.useFakeTimers();
  ownMb = 500;
  hosts = [new Host(), new Host(), new Host()];
  guard = new MemoryGuard(
    () => hosts as unknown as HostThread[],
    LIMIT_MB,
    () => ownMb * MB,
  );
});
afterEach(() => {
  guard.stop();
  vi.restoreAllMocks();
  vi.useRealTimers();
});

/** A second in which those who beat do, and the process grows evenly. */
function second(grownMb: number, beating: [Host, usedMb: number][]): void {
  for (let n = 0; n < 10; n++) {
    ownMb += grownMb / 10;
    for (const [host, usedMb] of beating) host.beat(usedMb);
    vi.advanceTimersByTime(100);
  }
}
const ended = (): Host[] => hosts.filter(({ isLost }) => isLost);

it('a host that says that it is over its limit is ended, one at its limit is not', () => {
  const [one, two, three] = hosts as [Host, Host, Host];
  second(0, [
    [one, 1000],
    [two, 1001],
    [three, 10],
  ]);
  expect(ended()).toEqual([two]);
  expect(two.reason).toBe('out of memory: it used 1001 MB, and hosts.max_heap_mb is 1000 MB');
});

it('of a silent host it is told from what the process takes; those that beat are not blamed', () => {
  const [one, two, three] = hosts as [Host, Host, Host];
  second(0, [
    [one, 100],
    [two, 100],
    [three, 100],
  ]);
  second(1100, [
    [two, 100],
    [three, 100],
  ]);
  expect(ended()).toEqual([]);
  second(200, [
    [two, 100],
    [three, 100],
  ]);
  expect(ended()).toEqual([one]);
  expect(one.reason).toMatch(
    /^out of memory: its loop stood still for \d+ ms while the process took/,
  );
});

it('what others say that they take is not held against a silent host, nor what they free', () => {
  const [one, two, three] = hosts as [Host, Host, Host];
  second(0, [
    [one, 100],
    [two, 100],
    [three, 100],
  ]);
  ownMb += 1600;
  second(0, [
    [two, 900],
    [three, 900],
  ]);
  expect(ended()).toEqual([]);
  ownMb -= 1600;
  second(0, [
    [two, 100],
    [three, 100],
  ]);
  expect(ended()).toEqual([]);
});

it('of two silent ones the one that was well the longest is ended first, the other only if it goes on', () => {
  const [one, two, three] = hosts as [Host, Host, Host];
  second(0, [
    [one, 100],
    [two, 100],
    [three, 100],
  ]);
  second(0, [
    [two, 100],
    [three, 100],
  ]);
  second(3000, [[three, 100]]);
  expect(ended()).toEqual([two]);
  // It frees what it had.
  hosts = [one, three];
  ownMb -= 3000;
  second(0, [[three, 100]]);
  expect(ended()).toEqual([]);
  second(1500, [[three, 100]]);
  expect(ended()).toEqual([one]);
});

it('a host that the inspector looks into is let alone', () => {
  const [one, two, three] = hosts as [Host, Host, Host];
  one.isExamined = true;
  second(0, [
    [one, 2000],
    [two, 100],
    [three, 100],
  ]);
  expect(ended()).toEqual([]);
});

it('a host that has not begun yet is not silent: its thread is started behind others', () => {
  const [one, two, three] = hosts as [Host, Host, Host];
  one.beats = 0;
  second(2000, [
    [two, 100],
    [three, 100],
  ]);
  expect(ended()).toEqual([]);
  one.beat(10);
  second(0, [
    [two, 100],
    [three, 100],
  ]);
  second(2000, [
    [two, 100],
    [three, 100],
  ]);
  expect(ended()).toEqual([one]);
});

it('pages of files that are mapped, as the journal’s are, are held against nobody', () => {
  let mapped = 0;
  vi.spyOn(process.memoryUsage, 'rss').mockImplementation(() => (ownMb + mapped) * MB);
  const [one, two, three] = hosts as [Host, Host, Host];
  second(0, [
    [one, 100],
    [two, 100],
    [three, 100],
  ]);
  mapped = 3000;
  second(0, [
    [two, 100],
    [three, 100],
  ]);
  expect(ended()).toEqual([]);
});
