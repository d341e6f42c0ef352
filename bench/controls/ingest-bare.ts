// A control process of the ingest bench: the least that the path from a bot to the ring can cost. One thread packs, one unpacks
// and writes; no bots, filters or readers. Jobs and results are lines of JSON.

import { setTimeout as delay } from 'node:timers/promises';
import { MessageChannel, Worker } from 'node:worker_threads';
import { cpuBetween, sampleCpu } from '../harness/os-accounting.js';
import { serveJobs } from '../load/serve-jobs.js';
import type { IngestThread } from './ingest-threads.js';

/** Job and result. */
export interface IngestJob {
  seconds: number;
  messageBytes: number;
}
export interface IngestResult {
  eventsPerS: number;
  cpuUsPerEvent: number;
}

const SETTLE_MS = 300;
const buffer = new SharedArrayBuffer(12);
const cells = new Int32Array(buffer);
let packing: Worker | undefined;

function start(messageBytes: number): Worker {
  const { port1, port2 } = new MessageChannel();
  const script = new URL('./ingest-threads.js', import.meta.url);
  const thread = (role: IngestThread['role'], port: typeof port1) =>
    new Worker(script, {
      workerData: { role, port, cells: buffer, messageBytes } satisfies IngestThread,
      transferList: [port],
    });
  thread('writes', port1);
  return thread('packs', port2);
}

async function run({ seconds, messageBytes }: IngestJob): Promise<IngestResult> {
  packing ??= start(messageBytes);
  Atomics.store(cells, 2, 1);
  packing.postMessage('go');
  await delay(SETTLE_MS);
  const written = Atomics.load(cells, 1);
  const before = sampleCpu(process.pid);
  await delay(seconds * 1000);
  const events = (Atomics.load(cells, 1) - written) >>> 0;
  const use = cpuBetween(before, sampleCpu(process.pid));
  Atomics.store(cells, 2, 0);
  while (Atomics.load(cells, 0) > 0) await delay(1);
  return { eventsPerS: events / (use.wallNs / 1e9), cpuUsPerEvent: use.cpuNs / 1000 / events };
}

await serveJobs(run);
