// The load process of the HTTP bench. Jobs and results are lines of JSON.

import autocannon from 'autocannon';
import { LatencyHistogram } from '../harness/latency-histogram.js';
import { cpuBetween, sampleCpu } from '../harness/os-accounting.js';
import type { HttpLoadJob, HttpLoadResult } from './http-load.js';
import { serveJobs } from './serve-jobs.js';

/** Interval at which autocannon checks its duration, in ms; with its default a run takes whole seconds. */
const SAMPLE_MS = 10;

function run(job: HttpLoadJob): Promise<HttpLoadResult> {
  return new Promise((resolve, reject) => {
    const latencies = new LatencyHistogram();
    let minBytes = Number.POSITIVE_INFINITY;
    let maxBytes = 0;
    const before = sampleCpu(process.pid);
    const options: autocannon.Options = {
      url: job.url,
      method: job.method,
      headers: job.headers,
      connections: job.connections,
      duration: job.durationS,
      sampleInt: SAMPLE_MS,
      ...(job.body === undefined ? {} : { body: job.body }),
    };
    const instance = autocannon(options, (error: unknown, result) => {
      if (error) return reject(error);
      const own = cpuBetween(before, sampleCpu(process.pid));
      const statuses = Object.entries(result.statusCodeStats ?? {});
      resolve({
        requests: latencies.count,
        wallS: own.wallNs / 1e9,
        p50Ms: latencies.percentileMs(50),
        p99Ms: latencies.percentileMs(99),
        maxMs: latencies.maxMs,
        statuses: Object.fromEntries(statuses.map(([code, { count }]) => [code, count ?? 0])),
        minBytes,
        maxBytes,
        errors: result.errors + result.timeouts,
        ownCpu: own.cpuNs / own.wallNs,
        ownWait: own.waitedNs / own.wallNs,
      });
    });
    instance.on('response', (_client, _status, bytes, ms) => {
      latencies.record(ms);
      if (bytes < minBytes) minBytes = bytes;
      if (bytes > maxBytes) maxBytes = bytes;
    });
  });
}

await serveJobs(run);
