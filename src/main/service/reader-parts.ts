// Runs in main. Builds the threads that read the stream: the journal, the rules, and the fronts with the limits that they share.

import type { Cluster } from '../../cluster/cluster.js';
import type { Config } from '../../shared/contract/config.js';
import { JOURNAL_SCOPE } from '../../shared/contract/scopes.js';
import { createPinBucket } from '../../shared/memory/pin-bucket.js';
import { createQuota, Quota, type SharedQuota } from '../../shared/memory/quota.js';
import { runsDir } from '../environment/data-dir.js';
import { Rules } from '../rules/rules.js';
import { FrontPool } from '../threads/front-pool.js';
import { JournalThread } from '../threads/journal-thread.js';
import { RulesThread } from '../threads/rules-thread.js';
import { logItem } from '../threads/service-events.js';
import type { StreamParts } from './stream-parts.js';

export type ReaderParts = ReturnType<typeof buildReaders>;

export interface ReaderNeeds {
  config: Config;
  dataDir: string;
  stream: StreamParts;
  cluster: Cluster;
  limits: ReturnType<typeof frontLimits>;
}

/** Starts the journal; the fronts and the rules start later. */
export function buildReaders({ config, dataDir, stream, cluster, limits }: ReaderNeeds) {
  const { numbering, identity, readers, counts, broadcaster, events, say, watch } = stream;
  const journal = new JournalThread(
    {
      config: config.journal,
      node: cluster.node,
      dataDir,
      stream: identity,
      lag: counts.journal,
      numbering,
      slow: (turn) => watch.slow('journal', turn),
      reader: readers.journal,
      say: (level, message) => events.tell(logItem(level, JOURNAL_SCOPE, message)),
    },
    broadcaster,
  );
  const rulesThread = new RulesThread((turn) => watch.slow('rules', turn));
  const rules = new Rules({
    store: cluster.ruleStore,
    sharing: cluster.ruleSharing,
    tell: (...items) => events.tell(...items),
    watch: (watched) => rulesThread.watch(watched),
    now: Date.now,
  });
  rulesThread.listen(rules);
  const fronts = new FrontPool({
    common: { config, ...limits, stream: identity, runs: runsDir(dataDir) },
    counts,
    broadcaster,
    journal,
    report: (message) => say('error', message),
    slow: (thread, turn) => watch.slow(thread, turn),
  });
  const openStreams = new Quota(limits.quota, 0);
  return { journal, rulesThread, rules, fronts, openStreams };
}

/** What all fronts count together. */
export function frontLimits({ http, pin, stream }: Config) {
  const perAddress = http.max_connections_per_address;
  const perToken = stream.max_streams_per_token;
  const quota: SharedQuota<'perToken' | 'perAddress'> = createQuota(
    { total: stream.max_streams, perToken, perAddress },
    http.fronts,
  );
  return {
    bucket: createPinBucket({ capacity: pin.capacity, refillPerMinute: pin.refill_per_minute }),
    quota,
    connections: createQuota({ total: http.max_connections, perAddress }, http.fronts),
  };
}
