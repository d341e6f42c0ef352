// Runs in main. Builds what a cluster asks of this service.

import type { NodeService } from '../../cluster/node-service.js';
import type { Config } from '../../shared/contract/config.js';
import type { StartupError } from '../../shared/errors.js';
import { ownAddress } from '../environment/own-address.js';
import { ClusterBusThread } from '../threads/cluster-bus-thread.js';
import type { BotParts } from './bot-parts.js';
import type { ControlParts } from './control-parts.js';
import type { ReaderParts } from './reader-parts.js';
import { attachTo, type StreamParts } from './stream-parts.js';

export interface NodeNeeds {
  config: Config;
  dataDir: string;
  stream: StreamParts;
  bots: BotParts;
  readers: ReaderParts;
  control: ControlParts;
  /** Where it listens; null until it does. */
  listener: { readonly port: number | null };
  /** The node was removed from its cluster. */
  removed: (error: StartupError) => void;
  /** The bus thread of the cluster has been started. */
  busStarted: (bus: ClusterBusThread) => void;
}

/** Averages are over at least so long, in ms. */
const CPU_WINDOW_MS = 1000;

/** How much of a core this process uses. */
class CpuShare {
  #since = performance.now();
  #used = process.cpuUsage();
  #share = 0;

  /** Since about the last time that this was asked. */
  get share(): number {
    const now = performance.now();
    const forMs = now - this.#since;
    if (forMs < CPU_WINDOW_MS) return this.#share;
    const { user, system } = process.cpuUsage(this.#used);
    this.#share = Math.round((user + system) / forMs) / 1000;
    this.#since = now;
    this.#used = process.cpuUsage();
    return this.#share;
  }
}

/** What the cluster asks of this service. */
export function nodeService(needs: NodeNeeds): NodeService {
  const { config, dataDir, stream, bots, readers, control } = needs;
  const { identity, numbering, counts, broadcaster, events, watch } = stream;
  const { rulesThread, rules, fronts, journal } = readers;
  const lag = counts.rules;
  const cpu = new CpuShare();
  return {
    ownStream: {
      follow() {
        const reader = stream.readers.rules;
        rulesThread.follow({ stream: identity, reader, lag }, attachTo(broadcaster));
      },
      reattach: (peer) => rulesThread.reattach(attachTo({ peer })),
    },
    followStream(ofCluster, attach) {
      rulesThread.follow({ stream: ofCluster, reader: config.http.fronts, lag }, attach);
      rules.streamBegins();
    },
    startBus({ config: cluster, signer, incarnation, ...listener }) {
      const start = {
        ...{ config: cluster, signer, incarnation, first: numbering.first, local: identity },
        dir: dataDir,
        reader: stream.readers.bus,
        // The rules too.
        fronts: config.http.fronts + 1,
        ringBytes: config.stream.ring_bytes,
        hasJournal: config.journal.enabled,
        lag: counts.bus,
      };
      const bus = new ClusterBusThread(
        {
          ...listener,
          start,
          journal: (reader) => journal.attachFront(reader),
          slow: (turn) => watch.slow('cluster-bus', turn),
        },
        broadcaster,
      );
      journal.onReplaced(() => bus.reattachJournal());
      needs.busStarted(bus);
      return bus;
    },
    ...{ events, fronts, rules, rulesThread },
    registry: bots.registry,
    tokens: control.access.tokens,
    describe() {
      const { port } = needs.listener;
      const scheme = config.tls.cert === null ? 'http' : 'https';
      return {
        address: port === null ? null : ownAddress(scheme, config.http.host, port),
        kinds: bots.schemas.infos().map(({ kind }) => kind),
        figures: {
          bots: bots.registry.size,
          running: bots.registry.running,
          streams: readers.openStreams.total(),
          cpu: cpu.share,
          memory_mb: Math.round(process.memoryUsage.rss() / 2 ** 20),
        },
      };
    },
    leaseChanged: () => bots.processes.leaseChanged(),
    removed: needs.removed,
  };
}
