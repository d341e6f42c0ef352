// Healthy bots beside ten that are careless or hostile, all on two hosts: none of the healthy ones fails, and none restarts more
// than once for each of the others.
//
// This is the short form. `npm run long -- neighbours` (neighbours.mjs) sets the environment for a long one, and prints a table.

import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';
import { call } from '../harness/api.js';
import { act, create, eventually, incidents, list } from '../harness/bots.js';
import { RawStream } from '../harness/raw-stream.js';
import { type Service, startService, stopClean } from '../harness/service.js';

const seconds = Number(process.env['NEIGHBOURS_SECONDS'] ?? 15);
const count = Number(process.env['NEIGHBOURS_BOTS'] ?? 20);
const KINDS = fileURLToPath(new URL('../fixtures/neighbours', import.meta.url));
/** Those that end by themselves or with their host are started again by their policy, the others by a restart. */
const FAULTS = [
  'microtasks',
  'next_tick',
  'slices',
  'warn_flood',
  'status_flood',
  'process_exit',
  'clock',
  'remove_listeners',
  'async_abort_listener',
  'catch_all',
] as const;
const RESTARTED: readonly string[] = ['async_abort_listener', 'catch_all'];
/** Between two restarts, and between two requests for GET /health, in ms. */
const RESTART_EVERY_MS = 5000;
const HEALTH_EVERY_MS = 100;

/** The longest time in which each bot has written no line, in ms. */
class Silences {
  readonly #last = new Map<string, number>();
  readonly #longest = new Map<string, number>();

  readonly take = (block: string): void => {
    const id = /"session_id":"(healthy-\d+)"/.exec(block)?.[1];
    if (id === undefined) return;
    const now = performance.now();
    const before = this.#last.get(id) ?? now;
    this.#longest.set(id, Math.max(this.#longest.get(id) ?? 0, now - before));
    this.#last.set(id, now);
  };

  /** Ascending. */
  sorted(): number[] {
    return [...this.#longest.values()].sort((a, b) => a - b);
  }
}

const part = (sorted: readonly number[], share: number): number =>
  Math.round(sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0);

async function watchHealth(service: Service, isOver: AbortSignal): Promise<number[]> {
  const times: number[] = [];
  while (!isOver.aborted) {
    const began = performance.now();
    expect((await call(service, 'GET', '/health', { token: null })).status).toBe(200);
    times.push(performance.now() - began);
    await delay(HEALTH_EVERY_MS);
  }
  return times.sort((a, b) => a - b);
}

async function restartAgain(service: Service, isOver: AbortSignal): Promise<void> {
  while (!isOver.aborted) {
    await delay(RESTART_EVERY_MS, undefined, { signal: isOver }).catch(() => {});
    if (isOver.aborted) return;
    // 409 while another operation on it is under way.
    await Promise.all(RESTARTED.map((fault) => act(service, fault, 'restart')));
  }
}

it('ten faults at once: no healthy bot fails, or restarts more than once for each', {
  timeout: (seconds + 180) * 1000,
}, async () => {
  const healthy = Array.from({ length: count }, (_, n) => `healthy-${n}`);
  const service = await startService({
    args: ['--bot-hosts', '2'],
    config: {
      kinds: [KINDS],
      hosts: { stop_grace_ms: 1000 },
      watchdog: { hang_ms: 2000 },
      bots: healthy.map((id) => ({
        id,
        kind: 'synthetic',
        config: { events_per_second: 10, message_bytes: 20 },
      })),
    },
  });
  try {
    const silences = new Silences();
    const stream = await RawStream.open(service.port, {
      target: '/events?event=log&level=info',
      token: await service.token(),
      onBlock: silences.take,
    });
    await eventually(() => Promise.resolve(silences.sorted().length === count), 'all write lines');
    const over = new AbortController();
    const health = watchHealth(service, over.signal);
    const restarts = restartAgain(service, over.signal);
    for (const fault of FAULTS) {
      const bot = { id: fault, kind: 'hostile', config: { fault } };
      expect((await create(service, bot)).status).toBe(201);
    }
    await delay(seconds * 1000);
    over.abort();
    const [times] = await Promise.all([health, restarts]);
    await eventually(
      async () =>
        (await list(service)).filter(
          ({ id, status }) => /^healthy/.test(id) && status === 'running',
        ).length === count,
      'all healthy bots run',
      60_000,
    );
    stream.close();
    const bots = await list(service);
    const found = await incidents(service);
    report(silences.sorted(), times, bots, found);
    const ofHealthy = bots.filter(({ id }) => healthy.includes(id));
    for (const { id, restarts: restarted } of ofHealthy) {
      expect(restarted, id).toBeLessThanOrEqual(FAULTS.length);
    }
    expect(found.filter(({ suspect }) => healthy.includes(suspect ?? ''))).toEqual([]);
  } finally {
    await stopClean(service);
  }
});

type Bots = Awaited<ReturnType<typeof list>>;
type Found = Awaited<ReturnType<typeof incidents>>;

function report(silences: number[], health: number[], bots: Bots, found: Found): void {
  if (!process.env['NEIGHBOURS_PROGRESS']) return;
  const restarts = bots.flatMap(({ id, restarts: n }) => (/^healthy/.test(id) ? [n] : []));
  const lines = [
    `healthy bots: longest silence of each: median ${part(silences, 0.5)} ms, p99 ${part(silences, 0.99)} ms, longest ${part(silences, 1)} ms`,
    `healthy bots: restarts: most ${Math.max(...restarts)}, of all ${restarts.reduce((sum, n) => sum + n, 0)}`,
    `GET /health: p50 ${part(health, 0.5)} ms, p99 ${part(health, 0.99)} ms, longest ${part(health, 1)} ms, ${health.length} requests`,
    ...FAULTS.map((fault) => {
      const own = found.filter(({ suspect }) => suspect === fault);
      const types = [...new Set(own.map(({ type }) => type))].join(', ') || 'no incident';
      const bot = bots.find(({ id }) => id === fault);
      return `${fault}: ${types}; ${bot?.status}, restarts ${bot?.restarts}: ${bot?.last_error ?? ''}`;
    }),
    `incidents without a suspect: ${
      found
        .filter(({ suspect }) => suspect === null)
        .map(({ reason }) => reason)
        .join(' | ') || 'none'
    }`,
  ];
  process.stderr.write(`${lines.join('\n')}\n`);
}
