import { blockLater } from '../../shared/block-loop.js';
import { failureLine, resultLine } from '../../shared/contract/dispatch-line.js';
import type { Json, JsonObject } from '../../shared/contract/json.js';
import { answerable } from '../../shared/contract/rpc.js';
import { HOST_FAULTS } from '../../shared/contract/threads.js';
import { DroverError } from '../../shared/errors.js';
import type { HostPool } from '../bots/host-pool.js';
import type { BotRegistry } from '../bots/registry.js';
import type { BroadcasterThread } from '../threads/broadcaster-thread.js';
import type { FrontPool } from '../threads/front-pool.js';
import type { JournalThread } from '../threads/journal-thread.js';
import type { RulesThread } from '../threads/rules-thread.js';
import type { ServiceEvents } from '../threads/service-events.js';

/** How long a drill may block a loop, if not for ever, in ms. */
const MAX_BLOCK_MS = 60_000;

/** What drills break, beside the bot hosts. */
export interface DrilledParts {
  broadcaster: BroadcasterThread;
  journal: JournalThread;
  rulesThread: RulesThread;
  fronts: FrontPool;
}

export interface ServiceCommandParts {
  registry: Pick<BotRegistry, 'size'>;
  hosts: Pick<HostPool, 'count' | 'get'>;
  /** Null when there is no command `drill`. */
  drilled: DrilledParts | null;
}

type Commands = Record<string, (args: JsonObject) => Json | Promise<Json>>;

/** Commands of the service: `POST /invoke` with `session_id: null`. */
export class ServiceCommands {
  readonly #commands: Commands;
  readonly #events: ServiceEvents;

  constructor({ registry, hosts, drilled }: ServiceCommandParts, events: ServiceEvents) {
    const startedAt = Date.now();
    this.#commands = {
      ping: () => 'pong',
      status: () => ({
        bots: registry.size,
        hosts: hosts.count,
        uptime_ms: Date.now() - startedAt,
      }),
      ...(drilled && { drill: (args: JsonObject) => drill(drilled, hosts, args) }),
    };
    this.#events = events;
  }

  /** The outcome is on its way to the stream when this resolves or rejects. @throws DroverError `not_found` and others. */
  async run(command: string, args: JsonObject): Promise<Json> {
    try {
      const result = await this.#commandOf(command)(args);
      this.#events.tell(resultLine(null, command, JSON.stringify(result)));
      return result;
    } catch (thrown) {
      const error = answerable(`the command ${command}`, thrown);
      this.failed({ bot: null, command, reason: error.message });
      throw error;
    }
  }

  /** Puts on the stream that a command had no result, of a bot too when no host says so. */
  failed({ bot, command, reason }: { bot: string | null; command: string; reason: string }): void {
    this.#events.tell(failureLine(bot, command, reason));
  }

  #commandOf(name: string): Commands[string] {
    const command = Object.hasOwn(this.#commands, name) ? this.#commands[name] : undefined;
    if (command) return command;
    const known = Object.keys(this.#commands).join(', ');
    throw new DroverError(
      'not_found',
      `no command ${JSON.stringify(name)}; the service has: ${known}`,
    );
  }
}

/** Breaks a part of the service as a fault would, to show that the rest continues. */
async function drill(
  parts: DrilledParts,
  hosts: Pick<HostPool, 'get'>,
  { kill, block, front = 0, host = 0, fault = 'crash', for_ms: forMs = null, at }: JsonObject,
): Promise<null> {
  if (block === 'front') {
    const where = at === 'body' ? 'body' : 'request';
    parts.fronts.block(Number(front), { forMs: blockMs(forMs), at: where });
    return null;
  }
  if (block !== undefined) return blockThread(parts, block, blockMs(forMs));
  const { broadcaster, fronts } = parts;
  switch (kill) {
    case 'broadcaster':
      await broadcaster.kill();
      return null;
    case 'front':
      fronts.drill(Number(front));
      return null;
    case 'host': {
      const known = HOST_FAULTS.find((name) => name === fault);
      if (!known)
        throw new DroverError('bad_request', `args.fault is one of ${HOST_FAULTS.join(', ')}`);
      hosts.get(Number(host)).peer.tell('drill', { fault: known });
      return null;
    }
    default:
      throw new DroverError('bad_request', 'args.kill is "broadcaster", "front" or "host"');
  }
}

/** @throws DroverError `bad_request` */
function blockMs(forMs: Json): number | null {
  if (forMs === null || (typeof forMs === 'number' && forMs <= MAX_BLOCK_MS)) return forMs;
  throw new DroverError('bad_request', `args.for_ms is null or at most ${MAX_BLOCK_MS}`);
}

/** Blocks the event loop of a thread, null for ever, which main cannot be. */
function blockThread(
  { broadcaster, journal, rulesThread }: DrilledParts,
  thread: Json,
  forMs: number | null,
): null {
  switch (thread) {
    case 'broadcaster':
      broadcaster.block({ forMs });
      return null;
    case 'journal':
      journal.block({ forMs });
      return null;
    case 'rules':
      rulesThread.block({ forMs });
      return null;
    case 'main':
      blockLater({ forMs: forMs ?? MAX_BLOCK_MS });
      return null;
    default:
      throw new DroverError(
        'bad_request',
        'args.block is "front", "broadcaster", "journal", "rules" or "main"',
      );
  }
}
