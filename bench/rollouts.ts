// The bench of rollouts: how long each of 500 bots is down, what the commands and lines of bots of another kind feel of it, and what
// fifty rollouts leave behind, after sixty in which the heaps of the threads grow to their size.

import { mkdirSync, mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { ask } from './harness/ask.js';
import {
  type Bench,
  type BenchOptions,
  type BenchResult,
  medianMetric,
  metricTable,
  planOf,
} from './harness/bench.js';
import { removeDirectory } from './harness/child.js';
import { Drover } from './harness/drover.js';
import type { Progress } from './harness/progress.js';
import { median } from './harness/stats.js';

const BOTS = 500;
const STILL = 20;
const PARALLEL = 50;
/** Waits between two commands to the other bots, in ms. */
const COMMAND_MS = 5;

/** In ms, in x, in MB. */
const TARGETS = { down: 1000, others: 1.5, growth: 20 };

export const rollouts: Bench = {
  name: 'rollouts',
  about: 'rollouts of a kind to 500 bots: their time down, what others feel, and memory after 50',
  run: bench,
};

interface Snapshot {
  id: string;
  kind: string;
  status: string;
  since_ms: number;
}

/** How long a bot takes to be ready: it logs in, in ms. */
const READY_MS = 500;

/** A kind of a version. */
const kindOf = (kind: string, version: number): string =>
  `export default { kind: '${kind}', description: '', config: { type: 'object' }, ready: 'up', state() {},
    commands: { ping: { description: '', args: {}, run: () => ${version} } },
    async run(ctx) { await ctx.sleep(${READY_MS}); ctx.setStatus('up'); await ctx.sleep(2 ** 30); } };`;

async function bench(options: BenchOptions, progress: Progress): Promise<BenchResult> {
  const { rounds, memory } = planOf(options, { rounds: 5, memory: 110 }, { rounds: 1, memory: 10 });
  const dir = mkdtempSync(join(tmpdir(), 'drover-bench-'));
  const kinds = join(dir, 'kinds');
  mkdirSync(kinds);
  let version = 1;
  const save = (kind: string): void =>
    writeFileSync(join(kinds, `${kind}.mjs`), kindOf(kind, version));
  for (const kind of ['rolled', 'still']) save(kind);
  // A small ring is full early, and the journal is mapped into memory: otherwise their pages are what grows.
  const stream = { ring_bytes: 2 ** 20 };
  const drover = await Drover.start('rollouts', {
    kinds: [kinds],
    stream,
    journal: { enabled: false },
  });
  const down: number[] = [];
  const ratios: number[] = [];
  const memories: number[] = [];
  try {
    await create(drover, 'rolled', BOTS);
    await create(drover, 'still', STILL);
    const rollOut = async (parallel = PARALLEL): Promise<void> => {
      version += 1;
      save('rolled');
      const body = { kind: 'rolled', parallel };
      const { authorization, server } = drover;
      const begun = await ask(server.url, '/api/rollouts', { method: 'POST', authorization, body });
      const { id } = JSON.parse(begun) as { id: string };
      const target = `/api/operations/${id}?wait=120000`;
      const over = JSON.parse(await ask(server.url, target, { authorization })) as {
        state: string;
        counts: { done: number };
      };
      if (over.state !== 'done' || over.counts.done !== BOTS) throw new Error(JSON.stringify(over));
    };
    await rollOut();
    for (let round = 1; round <= rounds; round++) {
      progress.step(`rollouts: round ${round} of ${rounds}`);
      const watched = await Downtimes.watch(drover);
      const began = performance.now();
      const during = await latencies(drover, rollOut());
      const took = performance.now() - began;
      down.push(Math.max(...(await watched.close())));
      const quiet = await latencies(drover, delay(took));
      ratios.push(p99(during) / p99(quiet));
    }
    for (let n = 1; n <= memory; n++) {
      progress.step(`rollouts: memory, ${n} of ${memory}`);
      await rollOut(BOTS);
      memories.push((await drover.server.settledMemory()).pss / 2 ** 20);
    }
  } finally {
    await drover.stop();
    removeDirectory(dir);
  }
  const [early, late] = [memories.slice(0, -50).slice(-5), memories.slice(-5)];
  const metrics = [
    medianMetric('down', 'ms', down, { max: TARGETS.down }),
    medianMetric('others/p99', 'x', ratios, { max: TARGETS.others }),
    medianMetric('memory/growth', 'MB', [median(late) - median(early)], {
      max: TARGETS.growth,
    }),
  ];
  const title = `rollouts: ${BOTS} bots, ${PARALLEL} at once (${rounds} rounds, ${memory} for memory)`;
  return {
    metrics,
    tables: [metricTable(title, metrics)],
    measurements: { down, ratios, memories },
  };
}

async function create(
  { server, authorization }: Drover,
  kind: string,
  count: number,
): Promise<void> {
  const lines = Array.from({ length: count }, (_, n) =>
    JSON.stringify({ id: `${kind}-${n}`, kind }),
  );
  const response = await fetch(`${server.url}/api/bots?wait=60000`, {
    method: 'POST',
    headers: { authorization, 'content-type': 'application/x-ndjson' },
    body: lines.join('\n'),
  });
  if (response.status !== 201) throw new Error(await response.text());
  for (;;) {
    const list = await ask(server.url, `/api/bots?query=kind:${kind}`, { authorization });
    const { bots } = JSON.parse(list) as { bots: Snapshot[] };
    if (bots.every(({ status }) => status === 'up')) return;
    await delay(50);
  }
}

/** Commands to the other bots, one after the other, until the task has ended. @returns how long each took, in ms. */
async function latencies(
  { server, authorization }: Drover,
  task: Promise<unknown>,
): Promise<number[]> {
  let isOver = false;
  void task.then(() => {
    isOver = true;
  });
  const took: number[] = [];
  for (let n = 0; !isOver; n++) {
    const body = { session_id: `still-${n % STILL}`, command: 'ping', args: {} };
    const began = performance.now();
    await ask(server.url, '/invoke', { method: 'POST', authorization, body });
    took.push(performance.now() - began);
    await delay(COMMAND_MS);
  }
  await task;
  return took;
}

function p99(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.ceil(sorted.length * 0.99) - 1] ?? 0;
}

/** From the stream: how long each bot is neither running nor ready. */
class Downtimes {
  readonly #stop = new AbortController();
  readonly #stopped = new Map<string, number>();
  readonly #down: number[] = [];

  static async watch({ server, authorization }: Drover): Promise<Downtimes> {
    const watched = new Downtimes();
    const response = await fetch(`${server.url}/events?event=session`, {
      headers: { authorization },
      signal: watched.#stop.signal,
    });
    void watched.#read(response);
    return watched;
  }

  /** @returns in ms, without the time that a bot takes itself. */
  async close(): Promise<number[]> {
    // Events of the last bots.
    await delay(200);
    this.#stop.abort();
    if (this.#down.length < BOTS) throw new Error(`${this.#down.length} bots were seen`);
    return this.#down;
  }

  async #read(response: Response): Promise<void> {
    let text = '';
    try {
      for await (const chunk of response.body as unknown as AsyncIterable<Uint8Array>) {
        text += Buffer.from(chunk).toString();
        const frames = text.split('\n\n');
        text = frames.pop() ?? '';
        for (const frame of frames) {
          const [, json] = /^data: (\{"snapshot".*)$/m.exec(frame) ?? [];
          if (json) this.#see((JSON.parse(json) as { snapshot: Snapshot }).snapshot);
        }
      }
    } catch {
      // Closed.
    }
  }

  #see({ id, kind, status, since_ms }: Snapshot): void {
    if (kind !== 'rolled') return;
    if (status === 'stopping') this.#stopped.set(id, since_ms);
    const from = this.#stopped.get(id);
    if (status !== 'up' || from === undefined) return;
    this.#down.push(since_ms - from - READY_MS);
    this.#stopped.delete(id);
  }
}
