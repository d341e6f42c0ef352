// What a case of neighbours.test.ts cost its neighbours, as a line for the table of `npm run long -- neighbours --cases`.

import { appendFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { call } from './api.js';
import { incidents, list } from './bots.js';
import type { Service } from './service.js';
import type { SseStream } from './sse.js';

const FILE = process.env['NEIGHBOURS_CASES'];
const HEALTH_EVERY_MS = 20;

interface Line {
  session_id?: string | null;
  timestamp_ms?: number;
}

export class NeighbourCase {
  readonly #service: Service;
  readonly #stream: SseStream;
  /** Reports of earlier cases. */
  readonly #earlier: ReadonlySet<string>;
  /** Frames before it. */
  readonly #from: number;
  readonly #over = new AbortController();
  readonly #health: Promise<number[]>;

  /** Undefined when no table is wanted. */
  static begin(
    service: Service,
    stream: SseStream,
    earlier: ReadonlySet<string>,
  ): NeighbourCase | undefined {
    return FILE === undefined ? undefined : new NeighbourCase(service, stream, earlier);
  }

  private constructor(service: Service, stream: SseStream, earlier: ReadonlySet<string>) {
    this.#service = service;
    this.#stream = stream;
    this.#earlier = earlier;
    this.#from = stream.frames.length;
    this.#health = this.#watchHealth();
  }

  /** Writes the line. @param hasEnded the test has ended the service. */
  async end(name: string, hasEnded: boolean): Promise<void> {
    this.#over.abort();
    const health = (await this.#health).sort((a, b) => a - b);
    const all = hasEnded ? [] : await incidents(this.#service);
    const found = all.filter(({ id }) => !this.#earlier.has(id));
    const bots = hasEnded ? [] : await list(this.#service);
    const restarts = bots.flatMap(({ id, restarts: n }) => (isNeighbour(id) ? [n] : []));
    const row = {
      name,
      silenceMs: Math.round(this.#longestSilence()),
      healthMs: Math.round(health[Math.floor(health.length * 0.99)] ?? 0),
      restarts: Math.max(0, ...restarts),
      incidents: found.map(({ type, suspect }) => `${type}: ${suspect ?? 'none'}`).reverse(),
    };
    appendFileSync(FILE ?? '', `${JSON.stringify(row)}\n`);
  }

  async #watchHealth(): Promise<number[]> {
    const times: number[] = [];
    while (!this.#over.signal.aborted) {
      const began = performance.now();
      // The service may be ending.
      const answer = await call(this.#service, 'GET', '/health', { token: null }).catch(() => null);
      if (answer) times.push(performance.now() - began);
      await delay(HEALTH_EVERY_MS);
    }
    return times;
  }

  /** The longest time in which one neighbour has written no line, by the times of its lines, in ms. */
  #longestSilence(): number {
    const last = new Map<string, number>();
    let longest = 0;
    for (const { event, json } of this.#stream.frames.slice(this.#from)) {
      const { session_id: id, timestamp_ms: at = 0 } = json as Line;
      if (event !== 'log' || !id || !isNeighbour(id)) continue;
      longest = Math.max(longest, at - (last.get(id) ?? at));
      last.set(id, at);
    }
    return longest;
  }
}

function isNeighbour(id: string): boolean {
  return id.startsWith('neighbour-');
}
