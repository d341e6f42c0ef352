// Runs in main. The composition root: starts every thread, connects them, and ends them in order. Opens no socket.

import { randomInt } from 'node:crypto';
import { join } from 'node:path';
import { type Cluster, isInCluster, singleService } from '../cluster/cluster.js';
import type { AttachReader, NodeService } from '../cluster/node-service.js';
import { HostCommands } from '../shared/commands/host-commands.js';
import { authorityOf } from '../shared/contract/addresses.js';
import type { Config } from '../shared/contract/config.js';
import type { Level } from '../shared/contract/event-kinds.js';
import { CONTROL_SCOPE, JOURNAL_SCOPE, SERVICE_SCOPE } from '../shared/contract/scopes.js';
import type { SlowTurn } from '../shared/contract/slow-turn.js';
import type { BroadcasterPeer, StreamIdentity } from '../shared/contract/threads.js';
import type { TokenRecord } from '../shared/contract/tokens.js';
import { Deferred } from '../shared/deferred.js';
import { messageOf, type StartupError } from '../shared/errors.js';
import { createRing, slotsFor } from '../shared/memory/layout.js';
import { createPinBucket } from '../shared/memory/pin-bucket.js';
import { createQuota, Quota, type SharedQuota } from '../shared/memory/quota.js';
import { maxOpenFiles } from '../shared/open-files.js';
import { unlessAborted } from '../shared/unless-aborted.js';
import { VERSION } from '../shared/version.js';
import { Access } from './access/access.js';
import { warnOperator } from './access/access-output.js';
import { type HostCount, hostCount } from './bots/host-count.js';
import { HostFaults } from './bots/host-faults.js';
import { HostFigures } from './bots/host-figures.js';
import { HostPool } from './bots/host-pool.js';
import { Incidents } from './bots/incidents.js';
import { isolationOf } from './bots/isolation.js';
import { KEEPS_SOURCES, KindFiles } from './bots/kind-files.js';
import { allFailed, findKinds, type KindModules, programOptions } from './bots/kind-modules.js';
import { KindQuarantine } from './bots/kind-quarantine.js';
import { KindSchemas } from './bots/kind-schemas.js';
import { LoopWatch } from './bots/loop-watch.js';
import { letHostsCollectGarbage, MemoryGuard } from './bots/memory-guard.js';
import { Quarantine } from './bots/quarantine.js';
import { BotRegistry } from './bots/registry.js';
import { SlowBots } from './bots/slow-bots.js';
import { StartPace } from './bots/start-pace.js';
import { UsageWatch } from './bots/usage-watch.js';
import { Watchdog } from './bots/watchdog.js';
import { createController } from './controller.js';
import { CpuShare } from './cpu-share.js';
import { defaultDataDir, openDataDir, removePin, runsDir, writePin } from './data-dir.js';
import { FileReserve } from './file-reserve.js';
import { firstBots, restsAtStart } from './first-bots.js';
import { mainMetrics } from './main-metrics.js';
import { fitToOpenFiles } from './open-files.js';
import { ownAddress } from './own-address.js';
import { Rules } from './rules/rules.js';
import { RunRecord } from './run-record.js';
import { ServiceCommands } from './service-commands.js';
import { logItem, ServiceEvents } from './service-events.js';
import { MAIN, type ServiceThread, ServiceWatch } from './service-watch.js';
import { BotStore } from './store/bot-store.js';
import { IncidentGroupStore } from './store/incident-group-store.js';
import { IncidentStore } from './store/incident-store.js';
import { RuleStore } from './store/rule-store.js';
import { Store } from './store/store.js';
import { TokenStore } from './store/token-store.js';
import { beginNumbering, type StreamNumbering } from './stream-numbering.js';
import { ThreadCounts } from './thread-counts.js';
import { BroadcasterThread } from './threads/broadcaster-thread.js';
import { ClusterBusThread } from './threads/cluster-bus-thread.js';
import { DemoWorldThread } from './threads/demo-world-thread.js';
import { FrontPool } from './threads/front-pool.js';
import type { HostThread } from './threads/host-thread.js';
import { JournalThread } from './threads/journal-thread.js';
import { ProcessLimits } from './threads/process-limits.js';
import { ProcessLinks } from './threads/process-link.js';
import { RulesThread } from './threads/rules-thread.js';
import { startThreadLink } from './threads/thread-link.js';
import { checkTls } from './tls-snapshot.js';

/** How long the journal may take to write its last events, in ms. */
const JOURNAL_CLOSE_MS = 1000;
/** Readers of the ring beside the fronts, by their place after them: the journal, the rules, and the bus of a cluster. */
const JOURNAL_READER = 0;
const RULES_READER = 1;
const BUS_READER = 2;

/** What the operator is told once the service listens. */
export interface Listening {
  port: number;
  /** Where the PIN is; null when it is switched off. */
  pin: { value: string; path: string } | null;
  /** Which HTTP engine it is and why, in one line. */
  engine: string;
  /** One line each: what is not as configured. */
  warnings: string[];
}

/**
 * A whole service. open(), start() once, then stop() once. When start() rejects, it has stopped what it had started.
 */
export class Service {
  /** With maxima that fit this process. */
  readonly #config: Config;
  /** What does not fit. */
  readonly #misfit: string | null;
  readonly #dataDir: string;
  readonly #store: Store;
  readonly #access: Access;
  /** Null when it is switched off. */
  #pin: string | null = randomInt(1_000_000).toString().padStart(6, '0');
  readonly #broadcaster: BroadcasterThread;
  readonly #events: ServiceEvents;
  readonly #quarantine = new Quarantine();
  readonly #kindQuarantine = new KindQuarantine();
  readonly #processes: ProcessLinks;
  readonly #hosts: HostPool;
  /** Main's own channels to the hosts, for commands of other nodes. */
  #commands!: HostCommands;
  readonly #schemas = new KindSchemas();
  readonly #kinds: KindModules;
  readonly #kindFiles: KindFiles;
  readonly #registry: BotRegistry;
  readonly #faults: HostFaults;
  readonly #watchdog: Watchdog<HostThread>;
  readonly #watch: ServiceWatch;
  readonly #loops: LoopWatch<HostThread>;
  readonly #usage: UsageWatch;
  readonly #files = new FileReserve(maxOpenFiles(), {
    say: (level, line) => {
      this.#say(level, line);
      warnOperator(line);
    },
    heldByKind: () => this.#hosts.openByKind(),
  });
  readonly #journal: JournalThread;
  readonly #rules: Rules;
  readonly #rulesThread: RulesThread;
  readonly #cluster: Cluster;
  /** Undefined in a single service, and before there are bots. */
  #bus: ClusterBusThread | undefined;
  #isStopping = false;
  readonly #removed = new Deferred<StartupError>();
  readonly #memoryGuard: MemoryGuard;
  readonly #fronts: FrontPool;
  readonly #counts: ThreadCounts;
  readonly #incidents: Incidents;
  /** Restarts of bots by the service, by kind. */
  readonly #restarts = new Map<string, number>();
  readonly #record: RunRecord;
  readonly #openStreams: Quota<'perToken' | 'perAddress'>;
  readonly #cpu = new CpuShare();
  /** Null until the service listens. */
  #port: number | null = null;
  #demoWorld: DemoWorldThread | undefined;
  /** Reloads run one after the other. */
  #tlsChange: Promise<void> = Promise.resolve();

  /**
   * Prepares what can fail because of the environment, before any socket is opened.
   * @param stopping is aborted when the service is to stop before it has started. @throws StartupError
   */
  static async open(config: Config, cores: number, stopping: AbortSignal): Promise<Service> {
    checkTls(config.tls);
    const dataDir = await openDataDir(config.data_dir ?? defaultDataDir(process.env));
    const store = await Store.open(join(dataDir, 'store.mdb'), stopping);
    const fitted = fitToOpenFiles(config, cores, maxOpenFiles());
    const clusterOf = isInCluster(config)
      ? (await import('../cluster/control/nats-cluster.js')).natsCluster
      : singleService;
    return new Service(fitted, cores, dataDir, store, clusterOf);
  }

  private constructor(
    { config, warning }: ReturnType<typeof fitToOpenFiles>,
    cores: number,
    dataDir: string,
    store: Store,
    clusterOf: (service: NodeService) => Cluster,
  ) {
    this.#config = config;
    this.#misfit = warning;
    this.#dataDir = dataDir;
    this.#store = store;
    this.#record = new RunRecord(dataDir, config.start, Date.now());
    const numbering = beginNumbering(dataDir, config.journal);
    const stream = newStream(config, numbering);
    letHostsCollectGarbage();
    const hosts = hostCount(config.hosts.count, cores);
    this.#counts = new ThreadCounts(config.http.fronts, hosts.most, isInCluster(config));
    this.#watch = new ServiceWatch({
      threads: () => this.#threads(),
      hangMs: config.watchdog.hang_ms,
      say: (level, line) => this.#say(level, line),
    });
    this.#broadcaster = new BroadcasterThread(
      { stream, counts: this.#counts.broadcaster },
      (broadcaster, reason) => this.#restore(broadcaster, reason),
      (turn) => this.#watch.slow('broadcaster', turn),
    );
    this.#events = new ServiceEvents(this.#broadcaster);
    store.report = (level, line) => this.#say(level, line);
    this.#kinds = findKinds(config.kinds, programOptions(config));
    this.#kindFiles = new KindFiles(this.#kinds.modules);
    const quota = newQuota(config);
    this.#openStreams = new Quota(quota, 0);
    this.#processes = new ProcessLinks(
      new ProcessLimits({
        maxHeapMb: config.hosts.max_heap_mb,
        memoryMb: config.hosts.process_memory_mb,
        cpu: config.hosts.process_cpu,
        warn: (line) => {
          this.#say('warn', line);
          warnOperator(line);
        },
      }),
    );
    const incidents = new IncidentStore(store);
    const stores = { bots: new BotStore(store), rules: new RuleStore(store), incidents };
    this.#cluster = clusterOf(this.#nodeService(stores, stream, numbering));
    this.#hosts = this.#createHosts(hosts, quota);
    this.#incidents = new Incidents(incidents, new IncidentGroupStore(store), this.#events, (id) =>
      this.#registry.identityOf(id),
    );
    this.#registry = new BotRegistry({
      bots: {
        hosts: this.#hosts,
        pace: new StartPace({
          total: config.hosts.starts_per_second,
          byKind: config.hosts.starts_per_second_by_kind,
        }),
        events: this.#events,
        graceMs: config.hosts.stop_grace_ms,
        isolationOf: (spec) => isolationOf(spec, config.hosts),
        restarted: (kind) => this.#restarts.set(kind, (this.#restarts.get(kind) ?? 0) + 1),
        cluster: this.#cluster.bots,
      },
      schemas: this.#schemas,
      kinds: this.#kindQuarantine,
      store: this.#cluster.botStore,
      incidents: this.#incidents,
      defaults: config.restart,
      noteStart: (id) => this.#record.started(id),
    });
    this.#faults = new HostFaults(
      this.#registry,
      this.#incidents,
      this.#quarantine,
      this.#kindQuarantine,
      config.hosts.stop_grace_ms,
    );
    this.#watchdog = new Watchdog(
      () => this.#hosts.all(),
      config.watchdog.hang_ms,
      (host, forMs) => this.#hosts.hung(host, forMs),
    );
    this.#loops = this.#createLoopWatch();
    this.#usage = new UsageWatch(config.quota, this.#registry, this.#events);
    this.#journal = this.#createJournal(stream, numbering);
    this.#rules = new Rules({
      store: this.#cluster.ruleStore,
      sharing: this.#cluster.ruleSharing,
      tell: (...items) => this.#events.tell(...items),
      watch: (rules) => this.#rulesThread.watch(rules),
      now: Date.now,
    });
    this.#rulesThread = this.#createRulesThread();
    this.#memoryGuard = new MemoryGuard(() => this.#hosts.threads(), config.hosts.max_heap_mb);
    this.#access = this.#createAccess();
    this.#fronts = this.#createFronts(stream, quota);
  }

  /**
   * Resolves when the service listens and its bots are started.
   * @param listening is called then. @param stopping is aborted when the service is to stop before that; start() then stops
   * it and rejects, without waiting for the step under way. @throws StartupError
   */
  async start(listening: (info: Listening) => void, stopping: AbortSignal): Promise<void> {
    try {
      await unlessAborted(this.#bringUp(listening, stopping), stopping);
    } catch (thrown) {
      await this.stop();
      throw thrown;
    }
  }

  /** Resolves when this node was removed from its cluster: the service has to be stopped. */
  get removed(): Promise<StartupError> {
    return this.#removed.promise;
  }

  /** Checks `stopping` after every wait: stop() does not end what starts after it. */
  async #bringUp(listening: (info: Listening) => void, stopping: AbortSignal): Promise<void> {
    this.#record.begin();
    const { kinds, failed } = await this.#hosts.start();
    const modules = new Map([...this.#hosts.threads()].flatMap((host) => [...host.kinds]));
    this.#kinds.failed = this.#schemas.add(kinds, modules, allFailed(this.#kinds, failed));
    const helpers = this.#kinds.failed.filter(({ helper }) => helper);
    this.#kindFiles.loaded(
      modules,
      helpers.map(({ module }) => module),
    );
    stopping.throwIfAborted();
    if (this.#config.demo.enabled) await this.#startDemoWorld();
    stopping.throwIfAborted();
    await this.#cluster.join();
    stopping.throwIfAborted();
    const first = firstBots(this.#config, this.#registry);
    await this.#registry.show(first.filter(({ id }) => !this.#cluster.bots.identityOf(id)));
    stopping.throwIfAborted();
    await this.#access.adoptTokens();
    stopping.throwIfAborted();
    if (!this.#config.auth.pin && this.#access.tokens.all().length > 0) this.#pin = null;
    const value = this.#pin;
    const pin = value === null ? null : { value, path: writePin(this.#dataDir, value) };
    // Not before: a client that reaches the service finds its bots and can use the PIN.
    const { port, engine } = await this.#fronts.start();
    this.#port = port;
    stopping.throwIfAborted();
    this.#access.start();
    this.#counts.start((turn) => this.#watch.slow(MAIN, turn));
    // In the turn in which the load begins to be measured: the two share their wake-ups.
    this.#watch.start();
    const deployed = this.#record.deployed(VERSION, this.#kindFiles.digests());
    this.#events.tell(logItem('info', CONTROL_SCOPE, deployed));
    this.#say('info', `listening on ${authorityOf(this.#config.http.host, port)}`);
    this.#say('info', engine);
    for (const notice of this.#store.notices) this.#say('error', notice);
    const missingKinds: string[] = [];
    for (const { module, error, helper } of this.#kinds.failed) {
      if (helper) this.#say('info', `${module} is no bot kind: ${error}`);
      else missingKinds.push(`the bot kind ${module} does not load: ${error}`);
    }
    for (const line of missingKinds) this.#say('error', line);
    const { uncleanEnd, restriction } = this.#record;
    if (uncleanEnd !== null) this.#reportUncleanEnd(uncleanEnd);
    const misfits = [
      this.#misfit,
      ...this.#unknownKinds(),
      ...this.#schemas.notices,
      restriction,
    ].filter((line) => line !== null);
    for (const line of misfits) this.#say('warn', line);
    const warnings = [...missingKinds, ...misfits, ...(uncleanEnd === null ? [] : [uncleanEnd])];
    this.#cluster.begin();
    // Not before the port is bound: a bot must not log in for a service that then fails to start. And in the same turn, so that
    // no client's request for a bot comes first.
    await Promise.all([
      this.#registry.begin(
        (spec) => this.#record.holdOf(spec.id) ?? restsAtStart(spec, this.#config),
      ),
      this.#fronts.startOthers(),
    ]);
    this.#cluster.begun();
    this.#rules.begin();
    stopping.throwIfAborted();
    listening({ port, pin, engine, warnings });
  }

  /** One line for each limit of a kind that there is not. */
  #unknownKinds(): string[] {
    const known = new Set(this.#schemas.infos().map(({ kind }) => kind));
    return Object.keys(this.#config.hosts.starts_per_second_by_kind)
      .filter((kind) => !known.has(kind))
      .map((kind) => `hosts.starts_per_second_by_kind: there is no kind ${JSON.stringify(kind)}`);
  }

  /** Reloads certificate and key. When they cannot be used the old ones stay, and a line on the stream says so. */
  async reloadTls(): Promise<void> {
    const before = this.#tlsChange;
    this.#tlsChange = before.then(async () => {
      try {
        await this.#fronts.changeTls();
        this.#say('info', 'certificate and key were reloaded');
      } catch (thrown) {
        this.#say('error', messageOf(thrown));
      }
    });
    await this.#tlsChange;
  }

  /**
   * Stops the bots, gives streams their last frames, and ends every thread.
   * @returns the threads that have not exited: bot hosts that native code holds, each with the bot that called it, and the journal.
   */
  async stop(): Promise<string[]> {
    this.#isStopping = true;
    const { hosts, shutdown } = this.#config;
    this.#watchdog.stop();
    this.#loops.stop();
    this.#usage.stop();
    this.#memoryGuard.stop();
    this.#counts.stop();
    this.#access.beginStop();
    // Bots that stop are no alert.
    await this.#rulesThread.close();
    this.#say('info', 'shutting down');
    await this.#registry.stopAll(Math.min(hosts.stop_grace_ms, shutdown.bots_ms));
    await this.#demoWorld?.close();
    const stuck = await this.#hosts.stop();
    this.#commands.detach();
    await this.#processes.close();
    const head = await this.#events.publish(logItem('info', SERVICE_SCOPE, 'stopped'));
    await this.#cluster.flush();
    await this.#fronts.close(head, shutdown.streams_ms);
    await this.#access.stop();
    await this.#cluster.close();
    const isWritten = await this.#journal.close(JOURNAL_CLOSE_MS);
    // Until here a thread that hangs would hold up the end.
    this.#watch.stop();
    await this.#broadcaster.stop();
    await this.#incidents.close();
    await this.#store.close();
    this.#files.close();
    removePin(this.#dataDir);
    this.#record.end();
    const threads = stuck.map(({ number, lastBot }) => {
      const where = lastBot === null ? '' : ` (the code of bot ${lastBot} ran last there)`;
      return `the thread of bot host ${number}${where}`;
    });
    return isWritten ? threads : [...threads, 'the thread of the journal'];
  }

  /** What the cluster asks of this service. */
  #nodeService(
    stores: Pick<NodeService, 'bots' | 'rules' | 'incidents'>,
    stream: StreamIdentity,
    { first }: StreamNumbering,
  ): NodeService {
    const { cluster, http, hosts, invoke, journal, stream: streaming } = this.#config;
    return {
      config: cluster,
      dataDir: this.#dataDir,
      startedAtMs: Date.now(),
      stopGraceMs: hosts.stop_grace_ms,
      invokeMs: invoke.timeout_ms,
      schemas: this.#schemas,
      ...stores,
      ownStream: {
        follow: () =>
          this.#followStream(stream, http.fronts + RULES_READER, toBroadcaster(this.#broadcaster)),
        reattach: (peer) => this.#rulesThread.reattach(toBroadcaster({ peer })),
      },
      followStream: (ofCluster, attach) => {
        this.#followStream(ofCluster, http.fronts, attach);
        this.#rules.streamBegins();
      },
      startBus: ({ config, signer, incarnation, ...events }) => {
        const start = {
          ...{ config, signer, incarnation, first, local: stream, dir: this.#dataDir },
          reader: http.fronts + BUS_READER,
          // The rules too.
          fronts: http.fronts + 1,
          ringBytes: streaming.ring_bytes,
          hasJournal: journal.enabled,
          lag: this.#counts.bus,
        };
        this.#bus = new ClusterBusThread(
          {
            ...events,
            start,
            journal: (reader) => this.#journal.attachFront(reader),
            slow: (turn) => this.#watch.slow('cluster-bus', turn),
          },
          this.#broadcaster,
        );
        return this.#bus;
      },
      events: this.#events,
      fronts: () => this.#fronts,
      registry: () => this.#registry,
      tokens: () => this.#access.tokens,
      watchedRules: () => this.#rules,
      rulesThread: () => this.#rulesThread,
      describe: () => this.#described(),
      leaseChanged: () => this.#processes.leaseChanged(),
      removed: (error) => this.#removed.resolve(error),
      say: (level, line) => {
        this.#say(level === 'state' ? 'info' : level, line);
        if (level !== 'info') warnOperator(line);
      },
    };
  }

  /** What other nodes know of this one. */
  #described(): ReturnType<NodeService['describe']> {
    const { http, tls } = this.#config;
    const scheme = tls.cert === null ? 'http' : 'https';
    return {
      address: this.#port === null ? null : ownAddress(scheme, http.host, this.#port),
      kinds: this.#schemas.infos().map(({ kind }) => kind),
      figures: {
        bots: this.#registry.size,
        running: this.#registry.running,
        streams: this.#openStreams.total(),
        cpu: this.#cpu.share,
        memory_mb: Math.round(process.memoryUsage.rss() / 2 ** 20),
      },
    };
  }

  #createHosts(count: HostCount, streams: SharedQuota<'perToken' | 'perAddress'>): HostPool {
    const { hosts, network, invoke } = this.#config;
    const options = {
      ...count,
      isolation: hosts.isolation,
      links: { thread: startThreadLink, process: this.#processes.start },
      lagOf: (host: number) => this.#counts.host(host),
      streams,
      maxDedicated: hosts.max_dedicated,
      maxHeapMb: hosts.max_heap_mb,
      inFlightBytes: hosts.in_flight_bytes,
      botLinesPerSecond: hosts.bot_lines_per_second,
      networkAllow: network.allow,
      env: hosts.env,
      commandTimeoutMs: invoke.timeout_ms,
      modules: this.#kinds.modules,
      programs: this.#kinds.programs,
      kindLoadMs: hosts.kind_load_ms,
      graceMs: hosts.stop_grace_ms,
      files: this.#kindFiles,
      lease: this.#cluster.lease,
    };
    return new HostPool(options, this.#quarantine, this.#kindQuarantine, this.#broadcaster, {
      awake: () => {
        this.#watchdog.watch();
        this.#loops.watch();
        this.#memoryGuard.watch();
      },
      exited: (exit) => this.#registry.exited(exit),
      lateError: (error) => this.#registry.lateError(error),
      flooded: (flood) => this.#registry.flooded(flood),
      used: (host, report) => this.#usage.report(host, report),
      offered: ({ kind, commands }) => this.#schemas.offer(kind, commands),
      kindFailed: (host, failure) => {
        const { kind, error, bots } = failure;
        this.#say(
          'error',
          `code of the bot kind ${kind}, of no bot, has failed on bot host ${host.number}, and its ${bots} bots there with it: ${error}`,
        );
        this.#faults.kindFailed(host, failure);
      },
      lost: (host, error) => void this.#faults.lost(host, error),
      stuck: (host, forMs) => void this.#faults.hung(host, forMs),
      overdue: (host, bot) => this.#faults.overdue(host, bot),
      kindDropped: (host, module, reason) =>
        this.#say('error', `bot host ${host} runs without the bot kind ${module}: ${reason}`),
      opened: (host) => this.#warnOfVersions(host),
      ending: (host) => {
        this.#usage.forget(host);
        this.#fronts.detachHost(host.number);
        this.#commands.detachHost(host.number);
      },
      retiring: (host) => this.#registry.hostRetiring(host),
    });
  }

  /** Where Node cannot load a file as it was at the start. */
  #warnOfVersions({ number, kinds }: HostThread): void {
    if (KEEPS_SOURCES) return;
    for (const kind of kinds.keys()) {
      if (!this.#kindFiles.hasChanged(kind)) continue;
      this.#say(
        'warn',
        `bot host ${number} runs another version of the bot kind ${kind}: its file has changed since the service started`,
      );
    }
  }

  #createLoopWatch(): LoopWatch<HostThread> {
    const { slow_ms: slowMs, isolate_ms: isolateMs } = this.#config.watchdog;
    const slow = new SlowBots(isolateMs, {
      warn: (line) => this.#say('warn', line),
      warnBot: (id, line) => this.#events.tell(logItem('warn', 'bot', line, id)),
      isolate: (id, host, reason) => this.#registry.isolate(id, host, reason),
    });
    const held = (host: HostThread, id: string, forMs: number): void => slow.held(host, id, forMs);
    return new LoopWatch(() => this.#hosts.all(), slowMs, held);
  }

  #createAccess(): Access {
    return new Access({
      config: this.#config,
      tokens: new TokenStore(this.#store),
      dataDir: this.#dataDir,
      sharing: this.#cluster.tokens,
      warn: warnOperator,
      say: (level, scope, message) => this.#events.tell(logItem(level, scope, message)),
      sources: {
        utilizations: () => [this.#broadcaster.utilization(), ...this.#fronts.utilizations()],
        queue: () => this.#hosts.queueFill,
        lookAtFiles: () => this.#files.look(),
        files: () => this.#files.report,
        areFilesShort: () => this.#files.isShort,
        hosts: () =>
          this.#hosts.all().map((host) => ({
            host: host.number,
            bots: host.bots,
            delay_ms: this.#loops.delayMs(host),
          })),
        running: () => this.#registry.running,
        present: () => this.#registry.size,
        streams: () => this.#openStreams.total(),
        store: () => this.#store.state,
        journal: () => this.#journal.status,
        cluster: () => this.#cluster.pressure(),
      },
      fronts: () => this.#fronts,
    });
  }

  #createJournal(stream: StreamIdentity, numbering: StreamNumbering): JournalThread {
    const { journal: config, http } = this.#config;
    const options = {
      config,
      node: this.#cluster.node,
      dataDir: this.#dataDir,
      stream,
      lag: this.#counts.journal,
      numbering,
      slow: (turn: SlowTurn) => this.#watch.slow('journal', turn),
      reader: http.fronts + JOURNAL_READER,
      say: (level: Level, message: string) =>
        this.#events.tell(logItem(level, JOURNAL_SCOPE, message)),
      replaced: () => {
        this.#bus?.reattachJournal();
        this.#fronts.reattachJournal();
      },
    };
    return new JournalThread(options, this.#broadcaster);
  }

  #createRulesThread(): RulesThread {
    const rules = this.#rules;
    return new RulesThread({
      watched: () => rules.watched,
      changed: (reports) => rules.changed(reports),
      alerted: (event) => rules.alerted(event),
      lost: (frames) => rules.lost(frames),
      slow: (turn) => this.#watch.slow('rules', turn),
      threadLost: (reason) => rules.threadLost(reason),
    });
  }

  #followStream(stream: StreamIdentity, reader: number, attach: AttachReader): void {
    this.#rulesThread.follow({ stream, reader, lag: this.#counts.rules }, attach);
  }

  #createFronts(stream: StreamIdentity, quota: SharedQuota<'perToken' | 'perAddress'>): FrontPool {
    const config = this.#config;
    const commands = new ServiceCommands(
      {
        registry: this.#registry,
        hosts: this.#hosts,
        broadcaster: this.#broadcaster,
        journal: this.#journal,
        rules: this.#rulesThread,
        fronts: () => this.#fronts,
      },
      config.drills.enabled,
      this.#events,
    );
    this.#commands = new HostCommands({
      connect: (host) => this.#hosts.get(host).connectFront(),
      failed: (failure) => commands.failed(failure),
      timeoutMs: config.invoke.timeout_ms,
      maxWaiting: config.http.max_requests_in_flight,
    });
    const bucket = createPinBucket({
      capacity: config.pin.capacity,
      refillPerMinute: config.pin.refill_per_minute,
    });
    const connections = createQuota(
      {
        total: config.http.max_connections,
        perAddress: config.http.max_connections_per_address,
      },
      config.http.fronts,
    );
    const tokens = (): TokenRecord[] => this.#access.tokens.all();
    const local = createController({
      access: this.#access,
      registry: this.#registry,
      commands,
      hostCommands: this.#commands,
      hosts: this.#hosts,
      figures: new HostFigures(() => this.#hosts.threads(), this.#loops),
      schemas: this.#schemas,
      kinds: this.#kinds,
      quarantine: this.#kindQuarantine,
      rules: this.#rules,
      hasChanged: (kind) => this.#kindFiles.hasChanged(kind),
      metrics: () =>
        mainMetrics({
          restarts: this.#restarts,
          kinds: this.#schemas,
          incidents: this.#incidents,
          counts: this.#counts,
          broadcaster: this.#broadcaster,
          fronts: this.#fronts,
          hosts: this.#hosts,
          tokens: this.#access.tokens,
          usage: this.#usage,
          journal: this.#journal,
          rules: this.#rules,
          rulesThread: this.#rulesThread,
          cluster: this.#cluster,
        }),
      cluster: this.#cluster,
      isStopping: () => this.#isStopping,
    });
    return new FrontPool(
      {
        config,
        pin: () => this.#pin,
        bucket,
        quota,
        connections,
        stream,
        tokens,
        counts: this.#counts,
        runs: runsDir(this.#dataDir),
      },
      this.#broadcaster,
      this.#journal,
      this.#cluster.controller(local),
      (message) => this.#say('error', message),
      (thread, turn) => this.#watch.slow(thread, turn),
    );
  }

  /** Those of the service, whose loops are watched; readers of the ring before the broadcaster, which waits for them. */
  #threads(): ServiceThread[] {
    return [
      ...this.#fronts.turning().map((front) => ({ ...front, endsItself: true })),
      {
        name: 'journal',
        thread: this.#config.journal.enabled ? this.#journal.turning : undefined,
        isKept: true,
      },
      { name: 'rules', thread: this.#rulesThread.turning },
      { name: 'cluster-bus', thread: this.#bus?.turning },
      { name: 'host-relay', thread: this.#processes.turning },
      { name: 'broadcaster', thread: this.#broadcaster.turning, waitsForOthers: true },
    ];
  }

  async #startDemoWorld(): Promise<void> {
    this.#demoWorld = new DemoWorldThread((message) => this.#say('error', message));
    this.#schemas.setDefaults('demo', { world_url: await this.#demoWorld.start() });
  }

  /** Gives a new broadcaster what the lost one had: snapshots first, then the hosts' events, then the fronts. */
  async #restore(broadcaster: BroadcasterPeer, reason: string): Promise<void> {
    await this.#hosts.reattach(broadcaster, (hosted) => {
      broadcaster.tell('restore', { snapshots: this.#registry.snapshots(hosted) });
    });
    this.#journal.reattach(broadcaster);
    this.#cluster.reattach(broadcaster);
    await this.#fronts.reattach(broadcaster);
    this.#say('error', `the broadcaster was lost and replaced: ${reason}`);
  }

  #reportUncleanEnd(reason: string): void {
    const found = { type: 'unclean_end' as const, reason, suspect: null, stack: null };
    this.#incidents.report(found, undefined, this.#registry.idsToRun());
  }

  #say(level: 'info' | 'warn' | 'error', message: string): void {
    this.#events.tell(logItem(level, SERVICE_SCOPE, message));
  }
}

function newQuota({ stream, http }: Config): SharedQuota<'perToken' | 'perAddress'> {
  const limits = {
    total: stream.max_streams,
    perToken: stream.max_streams_per_token,
    perAddress: http.max_connections_per_address,
  };
  return createQuota(limits, http.fronts);
}

function toBroadcaster(broadcaster: Pick<BroadcasterThread, 'peer'>): AttachReader {
  return (front, port) => broadcaster.peer.tell('attachFront', { front, port }, [port]);
}

function newStream(config: Config, { epoch, hashKey, first }: StreamNumbering): StreamIdentity {
  const bytes = config.stream.ring_bytes;
  const others = isInCluster(config) ? BUS_READER : RULES_READER;
  const size = { bytes, slots: slotsFor(bytes), fronts: config.http.fronts + others + 1 };
  return { ring: createRing(size, first), epoch, hashKey };
}
