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
import type { Access } from '../../src/main/access/access.js';
import type { PressureSources } from '../../src/main/access/pressure-gauge.js';
import { findKinds, programOptions, SHIPPED } from '../../src/main/bots/kind-modules.js';
import { KindQuarantine } from '../../src/main/bots/kind-quarantine.js';
import { KindSchemas } from '../../src/main/bots/kind-schemas.js';
import { KindStates } from '../../src/main/bots/kind-states.js';
import { KindVersions } from '../../src/main/bots/kind-versions.js';
import { LoopWatch } from '../../src/main/bots/loop-watch.js';
import type { BotRegistry } from '../../src/main/bots/registry.js';
import { Rules } from '../../src/main/rules/rules.js';
import { buildRegistry } from '../../src/main/service/bot-parts.js';
import { buildControl, type ControlParts } from '../../src/main/service/control-parts.js';
import { firstBots } from '../../src/main/service/first-bots.js';
import { frontLimits } from '../../src/main/service/reader-parts.js';
import type { DrilledParts } from '../../src/main/service/service-commands.js';
import { BotStore } from '../../src/main/store/bot-store.js';
import { IncidentStore } from '../../src/main/store/incident-store.js';
import { RuleStore } from '../../src/main/store/rule-store.js';
import { Store } from '../../src/main/store/store.js';
import type { HostThread } from '../../src/main/threads/host-thread.js';
import { type EventSink, ServiceEvents } from '../../src/main/threads/service-events.js';
import { ThreadCounts } from '../../src/main/threads/thread-counts.js';
import { Evaluation } from '../../src/rules/evaluation.js';
import { validateConfig } from '../../src/shared/config-validator.js';
import { type Config, DEFAULTS } from '../../src/shared/contract/config.js';
import { explainSchemaError } from '../../src/shared/contract/explain.js';
import { FIXED } from '../../src/shared/contract/fixed.js';
import type { JournalStatus } from '../../src/shared/contract/journal-messages.js';
import { NameHasher } from '../../src/shared/contract/name-hash.js';
import type { Serves } from '../../src/shared/contract/rpc.js';
import type {
  BroadcasterMethods,
  BroadcasterPeer,
  ControlMethods,
  FrontStart,
} from '../../src/shared/contract/threads.js';
import { DroverError } from '../../src/shared/errors.js';
import { Counters } from '../../src/shared/memory/counters.js';
import { createRing, slotsFor } from '../../src/shared/memory/layout.js';
import type { Clock } from '../../src/shared/memory/pin-bucket.js';
import { Quota } from '../../src/shared/memory/quota.js';
import { RingReader } from '../../src/shared/memory/ring-reader.js';
import { PROGRAMS } from '../../src/shared/package-paths.js';
import { exchangePin, type Received, type ServiceApi } from './api.js';
import type { ClusterStream } from './cluster-stream.js';
import { splitConfig } from './fixed.js';
import type { InjectedRequest, InjectedResponse } from './injected-exchange.js';
import { InjectedFront } from './injected-front.js';
import { InjectedHost } from './injected-host.js';
import { partial } from './partial.js';
import { makeDir, removeDir } from './service.js';

/** The other shipped kinds need the demo world's thread or an IRC server. */
const SYNTHETIC = new URL('../../workers/kinds/synthetic.ts', import.meta.url).href;
// An existing store is checked by a separate program, which exists only in the build.
PROGRAMS.verifyStore = fileURLToPath(
  new URL('../../dist/src/programs/verify-store.js', import.meta.url),
);
/** Kinds are read again by real hosts only. */
const notInjected = () => Promise.reject(new DroverError('conflict', 'there is no real host here'));
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
  readonly #operations: ControlParts['operations'];
  readonly #streams: Quota<'perToken' | 'perAddress'>;
  readonly #host: InjectedHost;
  readonly #versions = new KindVersions();
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
    const { registry } = buildRegistry({
      config,
      store,
      incidentStore: new IncidentStore(store),
      schemas: this.#schemas,
      events: this.#events,
      hosts: this.#host.pool,
      versions: this.#versions,
      kinds: this.#kindQuarantine,
      cluster: { bots: NO_OTHER_BOTS, botStore: new BotStore(store) },
      restarted: () => {},
      noteStart: () => {},
    });
    this.#registry = registry;
    const limits = frontLimits(config);
    this.#streams = new Quota(limits.quota, 0);
    this.#ring = new RingReader(parts.stream.ring, config.http.fronts);
    this.#evaluation = this.#createEvaluation();
    this.#rules = new Rules({
      store: new RuleStore(store),
      sharing: null,
      tell: (...items) => this.#events.tell(...items),
      watch: (rules) => this.#evaluation.watch(rules, this.#ring.head()),
      now: Date.now,
    });
    const control = this.#buildControl();
    this.#access = control.access;
    this.#operations = control.operations;
    this.#createFronts(control, limits);
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
    this.#operations.start();
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
    await this.#operations.stop();
    await this.#registry.stopAll(0);
    for (const front of this.#fronts) front.close();
    await this.#access.stop();
    await store.close();
    if (!isDirKept) removeDir(dir);
  }

  #buildControl(): ControlParts {
    const { config, store, counts, cluster } = this.#parts;
    const each = (task: (front: InjectedFront) => void): void => this.#fronts.forEach(task);
    const loops = new LoopWatch<HostThread>(
      () => this.#host.pool.all(),
      null,
      () => {},
    );
    return buildControl({
      config,
      store,
      dataDir: this.dir,
      events: this.#events,
      registry: this.#registry,
      hosts: this.#host.pool,
      loops,
      schemas: this.#schemas,
      kinds: { modules: [], perhaps: new Set(), programs: {}, failed: [] },
      quarantine: this.#kindQuarantine,
      rules: this.#rules,
      versions: this.#versions,
      reload: { reload: notInjected, prepare: notInjected, forget() {} },
      states: new KindStates({
        store: this.#parts.store,
        versions: this.#versions,
        schemas: this.#schemas,
      }),
      cluster: { ...cluster, node: null, bots: NO_OTHER_BOTS, tokens: NO_TOKEN_SHARING },
      service: this,
      warn: (message) => this.warnings.push(message),
      fronts: {
        addToken: async (token) => each((front) => front.addToken(token)),
        removeToken: async (id) => each((front) => front.removeToken(id)),
        tellPressure: (shortage) => each((front) => front.tellPressure(shortage)),
      },
      sources: {
        utilizations: () => [],
        queue: () => 0,
        hosts: () => [],
        lookAtFiles: () => {},
        files: () => ({ used: null, limit: null, most: null }),
        areFilesShort: () => false,
        running: () => this.#registry.running,
        present: () => this.#registry.size,
        streams: () => this.#streams.total(),
        store: () => store.state,
        journal: () => JOURNAL,
        cluster: () => null,
        ...this.#parts.sources,
      },
      // It has no other threads.
      drilled: partial<DrilledParts>({}),
      measured: {
        restarts: new Map(),
        incidents: { counts: new Map() },
        counts,
        broadcaster: { utilization: () => ({ idle: 0, active: 0, utilization: 0 }) },
        fronts: { utilizations: () => [] },
        hosts: { all: () => [], count: HOSTS, queueFill: 0 },
        usage: { byKind: () => ({}) },
        journal: { busySeconds: undefined, status: JOURNAL },
        rulesThread: { busySeconds: undefined },
      },
    });
  }

  #createFronts({ controller }: ControlParts, limits: ReturnType<typeof frontLimits>): void {
    const { config, stream, counts, broadcaster, clock } = this.#parts;
    const control: Serves<ControlMethods> = {
      ...controller,
      logAccess: ({ text }) => {
        this.log += text;
      },
      failed: () => {},
      slow: () => {},
    };
    const common = {
      config,
      pin: config.auth.pin || this.#access.tokens.all().length === 0 ? PIN : null,
      ...limits,
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
    for (let front = 0; front < config.http.fronts; front++)
      this.#fronts.push(this.#createFront(front));
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
