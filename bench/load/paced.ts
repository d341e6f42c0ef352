// A load process: GET requests at a fixed rate, to measure latency without adding load. A generator that sends the next request
// right after a response would use a core itself, and would send less while the server is slow. Jobs and results are lines of
// JSON.

import { get as getHttp, Agent as HttpAgent } from 'node:http';
import { get as getHttps, Agent as HttpsAgent } from 'node:https';
import { LatencyHistogram } from '../harness/latency-histogram.js';
import type { PacedJob, PacedResult } from './paced-jobs.js';
import { serveJobs } from './serve-jobs.js';

/** A response later than this is an error. */
const ANSWER_WITHIN_MS = 10_000;

/** One period of requests. */
class Period {
  readonly #job: PacedJob;
  readonly #agent: HttpAgent;
  readonly #latencies = new LatencyHistogram();
  readonly #began = performance.now();
  /** When each request was due that no connection was free for. */
  readonly #waiting: number[] = [];
  #sent = 0;
  #open = 0;
  #late = 0;
  #resolve: (result: PacedResult) => void = () => {};
  #reject: (error: Error) => void = () => {};

  constructor(job: PacedJob) {
    this.#job = job;
    const options = { keepAlive: true, maxSockets: job.connections, rejectUnauthorized: false };
    this.#agent = job.url.startsWith('https:') ? new HttpsAgent(options) : new HttpAgent(options);
  }

  async run(): Promise<PacedResult> {
    const ended = new Promise<PacedResult>((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
    });
    this.#tick();
    try {
      return await ended;
    } finally {
      this.#agent.destroy();
    }
  }

  #tick(): void {
    const { rate, durationMs, connections } = this.#job;
    const now = performance.now();
    const dueMs = Math.min(now - this.#began, durationMs);
    for (; this.#sent < Math.floor((dueMs * rate) / 1000); this.#sent++) {
      if (this.#open < connections) this.#send(now);
      else this.#waiting.push(now);
    }
    if (dueMs < durationMs) setTimeout(() => this.#tick(), 1000 / rate);
    else this.#checkEnd();
  }

  /** @param from counts in the latency. */
  #send(from: number): void {
    const { url } = this.#job;
    this.#open += 1;
    const get = url.startsWith('https:') ? getHttps : getHttp;
    const sent = get(url, { agent: this.#agent, timeout: ANSWER_WITHIN_MS }, (response) => {
      response.resume();
      response.on('end', () => {
        if (response.statusCode === 200) this.#answered(from);
        else this.#reject(new Error(`${url} was answered ${response.statusCode}`));
      });
    });
    sent.on('error', this.#reject);
    sent.on('timeout', () => sent.destroy(new Error(`${url} was not answered`)));
  }

  #answered(from: number): void {
    this.#latencies.record(performance.now() - from);
    this.#open -= 1;
    const due = this.#waiting.shift();
    if (due !== undefined) {
      this.#late += 1;
      this.#send(due);
    }
    this.#checkEnd();
  }

  #checkEnd(): void {
    const { rate, durationMs } = this.#job;
    if (this.#open > 0 || this.#sent < Math.floor((durationMs * rate) / 1000)) return;
    this.#resolve({
      requests: this.#latencies.count,
      late: this.#late,
      p50Ms: this.#latencies.percentileMs(50),
      p99Ms: this.#latencies.percentileMs(99),
      maxMs: this.#latencies.maxMs,
    });
  }
}

await serveJobs((job: PacedJob) => new Period(job).run());
