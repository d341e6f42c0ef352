// One measurement of a crowd that comes back, with a new service.

import { readFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { freePort } from '../../test/harness/ports.js';
import { Drover, fullOf } from '../harness/drover.js';
import { LoadProcess } from '../harness/load.js';
import { cpuBetween } from '../harness/os-accounting.js';
import { benchScript } from '../harness/paths.js';
import type {
  Answers,
  ComingBack,
  CrowdJob,
  CrowdReply,
  VisitorJob,
  VisitorReply,
} from '../load/crowd-jobs.js';

export interface CrowdPlan {
  streams: number;
  signIns: number;
  comingBack: ComingBack;
}

export interface ReturnMeasurement {
  /** From the start of the new process, in ms: it listens, half of the streams are resumed, all are. */
  listeningMs: number;
  medianMs: number;
  lastMs: number;
  /** Attempts to connect that failed, most of them before the service listened. */
  connectionsRefused: number;
  /** How often the kernel dropped a connection because the accept queue was full. */
  queueOverflows: number;
  /** Frames of the previous run that were sent to the streams. */
  replayed: number;
  health: VisitorReply;
  signIns: Answers;
  /** CPU time of the new process from when it listens until all are back, for each stream. */
  cpuNsPerStream: number;
  /** Writes to each stream until the end, those of the live stream too. */
  writesPerStream: number;
  loadWait: number;
  gap: string;
}

/** One for each core, so that clients connect as fast as possible. */
const CLIENT_PROCESSES = 2;
/** Bots, each with a snapshot that every client gets after the gap of the crash. */
const BOTS = 20;
/** Frames before the crash, and how far before the last one clients come back. */
const LINES = 600;
const SPREAD = 100;
const SILENT = { events_per_second: 0, message_bytes: 100 };
const TALKER = 'talker';
const TALK = { events_per_second: 1_000, message_bytes: 200 };
/** Part of each line that {@link Drover.ping} makes. */
const MARKER = '"scope":"dispatch"';
const HEALTH_EVERY_MS = 10;
const SIGN_INS_AT_ONCE = 50;
/** Lines on the live stream during the return, in ms. */
const PING_EVERY_MS = 500;
const WITHIN_MS = 60_000;
const REPLY_WITHIN_MS = 90_000;
/** Longest wait until the journal has all events, and time for late frames, in ms. */
const SETTLED_WITHIN_MS = 10_000;
const SETTLE_MS = 1_000;

/** @throws Error if a stream missed a frame, got one twice, or did not come back. */
export async function measureReturn(plan: CrowdPlan): Promise<ReturnMeasurement> {
  let drover = await Drover.start('drover', fullOf(plan.streams), {
    port: await freePort(),
  });
  const crowd: LoadProcess<CrowdJob, CrowdReply>[] = [];
  const visitors: LoadProcess<VisitorJob, VisitorReply>[] = [];
  try {
    for (let n = 0; n < CLIENT_PROCESSES; n++) {
      crowd.push(await LoadProcess.start(`crowd ${n + 1}`, benchScript('load/crowd.js')));
    }
    for (const name of ['monitor', 'people']) {
      visitors.push(await LoadProcess.start(name, benchScript('load/visitors.js')));
    }
    const [monitor, people] = visitors as [(typeof visitors)[0], (typeof visitors)[0]];
    await drover.createSyntheticBots(BOTS, SILENT);
    await drover.createSyntheticBot(TALKER, TALK);
    await delay((LINES / TALK.events_per_second) * 1_000);
    await drover.deleteBot(TALKER);
    const { server, authorization } = drover;
    const all = (job: (n: number) => CrowdJob) =>
      Promise.all(crowd.map((one, n) => one.run(job(n), REPLY_WITHIN_MS)));
    await all((n) => ({
      do: 'open',
      url: server.url,
      authorization,
      streams: Math.floor((plan.streams + n) / CLIENT_PROCESSES),
    }));
    await untilStored(drover);
    const before = await all(() => ({
      do: 'expect-loss',
      comingBack: plan.comingBack,
      spread: SPREAD,
      marker: MARKER,
    }));

    await monitor.run({ do: 'watch', url: server.url, everyMs: HEALTH_EVERY_MS }, REPLY_WITHIN_MS);
    const overflowsBefore = listenOverflows();
    let startedAt = 0;
    const back = all(() => ({ do: 'await-return', withinMs: WITHIN_MS }));
    drover = await drover.restartKilled(() => {
      startedAt = Date.now();
    });
    const listeningAt = Date.now();
    const cpuBefore = drover.server.sampleCpu();
    const pinging = new AbortController();
    const pings = pingUntil(drover, pinging.signal);
    const { pin } = drover;
    const signIn: VisitorJob = {
      do: 'sign-in',
      url: server.url,
      pin,
      count: plan.signIns,
      atOnce: SIGN_INS_AT_ONCE,
    };
    const signedIn = people.run(signIn, REPLY_WITHIN_MS);
    const replies = await back;
    const { cpuNs } = cpuBetween(cpuBefore, drover.server.sampleCpu());
    const { signIns } = await signedIn;
    pinging.abort();
    await pings;
    await delay(SETTLE_MS);
    const health = await monitor.run({ do: 'stop' }, REPLY_WITHIN_MS);
    const writes = await drover.metric('drover_stream_writes_total');
    const after = await all(() => ({ do: 'close' }));
    expectExact(plan, before, after);
    expectAnswers('sign-ins', signIns);
    expectAnswers('/health', health.fresh);
    expectAnswers('/health', health.kept);
    const resumed = after.flatMap(({ resumedAt }) => resumedAt).sort((a, b) => a - b);
    return {
      listeningMs: listeningAt - startedAt,
      medianMs: (resumed[resumed.length >> 1] as number) - startedAt,
      lastMs: (resumed.at(-1) as number) - startedAt,
      connectionsRefused: sum(after, ({ refused }) => refused),
      queueOverflows: listenOverflows() - overflowsBefore,
      replayed: sum(after, ({ replayed }) => replayed),
      health,
      signIns,
      writesPerStream: writes / plan.streams,
      cpuNsPerStream: cpuNs / plan.streams,
      loadWait: Math.max(...replies.map(({ ownWait }) => ownWait)),
      gap: after[0]?.gaps[0]?.[0] ?? '',
    };
  } finally {
    await Promise.all([...crowd, ...visitors].map((one) => one.stop()));
    await drover.stop();
  }
}

/** Waits until the journal has the newest event: what it lacks at the crash is a loss, and would be declared. */
async function untilStored(drover: Drover): Promise<void> {
  const deadline = Date.now() + SETTLED_WITHIN_MS;
  let newest: string | undefined;
  for (;;) {
    const found = await drover.newestEvent();
    if (found !== undefined && found === newest) return;
    if (Date.now() > deadline) throw new Error(`events still arrive: ${found}`);
    newest = found;
    await delay(SETTLE_MS);
  }
}

async function pingUntil(drover: Drover, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    // A machine that is busy for 10 s makes the engine close the connection; the next one is on another.
    await drover.ping().catch(() => {});
    await delay(PING_EVERY_MS);
  }
}

function expectExact(
  { streams }: CrowdPlan,
  before: readonly CrowdReply[],
  after: readonly CrowdReply[],
): void {
  const faults = after.flatMap((one) => one.faults);
  if (faults.length > 0) throw new Error(`the crowd: ${faults.join('; ')}`);
  const resumed = sum(after, (one) => one.resumed);
  if (resumed !== streams) {
    const opened = sum(after, ({ openedAt }) => openedAt.length);
    const refused = sum(after, (one) => one.refused);
    throw new Error(
      `${resumed} of ${streams} streams were resumed; ${opened} had a response, ${refused} attempts had none`,
    );
  }
  // The numbers that the killed process had reserved. No frame that a client had received may be among them.
  const last = Math.max(...before.map(({ positions }) => positions[1]));
  const gaps = new Map<string, number>();
  for (const { gaps: some } of after) {
    for (const [gap, count] of some) gaps.set(gap, (gaps.get(gap) ?? 0) + count);
  }
  const [[gap, count] = ['', 0]] = gaps;
  if (gaps.size !== 1 || count !== streams || !gap.startsWith(`${last + 1}-`)) {
    throw new Error(`after ${last} the streams had the gaps ${JSON.stringify([...gaps])}`);
  }
  const frames = sum(after, ({ replayed }) => replayed);
  const due = sum(after, ({ streams: some }) => sum(ownSpread(some), (n) => n));
  if (frames !== due) throw new Error(`${frames} frames were replayed, not ${due}`);
}

/** How far back each client of a process began. */
function ownSpread(streams: number): number[] {
  return Array.from({ length: streams }, (_, n) => n % SPREAD);
}

function expectAnswers(what: string, { count, failed }: Answers): void {
  if (failed > 0 || count === 0) throw new Error(`${what}: ${count} answers, ${failed} failed`);
}

/** Connections that the kernel dropped because an accept queue was full, since the machine started. */
function listenOverflows(): number {
  const [names = '', values = ''] = readFileSync('/proc/net/netstat', 'utf8')
    .split('\n')
    .filter((line) => line.startsWith('TcpExt:'));
  const at = names.split(' ').indexOf('ListenOverflows');
  return Number(values.split(' ')[at]);
}

function sum<T>(all: readonly T[], pick: (one: T) => number): number {
  return all.reduce((total, one) => total + pick(one), 0);
}
