// Everything that clients do, repeatedly, on one service: streams open, drop and resume, tokens and tickets are created
// and revoked, bots are invoked, created, restarted and deleted, and invalid requests arrive. In the end memory, open
// files and latency are unchanged, every resumed stream has received every number once, and nothing is left over.
//
// This is the short form. `npm run long -- soak` (soak.mjs) sets the environment for a long one.

import { readdirSync, readFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { call } from '../harness/api.js';
import { create, eventually, invoke, list, remove } from '../harness/bots.js';
import { Ledger } from '../harness/ledger.js';
import { RawStream } from '../harness/raw-stream.js';
import { type Service, startService, stopClean, TEST_ENGINE } from '../harness/service.js';
import { listTokens, makeTicket, makeToken, revoke } from '../harness/tokens.js';

const seconds = Number(process.env['SOAK_SECONDS'] ?? 12);
/** A run this long is also judged by its trend. A short one is mostly warm-up. */
const isLong = seconds >= 60;
const BOTS = 20;
const RESUMERS = 20;
/** Samples of a run. The first fifth is warm-up. */
const SAMPLES = 60;
/** On a busy machine a short run has fewer; each quarter needs some. */
const LEAST_SAMPLES = 10;
const PROBES = 20;
const MIB = 2 ** 20;
/** Open files that vary from moment to moment, such as keep-alive connections. */
const SPARE_FILES = 8;
const SPARE_BYTES = 32 * MIB;

interface Sample {
  rss: number;
  files: number;
  /** Of `GET /health` over keep-alive connections, in ms. */
  latencies: number[];
}

function progress(line: string): void {
  if (process.env['SOAK_PROGRESS']) process.stderr.write(`${line}\n`);
}

const median = (values: readonly number[]): number =>
  [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)] as number;

const p99 = (values: readonly number[]): number =>
  [...values].sort((a, b) => a - b)[Math.floor(values.length * 0.99)] as number;

/** Without mapped files: the journal grows with its events, up to its limit. */
const memoryOf = (pid: number): number =>
  Number(/^RssAnon:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) * 1024;
const filesOf = (pid: number): number => readdirSync(`/proc/${pid}/fd`).length;

it('memory, open files and latency end where they started', {
  timeout: (seconds + 120) * 1000,
}, async () => {
  const service = await startService({
    demo: true,
    config: {
      // Small, so that all of it is written before the first comparison.
      stream: { ring_bytes: 4 * MIB },
      bots: Array.from({ length: BOTS }, (_, n) => ({
        id: `steady-${n}`,
        kind: 'synthetic',
        config: { events_per_second: 50 },
      })),
    },
  });
  try {
    const pid = service.child.pid as number;
    const move = (): Promise<{ status: number }> =>
      invoke(service, 'demo-1', 'move', { x: 1, y: 1 });
    await eventually(async () => (await move()).status === 200, 'the demo bots are in their world');
    const before = { files: filesOf(pid), tokens: (await listTokens(service)).length };
    const done: Record<string, number> = {};
    const samples = await work(service, pid, done);
    const said = Object.entries(done).map(([what, times]) => `${times} ${what}`);
    report(samples, said.join(', '));
    for (const times of Object.values(done)) expect(times).toBeGreaterThan(0);

    await eventually(async () => filesOf(pid) <= before.files + SPARE_FILES, 'files are closed');
    expect((await listTokens(service)).length).toBe(before.tokens);
    const bots = await list(service);
    expect(bots.filter(({ id }) => !/^(steady|demo)-/.test(id))).toEqual([]);
    const pressure = (await call(service, 'GET', '/api/pressure')).json as object;
    expect(pressure).toMatchObject({ streams: { open: 0 } });
    judge(samples);
  } finally {
    await stopClean(service);
  }
});

/** Runs all kinds of clients concurrently until the time is over. */
async function work(
  service: Service,
  pid: number,
  done: Record<string, number>,
): Promise<Sample[]> {
  const until = performance.now() + seconds * 1000;
  const again = async (what: string, task: (turn: number) => Promise<void>): Promise<void> => {
    done[what] = 0;
    for (let turn = 0; performance.now() < until; turn++) {
      await task(turn);
      done[what] += 1;
    }
  };
  const samples: Sample[] = [];
  const clients = [
    ...Array.from({ length: RESUMERS }, (_, n) => {
      const ledger = new Ledger();
      return again('resumes', async () => {
        await resume(service, ledger);
        expect(ledger.faults, `resumer ${n}`).toEqual([]);
      });
    }),
    again('revocations', () => openAndRevoke(service)),
    again('tickets', async () => {
      const stream = await RawStream.open(service.port, {
        target: `/events?ticket=${await makeTicket(service)}`,
      });
      await stream.until(() => stream.bodyBytes > 0);
      stream.close();
    }),
    again('invokes', async (turn) => {
      const [id, command, args] =
        turn % 2 === 0
          ? ([null, 'ping', {}] as const)
          : (['demo-1', 'move', { x: turn % 50, y: 1 }] as const);
      expect((await invoke(service, id, command, args)).status).toBe(200);
    }),
    again('bots made and deleted', async (turn) => {
      const id = `brief-${turn}`;
      const config = { events_per_second: 100 };
      expect((await create(service, { id, kind: 'synthetic', config })).status).toBe(201);
      expect((await call(service, 'POST', `/api/bots/${id}/restart`)).status).toBe(200);
      expect((await remove(service, id)).status).toBe(204);
    }),
    again('wrong requests', async (turn) => {
      const wrong = [
        () => call(service, 'GET', '/nothing'),
        () => call(service, 'GET', '/api/bots', { token: 'wrong' }),
        () => call(service, 'POST', '/invoke', { body: [] }),
        () => call(service, 'PUT', '/api/bots'),
      ][turn % 4];
      expect((await wrong?.())?.status).toBeGreaterThanOrEqual(400);
      await delay(5);
    }),
    watchOver(service, pid, until, samples),
  ];
  await Promise.all(clients);
  return samples;
}

/** Follows the stream briefly and drops the connection at any byte. */
async function resume(service: Service, ledger: Ledger): Promise<void> {
  const headers: Record<string, string> = ledger.lastEventId
    ? { 'Last-Event-ID': ledger.lastEventId }
    : {};
  const stream = await RawStream.open(service.port, {
    token: await service.token(),
    headers,
    onBlock: ledger.take,
  });
  const wanted = 1000 + Math.random() * 100_000;
  await stream.until(() => stream.bodyBytes > wanted);
  stream.close();
  await delay(Math.random() * 100);
}

async function openAndRevoke(service: Service): Promise<void> {
  const { id, token } = await makeToken(service, { name: 'brief' });
  const stream = await RawStream.open(service.port, { token });
  await stream.until(() => stream.bodyBytes > 0);
  expect((await revoke(service, id)).status).toBe(204);
  await stream.ended;
}

/** Takes the samples at even intervals. */
async function watchOver(
  service: Service,
  pid: number,
  until: number,
  samples: Sample[],
): Promise<void> {
  const everyMs = (until - performance.now()) / SAMPLES;
  for (let n = 1; performance.now() < until - everyMs || n <= LEAST_SAMPLES; n++) {
    await delay(everyMs);
    const latencies: number[] = [];
    for (let probe = 0; probe < PROBES; probe++) {
      const from = performance.now();
      await call(service, 'GET', '/health', { token: null });
      latencies.push(performance.now() - from);
    }
    const sample = { rss: memoryOf(pid), files: filesOf(pid), latencies };
    samples.push(sample);
    const mib = (sample.rss / MIB).toFixed(0);
    progress(
      `${n} of ${SAMPLES}: ${mib} MiB, ${sample.files} files, p99 ${p99(latencies).toFixed(1)} ms`,
    );
  }
}

/** Drops the warm-up (the first fifth) and splits the rest into quarters. */
function quarters(samples: readonly Sample[]): Sample[][] {
  const warm = samples.slice(Math.floor(samples.length / 5));
  const at = (n: number): number => Math.round((n * warm.length) / 4);
  return [0, 1, 2, 3].map((n) => warm.slice(at(n), at(n + 1)));
}

function report(samples: readonly Sample[], did: string): void {
  progress(`\n${seconds} s on ${TEST_ENGINE}: ${did}\n`);
  progress('quarter  memory MiB  open files  /health p50 ms  p99 ms');
  for (const [n, quarter] of quarters(samples).entries()) {
    const latencies = quarter.flatMap((sample) => sample.latencies);
    const cells = [
      String(n + 1).padEnd(7),
      (median(quarter.map(({ rss }) => rss)) / MIB).toFixed(0).padStart(10),
      String(median(quarter.map(({ files }) => files))).padStart(10),
      median(latencies).toFixed(2).padStart(14),
      p99(latencies).toFixed(2).padStart(6),
    ];
    progress(cells.join('  '));
  }
}

/** Compares the last quarter with the first, which shows growth with the work done. */
function judge(samples: readonly Sample[]): void {
  if (!isLong) return;
  const [first, , , last] = quarters(samples) as [Sample[], Sample[], Sample[], Sample[]];
  const memory = (quarter: Sample[]): number => median(quarter.map(({ rss }) => rss));
  const files = (quarter: Sample[]): number => median(quarter.map((sample) => sample.files));
  const latency = (quarter: Sample[]): number => median(quarter.flatMap((one) => one.latencies));
  expect(memory(last), 'memory').toBeLessThan(memory(first) + SPARE_BYTES);
  expect(files(last), 'open files').toBeLessThanOrEqual(files(first) + SPARE_FILES);
  // A ratio of medians: twice as slow as a few minutes earlier is not noise.
  expect(latency(last) / latency(first), 'latency').toBeLessThan(2);
}
