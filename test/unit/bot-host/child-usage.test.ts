import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { afterEach, beforeEach, expect, it, onTestFinished, vi } from 'vitest';
import { ChildUsage, type ProcessUse } from '../../../src/bot-host/child-usage.js';
import { type CurrentRun, currentRun, runAsBot } from '../../../src/bot-host/current-bot.js';
import type { UsageReport } from '../../../src/shared/contract/usage.js';

const LOOK_MS = 5000;

/** By process. */
let uses: Map<number, ProcessUse>;
let children: [pid: number, run: number][];
let reports: UsageReport[];
let usage: ChildUsage;

beforeEach(() => {
  uses = new Map();
  children = [];
  reports = [];
  usage = new ChildUsage({
    children: () => children,
    report: (report) => reports.push(report),
    use: (pid) => uses.get(pid) ?? null,
  });
  vi.useFakeTimers();
});
afterEach(() => vi.useRealTimers());

function child(pid: number, run: number, cpuMs: number, memoryBytes: number): void {
  children.push([pid, run]);
  uses.set(pid, { cpuMs, memoryBytes });
}

it('reports by run what they have used since the last look, and their memory when it changes', () => {
  child(101, 1, 300, 1000);
  child(102, 1, 200, 500);
  child(103, 2, 0, 700);
  usage.note();
  usage.note();
  vi.advanceTimersByTime(LOOK_MS);
  uses.set(101, { cpuMs: 1300, memoryBytes: 1010 });
  vi.advanceTimersByTime(LOOK_MS);
  uses.set(103, { cpuMs: 0, memoryBytes: 900 });
  vi.advanceTimersByTime(LOOK_MS);
  expect(reports).toEqual([
    { ms: LOOK_MS, uses: [1, 500, 0, 0], connections: null, memory: [1, 1500, 2, 700] },
    { ms: LOOK_MS, uses: [1, 1000, 0, 0], connections: null, memory: null },
    { ms: LOOK_MS, uses: [], connections: null, memory: [1, 1510, 2, 900] },
  ]);
});

it('says nothing of idle processes, and has no timer without any', () => {
  child(101, 1, 300, 1000);
  usage.note();
  vi.advanceTimersByTime(LOOK_MS * 10);
  expect(reports).toHaveLength(1);
  children = [];
  vi.advanceTimersByTime(LOOK_MS);
  expect(reports.at(-1)).toEqual({ ms: LOOK_MS, uses: [], connections: null, memory: [] });
  expect(vi.getTimerCount()).toBe(0);
  child(102, 2, 100, 1000);
  usage.note();
  vi.advanceTimersByTime(LOOK_MS);
  expect(reports.at(-1)?.uses).toEqual([2, 100, 0, 0]);
});

it('counts on after a look that failed, and never less than nothing', () => {
  child(101, 1, 300, 1000);
  usage.note();
  vi.advanceTimersByTime(LOOK_MS);
  uses.delete(101);
  vi.advanceTimersByTime(LOOK_MS);
  uses.set(101, { cpuMs: 700, memoryBytes: 1000 });
  vi.advanceTimersByTime(LOOK_MS);
  expect(reports.at(-1)?.uses).toEqual([1, 400, 0, 0]);
  uses.set(101, { cpuMs: 50, memoryBytes: 2000 });
  vi.advanceTimersByTime(LOOK_MS);
  expect(reports.at(-1)?.uses).toEqual([]);
});

it('has a timer that is not of the bot that came first', () => {
  const run = { number: 1, id: 'first', isGone: false } as CurrentRun;
  const seen: unknown[] = [];
  const start = setInterval;
  // A timer has the context of its start. Those of the mocked clock have none.
  // Not with spyOn: restoreAllMocks of a later file in this process would put the mocked clock back.
  globalThis.setInterval = ((task: () => void, ms: number) => {
    seen.push(currentRun());
    return start(task, ms);
  }) as typeof setInterval;
  runAsBot(run, () => {
    expect(currentRun()).toBe(run);
    usage.note();
  });
  globalThis.setInterval = start;
  expect(seen).toEqual([undefined]);
});

it.runIf(process.platform === 'linux')('reads both from the system', async () => {
  vi.useRealTimers();
  const busy =
    "let n = 0; while (process.cpuUsage().user < 3e5) n++; console.log('done'); setInterval(() => n, 1e6)";
  const worker = spawn(process.execPath, ['-e', busy], { stdio: ['ignore', 'pipe', 'inherit'] });
  onTestFinished(() => void worker.kill('SIGKILL'));
  await once(worker.stdout, 'data');
  const real = new ChildUsage({
    children: () => [[worker.pid as number, 7]],
    report: (report) => reports.push(report),
  });
  real.look();
  const [run, cpuMs] = reports[0]?.uses ?? [];
  expect(run).toBe(7);
  expect(cpuMs).toBeGreaterThanOrEqual(250);
  expect(reports[0]?.memory?.[0]).toBe(7);
  expect(reports[0]?.memory?.[1]).toBeGreaterThan(5e6);
});
