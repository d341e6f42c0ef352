// Events a second through the cluster: bots on three nodes write, and each node has all of it on its ring.

import { setTimeout as delay } from 'node:timers/promises';
import { type CpuUse, cpuBetween, sampleCpu } from '../harness/os-accounting.js';
import type { Progress } from '../harness/progress.js';
import { type BenchCluster, NODES } from './cluster.js';
import { expectAll, type Positions, positionsOf } from './positions.js';

/** On each node. */
const BOTS = 2;
const SETTLE_MS = 1000;
const MARK_WITHIN_MS = 60_000;
/** A node that is further behind does not keep up, in ms. */
const MOST_LAG_MS = 1000;
/** Of the offered events, how many must have passed. */
const LEAST_PASSED = 0.97;
/** Frames that are read to know how long they are. */
const SAMPLE = 5000;

export interface ThroughputPlan {
  /** Events a second that are tried, in this order, until one is too many. */
  rates: readonly number[];
  /** How long each is tried. */
  tryS: number;
  /** How long the highest that passed is measured. The next lower one follows where that is too long for it. */
  sustainS: number;
}

export interface PartUse {
  name: string;
  cores: number;
  usPerEvent: number;
  waited: number;
}

export interface Throughput {
  offered: number;
  /** That all nodes had, each second. */
  eventsPerS: number;
  seconds: number;
  events: number;
  /** From a mark to the last node that had it, at the end of the load. */
  lagMs: number;
  isSustained: boolean;
  parts: PartUse[];
  usPerEvent: number;
  framesPerBlock: number;
  frameBytes: number;
  /** Bytes on the bus for each byte of frames. */
  busRatio: number;
}

/** @returns all that was tried; the last is the one that was sustained, if there was one. */
export async function measureThroughput(
  cluster: BenchCluster,
  { rates, tryS, sustainS }: ThroughputPlan,
  progress: Progress,
): Promise<Throughput[]> {
  const tried: Throughput[] = [];
  const passed: number[] = [];
  for (const rate of rates) {
    progress.step(`cluster: ${rate} events/s for ${tryS} s`);
    const one = await measureRate(cluster, rate, tryS);
    tried.push(one);
    if (!one.isSustained) break;
    passed.push(rate);
  }
  if (sustainS <= tryS) return tried;
  for (const rate of passed.reverse()) {
    progress.step(`cluster: ${rate} events/s for ${sustainS} s`);
    const one = await measureRate(cluster, rate, sustainS);
    tried.push(one);
    if (one.isSustained) break;
  }
  return tried;
}

async function measureRate(
  cluster: BenchCluster,
  offered: number,
  seconds: number,
): Promise<Throughput> {
  const [asked] = cluster.nodes;
  if (!asked) throw new Error('there is no node');
  const quiet = await positionsOf(cluster.nodes, MARK_WITHIN_MS);
  const bots = NODES.flatMap((node) =>
    Array.from({ length: BOTS }, (_, n) => ({ id: `talk-${node}-${n}`, node })),
  );
  const stored = await cluster.stored();
  const nodeOf = new Map(bots.map(({ id, node }) => [id, node]));
  const ids = [...nodeOf.keys()];
  const config = { events_per_second: Math.round(offered / bots.length) };
  await asked.forEach(ids, (id) =>
    asked.createBot(id, 'bench-talk', config, { node: nodeOf.get(id) }),
  );
  await delay(SETTLE_MS);
  const from = await positionsOf(cluster.nodes, MARK_WITHIN_MS);
  const before = cluster.parts.map(({ pid }) => sampleCpu(pid));
  await delay(seconds * 1000);
  const uses = cluster.parts.map(({ name, pid }, at) => ({
    name,
    use: cpuBetween(before[at] as ReturnType<typeof sampleCpu>, sampleCpu(pid)),
  }));
  const passing = positionsOf(cluster.nodes, MARK_WITHIN_MS);
  // A load that is too much ends here, before frames leave the rings.
  await Promise.race([passing, delay(MOST_LAG_MS)]);
  await asked.forEach(ids, (id) => asked.deleteBot(id));
  const to = await passing;
  const end = await positionsOf(cluster.nodes, MARK_WITHIN_MS);
  const events = expectAll(quiet, end);
  const after = await cluster.stored();
  const frameBytes = await sampleBytes(cluster, end);
  const eventsPerS = Math.min(...cluster.nodes.map((_, at) => rateOf(from, to, at)));
  const parts = uses.map(({ name, use }) => partOf(name, use, eventsPerS));
  const messages = after.messages - stored.messages;
  return {
    offered,
    eventsPerS,
    seconds,
    events,
    lagMs: to.lagMs,
    isSustained: eventsPerS >= LEAST_PASSED * offered && to.lagMs <= MOST_LAG_MS,
    parts,
    usPerEvent: parts.reduce((sum, { usPerEvent }) => sum + usPerEvent, 0),
    framesPerBlock: events / messages,
    frameBytes,
    busRatio: (after.bytes - stored.bytes) / (events * frameBytes),
  };
}

/** Events a second that a node had between two positions. */
function rateOf(from: Positions, to: Positions, at: number): number {
  const [first, last] = [from.cluster[at], to.cluster[at]];
  if (!first || !last) return Number.NaN;
  return ((last.seq - first.seq) / (last.at - first.at)) * 1000;
}

function partOf(name: string, use: CpuUse, eventsPerS: number): PartUse {
  const cores = use.cpuNs / use.wallNs;
  return {
    name,
    cores,
    usPerEvent: (cores * 1e6) / eventsPerS,
    waited: use.waitedNs / use.wallNs,
  };
}

/** The mean length of the last frames, as a client gets them. @throws Error when they are not all there, in order. */
async function sampleBytes(cluster: BenchCluster, { cluster: at }: Positions): Promise<number> {
  const [node] = cluster.nodes;
  const last = at[0];
  if (!node || !last) throw new Error('there is no node');
  const [epoch = ''] = (last.message.id ?? '').split('-');
  const abort = new AbortController();
  const response = await fetch(`${node.server.url}/events?snapshot=0`, {
    headers: {
      authorization: node.authorization,
      'last-event-id': `${epoch}-${last.seq - SAMPLE}`,
    },
    signal: abort.signal,
  });
  let text = '';
  const decoder = new TextDecoder();
  const end = `id: ${epoch}-${last.seq}\n`;
  for await (const bytes of response.body as ReadableStream<Uint8Array>) {
    text += decoder.decode(bytes, { stream: true });
    if (text.includes(end)) break;
  }
  abort.abort();
  const found = [...text.matchAll(/^id: [0-9a-f]+-(\d+)$/gm)].map(([, seq]) => Number(seq));
  const wanted = found.findIndex((seq) => seq === last.seq - SAMPLE + 1);
  const isWhole = found
    .slice(wanted, wanted + SAMPLE)
    .every((seq, n) => seq === last.seq - SAMPLE + 1 + n);
  if (wanted === -1 || !isWhole) throw new Error('a client did not get the last frames in order');
  const begin = text.indexOf(`id: ${epoch}-${last.seq - SAMPLE + 1}\n`);
  return Buffer.byteLength(text.slice(begin, text.indexOf(end))) / (SAMPLE - 1);
}
