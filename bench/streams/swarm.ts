// Owns the swarm processes: a group's streams are spread over them, and their replies are summed.

import { LatencyHistogram } from '../harness/latency-histogram.js';
import { LoadProcess } from '../harness/load.js';
import { benchScript } from '../harness/paths.js';
import { generatorAtItsLimit } from '../load/http-load.js';
import type {
  Reading,
  ResumedStream,
  StreamTarget,
  SwarmJob,
  SwarmReply,
} from '../load/swarm-jobs.js';

/** Below the limit of open files (20,000 a process), with room for the groups of the other contenders. */
const MOST_STREAMS_PER_PROCESS = 15_000;
const ANSWER_WITHIN_MS = 45_000;

/** What all processes' streams of a group had. */
export interface SwarmTally
  extends Omit<SwarmReply, 'latencies' | 'ownCpu' | 'ownWait' | 'maxMs' | 'resumed'> {
  latencies: LatencyHistogram;
  /** Of the process that was busiest. */
  ownCpu: number;
  ownWait: number;
  /** A process used its core up: what was measured is its own speed. */
  atItsLimit: boolean;
  resumed: ResumedStream[];
}

export class Swarm {
  readonly #processes: readonly LoadProcess<SwarmJob, SwarmReply>[];

  private constructor(processes: readonly LoadProcess<SwarmJob, SwarmReply>[]) {
    this.#processes = processes;
  }

  /** @param streams how many there will be at a time, of all groups. */
  static async start(streams: number): Promise<Swarm> {
    const processes: LoadProcess<SwarmJob, SwarmReply>[] = [];
    const count = Math.ceil(streams / MOST_STREAMS_PER_PROCESS);
    for (let n = 0; n < count; n++) {
      processes.push(await LoadProcess.start(`swarm ${n + 1}`, benchScript('load/swarm.js')));
    }
    return new Swarm(processes);
  }

  open(
    group: string,
    target: StreamTarget,
    streams: number,
    reading: Reading = 'all',
  ): Promise<SwarmTally> {
    return this.#all((share) => ({
      do: 'open',
      group,
      target,
      streams: share(streams),
      reading,
    }));
  }

  mark(group: string, sample: number, filtered = false): Promise<SwarmTally> {
    return this.#all((share) => ({ do: 'mark', group, sample: share(sample), filtered }));
  }

  begin(group: string): Promise<SwarmTally> {
    return this.#all(() => ({ do: 'begin', group }));
  }

  end(group: string): Promise<SwarmTally> {
    return this.#all(() => ({ do: 'end', group }));
  }

  /** @throws Error when a stream has not had exactly what the others have had, or a parsed one had a fault. */
  async drain(group: string, withinMs: number): Promise<SwarmTally> {
    const tally = await this.#all(() => ({ do: 'drain', group, withinMs }));
    if (tally.faults.length > 0) throw new Error(`${group}: ${tally.faults.join('; ')}`);
    if (tally.closed === 0 && tally.gaps === 0 && tally.least !== tally.most) {
      throw new Error(`${group}: one stream had ${tally.least} bytes, another ${tally.most}`);
    }
    return tally;
  }

  resume(group: string, forMs: number): Promise<SwarmTally> {
    return this.#all(() => ({ do: 'resume', group, forMs }));
  }

  close(group: string): Promise<SwarmTally> {
    return this.#all(() => ({ do: 'close', group }));
  }

  async stop(): Promise<void> {
    await Promise.all(this.#processes.map((one) => one.stop()));
  }

  async #all(job: (share: (total: number) => number) => SwarmJob): Promise<SwarmTally> {
    const count = this.#processes.length;
    const replies = await Promise.all(
      this.#processes.map((one, n) => {
        const share = (total: number) => Math.floor((total + n) / count);
        return one.run(job(share), ANSWER_WITHIN_MS);
      }),
    );
    return tallyOf(replies);
  }
}

function tallyOf(replies: readonly SwarmReply[]): SwarmTally {
  const sum = (pick: (reply: SwarmReply) => number) => replies.reduce((all, r) => all + pick(r), 0);
  const most = (pick: (reply: SwarmReply) => number) => Math.max(...replies.map(pick));
  const latencies = new LatencyHistogram();
  for (const reply of replies) latencies.add(reply.latencies, reply.maxMs);
  return {
    bytes: sum((one) => one.bytes),
    chunks: sum((one) => one.chunks),
    sampleBytes: sum((one) => one.sampleBytes),
    sampleFrames: sum((one) => one.sampleFrames),
    gaps: sum((one) => one.gaps),
    lost: sum((one) => one.lost),
    closed: sum((one) => one.closed),
    least: Math.min(...replies.map((one) => one.least)),
    most: most((one) => one.most),
    faults: replies.flatMap((one) => one.faults),
    latencies,
    ownCpu: most((one) => one.ownCpu),
    ownWait: most((one) => one.ownWait),
    atItsLimit: replies.some(generatorAtItsLimit),
    ports: replies.flatMap((one) => one.ports),
    resumed: replies.flatMap((one) => one.resumed),
  };
}
