// Runs in the test's thread and owns a whole service there: real routes, authentication, limits, store, registry,
// broadcaster and bots. Requests are injected instead of sent. There is no engine, no journal and no other thread:
// test/conformance tests those over sockets.

import type { IncomingMessage } from 'node:http';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { onTestFinished, TestRunner } from 'vitest';
import { Broadcaster } from '../../src/broadcaster/broadcaster.js';
import {
  NO_NODES,
  NO_OTHER_BOTS,
  NO_TOKEN_SHARING,
  type NodeOperations,
} from '../../src/cluster/cluster.js';
import type { Views } from '../../src/front/views/views.js';
import { Access } from '../../src/main/access/access.js';
import type { PressureSources } from '../../src/main/access/pressure-gauge.js';
import { HostFigures } from '../../src/main/bots/host-figures.js';
import { Incidents } from '../../src/main/bots/incidents.js';
import { isolationOf } from '../../src/main/bots/isolation.js';
import { findKinds, programOptions, SHIPPED } from '../../src/main/bots/kind-modules.js';
import { KindQuarantine } from '../../src/main/bots/kind-quarantine.js';
import { KindSchemas } from '../../src/main/bots/kind-schemas.js';
import { LoopWatch } from '../../src/main/bots/loop-watch.js';
import { BotRegistry } from '../../src/main/bots/registry.js';
import { StartPace } from '../../src/main/bots/start-pace.js';
import { createController } from '../../src/main/controller.js';
import { firstBots } from '../../src/main/first-bots.js';
import { mainMetrics } from '../../src/main/main-metrics.js';
import { Rules } from '../../src/main/rules/rules.js';
import { ServiceCommands, type ServiceParts } from '../../src/main/service-commands.js';
import { type EventSink, logItem, ServiceEvents } from '../../src/main/service-events.js';
import { BotStore } from '../../src/main/store/bot-store.js';
import { IncidentGroupStore } from '../../src/main/store/incident-group-store.js';
import { IncidentStore } from '../../src/main/store/incident-store.js';
import { RuleStore } from '../../src/main/store/rule-store.js';
import { Store } from '../../src/main/store/store.js';
import { TokenStore } from '../../src/main/store/token-store.js';
import { ThreadCounts } from '../../src/main/thread-counts.js';
import { Evaluation } from '../../src/rules/evaluation.js';
import { HostCommands } from '../../src/shared/commands/host-commands.js';
import { validateConfig } from '../../src/shared/config-validator.js';
import type { BotSpec } from '../../src/shared/contract/bots.js';
import { type Config, DEFAULTS } from '../../src/shared/contract/config.js';
import { explainSchemaError } from '../../src/shared/contract/explain.js';
import { FIXED } from '../../src/shared/contract/fixed.js';
import type { JournalStatus } from '../../src/shared/contract/journal-messages.js';
import type { MainMetrics } from '../../src/shared/contract/metric-layout.js';
import { NameHasher } from '../../src/shared/contract/name-hash.js';
import type { Serves } from '../../src/shared/contract/rpc.js';
import type {
  BroadcasterMethods,
  BroadcasterPeer,
  ControlMethods,
  FrontStart,
} from '../../src/shared/contract/threads.js';
import { Counters } from '../../src/shared/memory/counters.js';
import { createRing, slotsFor } from '../../src/shared/memory/layout.js';
import { type Clock, createPinBucket } from '../../src/shared/memory/pin-bucket.js';
import { createQuota, Quota } from '../../src/shared/memory/quota.js';
import { RingReader } from '../../src/shared/memory/ring-reader.js';
import { PROGRAMS } from '../../src/shared/package-paths.js';
import { exchangePin, type Received, type ServiceApi } from './api.js';
import type { ClusterStream } from './cluster-stream.js';
import { splitConfig } from './fixed.js';
import type { InjectedRequest, InjectedResponse } from './injected-exchange.js';
import { InjectedFront } from './injected-front.js';
import { InjectedHost } from './injected-host.js';
import { makeDir, removeDir } from './service.js';

/** The other shipped kinds need the demo world's thread or an IRC server. */
const SYNTHETIC = new URL('../../workers/kinds/synthetic.ts', import.meta.url).href;
// An existing store is checked by a separate program, which exists only in the build.
PROGRAMS.verifyStore = fileURLToPath(
  new URL('../../dist/src/programs/verify-store.js', import.meta.url),
);
const PIN = '123456';
const PORT = 8090;
const HOSTS = 1;
const JOURNAL: JournalStatus = {
  state: 'off',
  reason: null,
  oldest: null,
  newest: null,
  bytes: 0,
  lost: 0,
  holes: 0,
};

export interface InjectOptions {
  /** The content of a configuration file. */
  config?: object;
  /** Number of fronts, which take requests in turn. Default 1. */
  fronts?: number;
  /** Clock of the PIN bucket, in nanoseconds. */
  clock?: Clock;
  /** A directory to keep, for a service that starts with another's files. */
  dir?: string;
  /** Replaces main's measurements of the threads. */
  sources?: Partial<PressureSources>;
  /** In place of a single service. */
  cluster?: NodeOperations;
}

/** The parts that a service is built from, and that it closes. */
interface Parts {
  dir: string;
  isDirKept: boolean;
  config: Config;
  store: Store;
  stream: FrontStart['stream'];
  counts: ThreadCounts;
  broadcaster: Broadcaster;
  clock: Clock | undefined;
  sources: Partial<PressureSources>;
  cluster: NodeOperations;
}

/** A whole service in this thread, created by {@link inject}. */
export class InjectedService implements ServiceApi {
  readonly pin = PIN;
  readonly port = PORT;
  /** The access log's output. */
  log = '';
  /** Warnings on standard error. */
  readonly warnings: string[] = [];
  /** As main says it once a stop has begun. */
  isStopping = false;
  readonly #parts: Parts;
  readonly #fronts: InjectedFront[] = [];
  readonly #schemas = new KindSchemas();
  readonly #registry: BotRegistry;
  readonly #events: ServiceEvents;
  readonly #access: Access;
  readonly #streams: Quota<'perToken' | 'perAddress'>;
  readonly #host: InjectedHost;
  #createFront: (front: number) => InjectedFront = () => {
    throw new Error('the fronts come last');
  };
  #next = 0;
  #closed = false;
  readonly #kindQuarantine = new KindQuarantine();
  readonly #rules: Rules;
  readonly #evaluation: Evaluation;
  readonly #ring: RingReader;
  /** What its rules take for the time, in ms: it moves with {@link lookAtRules}. */
  #rulesTime = 0;
  #token: Promise<string> | undefined;

  constructor(parts: Parts) {
    const { config, store, broadcaster } = parts;
    this.#parts = parts;
    this.#events = new ServiceEvents(sinkOf(broadcaster));
    this.#host = new InjectedHost(config, broadcaster, {
      exited: (exit) => this.#registry.exited(exit),
      lateError: (error) => this.#registry.lateError(error),
      flooded: (flood) => this.#registry.flooded(flood),
      offered: ({ kind, commands }) => this.#schemas.offer(kind, commands),
    });
    const incidents = new Incidents(
      new IncidentStore(store),
      new IncidentGroupStore(store),
      this.#events,
      (id) => this.#registry.identityOf(id),
    );
    const world = {
      hosts: this.#host.pool,
      pace: new StartPace({
        total: config.hosts.starts_per_second,
        byKind: config.hosts.starts_per_second_by_kind,
      }),
      events: this.#events,
      graceMs: config.hosts.stop_grace_ms,
      isolationOf: (spec: Pick<BotSpec, 'kind' | 'isolation'>) => isolationOf(spec, config.hosts),
      restarted: () => {},
      cluster: NO_OTHER_BOTS,
    };
    const bots = new BotStore(store);
    this.#registry = new BotRegistry({
      bots: world,
      schemas: this.#schemas,
      kinds: this.#kindQuarantine,
      store: bots,
      incidents,
      defaults: config.restart,
      noteStart: () => {},
    });
    const quota: FrontStart['quota'] = createQuota(
      {
        total: config.stream.max_streams,
        perToken: config.stream.max_streams_per_token,
        perAddress: config.http.max_connections_per_address,
      },
      config.http.fronts,
    );
    this.#streams = new Quota(quota, 0);
    this.#ring = new RingReader(parts.stream.ring, config.http.fronts);
    this.#evaluation = this.#createEvaluation();
    this.#rules = new Rules({
      store: new RuleStore(store),
      sharing: null,
      tell: (...items) => this.#events.tell(...items),
      watch: (rules) => this.#evaluation.watch(rules, this.#ring.head()),
      now: Date.now,
    });
    this.#access = this.#createAccess(this.#streams);
    this.#createFronts(quota);
  }

  /** Loads the kinds and starts the configured bots. */
  async start(): Promise<void> {
    const { config } = this.#parts;
    // Vitest loads TypeScript.
    const found = findKinds(config.kinds, { ...programOptions(config), loadsTypeScript: true });
    if (found.failed[0]) throw new Error(JSON.stringify(found.failed));
    for (const module of [SYNTHETIC, ...found.modules.slice(SHIPPED.length)]) {
      this.#schemas.add(await this.#host.load(module, found.programs));
    }
    await this.#access.adoptTokens();
    this.#access.start();
    await this.#registry.show(firstBots(config, this.#registry));
    await this.#registry.begin(() => null);
    this.#rules.begin();
  }

  token(): Promise<string> {
    this.#token ??= exchangePin(this);
    return this.#token;
  }

  async request(request: InjectedRequest): Promise<Received> {
    const response = await this.inject(request);
    const text = Buffer.concat(await response.toArray()).toString();
    return { status: response.statusCode, headers: new Headers(response.headers), text };
  }

  async open(target: string, headers: Record<string, string>): Promise<IncomingMessage> {
    const response = await this.inject({ method: 'GET', target, headers });
    return response as unknown as IncomingMessage;
  }

  /** Resolves with the response head. The body can be read from it. */
  inject(request: InjectedRequest): Promise<InjectedResponse> {
    const front = this.#fronts[this.#next++ % this.#fronts.length] as InjectedFront;
    return front.handle(request);
  }

  /** Makes the fronts send main their periodic messages now: token uses and access log lines. */
  async flush(): Promise<void> {
    for (const front of this.#fronts) front.flush();
    // The response follows the messages.
    await Promise.all(this.#fronts.map((front) => front.settled()));
  }

  /** Its rules look at what is new, `ms` after the last time. */
  async lookAtRules(ms = 0): Promise<void> {
    // The baseline of a first rule, and what was published in this turn.
    await new Promise(setImmediate);
    this.#rulesTime += ms;
    this.#evaluation.tick();
    await new Promise(setImmediate);
  }

  #createEvaluation(): Evaluation {
    const { broadcaster, stream } = this.#parts;
    return new Evaluation({
      ring: this.#ring,
      names: new NameHasher(stream.hashKey),
      baseline: async () => broadcaster.baseline(),
      changed: (reports) => this.#rules.changed(reports),
      alerted: (event) => this.#rules.alerted(event),
      lost: (frames) => this.#rules.lost(frames),
      every: () => () => {},
      now: () => this.#rulesTime,
    });
  }

  /** As after the end of each front's thread: others start on the same ring. Open streams get nothing more. */
  replaceFronts(): void {
    for (const [number, front] of this.#fronts.entries()) {
      front.close();
      this.#fronts[number] = this.#createFront(number);
    }
  }

  /** The streams that its fronts show. */
  get views(): Views[] {
    return this.#fronts.map(({ views }) => views);
  }

  /** Open streams, as the quota has them. */
  get openStreams(): number {
    return this.#streams.total();
  }

  /** Shows the stream of a cluster in all fronts. */
  async attachCluster(cluster: ClusterStream): Promise<void> {
    await Promise.all(
      this.views.map((views, front) => views.attachCluster(cluster.connect(front))),
    );
  }

  /** The directory of its store. */
  get dir(): string {
    return this.#parts.dir;
  }

  async close(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    const { store, dir, isDirKept } = this.#parts;
    this.#access.beginStop();
    await this.#registry.stopAll(0);
    for (const front of this.#fronts) front.close();
    await this.#access.stop();
    await store.close();
    if (!isDirKept) removeDir(dir);
  }

  #createAccess(streams: Quota<'perToken' | 'perAddress'>): Access {
    const { config, store } = this.#parts;
    return new Access({
      config,
      tokens: new TokenStore(store),
      dataDir: this.dir,
      sharing: NO_TOKEN_SHARING,
      warn: (message) => this.warnings.push(message),
      say: (level, scope, message) => this.#events.tell(logItem(level, scope, message)),
      sources: {
        utilizations: () => [],
        queue: () => 0,
        hosts: () => [],
        lookAtFiles: () => {},
        files: () => ({ used: null, limit: null, most: null }),
        areFilesShort: () => false,
        running: () => this.#registry.running,
        present: () => this.#registry.size,
        streams: () => streams.total(),
        store: () => store.state,
        journal: () => JOURNAL,
        cluster: () => null,
        ...this.#parts.sources,
      },
      fronts: () => ({
        addToken: async (token) => {
          for (const front of this.#fronts) front.addToken(token);
        },
        removeToken: async (id) => {
          for (const front of this.#fronts) front.removeToken(id);
        },
        tellPressure: (shortage) => {
          for (const front of this.#fronts) front.tellPressure(shortage);
        },
      }),
    });
  }

  #createFronts(quota: FrontStart['quota']): void {
    const { config, stream, counts, broadcaster, clock } = this.#parts;
    const commands = new ServiceCommands(
      { registry: this.#registry, hosts: this.#host.pool } as ServiceParts,
      config.drills.enabled,
      this.#events,
    );
    // No other node asks for commands.
    const hostCommands = new HostCommands({
      connect: (host) => this.#host.pool.get(host).connectFront(),
      failed: (failure) => commands.failed(failure),
      timeoutMs: config.invoke.timeout_ms,
      maxWaiting: config.http.max_requests_in_flight,
    });
    const control: Serves<ControlMethods> = {
      ...createController({
        access: this.#access,
        registry: this.#registry,
        commands,
        hostCommands,
        hosts: this.#host.pool,
        figures: new HostFigures(
          () => this.#host.pool.threads(),
          new LoopWatch(
            () => this.#host.pool.all(),
            null,
            () => {},
          ),
        ),
        schemas: this.#schemas,
        kinds: { modules: [], perhaps: new Set(), programs: {}, failed: [] },
        quarantine: this.#kindQuarantine,
        rules: this.#rules,
        hasChanged: () => false,
        metrics: () => this.#metrics(),
        cluster: { ...this.#parts.cluster, bots: NO_OTHER_BOTS },
        isStopping: () => this.isStopping,
      }),
      logAccess: ({ text }) => {
        this.log += text;
      },
      failed: () => {},
      slow: () => {},
    };
    const { fronts, max_connections, max_connections_per_address } = config.http;
    const limits = { total: max_connections, perAddress: max_connections_per_address };
    const { capacity, refill_per_minute: refillPerMinute } = config.pin;
    const common = {
      config,
      pin: config.auth.pin || this.#access.tokens.all().length === 0 ? PIN : null,
      bucket: createPinBucket({ capacity, refillPerMinute }),
      quota,
      connections: createQuota(limits, fronts),
      stream,
      lags: counts.lags,
      shortage: null,
      runs: path.join(this.dir, 'runs'),
    };
    this.#createFront = (front) => {
      const tokens = this.#access.tokens.all();
      const start: FrontStart = { ...common, tokens, front, counts: counts.front(front) };
      return new InjectedFront({ start, port: PORT, broadcaster, control, clock });
    };
    for (let front = 0; front < fronts; front++) this.#fronts.push(this.#createFront(front));
  }

  #metrics(): MainMetrics {
    const { counts, cluster } = this.#parts;
    const idle = { utilization: () => ({ idle: 0, active: 0, utilization: 0 }) };
    return mainMetrics({
      restarts: new Map(),
      kinds: this.#schemas,
      incidents: { counts: new Map() },
      counts,
      broadcaster: idle,
      fronts: { utilizations: () => [] },
      hosts: { all: () => [], count: HOSTS, queueFill: 0 },
      tokens: this.#access.tokens,
      usage: { byKind: () => ({}) },
      journal: { busySeconds: undefined, status: JOURNAL },
      rules: this.#rules,
      rulesThread: { busySeconds: undefined },
      cluster,
    });
  }

  /** For {@link inject}: the broadcaster's doorbell. */
  wake(front: number): void {
    this.#fronts[front]?.views.self.fanout.wake();
  }
}

/** Starts a service. It ends with the test that started it, or with close() if a hook started it. */
export async function inject(options: InjectOptions = {}): Promise<InjectedService> {
  const dir = options.dir ?? makeDir();
  const config = configOf(options);
  const store = await Store.open(path.join(dir, 'store.mdb'));
  const bytes = config.stream.ring_bytes;
  const size = { bytes, slots: slotsFor(bytes), fronts: config.http.fronts + 1 };
  const stream = { ring: createRing(size, 1), epoch: 'abcdef0123', hashKey: '00'.repeat(16) };
  const counts = new ThreadCounts(config.http.fronts, HOSTS);
  const { counters, block } = counts.broadcaster;
  let service: InjectedService | undefined;
  const wake = (front: number): void => service?.wake(front);
  const broadcaster = new Broadcaster(stream, wake, new Counters(counters, block));
  service = new InjectedService({
    dir,
    isDirKept: options.dir !== undefined,
    config,
    store,
    stream,
    counts,
    broadcaster,
    clock: options.clock,
    sources: options.sources ?? {},
    cluster: options.cluster ?? NO_NODES,
  });
  const made = service;
  await made.start().catch(async (thrown: unknown) => {
    await made.close();
    throw thrown;
  });
  if (TestRunner.getCurrentTest()) onTestFinished(() => made.close());
  return service;
}

function configOf({ config = {}, fronts = 1 }: InjectOptions): Config {
  const own = {
    demo: { enabled: false },
    journal: { enabled: false },
    http: { fronts },
    stream: { ring_bytes: 4 * 2 ** 20 },
  };
  const [keys, fixed] = splitConfig(config);
  const merged = [own, keys].reduce<object>(merge, structuredClone(DEFAULTS));
  if (!validateConfig(merged)) throw new Error(explainSchemaError('', validateConfig.errors));
  return [fixed, merged].reduce(merge, FIXED) as Config;
}

function merge(base: object, over: object): object {
  const merged: Record<string, unknown> = { ...base };
  for (const [key, value] of Object.entries(over)) {
    const old = merged[key];
    merged[key] = isObject(old) && isObject(value) ? merge(old, value) : value;
  }
  return merged;
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Main's calls to the broadcaster, which runs in the same thread. */
function sinkOf(broadcaster: Broadcaster): EventSink {
  const methods: Partial<BroadcasterMethods> = {
    publish: ({ items }) => ({ head: broadcaster.publish(items) }),
    lastLines: ({ bots }) => ({ lines: broadcaster.lastLines(bots) }),
  };
  const call = async (method: keyof BroadcasterMethods, input: never): Promise<unknown> =>
    methods[method]?.(input);
  const peer = { call, tell: call } as unknown as BroadcasterPeer;
  return { peer, ready: Promise.resolve(peer) };
}
