// The contenders of the bots bench: the service with the bench's own bot kind, restartable on the same data, and the control.

import { existsSync, mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { removeAtExit, removeDirectory } from '../harness/child.js';
import { AS_CONTROLS } from '../harness/drover.js';
import { benchScript, SERVICE_SCRIPT } from '../harness/paths.js';
import { Server } from '../harness/server.js';
import { Api, IN_FLIGHT } from './api.js';

export const SUBJECT = 'drover';
export const BARE = 'bots-bare';
export const BARE_AGAIN = 'bots-bare again';

/** The status of a bench bot that is ready. */
const READY = 'in_world';
const READY_WITHIN_MS = 60_000;
const LOOK_AGAIN_MS = 20;

/** A process that hosts bots. */
export interface BotsHost {
  readonly name: string;
  readonly server: Server;
  readonly token: string;
  readonly api: Api;
  /** Resolves when this many bots are ready. @returns the number of host threads they run on. */
  untilReady(bots: number): Promise<number>;
  /** Fills buffers and triggers garbage collection, so that two memory readings are comparable. */
  exercise(): Promise<void>;
  /** @returns how it ended; normally `exit code 0`. */
  stop(): Promise<string>;
}

/** The fields of a snapshot in `GET /api/bots` that a bench uses. */
interface Snapshot {
  id: string;
  status: string;
  host: number | null;
  last_error: string | null;
}

/** Number of bots that fill the ring, lines per second of each, and the duration in ms. */
const TALKERS = 4;
const TALK = { events_per_second: 40_000, message_bytes: 200 };
const TALK_MS = 2_500;

/** The service. */
export class ServiceHost implements BotsHost {
  readonly name = SUBJECT;
  readonly server: Server;
  readonly token: string;
  readonly api: Api;
  /** From the start of the process until it listened, in ms; its bots have started by then. */
  readonly startMs: number;
  readonly #directory: string;

  private constructor(server: Server, token: string, startMs: number, directory: string) {
    this.server = server;
    this.token = token;
    this.startMs = startMs;
    this.#directory = directory;
    this.api = new Api(server.url, token);
  }

  /**
   * Starts the service without bots, with a new data directory.
   * @param demo with the demo world and its bots. @param settings as in a configuration file.
   */
  static start(demo = false, settings: object = {}): Promise<ServiceHost> {
    if (!existsSync(SERVICE_SCRIPT)) throw new Error('the service is not built: run npm run build');
    const directory = mkdtempSync(join(tmpdir(), 'drover-bench-'));
    removeAtExit(directory);
    const kinds = [fileURLToPath(benchScript('load/idle-bot.js'))];
    writeFileSync(
      join(directory, 'bench.json'),
      JSON.stringify({ ...AS_CONTROLS, ...settings, kinds }),
    );
    return ServiceHost.#startIn(directory, demo);
  }

  static async #startIn(directory: string, demo: boolean): Promise<ServiceHost> {
    const config = join(directory, 'bench.json');
    let pin: string | undefined;
    const from = performance.now();
    const server = await Server.start({
      name: SUBJECT,
      script: SERVICE_SCRIPT,
      args: [
        ...['--config', config, '--data-dir', directory, '--host', '127.0.0.1', '--port', '0'],
        // One shared host, to show that one thread can run this many bots.
        ...['--bot-hosts', '1', ...(demo ? [] : ['--no-demo'])],
      ],
      onLine: (line) => {
        pin ??= /^PIN=(\d{6}) at /.exec(line)?.[1];
      },
    });
    const startMs = performance.now() - from;
    const open = new Api(server.url, '');
    try {
      if (pin === undefined) throw new Error(`${SUBJECT} printed no PIN before it listened`);
      const { token } = await open.expect<{ token: string }>(200, 'POST', '/auth/pin', { pin });
      return new ServiceHost(server, token, startMs, directory);
    } catch (error) {
      await server.stop();
      throw error;
    } finally {
      open.close();
    }
  }

  /** Restarts the service on the same data. */
  async restart(): Promise<ServiceHost> {
    this.api.close();
    const ended = await this.server.stop();
    if (ended !== 'exit code 0') throw new Error(`${SUBJECT} did not exit cleanly: ${ended}`);
    return ServiceHost.#startIn(this.#directory, false);
  }

  async untilReady(count: number): Promise<number> {
    const deadline = Date.now() + READY_WITHIN_MS;
    for (;;) {
      const { bots } = await this.api.expect<{ bots: Snapshot[] }>(200, 'GET', '/api/bots');
      const failed = bots.find(({ last_error }) => last_error !== null);
      if (failed) throw new Error(`bot ${failed.id} failed: ${failed.last_error}`);
      const ready = bots.filter(({ status }) => status === READY);
      if (bots.length === count && ready.length === count) {
        return new Set(ready.map(({ host }) => host)).size;
      }
      if (Date.now() > deadline) {
        throw new Error(`${ready.length} of ${count} bots are ready, ${bots.length} are there`);
      }
      await delay(LOOK_AGAIN_MS);
    }
  }

  async exercise(): Promise<void> {
    const ids = Array.from({ length: TALKERS }, (_, number) => `talker-${number}`);
    for (const id of ids) {
      await this.api.expect(201, 'POST', '/api/bots', { id, kind: 'synthetic', config: TALK });
    }
    await delay(TALK_MS);
    for (const id of ids) await this.api.expect(204, 'DELETE', `/api/bots/${id}`);
  }

  async stop(): Promise<string> {
    this.api.close();
    const ended = await this.server.stop();
    removeDirectory(this.#directory);
    return ended;
  }
}

const TOKEN = 'a token of the bench';

/** Starts the control. */
export async function startBare(name: string): Promise<BotsHost> {
  const script = benchScript('controls/bots-bare.js');
  const server = await Server.start({ name, script, args: ['--token', TOKEN], linked: true });
  const api = new Api(server.url, TOKEN);
  return {
    name,
    server,
    token: TOKEN,
    api,
    async untilReady(bots) {
      const { count } = await api.expect<{ count: number }>(200, 'GET', '/api/bots');
      if (count !== bots) throw new Error(`${name} has ${count} bots instead of ${bots}`);
      return 1;
    },
    // Its memory holds only bots, and it only handles requests.
    async exercise() {
      const body = { session_id: null, command: 'ping', args: {} };
      const ping = async () => {
        for (let n = 0; n < 200; n++) await api.expect(200, 'POST', '/invoke', body);
      };
      await Promise.all(Array.from({ length: IN_FLIGHT }, ping));
    },
    stop() {
      api.close();
      return server.stop();
    },
  };
}
