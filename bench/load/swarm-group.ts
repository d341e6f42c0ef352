// Runs in swarm processes. Owns the streams to one server and their totals.

import { setTimeout as delay } from 'node:timers/promises';
import { LatencyHistogram } from '../harness/latency-histogram.js';
import { type CpuSample, cpuBetween, sampleCpu } from '../harness/os-accounting.js';
import { StreamCheck } from './stream-check.js';
import {
  NUMBER_IN_PATH,
  type Reading,
  type ResumedStream,
  type StreamTarget,
  type SwarmReply,
} from './swarm-jobs.js';
import { type GroupCounters, SwarmStream } from './swarm-stream.js';

/** Concurrent connection attempts: listen backlogs are short. */
const CONNECTING = 128;
const OPEN_WITHIN_MS = 30_000;
const POLL_MS = 5;
/** A stream that is silent for this long after the end of the load has everything. */
const QUIET_MS = 40;

export class SwarmGroup {
  readonly #streams: SwarmStream[] = [];
  readonly #counters: GroupCounters = { wire: 0, opened: 0, closed: 0, faults: [] };
  #latencies = new LatencyHistogram();
  #sample: SwarmStream[] = [];
  #clockOffset = 0;
  #began: CpuSample = sampleCpu(process.pid);

  /** Opens more streams. @throws Error if not all open in time. */
  async open(target: StreamTarget, more: number, reading: Reading): Promise<void> {
    const deadline = performance.now() + OPEN_WITHIN_MS;
    const streams = this.#streams.length + more;
    const now = () => this.#clockOffset + performance.now();
    while (this.#counters.opened < streams) {
      if (performance.now() > deadline || this.#counters.closed > 0) {
        const { opened, faults } = this.#counters;
        throw new Error(`${opened} of ${streams} streams are open; ${faults.join('; ')}`);
      }
      const connecting = this.#streams.length - this.#counters.opened;
      const next = Math.min(CONNECTING - connecting, streams - this.#streams.length);
      for (let n = 0; n < next; n++) {
        const stream = String(this.#streams.length).padStart(5, '0');
        const own = { ...target, path: target.path.replace(NUMBER_IN_PATH, stream) };
        this.#streams.push(new SwarmStream(own, reading, this.#counters, now));
      }
      await delay(1);
    }
    await delay(QUIET_MS);
  }

  /** @param sample number of fully parsed streams, spread evenly over the order of opening. */
  mark(sample: number, filtered: boolean): void {
    this.#clockOffset = wallClockOffset();
    const step = this.#streams.length / Math.max(1, sample);
    const chosen = new Set(Array.from({ length: sample }, (_, n) => Math.floor((n + 0.5) * step)));
    this.#sample = [];
    this.#streams.forEach((stream, n) => {
      const check = chosen.has(n) ? this.#newCheck(filtered) : undefined;
      stream.mark(check);
      if (check) this.#sample.push(stream);
    });
  }

  begin(): void {
    this.#latencies.reset();
    this.#began = sampleCpu(process.pid);
  }

  /** Waits until all streams have received the same bytes, including the last line of the load. */
  async drain(withinMs: number): Promise<void> {
    const deadline = performance.now() + withinMs;
    let seen = -1;
    let quietSince = 0;
    while (performance.now() < deadline) {
      const now = performance.now();
      if (this.#counters.wire !== seen) {
        seen = this.#counters.wire;
        quietSince = now;
      } else if (now - quietSince >= QUIET_MS && this.#isDrained()) return;
      await delay(POLL_MS);
    }
  }

  /** Lets a group that read nothing read again. */
  async resume(forMs: number): Promise<ResumedStream[]> {
    const resumed = this.#streams.map((stream) => {
      const check = this.#newCheck(false);
      const { reader } = stream;
      const result = { port: stream.port, bytesBeforeGap: 0 };
      const before = reader.payload + reader.framing;
      stream.parse(check);
      const feed = reader.sink;
      // The gap is a separate chunk, and a piece never spans two chunks.
      reader.sink = (bytes, from, to) => {
        feed?.(bytes, from, to);
        if (check.gaps > 0) return;
        result.bytesBeforeGap = reader.payload + reader.framing + to - from - before;
      };
      stream.resume();
      return { check, result };
    });
    await delay(forMs);
    return resumed.map(({ check, result }) => {
      if (check.fault !== undefined) this.#counters.faults.push(check.fault);
      return { ...result, frames: check.frames, gaps: check.gaps };
    });
  }

  close(): void {
    for (const stream of this.#streams) stream.close();
  }

  report(): SwarmReply {
    const own = cpuBetween(this.#began, sampleCpu(process.pid));
    const faults = [...this.#counters.faults];
    let [bytes, chunks, gaps, least, most] = [0, 0, 0, Number.POSITIVE_INFINITY, 0];
    for (const stream of this.#streams) {
      bytes += stream.bytes;
      chunks += stream.reader.chunks;
      gaps += stream.reader.gaps;
      least = Math.min(least, stream.bytes);
      most = Math.max(most, stream.bytes);
    }
    const sums = { sampleBytes: 0, sampleFrames: 0, lost: 0 };
    for (const { check, bytes: itsBytes } of this.#sample) {
      if (check === undefined) continue;
      if (check.fault !== undefined) faults.push(check.fault);
      sums.sampleBytes += itsBytes;
      sums.sampleFrames += check.frames;
      sums.lost += check.lost;
    }
    return {
      bytes,
      chunks,
      gaps,
      ...sums,
      closed: this.#counters.closed,
      least: Math.min(least, most),
      most,
      faults: faults.slice(0, 5),
      latencies: this.#latencies.pairs(),
      maxMs: this.#latencies.maxMs,
      ownCpu: own.cpuNs / own.wallNs,
      ownWait: own.waitedNs / own.wallNs,
      ports: [],
      resumed: [],
    };
  }

  ports(): number[] {
    return this.#streams.map((stream) => stream.port);
  }

  #newCheck(filtered: boolean): StreamCheck {
    return new StreamCheck(this.#latencies, filtered);
  }

  #isDrained(): boolean {
    if (!this.#sample.every(({ check }) => check?.ended)) return false;
    const bytes = this.#streams[0]?.bytes;
    return this.#streams.every((stream) => stream.bytes === bytes);
  }
}

/** Wall clock minus performance.now(), in ms, finer than the wall clock's own milliseconds. */
function wallClockOffset(): number {
  const from = Date.now();
  let now = from;
  while (now === from) now = Date.now();
  return now - performance.now();
}
