// Owns a process of load/counting-clients.c: many streams to one server, counted and not parsed.

import { compile } from '../harness/compile.js';
import { LoadProcess } from '../harness/load.js';
import { type CpuSample, type CpuUse, cpuBetween, sampleCpu } from '../harness/os-accounting.js';
import { benchSource } from '../harness/paths.js';
import type { StreamTarget } from '../load/swarm-jobs.js';

const SOURCE = benchSource('load/counting-clients.c');
const TLS = {
  options: ['-DTLS', '-lssl', '-lcrypto'],
  needs: 'the headers of OpenSSL (libssl-dev)',
};
const ANSWER_WITHIN_MS = 45_000;

/** Totals of all streams; bytes are payload without heartbeats, since the mark. */
export interface Counted {
  bytes: number;
  /** Writes of the server, since the streams were opened. */
  chunks: number;
  gaps: number;
  closed: number;
  least: number;
  most: number;
  /** The first fault, or ''. */
  fault: string;
}

export class CountingClients {
  readonly #process: LoadProcess<string, Counted>;
  #began: CpuSample;

  private constructor(process: LoadProcess<string, Counted>) {
    this.#process = process;
    this.#began = sampleCpu(process.pid);
  }

  /** @throws Error if the program cannot be built. */
  static async start(target: StreamTarget): Promise<CountingClients> {
    const { protocol, hostname, port } = new URL(target.url);
    const program =
      protocol === 'https:' ? compile(SOURCE, TLS.options, TLS.needs) : compile(SOURCE);
    const args = [hostname, port, target.path, target.authorization, target.frameStart];
    return new CountingClients(await LoadProcess.start('counting clients', program, args));
  }

  open(streams: number): Promise<Counted> {
    return this.#run(`open ${streams}`);
  }

  mark(): Promise<Counted> {
    return this.#run('mark');
  }

  report(): Promise<Counted> {
    return this.#run('report');
  }

  /** Starts to measure the CPU time of the process. */
  begin(): void {
    this.#began = sampleCpu(this.#process.pid);
  }

  /** Since {@link begin}. */
  use(): CpuUse {
    return cpuBetween(this.#began, sampleCpu(this.#process.pid));
  }

  stop(): Promise<void> {
    return this.#process.stop();
  }

  #run(job: string): Promise<Counted> {
    return this.#process.run(job, ANSWER_WITHIN_MS);
  }
}
