// One measurement of streams under load: what was delivered, with what latency, at what cost.

import { setTimeout as delay } from 'node:timers/promises';
import { type Contender, timedContender } from '../harness/rounds.js';
import type { Feed, StreamLoad } from './feeds.js';
import type { SwarmTally } from './swarm.js';

/** After a load has begun, before it is measured. */
const SETTLE_MS = 250;
/** Within this time after its end each stream must have all of a load. */
const DRAIN_WITHIN_MS = 20_000;

/** Clients, all in Node or almost all in C. */
export interface Clients {
  mark(group: string, sample: number): Promise<unknown>;
  begin(group: string): Promise<SwarmTally>;
  end(group: string): Promise<SwarmTally>;
  drain(group: string, withinMs: number): Promise<SwarmTally>;
}

/** A load that `streams` clients get. */
export interface StreamWork {
  streams: number;
  load: StreamLoad;
  seconds: number;
  warmUpSeconds: number;
  /** Streams that are parsed in full. */
  sample: number;
}

export interface StreamMeasurement {
  /** Frames that all clients together got in the measured time, per second. */
  framesPerS: number;
  /** The same beside what the load is meant to be. */
  shareOfOffer: number;
  frameBytes: number;
  /** Per CPU second that the system booked to the server's process. */
  framesPerCpuS: number;
  /** Their payload. */
  megabytesPerCpuS: number;
  cpuUsPerFrame: number;
  serverCores: number;
  serverWait: number;
  framesPerWrite: number;
  p50Ms: number;
  p99Ms: number;
  maxMs: number;
  loadCpu: number;
  loadWait: number;
  loadAtItsLimit: boolean;
  /** Frames that were declared as lost to a parsed stream. */
  lost: number;
  /** Losses that were declared to any stream, and streams that the server ended, up to the end. */
  gaps: number;
  closed: number;
}

/** The group of a feed's streams in the swarm. */
export function groupOf(feed: Feed): string {
  return feed.name;
}

/**
 * Makes load on one server for so long and says what came of it. The streams are open.
 * @param meanwhile runs beside the measured stretch, which lasts until it is over too.
 * @throws Error when a stream missed a byte or had one too many, or a parsed one a fault.
 */
export async function measureStreams<T = undefined>(
  feed: Feed,
  clients: Clients,
  work: StreamWork,
  seconds: number,
  meanwhile: () => Promise<T> = async () => undefined as T,
): Promise<StreamMeasurement & { meanwhile: T }> {
  const group = groupOf(feed);
  await clients.mark(group, work.sample);
  await feed.start(work.load);
  await delay(SETTLE_MS);
  const before = await clients.begin(group);
  const { result, use } = await feed.server.cpuDuring(async () => {
    const [beside] = await Promise.all([meanwhile(), delay(seconds * 1000)]);
    return { beside, tally: await clients.end(group) };
  });
  await feed.stop();
  const all = await clients.drain(group, DRAIN_WITHIN_MS);
  const { beside, tally } = result;
  const frameBytes = all.sampleBytes / all.sampleFrames;
  const frames = (tally.bytes - before.bytes) / frameBytes;
  const wallS = use.wallNs / 1e9;
  return {
    framesPerS: frames / wallS,
    shareOfOffer: frames / wallS / (work.load.rate * work.streams),
    frameBytes,
    framesPerCpuS: frames / (use.cpuNs / 1e9),
    megabytesPerCpuS: (frames * frameBytes) / 1e6 / (use.cpuNs / 1e9),
    cpuUsPerFrame: use.cpuNs / 1000 / frames,
    serverCores: use.cpuNs / use.wallNs,
    serverWait: use.waitedNs / use.wallNs,
    framesPerWrite: frames / (tally.chunks - before.chunks),
    p50Ms: tally.latencies.percentileMs(50),
    p99Ms: tally.latencies.percentileMs(99),
    maxMs: tally.latencies.maxMs,
    loadCpu: tally.ownCpu,
    loadWait: tally.ownWait,
    loadAtItsLimit: tally.atItsLimit,
    lost: all.lost,
    gaps: all.gaps,
    closed: all.closed,
    meanwhile: beside,
  };
}

/**
 * A feed as it takes part in rounds.
 * @param meanwhile runs beside each measurement, for the given time in s.
 * @throws Error, when measured, if frames were lost or streams ended.
 */
export function streamContender<T = undefined>(
  feed: Feed,
  clients: Clients,
  work: StreamWork,
  meanwhile: (seconds: number) => Promise<T> = async () => undefined as T,
): Contender<StreamMeasurement & { meanwhile: T }> {
  const measure = async (seconds: number) => {
    const one = await measureStreams(feed, clients, work, seconds, () => meanwhile(seconds));
    if (one.gaps > 0 || one.closed > 0) {
      const limit = one.loadAtItsLimit ? '; the load was at its limit' : '';
      throw new Error(`${feed.name}: ${one.gaps} gaps, ${one.closed} streams ended${limit}`);
    }
    return one;
  };
  return timedContender(feed.name, work, measure);
}
