// Owns the service under measurement: its process, data directory, token and bots.

import { existsSync, mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { splitConfig } from '../../test/harness/fixed.js';
import { ask } from './ask.js';
import { removeAtExit, removeDirectory } from './child.js';
import { DIST, LINKED_SERVICE, SERVICE_SCRIPT } from './paths.js';
import { Server } from './server.js';

/** The fields of a snapshot in `GET /api/bots` that a bench uses. */
interface Bot {
  id: string;
  status: string;
  last_error: string | null;
}

/** The configuration of a synthetic bot. */
export interface SyntheticConfig {
  events_per_second: number;
  message_bytes: number;
}

/** As in a configuration file. */
export interface Settings {
  http?: object;
  stream?: object;
  [section: string]: unknown;
}

/**
 * All streams of a bench come from one address, with one token. The limits on connections fit 20,000 open files: the service lowers
 * larger ones, and those of streams with them.
 */
const ONE_CLIENT = {
  http: { max_connections: 14_000, max_connections_per_address: 14_000 },
  stream: { max_streams_per_token: 20_000 },
};

/** The controls are bare loops of uWebSockets.js: the service is compared on the same engine, unless a bench says otherwise. */
const AS_CONTROLS = { engine: 'uws' };

/** Connections beside the streams of {@link fullOf}: those of the bench and of its other clients. */
const CONNECTIONS_BESIDE = 400;
/** Files that such a service keeps back: synthetic bots open none. */
const RESERVED_FILES = 100;

/** Settings of a service whose open files are nearly all for so many streams, and which may use all of the CPU. */
export function fullOf(streams: number): Settings & { http: object; stream: object } {
  const connections = streams + CONNECTIONS_BESIDE;
  return {
    http: {
      max_connections: connections,
      max_connections_per_address: connections,
      reserved_files: RESERVED_FILES,
    },
    stream: {
      max_streams: streams,
      max_streams_per_token: streams,
    },
    pressure: { max_cpu: 1 },
  };
}

/** Transient statuses. */
const UNSETTLED = new Set(['starting', 'stopping', 'backoff']);
const SETTLED_WITHIN_MS = 60_000;
/** Concurrent requests to create or delete bots. */
const REQUESTERS = 16;

/** Where a service comes from, and where it listens. */
export interface Where {
  /** 0 for any free port. */
  port?: number;
  /** The directory `dist` of another checkout, to measure that one. */
  build?: URL;
}

/** What a run of the service has in common with the one that follows it. */
interface Place extends Required<Where> {
  name: string;
  dataDirectory: string;
  configFile: string;
  /** Values of src/shared/contract/fixed.ts that the bench replaces. */
  fixed: object;
}

export class Drover {
  readonly server: Server;
  readonly pin: string;
  readonly token: string;
  /** From the start of the process until it listened, in ms; its bots have started by then. */
  readonly startMs: number;
  readonly #place: Place;

  private constructor({ server, pin, startMs }: Launched, token: string, place: Place) {
    this.server = server;
    this.pin = pin;
    this.startMs = startMs;
    this.token = token;
    this.#place = place;
  }

  /**
   * Starts the service without bots, with a new data directory.
   * @param settings overrides of the defaults, as in a configuration file.
   * @param where a port is needed for {@link restartKilled}: one that the system chose may be taken for a minute after the end.
   */
  static async start(
    name = 'drover',
    settings: Settings = {},
    { port = 0, build = DIST }: Where = {},
  ): Promise<Drover> {
    const [keys, fixed] = splitConfig(settings);
    if (!existsSync(SERVICE_SCRIPT)) throw new Error('the service is not built: run npm run build');
    const dataDirectory = mkdtempSync(join(tmpdir(), 'drover-bench-'));
    removeAtExit(dataDirectory);
    const configFile = join(dataDirectory, 'bench.json');
    writeFileSync(
      configFile,
      JSON.stringify({
        ...AS_CONTROLS,
        ...keys,
        http: { ...ONE_CLIENT.http, ...(keys['http'] as object) },
        stream: { ...ONE_CLIENT.stream, ...(keys['stream'] as object) },
      }),
    );
    const place: Place = { name, dataDirectory, configFile, fixed, port, build };
    const launched = await launch(place);
    const { server, pin } = launched;
    try {
      const answer = await ask(server.url, '/auth/pin', { method: 'POST', body: { pin } });
      const { token } = JSON.parse(answer) as { token: string };
      return new Drover(launched, token, place);
    } catch (error) {
      await server.stop();
      throw error;
    }
  }

  /**
   * Ends the service by SIGKILL and starts it again on its port and data. This object is not to be used after that.
   * @param starting called when the new process is about to start.
   */
  async restartKilled(starting: () => void = () => {}): Promise<Drover> {
    await this.server.kill();
    starting();
    return this.#again();
  }

  /** Restarts the service on its data. This object is not to be used after that. @throws Error if it did not end cleanly. */
  async restart(): Promise<Drover> {
    const ended = await this.server.stop();
    if (ended !== 'exit code 0') throw new Error(`${this.server.name} ended with ${ended}`);
    return this.#again();
  }

  /** Its token is still valid. */
  async #again(): Promise<Drover> {
    return new Drover(await launch(this.#place), this.token, this.#place);
  }

  get authorization(): string {
    return `Bearer ${this.token}`;
  }

  /** A wrong PIN. */
  get wrongPin(): string {
    return String((Number(this.pin) + 1) % 1_000_000).padStart(6, '0');
  }

  /** Creates synthetic bots and waits until all have settled. */
  async createSyntheticBots(count: number, config: SyntheticConfig): Promise<void> {
    const ids = Array.from({ length: count }, (_, n) => `bench-${String(n).padStart(5, '0')}`);
    await this.forEach(ids, (id) => this.createSyntheticBot(id, config));
    await this.untilSettled(count);
  }

  /** Makes a request for each bot, a few at a time. */
  async forEach(ids: readonly string[], request: (id: string) => Promise<void>): Promise<void> {
    const left = ids.values();
    const work = async () => {
      for (const id of left) await request(id);
    };
    await Promise.all(Array.from({ length: REQUESTERS }, work));
  }

  /** Creates and starts one synthetic bot. */
  createSyntheticBot(id: string, config: SyntheticConfig): Promise<void> {
    return this.createBot(id, 'synthetic', config);
  }

  /** Creates and starts one bot. */
  async createBot(id: string, kind: string, config: object = {}, more: object = {}): Promise<void> {
    await this.#ask('POST', '/api/bots', { id, kind, config, ...more });
  }

  async deleteBot(id: string): Promise<void> {
    await this.#ask('DELETE', `/api/bots/${id}`);
  }

  /** Makes the service itself log one `log` event with the scope `dispatch`. */
  async ping(): Promise<void> {
    await this.#ask('POST', '/invoke', { session_id: null, command: 'ping' });
  }

  /** @returns the id of the newest event in the journal. */
  async newestEvent(): Promise<string | undefined> {
    const answer = await this.#ask('GET', '/api/events?limit=1');
    const { events } = JSON.parse(answer) as { events: { id: string }[] };
    return events[0]?.id;
  }

  /** A metric without labels. @throws Error if there is none of this name. */
  async metric(name: string): Promise<number> {
    const text = await this.#ask('GET', '/metrics');
    const value = new RegExp(`^${name} (\\S+)$`, 'm').exec(text)?.[1];
    if (value === undefined) throw new Error(`${this.server.url}/metrics has no ${name}`);
    return Number(value);
  }

  /** Stops the service and removes its data. @returns how it ended; normally `exit code 0`. */
  async stop(): Promise<string> {
    const ended = await this.server.stop();
    removeDirectory(this.#place.dataDirectory);
    return ended;
  }

  #ask(method: 'GET' | 'POST' | 'DELETE', path: string, body?: object): Promise<string> {
    const { authorization } = this;
    return ask(this.server.url, path, { method, authorization, ...(body && { body }) });
  }

  /** Resolves when there are this many bots, and none is starting or stopping. @throws Error when one fails. */
  async untilSettled(count: number): Promise<void> {
    const deadline = Date.now() + SETTLED_WITHIN_MS;
    for (;;) {
      const { bots } = JSON.parse(await this.#ask('GET', '/api/bots')) as { bots: Bot[] };
      const failed = bots.find((bot) => bot.status === 'failed');
      if (failed) throw new Error(`bot ${failed.id} failed: ${failed.last_error}`);
      const unsettled = bots.filter((bot) => UNSETTLED.has(bot.status)).length;
      if (bots.length === count && unsettled === 0) return;
      if (Date.now() > deadline) {
        throw new Error(
          `${bots.length} of ${count} bots are there, ${unsettled} of them not settled`,
        );
      }
      await delay(100);
    }
  }
}

interface Launched {
  server: Server;
  pin: string;
  startMs: number;
}

async function launch({
  name,
  dataDirectory,
  configFile,
  fixed,
  port,
  build,
}: Place): Promise<Launched> {
  let pin: string | undefined;
  const from = performance.now();
  const server = await Server.start({
    name,
    script: new URL(LINKED_SERVICE, build),
    linked: true,
    args: [
      ...(Object.keys(fixed).length > 0 ? [JSON.stringify(fixed)] : []),
      '--config',
      configFile,
      '--host',
      '127.0.0.1',
      '--port',
      String(port),
      '--data-dir',
      dataDirectory,
      '--no-demo',
    ],
    onLine: (line) => {
      pin ??= /^PIN=(\d{6}) at /.exec(line)?.[1];
    },
  });
  const startMs = performance.now() - from;
  if (pin === undefined) {
    await server.stop();
    throw new Error(`${name} printed no PIN before it listened`);
  }
  return { server, pin, startMs };
}
