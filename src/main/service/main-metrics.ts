import type { NodeOperations } from '../../cluster/cluster.js';
import type { MainMetrics } from '../../shared/contract/metric-layout.js';
import type { TokenRegistry } from '../access/token-registry.js';
import type { HostPool } from '../bots/host-pool.js';
import type { Incidents } from '../bots/incidents.js';
import type { KindSchemas } from '../bots/kind-schemas.js';
import type { UsageWatch } from '../bots/usage-watch.js';
import type { Rules } from '../rules/rules.js';
import type { BroadcasterThread } from '../threads/broadcaster-thread.js';
import type { FrontPool } from '../threads/front-pool.js';
import type { JournalThread } from '../threads/journal-thread.js';
import type { RulesThread } from '../threads/rules-thread.js';
import type { ThreadCounts } from '../threads/thread-counts.js';

export interface MeasuredParts {
  /** Restarts of bots by the service, by kind. */
  restarts: ReadonlyMap<string, number>;
  kinds: Pick<KindSchemas, 'infos'>;
  incidents: Pick<Incidents, 'counts'>;
  counts: Pick<ThreadCounts, 'started'>;
  broadcaster: Pick<BroadcasterThread, 'utilization'>;
  fronts: Pick<FrontPool, 'utilizations'>;
  hosts: Pick<HostPool, 'all' | 'count' | 'queueFill'>;
  tokens: Pick<TokenRegistry, 'all'>;
  usage: Pick<UsageWatch, 'byKind'>;
  journal: Pick<JournalThread, 'busySeconds' | 'status'>;
  rules: Pick<Rules, 'size' | 'firing'>;
  rulesThread: Pick<RulesThread, 'busySeconds'>;
  cluster: Pick<NodeOperations, 'metrics'>;
}

/** What main counts and measures, for `GET /metrics`. */
export function mainMetrics(parts: MeasuredParts): MainMetrics {
  const {
    restarts,
    kinds,
    incidents,
    counts,
    broadcaster,
    fronts,
    hosts,
    tokens,
    usage,
    journal,
    rules,
    rulesThread,
    cluster,
  } = parts;
  const up = hosts.all();
  // Reserved hosts come and go: a sum over them would not only grow.
  const shared = up.filter(({ number }) => number < hosts.count);
  const ofThread = (thread: string, seconds: number | undefined) =>
    seconds === undefined ? [] : [{ thread, seconds }];
  return {
    restarts: Object.fromEntries(kinds.infos().map(({ kind }) => [kind, restarts.get(kind) ?? 0])),
    incidents: Object.fromEntries(incidents.counts),
    loops: counts.started(hosts.count),
    busy: [
      { thread: 'main', seconds: performance.eventLoopUtilization().active / 1000 },
      { thread: 'broadcaster', seconds: broadcaster.utilization().active / 1000 },
      ...fronts
        .utilizations()
        .map(({ active }, n) => ({ thread: `front-${n}`, seconds: active / 1000 })),
      ...shared.map((host) => ({ thread: `host-${host.number}`, seconds: host.busySeconds })),
      ...ofThread('journal', journal.busySeconds),
      ...ofThread('rules', rulesThread.busySeconds),
    ],
    queue: hosts.queueFill,
    hosts: up.length,
    tokens: tokens.all().length,
    usage: usage.byKind(),
    rules: rules.size,
    firing: rules.firing(),
    journal: journal.status,
    cluster: cluster.metrics(),
  };
}
