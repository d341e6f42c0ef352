// Runs in main. Builds the bots of this node: their hosts, their registry, and what watches over both.

import type { Cluster } from '../../cluster/cluster.js';
import type { HostCommands } from '../../shared/commands/host-commands.js';
import type { BotSpec, Isolation } from '../../shared/contract/bots.js';
import type { Config } from '../../shared/contract/config.js';
import type { SharedQuota } from '../../shared/memory/quota.js';
import { maxOpenFiles } from '../../shared/open-files.js';
import { warnOperator } from '../access/access-output.js';
import type { HostCount } from '../bots/host-count.js';
import { HostFaults } from '../bots/host-faults.js';
import { HostPool, type PoolListener } from '../bots/host-pool.js';
import { Incidents } from '../bots/incidents.js';
import { findKinds, programOptions } from '../bots/kind-modules.js';
import { KindQuarantine } from '../bots/kind-quarantine.js';
import { KindReload } from '../bots/kind-reload.js';
import type { KindSchemas } from '../bots/kind-schemas.js';
import { KindVersions } from '../bots/kind-versions.js';
import { LoopWatch } from '../bots/loop-watch.js';
import { letHostsCollectGarbage, MemoryGuard } from '../bots/memory-guard.js';
import { Quarantine } from '../bots/quarantine.js';
import { BotRegistry, type RegistryParts } from '../bots/registry.js';
import { SlowBots } from '../bots/slow-bots.js';
import { type StartLimits, StartPace } from '../bots/start-pace.js';
import { UsageWatch } from '../bots/usage-watch.js';
import { Watchdog } from '../bots/watchdog.js';
import { FileReserve } from '../environment/file-reserve.js';
import type { RunRecord } from '../environment/run-record.js';
import { IncidentGroupStore } from '../store/incident-group-store.js';
import type { IncidentStore } from '../store/incident-store.js';
import type { Store } from '../store/store.js';
import type { FrontPool } from '../threads/front-pool.js';
import type { HostThread } from '../threads/host-thread.js';
import { ProcessLimits } from '../threads/process-limits.js';
import { ProcessLinks } from '../threads/process-link.js';
import { logItem, type ServiceEvents } from '../threads/service-events.js';
import { startThreadLink } from '../threads/thread-link.js';
import type { Say, StreamParts } from './stream-parts.js';

export type BotParts = ReturnType<typeof buildBots>;

export interface BotNeeds {
  config: Config;
  count: HostCount;
  stream: StreamParts;
  cluster: Cluster;
  store: Store;
  incidentStore: IncidentStore;
  schemas: KindSchemas;
  record: RunRecord;
  /** That of the streams: hosts count those of their bots. */
  quota: SharedQuota<'perToken' | 'perAddress'>;
}

/** Starts no host. */
export function buildBots(needs: BotNeeds) {
  const { config, count, stream, cluster, record, quota } = needs;
  const { hosts: limits, watchdog, invoke, network } = config;
  const { events, say, broadcaster } = stream;
  letHostsCollectGarbage();
  const kinds = findKinds(config.kinds, programOptions(config));
  const versions = new KindVersions();
  const quarantine = new Quarantine();
  const kindQuarantine = new KindQuarantine();
  const warn = (line: string): void => {
    say('warn', line);
    warnOperator(line);
  };
  const processes = new ProcessLinks(
    new ProcessLimits({
      maxHeapMb: limits.max_heap_mb,
      memoryMb: limits.process_memory_mb,
      cpu: limits.process_cpu,
      warn,
    }),
  );
  const links = { thread: startThreadLink, process: processes.start };
  const hosts = new HostPool({
    options: {
      ...count,
      isolation: limits.isolation,
      links,
      lagOf: (host) => stream.counts.host(host),
      streams: quota,
      maxDedicated: limits.max_dedicated,
      maxHeapMb: limits.max_heap_mb,
      inFlightBytes: limits.in_flight_bytes,
      botLinesPerSecond: limits.bot_lines_per_second,
      networkAllow: network.allow,
      env: limits.env,
      commandTimeoutMs: invoke.timeout_ms,
      kindLoadMs: limits.kind_load_ms,
      graceMs: limits.stop_grace_ms,
      lease: cluster.lease,
    },
    quarantine,
    kinds: kindQuarantine,
    versions,
    broadcaster,
  });
  const files = new FileReserve(maxOpenFiles(), {
    say(level, line) {
      say(level, line);
      warnOperator(line);
    },
    heldByKind: () => hosts.openByKind(),
  });
  const restarts = new Map<string, number>();
  const { registry, incidents } = buildRegistry({
    ...needs,
    events,
    hosts,
    versions,
    kinds: kindQuarantine,
    restarted: (kind) => restarts.set(kind, (restarts.get(kind) ?? 0) + 1),
    noteStart: (id) => record.started(id),
  });
  const faults = new HostFaults(
    registry,
    incidents,
    quarantine,
    kindQuarantine,
    limits.stop_grace_ms,
  );
  const reload = new KindReload({
    ...{ config, kinds, versions, hosts, registry, schemas: needs.schemas },
    quarantine: kindQuarantine,
    links,
    say: (line) => say('info', line),
  });
  const slow = new SlowBots(watchdog.isolate_ms, {
    warn: (line) => say('warn', line),
    warnBot: (id, line) => events.tell(logItem('warn', 'bot', line, id)),
    isolate: (id, host, reason) => registry.isolate(id, host, reason),
  });
  return {
    ...{ schemas: needs.schemas, kinds, versions, kindQuarantine, reload },
    ...{ processes, hosts, files },
    /** Restarts of bots by the service, by kind. */
    restarts,
    ...{ registry, incidents, faults },
    usage: new UsageWatch(config.quota, registry, events),
    watchdog: new Watchdog(
      () => hosts.all(),
      watchdog.hang_ms,
      (host, forMs) => hosts.hung(host, forMs),
    ),
    loops: new LoopWatch<HostThread>(
      () => hosts.all(),
      watchdog.slow_ms,
      (host, id, forMs) => slow.held(host, id, forMs),
    ),
    memoryGuard: new MemoryGuard(() => hosts.threads(), limits.max_heap_mb),
  };
}

export interface RegistryNeeds
  extends Pick<BotNeeds, 'config' | 'store' | 'incidentStore' | 'schemas'> {
  events: ServiceEvents;
  hosts: RegistryParts['bots']['hosts'];
  versions: RegistryParts['versions'];
  kinds: KindQuarantine;
  cluster: Pick<Cluster, 'bots' | 'botStore'>;
  /** Called when the service has restarted a bot. */
  restarted: (kind: string) => void;
  noteStart: RegistryParts['noteStart'];
}

/** The bots, and their incidents. */
export function buildRegistry({
  config,
  store,
  incidentStore,
  schemas,
  events,
  hosts,
  versions,
  kinds,
  cluster,
  restarted,
  noteStart,
}: RegistryNeeds) {
  const incidents = new Incidents(incidentStore, new IncidentGroupStore(store), events);
  const registry = new BotRegistry({
    bots: {
      hosts,
      pace: new StartPace(startLimits(config)),
      events,
      graceMs: config.hosts.stop_grace_ms,
      isolationOf: (spec) => isolationOf(spec, config.hosts),
      restarted,
      cluster: cluster.bots,
    },
    schemas,
    versions,
    kinds,
    store: cluster.botStore,
    incidents,
    defaults: config.restart,
    noteStart,
  });
  incidents.identify(registry);
  return { registry, incidents };
}

/** How fast bots may start. */
export function startLimits({ hosts }: Config): StartLimits {
  return { total: hosts.starts_per_second, byKind: hosts.starts_per_second_by_kind };
}

/** What is done with what happens on the hosts. */
export function hostListener(
  { registry, usage, schemas, faults, watchdog, loops, memoryGuard }: BotParts,
  callers: readonly Pick<FrontPool | HostCommands, 'detachHost'>[],
  say: Say,
): PoolListener {
  return {
    awake() {
      watchdog.watch();
      loops.watch();
      memoryGuard.watch();
    },
    exited: (exit) => registry.exited(exit),
    lateError: (error) => registry.lateError(error),
    flooded: (flood) => registry.flooded(flood),
    used: (host, report) => usage.report(host, report),
    offered: ({ kind, commands }) => schemas.offer(kind, commands),
    kindFailed(host, failure) {
      const { kind, error, bots } = failure;
      say(
        'error',
        `code of the bot kind ${kind}, of no bot, has failed on bot host ${host.number}, and its ${bots} bots there with it: ${error}`,
      );
      faults.kindFailed(host, failure);
    },
    lost: (host, error) => void faults.lost(host, error),
    stuck: (host, forMs) => void faults.hung(host, forMs),
    overdue: (host, bot) => faults.overdue(host, bot),
    kindDropped: (host, module, reason) =>
      say('error', `bot host ${host} runs without the bot kind ${module}: ${reason}`),
    ending(host) {
      usage.forget(host);
      for (const caller of callers) caller.detachHost(host.number);
    },
    retiring: (host) => registry.hostRetiring(host),
  };
}

/** Thread or process: as the bot says, else as the configuration says for its kind, else for all. */
function isolationOf(
  { kind, isolation }: Pick<BotSpec, 'kind' | 'isolation'>,
  hosts: Pick<Config['hosts'], 'isolation' | 'isolation_by_kind'>,
): Isolation {
  return isolation ?? ownOf(hosts.isolation_by_kind, kind) ?? hosts.isolation;
}

/** A kind may be called `constructor`. */
function ownOf(byKind: Config['hosts']['isolation_by_kind'], kind: string): Isolation | undefined {
  return Object.hasOwn(byKind, kind) ? byKind[kind] : undefined;
}
