// Runs in the bench process. Owns the servers under measurement: a process each, and what the system booked to it.

import { Child, type ChildSpec } from './child.js';
import {
  type CpuSample,
  type CpuUse,
  cpuBetween,
  type MemorySample,
  sampleCpu,
  sampleMemory,
  sampleResident,
} from './os-accounting.js';

/** Every server of a bench prints this line, controls as well as the service. */
const LISTENING = /^listening on (http:\/\/\S+)$/;

export class Server {
  readonly name: string;
  /** `http://127.0.0.1:<port>`, without a slash at the end. */
  readonly url: string;
  readonly #child: Child;

  private constructor(child: Child) {
    this.name = child.name;
    this.#child = child;
    this.url = child.ready[1] ?? '';
  }

  /** @throws Error when it ends or stays silent instead of listening. */
  static async start(spec: Omit<ChildSpec, 'ready'>): Promise<Server> {
    return new Server(await Child.start({ ...spec, ready: LISTENING }));
  }

  get pid(): number {
    return this.#child.pid;
  }

  /** Does the work and says what this process used meanwhile. @throws Error when it ended on the way. */
  async cpuDuring<T>(work: () => Promise<T>): Promise<{ result: T; use: CpuUse }> {
    const before = this.sampleCpu();
    const result = await work();
    return { result, use: cpuBetween(before, this.sampleCpu()) };
  }

  /** @throws Error when it has ended. */
  sampleCpu(): CpuSample {
    this.#child.assertRunning();
    return sampleCpu(this.pid);
  }

  /** @throws Error when it has ended. */
  memory(): MemorySample {
    this.#child.assertRunning();
    return sampleMemory(this.pid);
  }

  /** Only how much of it is resident: much cheaper to ask for, for the asked process too. @throws Error when it has ended. */
  residentBytes(): number {
    this.#child.assertRunning();
    return sampleResident(this.pid);
  }

  /** @returns how it ended, `exit code 0` when all is well. */
  stop(): Promise<string> {
    return this.#child.stop();
  }
}
