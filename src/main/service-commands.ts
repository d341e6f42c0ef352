import type { JsonObject } from '../shared/contract/json.js';
import { HOST_FAULTS } from '../shared/contract/threads.js';
import { DroverError } from '../shared/errors.js';
import type { ServiceCommands } from './bots/dispatcher.js';
import type { HostPool } from './bots/host-pool.js';
import type { BotRegistry } from './bots/registry.js';
import type { BroadcasterThread } from './threads/broadcaster-thread.js';
import type { FrontPool } from './threads/front-pool.js';

/** What the commands report on, and break. */
export interface ServiceParts {
  registry: BotRegistry;
  hosts: HostPool;
  broadcaster: BroadcasterThread;
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
  { hosts, broadcaster, fronts }: ServiceParts,
  { kill, front = 0, host = 0, fault = 'crash' }: JsonObject,
): Promise<null> {
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
