// A load process: clients that lose the service and come back, each with its last id. Jobs and results are lines of JSON
// (crowd-jobs.ts).

import { connect } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { type CpuSample, cpuBetween, sampleCpu } from '../harness/os-accounting.js';
import type { ComingBack, CrowdJob, CrowdReply } from './crowd-jobs.js';
import { type CrowdCounters, CrowdStream, type CrowdTarget } from './crowd-stream.js';
import { serveJobs } from './serve-jobs.js';

/** Concurrent connection attempts while the streams are opened first. */
const CONNECTING = 128;
const OPEN_WITHIN_MS = 60_000;
const POLL_MS = 5;

const counters: CrowdCounters = {
  opened: 0,
  lost: 0,
  refused: 0,
  resumed: 0,
  replayed: 0,
  marker: undefined,
  isAsTold: false,
  gaps: new Map(),
  faults: [],
};
let target: CrowdTarget = { host: '', port: 0, authorization: '' };
const streams: CrowdStream[] = [];
let since: CpuSample = sampleCpu(process.pid);

async function open(url: string, authorization: string, count: number): Promise<void> {
  const { hostname, port } = new URL(url);
  target = { host: hostname, port: Number(port), authorization };
  const deadline = performance.now() + OPEN_WITHIN_MS;
  const isReady = (): boolean => streams.every(({ last }) => last !== -1);
  while (streams.length < count || !isReady()) {
    if (performance.now() > deadline || counters.faults.length > 0) {
      throw new Error(`${counters.opened} of ${count} are open; ${counters.faults.join('; ')}`);
    }
    const more = Math.min(CONNECTING - (streams.length - counters.opened), count - streams.length);
    for (let n = 0; n < more; n++) streams.push(new CrowdStream(target, counters));
    await delay(POLL_MS);
  }
}

function expectLoss(comingBack: ComingBack, spread: number, marker: string): void {
  // As if the clients had been cut off at different frames.
  for (const [n, stream] of streams.entries()) stream.forget(n % spread);
  counters.marker = marker;
  counters.isAsTold = comingBack === 'as-told';
  since = sampleCpu(process.pid);
}

async function awaitReturn(withinMs: number): Promise<void> {
  const deadline = performance.now() + withinMs;
  if (!counters.isAsTold) {
    await untilListening(deadline);
    // A client that is still refused comes back after its `retry:`.
    counters.isAsTold = true;
    for (const stream of streams) stream.connect();
  }
  while (counters.resumed < streams.length && performance.now() < deadline) {
    await delay(POLL_MS);
  }
}

async function untilListening(deadline: number): Promise<void> {
  const { host, port } = target;
  // The service that is to be killed still listens.
  while (counters.lost < streams.length && performance.now() < deadline) await delay(POLL_MS);
  while (performance.now() < deadline) {
    const isThere = await new Promise<boolean>((resolve) => {
      const socket = connect(port, host, () => {
        socket.destroy();
        resolve(true);
      });
      socket.once('error', () => resolve(false));
    });
    if (isThere) return;
    await delay(POLL_MS);
  }
}

function report(): CrowdReply {
  const own = cpuBetween(since, sampleCpu(process.pid));
  return {
    streams: streams.length,
    lost: counters.lost,
    resumed: counters.resumed,
    openedAt: streams.map(({ openedAt }) => openedAt).filter((at) => at > 0),
    resumedAt: streams.map(({ resumedAt }) => resumedAt).filter((at) => at > 0),
    refused: counters.refused,
    positions: rangeOf(streams.map(({ last }) => last)),
    retryMs: rangeOf(streams.map(({ retryMs }) => retryMs)),
    gaps: [...counters.gaps],
    replayed: counters.replayed,
    faults: [...counters.faults],
    ownCpu: own.cpuNs / own.wallNs,
    ownWait: own.waitedNs / own.wallNs,
  };
}

function rangeOf(values: readonly number[]): [number, number] {
  let [lowest, highest] = [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY];
  for (const value of values) {
    lowest = Math.min(lowest, value);
    highest = Math.max(highest, value);
  }
  return [lowest, highest];
}

async function perform(job: CrowdJob): Promise<CrowdReply> {
  switch (job.do) {
    case 'open':
      await open(job.url, job.authorization, job.streams);
      break;
    case 'expect-loss':
      expectLoss(job.comingBack, job.spread, job.marker);
      break;
    case 'await-return':
      await awaitReturn(job.withinMs);
      break;
    case 'close':
      for (const stream of streams) stream.close();
  }
  return report();
}

await serveJobs(perform);
