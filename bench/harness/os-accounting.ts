// Reads what the operating system accounts to a process: CPU time, time waiting for a core, memory. Linux only (/proc). The
// measured process itself is not involved.
//
// CPU time: /proc/<pid>/task/<tid>/schedstat has nanoseconds per thread, but loses threads that have ended. /proc/<pid>/stat keeps
// those, in ticks of 10 ms. So nanoseconds are used unless the ticks show more than the living threads and rounding explain.
// The kernel updates a running thread's time at its timer tick (1 to 4 ms) and whenever the thread stops running.

import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';

/** Cumulative usage of a process at one time. */
export interface CpuSample {
  atNs: bigint;
  /** utime + stime, ended threads included. */
  ticks: number;
  /** By thread id; empty where the kernel keeps no schedstat. */
  threads: Map<string, ThreadTime>;
}

interface ThreadTime {
  ranNs: number;
  /** Time ready to run while no core was free. */
  waitedNs: number;
}

/** Usage between two samples. */
export interface CpuUse {
  cpuNs: number;
  wallNs: number;
  /** The longest wait of a single thread: how busy the machine was otherwise. */
  waitedNs: number;
}

/** @throws Error if the process or /proc does not exist. */
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

/** The usage between two samples of a process. */
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

/**
 * How often the threads of a process have given up a core to wait for something: each time ends with a wake-up.
 * @throws Error if the process or /proc does not exist.
 */
export function sampleWaits(pid: number): number {
  let waits = 0;
  for (const tid of readdirSync(`/proc/${pid}/task`)) {
    const text = readIfThere(`/proc/${pid}/task/${tid}/status`);
    if (text !== undefined) waits += parseNumber(text, 'voluntary_ctxt_switches', '');
  }
  return waits;
}

/** Memory of a process in bytes. Shared memory and code count in full in `rss`, in proportion in `pss`. */
export interface MemorySample {
  rss: number;
  peakRss: number;
  /** What the process would free by ending, plus its share of shared mappings. */
  pss: number;
}

/** @throws Error if the process or /proc does not exist. */
export function sampleMemory(pid: number): MemorySample {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8');
  const rollup = readFileSync(`/proc/${pid}/smaps_rollup`, 'utf8');
  return {
    rss: parseKilobytes(status, 'VmRSS'),
    peakRss: parseKilobytes(status, 'VmHWM'),
    pss: parseKilobytes(rollup, 'Pss'),
  };
}

/** Memory of the kernel, of the whole system, in bytes. */
export interface KernelMemory {
  /** Its objects: sockets, files, entries of epoll and others. */
  slab: number;
  /** What TCP buffers, on both sides of connections within this machine. */
  tcpBuffers: number;
}

const PAGE_BYTES = 4096;

/** @throws Error if /proc does not exist. */
export function sampleKernelMemory(): KernelMemory {
  const meminfo = readFileSync('/proc/meminfo', 'utf8');
  const sockstat = readFileSync('/proc/net/sockstat', 'utf8');
  // With what can be reclaimed: the inodes of sockets count as that.
  return {
    slab: parseKilobytes(meminfo, 'Slab'),
    tcpBuffers: Number(/^TCP: .* mem (\d+)$/m.exec(sockstat)?.[1] ?? 0) * PAGE_BYTES,
  };
}

/** Resident bytes of a process. @throws Error if the process or /proc does not exist. */
export function sampleResident(pid: number): number {
  return parseKilobytes(readFileSync(`/proc/${pid}/status`, 'utf8'), 'VmRSS');
}

/** Bytes of a `Name:   123 kB` line. @throws Error if it is missing. */
export function parseKilobytes(text: string, name: string): number {
  return parseNumber(text, name, ' kB') * 1024;
}

function parseNumber(text: string, name: string, unit: string): number {
  const match = new RegExp(`^${name}:\\s+(\\d+)${unit}$`, 'm').exec(text);
  if (match === null) throw new Error(`no ${name} in what /proc says`);
  return Number(match[1]);
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
