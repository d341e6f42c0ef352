// Runs in main. Builds what every other part of the service writes to: the ring, its broadcaster, and the lines of the service.

import { isInCluster } from '../../cluster/cluster.js';
import type { AttachReader } from '../../cluster/node-service.js';
import type { Config } from '../../shared/contract/config.js';
import { SERVICE_SCOPE } from '../../shared/contract/scopes.js';
import type { StreamIdentity } from '../../shared/contract/threads.js';
import { createRing, slotsFor } from '../../shared/memory/layout.js';
import { beginNumbering } from '../environment/stream-numbering.js';
import { BroadcasterThread } from '../threads/broadcaster-thread.js';
import { logItem, ServiceEvents } from '../threads/service-events.js';
import { ThreadCounts } from '../threads/thread-counts.js';
import { ServiceWatch } from './service-watch.js';

export type StreamParts = ReturnType<typeof buildStream>;

/** A line of the service itself. */
export type Say = (level: 'info' | 'warn' | 'error', message: string) => void;

/** Starts the broadcaster. @param mostHosts how many shared bot hosts there may be. */
export function buildStream(config: Config, dataDir: string, mostHosts: number) {
  const { fronts } = config.http;
  const isNode = isInCluster(config);
  /** Readers of the ring beside the fronts, numbered after them. */
  const readers = { journal: fronts, rules: fronts + 1, bus: fronts + 2 };
  const numbering = beginNumbering(dataDir, config.journal);
  const bytes = config.stream.ring_bytes;
  const size = {
    bytes,
    slots: slotsFor(bytes),
    fronts: 1 + (isNode ? readers.bus : readers.rules),
  };
  const { epoch, hashKey, first } = numbering;
  const identity: StreamIdentity = { ring: createRing(size, first), epoch, hashKey };
  const counts = new ThreadCounts(fronts, mostHosts, isNode);
  const broadcaster = new BroadcasterThread({ stream: identity, counts: counts.broadcaster });
  const events = new ServiceEvents(broadcaster);
  const say: Say = (level, message) => events.tell(logItem(level, SERVICE_SCOPE, message));
  const watch = new ServiceWatch({ hangMs: config.watchdog.hang_ms, say });
  return { numbering, identity, readers, counts, broadcaster, events, say, watch };
}

/** Gives a reader of the ring its channel to the broadcaster. */
export function attachTo({ peer }: Pick<BroadcasterThread, 'peer'>): AttachReader {
  return (front, port) => peer.tell('attachFront', { front, port }, [port]);
}
