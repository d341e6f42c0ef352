import { blockLater } from '../shared/block-loop.js';
import type { Json, JsonObject } from '../shared/contract/json.js';
import { HOST_FAULTS } from '../shared/contract/threads.js';
import { DroverError } from '../shared/errors.js';
import type { ServiceCommands } from './bots/dispatcher.js';
import type { HostPool } from './bots/host-pool.js';
import type { BotRegistry } from './bots/registry.js';
import type { BroadcasterThread } from './threads/broadcaster-thread.js';
import type { FrontPool } from './threads/front-pool.js';
import type { JournalThread } from './threads/journal-thread.js';
import type { RulesThread } from './threads/rules-thread.js';

/** How long a drill may block a loop, if not for ever, in ms. */
const MAX_BLOCK_MS = 60_000;

/** What the commands report on, and break. */
export interface ServiceParts {
  registry: BotRegistry;
  hosts: HostPool;
  broadcaster: BroadcasterThread;
  journal: JournalThread;
  rules: RulesThread;
  /** Created after the commands, which its fronts call. */
  fronts: () => FrontPool;
}

/** Commands of the service: `POST /invoke` with `session_id: null`. @param drills offers `drill` too. */
export function serviceCommands(parts: ServiceParts, drills: boolean): ServiceCommands {
  const startedAt = Date.now();
  const commands: ServiceCommands = {
    ping: () => 'pong',
    status: () => ({
      bots: parts.registry.size,
      hosts: parts.hosts.count,
      uptime_ms: Date.now() - startedAt,
    }),
  };
  if (drills) commands['drill'] = (args) => drill(parts, args);
  return commands;
}

/** Breaks a part of the service as a fault would, to show that the rest continues. */
async function drill(
  parts: ServiceParts,
  { kill, block, front = 0, host = 0, fault = 'crash', for_ms: forMs = null, at }: JsonObject,
): Promise<null> {
  if (block === 'front') {
    const where = at === 'body' ? 'body' : 'request';
    parts.fronts().block(Number(front), { forMs: blockMs(forMs), at: where });
    return null;
  }
  if (block !== undefined) return blockThread(parts, block, blockMs(forMs));
  const { hosts, broadcaster, fronts } = parts;
  switch (kill) {
    case 'broadcaster':
      await broadcaster.kill();
      return null;
    case 'front':
      fronts().drill(Number(front));
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
  { broadcaster, journal, rules }: ServiceParts,
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
      rules.block({ forMs });
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
