// The contenders of the bots bench: the service with the bench's own bot kind, restartable on the same data, and the control.

import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { ask } from '../harness/ask.js';
import { Drover, type Settings } from '../harness/drover.js';
import { benchScript } from '../harness/paths.js';
import { Server } from '../harness/server.js';

export const SUBJECT = 'drover';
export const BARE = 'bots-bare';
export const BARE_AGAIN = 'bots-bare again';

/** The status of a bench bot that is ready. */
const READY = 'in_world';
const READY_WITHIN_MS = 60_000;
const LOOK_AGAIN_MS = 20;
/** Concurrent requests. */
const IN_FLIGHT = 64;

/** A process that hosts bots. */
export interface BotsHost {
  readonly server: Server;
  readonly token: string;
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

export function botId(number: number): string {
  return `bench-${String(number).padStart(5, '0')}`;
}

/** Creates `count` bots of the bench's kind, numbered from `first`. */
export async function createBots(
  { server, token }: BotsHost,
  first: number,
  count: number,
): Promise<void> {
  const authorization = `Bearer ${token}`;
  let next = first;
  await inParallel(async () => {
    while (next < first + count) {
      const body = { id: botId(next++), kind: 'bench-idle', config: {} };
      await ask(server.url, '/api/bots', { method: 'POST', authorization, body });
    }
  });
}

async function inParallel(work: () => Promise<void>): Promise<void> {
  await Promise.all(Array.from({ length: IN_FLIGHT }, work));
}

/** The service. */
export class ServiceHost implements BotsHost {
  readonly drover: Drover;

  private constructor(drover: Drover) {
    this.drover = drover;
  }

  /**
   * Starts the service without bots, with one shared host, to show that one thread can run this many bots.
   * @param settings as in a configuration file.
   */
  static async start(settings: Settings = {}): Promise<ServiceHost> {
    const kinds = [fileURLToPath(benchScript('load/idle-bot.js'))];
    const drover = await Drover.start(SUBJECT, { hosts: { count: 1 }, ...settings, kinds });
    return new ServiceHost(drover);
  }

  get server(): Server {
    return this.drover.server;
  }

  get token(): string {
    return this.drover.token;
  }

  /** Restarts the service on the same data. This object is not to be used after that. */
  async restart(): Promise<ServiceHost> {
    return new ServiceHost(await this.drover.restart());
  }

  async untilReady(count: number): Promise<number> {
    const deadline = Date.now() + READY_WITHIN_MS;
    const { authorization } = this.drover;
    for (;;) {
      const list = await ask(this.server.url, '/api/bots', { authorization });
      const { bots } = JSON.parse(list) as { bots: Snapshot[] };
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
    for (const id of ids) await this.drover.createSyntheticBot(id, TALK);
    await delay(TALK_MS);
    for (const id of ids) await this.drover.deleteBot(id);
  }

  stop(): Promise<string> {
    return this.drover.stop();
  }
}

const TOKEN = 'a token of the bench';

/** Starts the control. */
export async function startBare(name: string): Promise<BotsHost> {
  const script = benchScript('controls/bots-bare.js');
  const server = await Server.start({ name, script, args: ['--token', TOKEN], linked: true });
  const authorization = `Bearer ${TOKEN}`;
  return {
    server,
    token: TOKEN,
    async untilReady(bots) {
      const list = await ask(server.url, '/api/bots', { authorization });
      const { count } = JSON.parse(list) as { count: number };
      if (count !== bots) throw new Error(`${name} has ${count} bots instead of ${bots}`);
      return 1;
    },
    // Its memory holds only bots, and it only handles requests.
    exercise() {
      const body = { session_id: null, command: 'ping', args: {} };
      return inParallel(async () => {
        for (let n = 0; n < 200; n++) {
          await ask(server.url, '/invoke', { method: 'POST', authorization, body });
        }
      });
    },
    stop: () => server.stop(),
  };
}
