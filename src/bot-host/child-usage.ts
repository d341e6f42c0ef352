// Runs in a bot host. Owns the figures of the child processes that bots have started, programs above all: their time of CPU and their
// memory, which the system knows.
//
// They use both without any event in this thread, so they are looked at by a timer, while there are any.

import { readFileSync } from 'node:fs';
import type { UsageReport } from '../shared/contract/usage.js';
import { memoryOf } from '../shared/process-memory.js';
import { runAsHost } from './current-bot.js';

/** How often they are looked at, in ms. */
const LOOK_MS = 5000;
/** Shortest time of CPU that is told, in ms: the system counts in steps of 10 ms. */
const TOLD_CPU_MS = 10;
/** A change of memory that is told: at least this share of what was told before. */
const TOLD_SHARE = 0.05;
/** A tick of the clock that the system counts with, in ms: 100 Hz on all of Node's platforms (USER_HZ). */
const TICK_MS = 10;

/** The usage of a process. */
export interface ProcessUse {
  /** CPU time since its start, without its own children: theirs would be added all at once when they end. */
  cpuMs: number;
  memoryBytes: number;
}

export interface ChildUsageParts {
  /** Child processes that bots have open, each with the number of the run. */
  children(): Iterable<[pid: number, run: number]>;
  report(report: UsageReport): void;
  /** Null when the process is gone, and where the system does not say. */
  use?(pid: number): ProcessUse | null;
}

export class ChildUsage {
  readonly #parts: ChildUsageParts;
  readonly #use: (pid: number) => ProcessUse | null;
  /** Time of CPU by process, as of the last look. Bounded by the child processes. */
  #cpuMs = new Map<number, number>();
  /** Memory by run, as it was told last. Bounded by the runs with child processes. */
  #told = new Map<number, number>();
  #timer: NodeJS.Timeout | undefined;

  constructor(parts: ChildUsageParts) {
    this.#parts = parts;
    this.#use = parts.use ?? processUse;
  }

  /** A bot has started a child process. */
  note(): void {
    if (this.#timer) return;
    // Starts the timer outside of any run: otherwise it would end with the first run.
    runAsHost(() => {
      this.#timer = setInterval(() => this.look(), LOOK_MS).unref();
    });
  }

  /** Reports what they have used since the last look. That of a process that has ended meanwhile is not known. */
  look(): void {
    const before = this.#cpuMs;
    this.#cpuMs = new Map();
    const cpu = new Map<number, number>();
    const memory = new Map<number, number>();
    let hasChildren = false;
    for (const [pid, run] of this.#parts.children()) {
      hasChildren = true;
      const cpuBefore = before.get(pid) ?? 0;
      const use = this.#use(pid);
      // Keeps the old figure when it cannot be read: otherwise the next look would count the whole CPU time again.
      this.#cpuMs.set(pid, use?.cpuMs ?? cpuBefore);
      if (!use) continue;
      // Never negative, because another process may have its number now.
      cpu.set(run, (cpu.get(run) ?? 0) + Math.max(0, use.cpuMs - cpuBefore));
      memory.set(run, (memory.get(run) ?? 0) + use.memoryBytes);
    }
    if (!hasChildren) {
      clearInterval(this.#timer);
      this.#timer = undefined;
    }
    const uses = [...cpu].flatMap(([run, ms]) => (ms >= TOLD_CPU_MS ? [run, ms, 0, 0] : []));
    const hasChanged = this.#hasChanged(memory);
    if (uses.length === 0 && !hasChanged) return;
    if (hasChanged) this.#told = memory;
    this.#parts.report({
      ms: LOOK_MS,
      uses,
      connections: null,
      memory: hasChanged ? [...memory].flat() : null,
    });
  }

  #hasChanged(memory: ReadonlyMap<number, number>): boolean {
    if (memory.size !== this.#told.size) return true;
    return [...memory].some(([run, bytes]) => {
      const told = this.#told.get(run);
      return told === undefined || Math.abs(bytes - told) > told * TOLD_SHARE;
    });
  }
}

/** Reads /proc on Linux; null elsewhere. */
function processUse(pid: number): ProcessUse | null {
  const memoryBytes = memoryOf(pid);
  if (memoryBytes === null) return null;
  try {
    // After the name, which may have any characters: the state is the first field, its times are the 12th and 13th.
    const fields = readFileSync(`/proc/${pid}/stat`, 'latin1').split(') ').at(-1)?.split(' ') ?? [];
    const ticks = fields.slice(11, 13).reduce((sum, field) => sum + Number(field), 0);
    return { cpuMs: ticks * TICK_MS, memoryBytes };
  } catch {
    return null;
  }
}
