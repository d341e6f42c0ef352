import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { HostFigures, type MeasuredHost } from '../../../src/main/bots/host-figures.js';
import { HANGS_MS } from '../../../src/shared/contract/hosts.js';

type Host = { -readonly [K in keyof MeasuredHost]: MeasuredHost[K] } & { silentMs: number };

const hostOf = (number: number): Host => ({
  number,
  state: 'shared',
  isolation: 'thread',
  bots: 3,
  isAsleep: false,
  beats: 10,
  codeChanges: 0,
  lastBot: null,
  waitedMs: 0,
  lateMs: 0,
  heap: { used: 1000, limit: 2000 },
  busySeconds: 0,
  silentMs: 40,
});

let hosts: Host[];
let figures: HostFigures<Host>;
beforeEach(() => {
  vi.useFakeTimers();
  hosts = [hostOf(1), hostOf(0)];
  figures = new HostFigures(() => hosts, {
    silentMs: ({ silentMs }) => silentMs,
    delayMs: ({ lateMs }) => lateMs,
  });
});
afterEach(() => vi.useRealTimers());

const stateOf = (change: Partial<Host>): string | undefined => {
  hosts = [{ ...hostOf(0), ...change }];
  return figures.list(null)[0]?.state;
};

it('lists the hosts by number, with what each has', () => {
  expect(figures.list(null)).toEqual([
    {
      host: 0,
      node: null,
      isolation: 'thread',
      state: 'working',
      bots: 3,
      silent_ms: 40,
      delay_ms: 0,
      cpu: null,
      heap: { used_bytes: 1000, limit_bytes: 2000 },
    },
    expect.objectContaining({ host: 1 }),
  ]);
});

it('a host hangs when its code runs and it has not beaten for a while', () => {
  expect(stateOf({ silentMs: HANGS_MS - 1 })).toBe('working');
  expect(stateOf({ silentMs: HANGS_MS })).toBe('hangs');
  expect(stateOf({ silentMs: HANGS_MS, state: 'retiring' })).toBe('hangs');
  // The watchdog has found it first.
  expect(stateOf({ state: 'stuck' })).toBe('hangs');
});

it('a host in which nothing runs is idle: it does not beat', () => {
  expect(stateOf({ isAsleep: true, silentMs: 0 })).toBe('idle');
  expect(figures.list(null)[0]?.silent_ms).toBeNull();
});

it('a host that starts, or ends, is no host that hangs', () => {
  expect(stateOf({ state: 'loading', silentMs: 5000 })).toBe('starting');
  expect(stateOf({ state: 'lost', silentMs: 5000 })).toBe('ending');
  expect(stateOf({ state: 'retiring' })).toBe('retiring');
});

it('the load is that since an earlier request, however many ask', () => {
  const [host] = hosts as [Host];
  const cpuNow = (): number | null | undefined => figures.list(null)[1]?.cpu;
  expect(cpuNow()).toBeNull();
  vi.advanceTimersByTime(1000);
  host.busySeconds += 0.5;
  expect(cpuNow()).toBe(0.5);
  // Another page asks 10 ms later.
  vi.advanceTimersByTime(10);
  host.busySeconds += 0.01;
  expect(cpuNow()).toBeCloseTo(0.505, 3);
  vi.advanceTimersByTime(990);
  expect(cpuNow()).toBeCloseTo(0.01, 3);
  // Nobody has asked for long.
  vi.advanceTimersByTime(60_000);
  expect(cpuNow()).toBeNull();
});

it('a caller that reaches some bots sees their hosts only, and counts only them', () => {
  expect(figures.list(new Map([[1, 2]]))).toEqual([expect.objectContaining({ host: 1, bots: 2 })]);
  expect(figures.list(new Map())).toEqual([]);
});
