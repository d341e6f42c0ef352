// A server under measurement: a child process and its resource usage.

import { setTimeout as delay } from 'node:timers/promises';
import { Child, type ChildSpec } from './child.js';
import {
  type CpuSample,
  type CpuUse,
  cpuBetween,
  type MemorySample,
  sampleCpu,
  sampleMemory,
  sampleResident,
  sampleWaits,
} from './os-accounting.js';

/** Every server of a bench prints this line, controls as well as the service. */
const LISTENING = /^listening on (https?:\/\/\S+)$/;

/** Memory has settled if it changes by less than this within this time in ms. */
const SETTLED_BYTES = 512 * 1024;
const SETTLE_MS = 1_000;
const SETTLE_ATTEMPTS = 12;

export class Server {
  readonly name: string;
  /** `http://127.0.0.1:<port>` or https, without a trailing slash. */
  readonly url: string;
  readonly #child: Child;

  private constructor(child: Child) {
    this.name = child.name;
    this.#child = child;
    this.url = child.ready[1] ?? '';
  }

  /** @throws Error if it ends or times out. */
  static async start(spec: Omit<ChildSpec, 'ready'>): Promise<Server> {
    return new Server(await Child.start({ ...spec, ready: LISTENING }));
  }

  get pid(): number {
    return this.#child.pid;
  }

  /** Runs the work and returns the process's usage meanwhile. @throws Error if the process ended. */
  async cpuDuring<T>(work: () => Promise<T>): Promise<{ result: T; use: CpuUse }> {
    const before = this.sampleCpu();
    const result = await work();
    return { result, use: cpuBetween(before, this.sampleCpu()) };
  }

  /** @throws Error if it has ended. */
  sampleCpu(): CpuSample {
    this.#child.assertRunning();
    return sampleCpu(this.pid);
  }

  /** How often its threads have waited so far. @throws Error if it has ended. */
  waits(): number {
    this.#child.assertRunning();
    return sampleWaits(this.pid);
  }

  /** @throws Error if it has ended. */
  memory(): MemorySample {
    this.#child.assertRunning();
    return sampleMemory(this.pid);
  }

  /** Memory after it has settled: freed memory is returned with a delay. @throws Error if it has ended. */
  async settledMemory(): Promise<MemorySample> {
    let last = this.memory();
    for (let attempt = 0; attempt < SETTLE_ATTEMPTS; attempt++) {
      await delay(SETTLE_MS);
      const now = this.memory();
      if (Math.abs(now.pss - last.pss) < SETTLED_BYTES) return now;
      last = now;
    }
    return last;
  }

  /** Only the resident size: much cheaper to read, also for the process. @throws Error if it has ended. */
  residentBytes(): number {
    this.#child.assertRunning();
    return sampleResident(this.pid);
  }

  /** Ends it by SIGKILL. */
  kill(): Promise<string> {
    return this.#child.stop('SIGKILL');
  }

  /** @returns how it ended; normally `exit code 0`. */
  stop(): Promise<string> {
    return this.#child.stop();
  }
}
