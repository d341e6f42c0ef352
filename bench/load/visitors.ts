// A load process: requests beside a crowd, a monitor's and those of people who sign in. Jobs and results are lines of JSON
// (crowd-jobs.ts).

import { connect, type Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { LatencyHistogram } from '../harness/latency-histogram.js';
import type { Answers, VisitorJob, VisitorReply } from './crowd-jobs.js';
import { serveJobs } from './serve-jobs.js';

/** A response that takes longer counts as none. */
const WITHIN_MS = 10_000;
const FAULTS_KEPT = 5;

/** Responses of one kind. */
class Tally {
  readonly #latencies = new LatencyHistogram();
  #failed = 0;

  /** @param from performance.now() of the request. */
  add(status: string, from: number): void {
    if (status !== '200') {
      this.fail(`the status ${status}`);
      return;
    }
    this.#latencies.record(performance.now() - from);
  }

  fail(what: string): void {
    this.#failed += 1;
    if (faults.length < FAULTS_KEPT && !faults.includes(what)) faults.push(what);
  }

  get answers(): Answers {
    return {
      count: this.#latencies.count,
      failed: this.#failed,
      p50Ms: this.#latencies.percentileMs(50),
      p99Ms: this.#latencies.percentileMs(99),
      maxMs: this.#latencies.maxMs,
    };
  }
}

const fresh = new Tally();
const kept = new Tally();
const signIns = new Tally();
const faults: string[] = [];
let ownLagMs = 0;
let watch: NodeJS.Timeout | undefined;
/** The service has answered once; before that it is still starting. */
let isThere = false;

/** One request on a new connection. @returns the status, undefined without a response. */
function once(url: string, request: string): Promise<string | undefined> {
  const { hostname, port } = new URL(url);
  return new Promise((resolve) => {
    let text = '';
    const socket = connect(Number(port), hostname);
    socket.setTimeout(WITHIN_MS, () => socket.destroy());
    socket.on('error', () => {});
    socket.on('data', (bytes) => {
      text += bytes.toString('latin1');
      if (!text.includes('\r\n\r\n')) return;
      resolve(statusOf(text));
      socket.destroy();
    });
    socket.once('close', () => resolve(undefined));
    socket.write(request);
  });
}

function statusOf(text: string): string {
  return /^HTTP\/1\.1 (\d+)/.exec(text)?.[1] ?? text.slice(0, 20);
}

const HEALTH = 'GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n';

async function lookFresh(url: string): Promise<void> {
  const from = performance.now();
  const status = await once(url, HEALTH);
  if (status === '200') isThere = true;
  if (status !== undefined) fresh.add(status, from);
  else if (isThere) fresh.fail('/health gave no answer on a new connection');
}

/** Requests on a connection that stays open, one at a time. */
class KeptConnection {
  readonly #url: URL;
  #socket: Socket | undefined;
  #from = 0;

  constructor(url: string) {
    this.#url = new URL(url);
  }

  look(): void {
    if (this.#from !== 0) return;
    this.#from = performance.now();
    this.#socket ??= this.#connect();
    this.#socket.write(HEALTH);
  }

  close(): void {
    this.#socket?.destroy();
  }

  #connect(): Socket {
    const socket = connect(Number(this.#url.port), this.#url.hostname);
    socket.on('error', () => {});
    socket.on('data', (bytes) => {
      isThere = true;
      kept.add(statusOf(bytes.toString('latin1')), this.#from);
      this.#from = 0;
    });
    socket.once('close', () => {
      if (this.#from !== 0 && isThere) kept.fail('/health gave no answer on an open connection');
      this.#from = 0;
      this.#socket = undefined;
    });
    return socket;
  }
}

let connection: KeptConnection | undefined;

function begin(url: string, everyMs: number): void {
  const ours = new KeptConnection(url);
  connection = ours;
  let last = performance.now();
  watch = setInterval(() => {
    const now = performance.now();
    if (isThere) ownLagMs = Math.max(ownLagMs, now - last - everyMs);
    last = now;
    void lookFresh(url);
    if (isThere) ours.look();
  }, everyMs);
}

async function end(): Promise<void> {
  clearInterval(watch);
  await delay(100);
  connection?.close();
}

async function signIn(url: string, pin: string, count: number, atOnce: number): Promise<void> {
  const body = JSON.stringify({ pin });
  const request =
    `POST /auth/pin HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n` +
    `Content-Length: ${body.length}\r\n\r\n${body}`;
  let begun = 0;
  const next = async (): Promise<void> => {
    while (begun < count) {
      begun += 1;
      const from = performance.now();
      signIns.add((await once(url, request)) ?? 'none', from);
    }
  };
  await Promise.all(Array.from({ length: atOnce }, next));
}

async function perform(job: VisitorJob): Promise<VisitorReply> {
  switch (job.do) {
    case 'watch':
      begin(job.url, job.everyMs);
      break;
    case 'stop':
      await end();
      break;
    case 'sign-in':
      await signIn(job.url, job.pin, job.count, job.atOnce);
  }
  const reply = { fresh: fresh.answers, kept: kept.answers, signIns: signIns.answers };
  return { ...reply, ownLagMs, faults };
}

await serveJobs(perform);
