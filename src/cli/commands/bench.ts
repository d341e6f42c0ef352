// `drover bench`: starts a service in a child process and measures it.

import { type ChildProcess, spawn } from 'node:child_process';
import { once, setMaxListeners } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { type Command, Option } from 'commander';
import { DroverClient } from '../../client/index.js';
import { messageOf } from '../../shared/errors.js';
import { PROGRAMS } from '../../shared/package-paths.js';
import { limit } from '../connection/connection.js';
import { EXIT } from '../exit-codes.js';
import { CliError } from '../failure.js';
import { showDuration } from '../flags/duration.js';
import { count, duration } from '../flags/flag-values.js';
import { stopSignal } from '../stop-signals.js';
import { action } from '../terminal/action.js';
import { print, printJson, table } from '../terminal/output.js';
import { showProgress } from '../terminal/progress.js';

const START_MS = 30_000;
const STOP_MS = 12_000;
/** Concurrent requests. */
const CALLERS = 16;
/** Bound of the latency samples in memory. */
const MAX_SAMPLES = 1_000_000;

interface BenchOptions {
  streams: number;
  rate: number;
  for: number;
  json?: true;
}

interface BenchReport {
  streams: number;
  events_per_second: number;
  /** Frames received by all streams together; ideally streams x events. */
  delivered_per_second: number;
  delivery_ms: { p50: number; p99: number };
  requests_per_second: number;
  request_ms: { p50: number; p99: number };
}

export function addBench(program: Command): void {
  const number = (flags: string, what: string, value: number): Option =>
    new Option(flags, what).argParser(count).default(value);
  program
    .command('bench')
    .description('start a separate service and measure its throughput and latency on this machine')
    .addOption(number('--streams <n>', 'number of concurrent streams', 100))
    .addOption(number('--rate <n>', 'events per second', 1000))
    .addOption(
      new Option('--for <time>', 'duration of each measurement')
        .argParser(duration)
        .default(5000, '5s'),
    )
    .option('--json', 'print the results as JSON')
    .action(action(bench));
}

async function bench(options: BenchOptions): Promise<undefined> {
  const dir = makeDataDir();
  const service = spawn(process.execPath, [PROGRAMS.benchService, dir], {
    stdio: ['ignore', 'pipe', 'inherit', 'ipc'],
    env: plainEnvironment(),
  });
  const end = (): void => void service.kill('SIGKILL');
  stopSignal.addEventListener('abort', end, { once: true });
  try {
    showProgress('starting the service');
    const client = await clientOf(service);
    showProgress(`reading ${options.streams} streams`);
    const delivered = await measureStreams(client, options);
    showProgress('sending requests');
    const requests = await measureRequests(client, options.for);
    const report: BenchReport = {
      streams: options.streams,
      events_per_second: options.rate,
      ...delivered,
      ...requests,
    };
    if (options.json) await printJson(report);
    else await print(text(report));
  } finally {
    service.kill('SIGTERM');
    const hard = setTimeout(end, STOP_MS);
    if (service.exitCode === null && service.signalCode === null) await once(service, 'exit');
    clearTimeout(hard);
    rmSync(dir, { recursive: true, force: true });
  }
  stopSignal.throwIfAborted();
}

/** Without DROVER_ variables: the default configuration is measured. */
function plainEnvironment(): NodeJS.ProcessEnv {
  return Object.fromEntries(
    Object.entries(process.env).filter(([name]) => !name.startsWith('DROVER_')),
  );
}

/** A client for the service once it listens. @throws CliError if it does not start. */
async function clientOf(service: ChildProcess): Promise<DroverClient> {
  const deadline = limit(START_MS);
  const stdout = service.stdout as NodeJS.ReadableStream;
  const exited = once(service, 'exit', { signal: deadline }).then(() => undefined);
  let output = '';
  for (;;) {
    const [, pin] = /^PIN=(\d+)/.exec(output) ?? [];
    const [, url] = /\nlistening on (\S+)\n/.exec(output) ?? [];
    if (pin !== undefined && url !== undefined) {
      exited.catch(() => {});
      const client = new DroverClient({ url });
      return client.withToken(await client.exchangePin(pin, { signal: deadline }));
    }
    const more = once(stdout, 'data', { signal: deadline }).then(([part]) => String(part));
    const part = await Promise.race([more, exited]).catch((thrown: unknown) => {
      stopSignal.throwIfAborted();
      if (!deadline.aborted) throw thrown;
      const message = `the measured service did not start within ${showDuration(START_MS)}`;
      throw new CliError(EXIT.timeout, message);
    });
    if (part === undefined) {
      throw new CliError(
        EXIT.failed,
        'the measured service did not start; run drover doctor to find the cause',
      );
    }
    output += part;
  }
}

/** @throws CliError */
function makeDataDir(): string {
  try {
    return mkdtempSync(join(tmpdir(), 'drover-bench-'));
  } catch (thrown) {
    const why = messageOf(thrown);
    throw new CliError(EXIT.failed, `cannot create a temporary data directory: ${why}`);
  }
}

async function measureStreams(
  client: DroverClient,
  { streams, rate, for: ms }: BenchOptions,
): Promise<Pick<BenchReport, 'delivered_per_second' | 'delivery_ms'>> {
  const controller = new AbortController();
  const { signal } = controller;
  // Each stream adds a listener; Node would warn of a leak.
  setMaxListeners(0, signal);
  const counts = { frames: 0 };
  const opened: Promise<void>[] = [];
  const readers: Promise<void>[] = [];
  for (let n = 0; n < streams; n++) {
    opened.push(
      new Promise((resolve, reject) => {
        readers.push(countFrames(client, signal, counts, resolve).catch(reject));
      }),
    );
  }
  await Promise.all(opened);
  await client.bots.create({
    id: 'bench',
    kind: 'synthetic',
    config: { events_per_second: rate, message_bytes: 100 },
  });
  const latencies: number[] = [];
  const sampled = client.stream({ session: ['bench'], kind: ['log'], snapshot: false, signal });
  const sampling = (async () => {
    for await (const batch of sampled.batches()) {
      const now = Date.now();
      for (const { event, data } of batch) {
        if (event === 'log' && latencies.length < MAX_SAMPLES)
          latencies.push(now - data.timestamp_ms);
      }
    }
  })();
  // Warm-up: the bot starts and the hot paths are compiled.
  await delay(1000, undefined, { signal: stopSignal });
  latencies.length = 0;
  const { frames } = counts;
  const began = performance.now();
  await delay(ms, undefined, { signal: stopSignal });
  const seconds = (performance.now() - began) / 1000;
  const delivered = counts.frames - frames;
  controller.abort();
  await Promise.all([sampling, ...readers]);
  await client.bots.delete('bench');
  return {
    delivered_per_second: Math.round(delivered / seconds),
    delivery_ms: percentiles(latencies),
  };
}

/** Counts frames without parsing them, so that the reader is not the bottleneck. */
async function countFrames(
  client: DroverClient,
  signal: AbortSignal,
  counts: { frames: number },
  open: () => void,
): Promise<void> {
  const refused = (why: string): CliError =>
    new CliError(EXIT.failed, `cannot open a stream: ${why}`);
  const response = await fetch(`${client.url}/events?kind=log&snapshot=0`, {
    headers: { authorization: `Bearer ${client.token}` },
    signal,
  }).catch((thrown: unknown) => {
    throw refused(messageOf((thrown as Error).cause ?? thrown));
  });
  if (!response.ok) throw refused(((await response.json()) as { error: string }).error);
  open();
  const reader = (response.body as ReadableStream<Uint8Array>).getReader();
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      // A frame ends with a blank line, and holds no other: an event has one `data:` line.
      for (let at = value.indexOf(10); at >= 0; at = value.indexOf(10, at + 1)) {
        if (value[at + 1] === 10) counts.frames++;
      }
    }
  } catch (thrown) {
    if (!signal.aborted) throw thrown;
  }
}

async function measureRequests(
  client: DroverClient,
  ms: number,
): Promise<Pick<BenchReport, 'requests_per_second' | 'request_ms'>> {
  const latencies: number[] = [];
  const began = performance.now();
  const caller = async (): Promise<void> => {
    for (let now = performance.now(); now - began < ms; ) {
      stopSignal.throwIfAborted();
      await client.apiInfo();
      const after = performance.now();
      if (latencies.length < MAX_SAMPLES) latencies.push(after - now);
      now = after;
    }
  };
  await Promise.all(Array.from({ length: CALLERS }, caller));
  const seconds = (performance.now() - began) / 1000;
  return {
    requests_per_second: Math.round(latencies.length / seconds),
    request_ms: percentiles(latencies),
  };
}

function percentiles(samples: readonly number[]): { p50: number; p99: number } {
  const sorted = Float64Array.from(samples).sort();
  const at = (share: number): number =>
    Math.round((sorted[Math.floor((sorted.length - 1) * share)] ?? 0) * 10) / 10;
  return { p50: at(0.5), p99: at(0.99) };
}

function text(report: BenchReport): string {
  const { streams, events_per_second: rate, delivery_ms, request_ms } = report;
  const whole = (n: number): string => n.toLocaleString('en-US');
  const times = ({ p50, p99 }: { p50: number; p99: number }): string => `${p50} / ${p99} ms`;
  return table(
    ['MEASUREMENT', 'PER SECOND', 'P50 / P99'],
    [
      [
        `frames to ${streams} streams (${whole(streams * rate)} sent)`,
        whole(report.delivered_per_second),
        times(delivery_ms),
      ],
      [
        `GET /api-info, ${CALLERS} concurrent`,
        whole(report.requests_per_second),
        times(request_ms),
      ],
    ],
  );
}
