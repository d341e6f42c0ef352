// Runs in the bench process and in load processes. Reads what the operating system has booked to a process: CPU time,
// time spent waiting for a core, memory. Linux only (/proc); nothing is asked of the measured process itself.
//
// CPU time. /proc/<pid>/task/<tid>/schedstat has nanoseconds for each thread, but a thread that has ended takes its
// figures with it. /proc/<pid>/stat keeps them, in ticks of 10 ms. So both are read: nanoseconds are used, unless
// the ticks say that more was spent than the living threads and the rounding of the ticks explain.
// The kernel brings a running thread's figure up to date at its timer tick (1 to 4 ms) and whenever it stops running.

import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';

/** Cumulated figures of a process at one moment. */
export interface CpuSample {
  atNs: bigint;
  /** utime + stime, ended threads included. */
  ticks: number;
  /** By thread id; empty where the kernel keeps no schedstat. */
  threads: Map<string, ThreadTime>;
}

interface ThreadTime {
  ranNs: number;
  /** Ready to run, with no core free. */
  waitedNs: number;
}

/** What a process used between two samples. */
export interface CpuUse {
  cpuNs: number;
  wallNs: number;
  /** Of the one thread that waited longest for a core: how much the machine had other things to do. */
  waitedNs: number;
}

/** @throws Error when there is no such process, or no /proc. */
export function sampleCpu(pid: number): CpuSample {
  const threads = new Map<string, ThreadTime>();
  for (const tid of readdirSync(`/proc/${pid}/task`)) {
    const text = readIfThere(`/proc/${pid}/task/${tid}/schedstat`);
    if (text === undefined) continue;
    const [ran, waited] = text.split(' ');
    threads.set(tid, { ranNs: Number(ran), waitedNs: Number(waited) });
  }
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
  return { atNs: process.hrtime.bigint(), ticks: parseTicks(stat), threads };
}

/** utime + stime of a /proc/<pid>/stat line. The name in parentheses can itself hold spaces and parentheses. */
export function parseTicks(stat: string): number {
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return Number(fields[11]) + Number(fields[12]);
}

/** Ticks of utime and stime are each rounded down, at both ends. */
const TICK_ROUNDING = 2;

/** What was used from one sample of a process to a later one. */
export function cpuBetween(from: CpuSample, to: CpuSample, ticksPerS = clockTicks()): CpuUse {
  let ranNs = 0;
  let waitedNs = 0;
  for (const [tid, end] of to.threads) {
    const start = from.threads.get(tid);
    ranNs += end.ranNs - (start?.ranNs ?? 0);
    waitedNs = Math.max(waitedNs, end.waitedNs - (start?.waitedNs ?? 0));
  }
  const ticks = to.ticks - from.ticks;
  const nsPerTick = 1e9 / ticksPerS;
  const threadsEnded = (ticks - TICK_ROUNDING) * nsPerTick > ranNs;
  return {
    cpuNs: to.threads.size === 0 || threadsEnded ? ticks * nsPerTick : ranNs,
    wallNs: Number(to.atNs - from.atNs),
    waitedNs,
  };
}

/** Memory of a process in bytes. Shared memory and code count in full in `rss`, in proportion in `pss`. */
export interface MemorySample {
  rss: number;
  peakRss: number;
  /** What the process would free by ending, and its share of what it maps together with others. */
  pss: number;
}

/** @throws Error when there is no such process, or no /proc. */
export function sampleMemory(pid: number): MemorySample {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8');
  const rollup = readFileSync(`/proc/${pid}/smaps_rollup`, 'utf8');
  return {
    rss: parseKilobytes(status, 'VmRSS'),
    peakRss: parseKilobytes(status, 'VmHWM'),
    pss: parseKilobytes(rollup, 'Pss'),
  };
}

/** Resident bytes of a process. @throws Error when there is no such process, or no /proc. */
export function sampleResident(pid: number): number {
  return parseKilobytes(readFileSync(`/proc/${pid}/status`, 'utf8'), 'VmRSS');
}

/** Bytes of a `Name:   123 kB` line. @throws Error when it is not there. */
export function parseKilobytes(text: string, name: string): number {
  const match = new RegExp(`^${name}:\\s+(\\d+) kB$`, 'm').exec(text);
  if (match === null) throw new Error(`no ${name} in what /proc says`);
  return Number(match[1]) * 1024;
}

let ticksPerSecond: number | undefined;

function clockTicks(): number {
  ticksPerSecond ??= Number(execFileSync('getconf', ['CLK_TCK'], { encoding: 'utf8' }));
  return ticksPerSecond;
}

/** A thread can end between the listing and the read. */
function readIfThere(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return undefined;
  }
}
