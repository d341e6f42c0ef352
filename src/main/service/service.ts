// Runs in main. The composition root: builds the service from its parts, starts them, and ends them in order. Opens no socket.
//
// A part is built with the parts that it uses. Those that it tells of what happens there are given when it starts.

import { randomInt } from 'node:crypto';
import { join } from 'node:path';
import {
  type Cluster,
  type Controller,
  isInCluster,
  singleService,
} from '../../cluster/cluster.js';
import type { NodeSetup } from '../../cluster/node-service.js';
import { authorityOf } from '../../shared/contract/addresses.js';
import type { Config } from '../../shared/contract/config.js';
import { CONTROL_SCOPE, SERVICE_SCOPE } from '../../shared/contract/scopes.js';
import type { BroadcasterPeer } from '../../shared/contract/threads.js';
import { Deferred } from '../../shared/deferred.js';
import { messageOf, StartupError } from '../../shared/errors.js';
import type { Fleet } from '../../shared/fleet/read-fleet.js';
import { maxOpenFiles } from '../../shared/open-files.js';
import { Semaphore } from '../../shared/semaphore.js';
import { unlessAborted } from '../../shared/unless-aborted.js';
import { VERSION } from '../../shared/version.js';
import { tellOperator, warnOperator } from '../access/access-output.js';
import type { PressureSources } from '../access/pressure-gauge.js';
import { hostCount } from '../bots/host-count.js';
import { allFailed } from '../bots/kind-modules.js';
import { KindSchemas } from '../bots/kind-schemas.js';
import { KindVersions } from '../bots/kind-versions.js';
import { defaultDataDir, openDataDir, removePin, writePin } from '../environment/data-dir.js';
import { adopt, changedKeys, isLive } from '../environment/live-config.js';
import { fitToOpenFiles } from '../environment/open-files.js';
import { RunRecord } from '../environment/run-record.js';
import { checkTls } from '../environment/tls-snapshot.js';
import { KeptFleet, readKeptFleet } from '../fleet/kept-fleet.js';
import { KindWatch } from '../operations/kind-watch.js';
import { BotStore } from '../store/bot-store.js';
import { IncidentStore } from '../store/incident-store.js';
import { RuleStore } from '../store/rule-store.js';
import { Store } from '../store/store.js';
import type { ClusterBusThread } from '../threads/cluster-bus-thread.js';
import { DemoWorldThread } from '../threads/demo-world-thread.js';
import type { FrontService } from '../threads/front-pool.js';
import { logItem } from '../threads/service-events.js';
import { type BotParts, buildBots, hostListener, startLimits } from './bot-parts.js';
import { buildControl, type ControlParts } from './control-parts.js';
import { firstBots, restsAtStart } from './first-bots.js';
import { nodeService } from './node-parts.js';
import { buildReaders, frontLimits, type ReaderParts } from './reader-parts.js';
import { MAIN, type ServiceThread } from './service-watch.js';
import { buildStream, type StreamParts } from './stream-parts.js';

/** How long the journal may take to write its last events, in ms. */
const JOURNAL_CLOSE_MS = 1000;

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

/** What open() has prepared. */
interface Opened {
  /** With maxima that fit this process. */
  config: Config;
  /** As it was given. */
  loaded: Config;
  /** What does not fit; null when all does. */
  misfit: string | null;
  cores: number;
  dataDir: string;
  store: Store;
  /** What the fleet file has; null without one. */
  fleet: Fleet | null;
  clusterOf: (setup: NodeSetup) => Cluster;
}

/**
 * A whole service. open(), start() once, then stop() once. When start() rejects, it has stopped what it had started.
 */
export class Service {
  readonly #opened: Opened;
  readonly #record: RunRecord;
  readonly #stream: StreamParts;
  readonly #cluster: Cluster;
  readonly #readers: ReaderParts;
  readonly #bots: BotParts;
  readonly #control: ControlParts;
  /** Null without a fleet file. */
  readonly #fleet: KeptFleet | null;
  /** What fronts may call: of this node, or of its cluster. */
  readonly #offered: Controller;
  /** As others see it. */
  readonly #state: { isStopping: boolean; port: number | null } = { isStopping: false, port: null };
  readonly #removed = new Deferred<StartupError>();
  /** Undefined in a single service, and before there are bots. */
  #bus: ClusterBusThread | undefined;
  #demoWorld: DemoWorldThread | undefined;
  /** With `watch` only. */
  #kindWatch: KindWatch | undefined;
  /** One at a time. */
  readonly #reloads = new Semaphore({ permits: 1, maxQueued: 2 });

  /**
   * Prepares what can fail because of the environment, before any socket is opened.
   * @param stopping is aborted when the service is to stop before it has started. @throws StartupError
   */
  static async open(config: Config, cores: number, stopping: AbortSignal): Promise<Service> {
    checkTls(config.tls);
    if (config.fleet !== null && isInCluster(config)) {
      throw new StartupError('fleet: a node of a cluster cannot apply fleet files yet');
    }
    const fleet = config.fleet === null ? null : await readKeptFleet(config.fleet);
    const dataDir = await openDataDir(config.data_dir ?? defaultDataDir(process.env));
    const store = await Store.open(join(dataDir, 'store.mdb'), stopping);
    const { config: fitted, warning: misfit } = fitToOpenFiles(config, cores, maxOpenFiles());
    const clusterOf = isInCluster(config)
      ? (await import('../../cluster/control/nats-cluster.js')).natsCluster
      : singleService;
    return new Service({
      config: fitted,
      loaded: structuredClone(config),
      misfit,
      cores,
      dataDir,
      store,
      fleet,
      clusterOf,
    });
  }

  private constructor(opened: Opened) {
    const { config, cores, dataDir, store, clusterOf } = opened;
    const { hosts, invoke } = config;
    this.#opened = opened;
    const record = new RunRecord(dataDir, config.start, Date.now());
    const count = hostCount(hosts.count, cores);
    const limits = frontLimits(config);
    const versions = new KindVersions();
    const schemas = new KindSchemas(versions);
    const incidentStore = new IncidentStore(store);

    const stream = buildStream(config, dataDir, count.most);
    store.report = stream.say;
    const cluster = clusterOf({
      config: config.cluster,
      dataDir,
      startedAtMs: Date.now(),
      stopGraceMs: hosts.stop_grace_ms,
      invokeMs: invoke.timeout_ms,
      schemas,
      bots: new BotStore(store),
      rules: new RuleStore(store),
      incidents: incidentStore,
      say(level, line) {
        stream.say(level === 'state' ? 'info' : level, line);
        if (level !== 'info') warnOperator(line);
      },
    });
    const readers = buildReaders({ config, dataDir, stream, cluster, limits });
    const bots = buildBots({
      ...{ config, count, stream, cluster, store, incidentStore, schemas, versions, record },
      quota: limits.quota,
    });
    const { kinds, registry, restarts, incidents, usage, loops } = bots;
    const control = buildControl({
      ...{ config, dataDir, store, cluster, registry, schemas, kinds, loops },
      events: stream.events,
      hosts: bots.hosts,
      quarantine: bots.kindQuarantine,
      rules: readers.rules,
      fronts: readers.fronts,
      versions,
      reload: bots.reload,
      states: bots.states,
      warn: warnOperator,
      sources: pressureSources(store, stream, readers, bots, cluster),
      drilled: { ...stream, ...readers },
      measured: { ...stream, ...readers, restarts, incidents, usage, hosts: bots.hosts },
      service: this.#state,
    });
    stream.broadcaster.listen({
      restore: (broadcaster, reason) => this.#restore(broadcaster, reason),
      slow: (turn) => stream.watch.slow('broadcaster', turn),
    });
    this.#record = record;
    this.#stream = stream;
    this.#cluster = cluster;
    this.#readers = readers;
    this.#bots = bots;
    this.#control = control;
    this.#fleet =
      config.fleet === null ? null : new KeptFleet(config.fleet, control.fleets, stream.say);
    this.#offered = cluster.controller(control.controller);
    control.requests.through(this.#offered);
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
    const { config, dataDir } = this.#opened;
    const { counts, watch, events, say } = this.#stream;
    const { rules, fronts } = this.#readers;
    const { registry, versions } = this.#bots;
    const { access, operations, rollouts } = this.#control;
    this.#record.begin();
    await this.#startHosts();
    stopping.throwIfAborted();
    if (config.demo.enabled) await this.#startDemoWorld();
    stopping.throwIfAborted();
    await this.#joinCluster();
    stopping.throwIfAborted();
    const first = firstBots(config, registry);
    await registry.show(first.filter(({ id }) => !this.#cluster.bots.identityOf(id)));
    stopping.throwIfAborted();
    const applyFleet = await this.#fleet?.check(this.#opened.fleet ?? undefined);
    stopping.throwIfAborted();
    await access.adoptTokens();
    stopping.throwIfAborted();
    const isOff = !config.auth.pin && access.tokens.all().length > 0;
    const pin = isOff ? null : randomInt(1_000_000).toString().padStart(6, '0');
    const path = pin === null ? null : writePin(dataDir, pin);
    const service: FrontService = { control: this.#offered, pin, tokens: access.tokens };
    // Clients that reach the service now find its bots and can use the PIN.
    const { port, engine } = await fronts.start(service);
    this.#state.port = port;
    stopping.throwIfAborted();
    access.start();
    counts.start((turn) => watch.slow(MAIN, turn));
    // In the turn in which the load begins to be measured, so that the two share their timers' wake-ups.
    watch.start(() => this.#threads());
    events.tell(logItem('info', CONTROL_SCOPE, this.#record.deployed(VERSION, versions.ids())));
    say('info', `listening on ${authorityOf(config.http.host, port)}`);
    say('info', engine);
    const warnings = this.#reportStart();
    this.#cluster.begin();
    // A bot must not log in for a service that then fails to bind its port. It starts in the same turn, so that no request of a
    // client for the bot comes first.
    await Promise.all([
      registry.begin((spec) => this.#record.holdOf(spec.id) ?? restsAtStart(spec, config)),
      fronts.startOthers(service),
    ]);
    this.#cluster.begun();
    operations.start();
    await rollouts.reconcile();
    if (applyFleet) await this.#applyAtStart(applyFleet);
    rules.begin();
    stopping.throwIfAborted();
    listening({ port, pin: pin && path ? { value: pin, path } : null, engine, warnings });
    if (config.watch) this.#watchKinds();
  }

  #watchKinds(): void {
    const { versions, registry, reload } = this.#bots;
    const { say } = this.#stream;
    this.#kindWatch = new KindWatch({
      ...{ versions, registry, reload, rollouts: this.#control.rollouts },
      places: this.#opened.config.kinds,
      say(level, line) {
        say(level, line);
        if (level === 'info') tellOperator(line);
        else warnOperator(line);
      },
    });
    const directories = this.#kindWatch.start();
    const watched = `watching ${directories.join(', ') || 'nothing: no kind has a file'}`;
    say('info', watched);
    tellOperator(watched);
  }

  /** What keeps it from being applied could have come about later, too: the service runs. */
  async #applyAtStart(apply: () => Promise<string>): Promise<void> {
    const { say } = this.#stream;
    const { restriction } = this.#record;
    if (restriction !== null) {
      say('warn', `the fleet file is not applied: ${restriction}`);
      return;
    }
    try {
      say('info', await apply());
    } catch (thrown) {
      say('error', `the fleet file was not applied: ${messageOf(thrown)}`);
    }
  }

  /**
   * Reads the fleet file again, and checks all of it. @returns what applies it, and says what that has changed in a line; null
   * without a fleet file. @throws StartupError, or DroverError while another fleet is being applied. Nothing has changed then.
   */
  async reloadFleet(): Promise<(() => Promise<string>) | null> {
    return (await this.#fleet?.check()) ?? null;
  }

  async #startHosts(): Promise<void> {
    const { hosts, kinds, schemas, versions, states } = this.#bots;
    const callers = [this.#readers.fronts, this.#control.hostCommands];
    const loaded = await hosts.start(kinds, hostListener(this.#bots, callers, this.#stream.say));
    const failed = allFailed(kinds, loaded.failed);
    kinds.failed = schemas.add(loaded.kinds, versions.modules(), failed);
    const notices = states.restore();
    if (notices === null) return;
    // No bot runs yet: the shared hosts are replaced by some with these versions.
    hosts.renew();
    for (const notice of notices) {
      this.#stream.say('warn', notice);
      warnOperator(notice);
    }
  }

  async #startDemoWorld(): Promise<void> {
    this.#demoWorld = new DemoWorldThread((message) => this.#stream.say('error', message));
    this.#bots.schemas.setDefaults('demo', { world_url: await this.#demoWorld.start() });
  }

  async #joinCluster(): Promise<void> {
    const { config, dataDir } = this.#opened;
    const service = nodeService({
      ...{ config, dataDir, listener: this.#state },
      ...{ stream: this.#stream, readers: this.#readers },
      ...{ bots: this.#bots, control: this.#control },
      removed: (error) => this.#removed.resolve(error),
      busStarted: (bus) => {
        this.#bus = bus;
      },
    });
    await this.#cluster.join(service);
  }

  /** Puts on the stream what the start has found. @returns what is not as configured, one line each. */
  #reportStart(): string[] {
    const { misfit, store } = this.#opened;
    const { say } = this.#stream;
    const { kinds, schemas, incidents, registry } = this.#bots;
    for (const notice of store.notices) say('error', notice);
    const missingKinds: string[] = [];
    for (const { module, error, helper } of kinds.failed) {
      if (helper) say('info', `${module} is no bot kind: ${error}`);
      else missingKinds.push(`the bot kind ${module} does not load: ${error}`);
    }
    for (const line of missingKinds) say('error', line);
    const { uncleanEnd, restriction } = this.#record;
    if (uncleanEnd !== null) {
      const found = {
        type: 'unclean_end' as const,
        reason: uncleanEnd,
        suspect: null,
        stack: null,
      };
      incidents.report(found, undefined, registry.idsToRun());
    }
    const misfits = [misfit, ...this.#unknownKinds(), ...schemas.notices, restriction].filter(
      (line) => line !== null,
    );
    for (const line of misfits) say('warn', line);
    return [...missingKinds, ...misfits, ...(uncleanEnd === null ? [] : [uncleanEnd])];
  }

  /** One line for each limit of a kind that does not exist. */
  #unknownKinds(): string[] {
    const known = new Set(this.#bots.schemas.infos().map(({ kind }) => kind));
    return Object.keys(this.#opened.config.hosts.starts_per_second_by_kind)
      .filter((kind) => !known.has(kind))
      .map((kind) => `hosts.starts_per_second_by_kind: there is no kind ${JSON.stringify(kind)}`);
  }

  /**
   * Follows the configuration, the kinds and the certificate as they are now, or none of it when something is wrong; a line on the
   * stream says what. Nothing that runs ends. @param load reads the configuration; throws StartupError. @returns what was reloaded, one line each.
   */
  async reload(load: () => Config): Promise<string[]> {
    const { say } = this.#stream;
    try {
      const follow = (): Promise<string[]> => this.#follow(load());
      const lines = await this.#reloads.run(follow);
      for (const line of lines) say('info', line);
      return lines;
    } catch (thrown) {
      const line = `nothing was reloaded: ${messageOf(thrown)}`;
      say('error', line);
      warnOperator(line);
      return [];
    }
  }

  /** @returns what has changed, one line each. @throws Error when something is wrong; nothing has changed then. */
  async #follow(next: Config): Promise<string[]> {
    const { config, loaded } = this.#opened;
    const { fronts } = this.#readers;
    const { reload, registry } = this.#bots;
    const changed = changedKeys(loaded, next);
    const isTls = config.tls.cert !== null && next.tls.cert !== null;
    // Fronts do not change between HTTP and HTTPS.
    const follows = (path: string): boolean => isLive(path) && (isTls || !path.startsWith('tls.'));
    const live = changed.filter(follows);
    const kinds = await reload.prepare(null, next);
    kinds.check();
    // Checked with the kinds as they are until now.
    const applyFleet = await this.reloadFleet();
    // The last that can fail. It changes all fronts, or none.
    if (isTls) await fronts.changeTls(next.tls);
    adopt(config, next, live);
    adopt(loaded, next, live);
    registry.changePace(startLimits(config));
    await kinds.commit();
    const later = changed.filter((path) => !follows(path));
    return [
      `reloaded: ${live.length === 0 ? 'no key of the configuration has changed' : live.join(', ')}`,
      ...(isTls ? ['certificate and key were reloaded'] : []),
      ...later.map((path) => `${path} has changed, which takes effect at the next start`),
      ...(applyFleet ? [await applyFleet()] : []),
    ];
  }

  /**
   * Stops the bots, gives streams their last frames, and ends every thread.
   * @returns the threads that have not exited: bot hosts that native code holds, each with the bot that called it, and the journal.
   */
  async stop(): Promise<string[]> {
    this.#state.isStopping = true;
    this.#kindWatch?.stop();
    const { config, dataDir, store } = this.#opened;
    const { counts, say, events, watch, broadcaster } = this.#stream;
    const { rulesThread, fronts, journal } = this.#readers;
    const { watchdog, loops, usage, memoryGuard, registry, hosts, processes } = this.#bots;
    const { access, hostCommands, operations } = this.#control;
    watchdog.stop();
    loops.stop();
    usage.stop();
    memoryGuard.stop();
    counts.stop();
    access.beginStop();
    await operations.stop();
    // Bots that stop are no alert.
    await rulesThread.close();
    say('info', 'shutting down');
    await registry.stopAll(Math.min(config.hosts.stop_grace_ms, config.shutdown.bots_ms));
    await this.#demoWorld?.close();
    const stuck = await hosts.stop();
    hostCommands.detach();
    await processes.close();
    const head = await events.publish(logItem('info', SERVICE_SCOPE, 'stopped'));
    await this.#cluster.flush();
    await fronts.close(head, config.shutdown.streams_ms);
    await access.stop();
    await this.#cluster.close();
    const isWritten = await journal.close(JOURNAL_CLOSE_MS);
    // Until here a thread that hangs would hold up the end.
    watch.stop();
    await broadcaster.stop();
    await this.#bots.incidents.close();
    await store.close();
    this.#bots.files.close();
    removePin(dataDir);
    this.#record.end();
    const threads = stuck.map(({ number, lastBot }) => {
      const where = lastBot === null ? '' : ` (the code of bot ${lastBot} ran last there)`;
      return `the thread of bot host ${number}${where}`;
    });
    return isWritten ? threads : [...threads, 'the thread of the journal'];
  }

  /** The threads of the service, in the order in which a hanging one is ended. */
  #threads(): ServiceThread[] {
    const { journal, rulesThread, fronts } = this.#readers;
    return [
      ...fronts.turning().map((front) => ({ ...front, endsItself: true })),
      {
        name: 'journal',
        thread: this.#opened.config.journal.enabled ? journal.turning : undefined,
        isKept: true,
      },
      { name: 'rules', thread: rulesThread.turning },
      { name: 'cluster-bus', thread: this.#bus?.turning },
      { name: 'host-relay', thread: this.#bots.processes.turning },
      { name: 'broadcaster', thread: this.#stream.broadcaster.turning, waitsForOthers: true },
    ];
  }

  /** Gives a new broadcaster what the lost one had: snapshots first, then the hosts' events, then the fronts. */
  async #restore(broadcaster: BroadcasterPeer, reason: string): Promise<void> {
    const { hosts, registry } = this.#bots;
    await hosts.reattach(broadcaster, (hosted) => {
      broadcaster.tell('restore', { snapshots: registry.snapshots(hosted) });
    });
    this.#readers.journal.reattach(broadcaster);
    this.#cluster.reattach(broadcaster);
    await this.#readers.fronts.reattach(broadcaster);
    this.#stream.say('error', `the broadcaster was lost and replaced: ${reason}`);
  }
}

/** What the pressure gauge reads. */
function pressureSources(
  store: Store,
  { broadcaster }: StreamParts,
  { fronts, openStreams, journal }: ReaderParts,
  { hosts, files, loops, registry }: BotParts,
  cluster: Cluster,
): PressureSources {
  return {
    utilizations: () => [broadcaster.utilization(), ...fronts.utilizations()],
    queue: () => hosts.queueFill,
    lookAtFiles: () => files.look(),
    files: () => files.report,
    areFilesShort: () => files.isShort,
    hosts: () =>
      hosts.all().map((host) => ({
        host: host.number,
        bots: host.bots,
        delay_ms: loops.delayMs(host),
      })),
    running: () => registry.running,
    present: () => registry.size,
    streams: () => openStreams.total(),
    store: () => store.state,
    journal: () => journal.status,
    cluster: () => cluster.pressure(),
  };
}
