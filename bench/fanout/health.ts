// GET /health beside a fan-out, and on the same server just before it.

import { LoadProcess } from '../harness/load.js';
import { benchScript } from '../harness/paths.js';
import type { Contender } from '../harness/rounds.js';
import type { PacedJob, PacedResult } from '../load/paced-jobs.js';
import type { Feed } from '../streams/feeds.js';
import {
  type Clients,
  type StreamMeasurement,
  type StreamWork,
  streamContender,
} from '../streams/measurement.js';

/** So few that they cost a server less than 2 % of a core. */
const RATE = 200;
const CONNECTIONS = 10;
const ANSWER_AFTER_MS = 15_000;
/** Longest measurement without events. */
const MOST_IDLE_S = 1.5;

export interface Health {
  idle: PacedResult;
  during: PacedResult;
}

/** `meanwhile` is undefined for a server that was not asked. */
export type WithHealth = StreamMeasurement & { meanwhile: Health | undefined };

export class HealthLoad {
  readonly #process: LoadProcess<PacedJob, PacedResult>;

  private constructor(process: LoadProcess<PacedJob, PacedResult>) {
    this.#process = process;
  }

  static async start(): Promise<HealthLoad> {
    return new HealthLoad(await LoadProcess.start('paced requests', benchScript('load/paced.js')));
  }

  ask(feed: Feed, seconds: number): Promise<PacedResult> {
    const durationMs = seconds * 1000;
    const url = `${feed.server.url}/health`;
    const job = { url, rate: RATE, connections: CONNECTIONS, durationMs };
    return this.#process.run(job, durationMs + ANSWER_AFTER_MS);
  }

  /** A contender whose server gets requests too, without events and then with them. */
  contender(feed: Feed, clients: Clients, work: StreamWork): Contender<WithHealth> {
    const during = (seconds: number) => this.ask(feed, seconds);
    const streams = streamContender(feed, clients, work, during);
    return {
      name: feed.name,
      warmUp: streams.warmUp,
      measure: async () => {
        const idle = await this.ask(feed, Math.min(MOST_IDLE_S, work.seconds));
        const measurement = await streams.measure();
        return { ...measurement, meanwhile: { idle, during: measurement.meanwhile } };
      },
    };
  }

  stop(): Promise<void> {
    return this.#process.stop();
  }
}
