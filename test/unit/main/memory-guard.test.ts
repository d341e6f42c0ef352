// Clocks and the memory of the process are mocked.

import { afterAll, afterEach, beforeAll, beforeEach, expect, it, vi } from 'vitest';
import type { MemoryGuard } from '../../../src/main/bots/memory-guard.js';
import type { HostThread } from '../../../src/main/threads/host-thread.js';

const MB = 2 ** 20;
const LIMIT_MB = 1000;

let ownMb: number;
/** Pages of files that are mapped. */
let mappedMb: number;
let guard: MemoryGuard;
let hosts: Host[];

class Host {
  beats = 1;
  heap = { used: 0, limit: LIMIT_MB * MB };
  isLost = false;
  isAsleep = false;
  state = 'shared';
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

// Test files share their modules: the guard with this memory is loaded for this file alone.
const MEASURED = '../../../src/shared/process-memory.js';
let Guard: typeof MemoryGuard;
beforeAll(async () => {
  vi.resetModules();
  vi.doMock(MEASURED, () => ({
    anonymousRss: () => ownMb * MB,
    residentMemory: () => (ownMb + mappedMb) * MB,
  }));
  ({ MemoryGuard: Guard } = await import('../../../src/main/bots/memory-guard.js'));
});
afterAll(() => {
  vi.doUnmock(MEASURED);
  vi.resetModules();
});

beforeEach(() => {
  vi.useFakeTimers();
  ownMb = 500;
  mappedMb = 0;
  vi.spyOn(process.memoryUsage, 'rss').mockImplementation(() => (ownMb + mappedMb) * MB);
  hosts = [new Host(), new Host(), new Host()];
  guard = new Guard(() => hosts as unknown as HostThread[], LIMIT_MB);
});
afterEach(() => {
  guard.stop();
  vi.restoreAllMocks();
  vi.useRealTimers();
});

/** A second in which these hosts beat, and the process grows evenly. */
function second(grownMb: number, beating: [Host, usedMb: number][]): void {
  for (let n = 0; n < 10; n++) {
    ownMb += grownMb / 10;
    for (const [host, usedMb] of beating) host.beat(usedMb);
    vi.advanceTimersByTime(100);
  }
}
const ended = (): Host[] => hosts.filter(({ isLost }) => isLost);

it('a host that reports more than its limit is ended, one at its limit is not', () => {
  const [one, two, three] = hosts as [Host, Host, Host];
  second(0, [
    [one, 1000],
    [two, 1001],
    [three, 10],
  ]);
  expect(ended()).toEqual([two]);
  expect(two.reason).toBe('out of memory: it used 1001 MB, and hosts.max_heap_mb is 1000 MB');
});

it('of a silent host the growth of the process tells; those that beat are not blamed', () => {
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
  expect(one.reason).toMatch(/^out of memory: it was blocked for \d+ ms while the process grew by/);
});

it('what other hosts report is not attributed to a silent host, nor what they free', () => {
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

it('of two silent hosts the one that beat last is ended first, the other only if the growth continues', () => {
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

it('a host that is being examined is left alone', () => {
  const [one, two, three] = hosts as [Host, Host, Host];
  one.state = 'stuck';
  second(0, [
    [one, 2000],
    [two, 100],
    [three, 100],
  ]);
  expect(ended()).toEqual([]);
});

it('a host that has not started yet is not silent', () => {
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

it('mapped files, as the journal’s, do not count as memory of a host', () => {
  const [one, two, three] = hosts as [Host, Host, Host];
  second(0, [
    [one, 100],
    [two, 100],
    [three, 100],
  ]);
  mappedMb = 3000;
  second(0, [
    [two, 100],
    [three, 100],
  ]);
  expect(ended()).toEqual([]);
});

it('hosts that are asleep are not checked, and one that grows after it woke is ended as soon', () => {
  const [one] = hosts as [Host, Host, Host];
  for (const host of hosts) host.isAsleep = true;
  second(0, []);
  expect(vi.getTimerCount()).toBe(0);
  // What the process uses meanwhile is none of theirs.
  second(3000, []);
  one.isAsleep = false;
  one.beat(100);
  guard.watch();
  second(200, []);
  expect(ended()).toEqual([]);
  second(1100, []);
  expect(ended()).toEqual([one]);
});
