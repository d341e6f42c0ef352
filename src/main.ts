// Runs in main. The composition root: starts every thread, connects them, and ends them in order. Opens no socket.

import { randomBytes, randomInt } from 'node:crypto';
import { join } from 'node:path';
import { Dispatcher, type ServiceCommands } from './bots/dispatcher.js';
import { HostPool } from './bots/host-pool.js';
import type { HostThread } from './bots/host-thread.js';
import { heapOf, Incidents } from './bots/incidents.js';
import { findKinds, type KindModules } from './bots/kind-modules.js';
import { LastLines } from './bots/last-lines.js';
import { BotRegistry } from './bots/registry.js';
import { KindSchemas } from './bots/schemas.js';
import type { BroadcasterPeer } from './bots/service-events.js';
import { logItem, SERVICE_SCOPE, ServiceEvents } from './bots/service-events.js';
import { captureStack } from './bots/stack-capture.js';
import { Watchdog } from './bots/watchdog.js';
import { BroadcasterThread } from './broadcaster-thread.js';
import type { CreateBotBody } from './contract/bots.js';
import type { Config } from './contract/config.js';
import type { JsonObject } from './contract/events.js';
import { NameHasher } from './contract/name-hash.js';
import { HOST_FAULTS, type StreamIdentity } from './contract/threads.js';
import { defaultDataDir, openDataDir, writePin } from './data-dir.js';
import { type DemoWorldThread, startDemoWorld } from './demo-world/thread.js';
import { DroverError, messageOf, StartupError } from './errors.js';
import { FrontPool } from './fronts.js';
import { createRing, slotsFor } from './shm/layout.js';
import { createPinBucket } from './shm/pin-bucket.js';
import { RingReader } from './shm/ring-reader.js';
import { createQuota } from './shm/stream-quota.js';
import { BotStore, IncidentStore } from './store/bots.js';
import { Store } from './store/store.js';
import { TokenStore } from './store/tokens.js';

/** First sequence number, so that 0 can stand for "nothing yet". */
const FIRST_SEQ = 1;
/** Cores that are left to the fronts, the broadcaster and main when the number of hosts is chosen. */
const CORES_KEPT = 2;
/** How long the stack of a stuck host may take to be found, in ms. */
const CAPTURE_WITHIN_MS = 2000;

/** What is told once the service listens. */
export interface Listening {
  port: number;
  pin: string;
  pinPath: string;
}

/**
 * A whole service. open(), start() once, then stop() once; when start() rejects it has stopped what it had started.
 */
export class Service {
  readonly #config: Config;
  readonly #dataDir: string;
  readonly #store: Store;
  readonly #tokens: TokenStore;
  readonly #pin = randomInt(1_000_000).toString().padStart(6, '0');
  readonly #broadcaster: BroadcasterThread;
  readonly #events: ServiceEvents;
  readonly #hosts: HostPool;
  readonly #schemas = new KindSchemas();
  readonly #kinds: KindModules;
  readonly #incidents: Incidents;
  readonly #registry: BotRegistry;
  readonly #watchdog: Watchdog;
  readonly #fronts: FrontPool;
  /** Hosts that are killed for a reason that has a dossier already. */
  readonly #condemned = new WeakMap<HostThread, string>();
  #world: Promise<DemoWorldThread> | undefined;

  /**
   * Prepares everything that can fail for a reason of the surroundings before any socket is opened.
   * @param stopping is aborted when the service is to end before it has begun. @throws StartupError
   */
  static async open(config: Config, cores: number, stopping: AbortSignal): Promise<Service> {
    const dataDir = await openDataDir(config.data_dir ?? defaultDataDir(process.env));
    const store = await Store.open(join(dataDir, 'store.mdb'), stopping);
    return new Service(config, cores, dataDir, store);
  }

  private constructor(config: Config, cores: number, dataDir: string, store: Store) {
    this.#config = config;
    this.#dataDir = dataDir;
    this.#store = store;
    this.#tokens = new TokenStore(store);
    const stream = newStream(config);
    this.#broadcaster = new BroadcasterThread(stream, (broadcaster, reason) =>
      this.#restore(broadcaster, reason),
    );
    this.#events = new ServiceEvents(this.#broadcaster);
    this.#kinds = findKinds(config.kinds);
    this.#hosts = this.#createHosts(cores);
    const reader = new RingReader(stream.ring, config.http.fronts);
    const lines = new LastLines(reader, new NameHasher(stream.hashKey));
    this.#incidents = new Incidents(new IncidentStore(store), this.#events, lines);
    this.#registry = new BotRegistry(
      { hosts: this.#hosts, events: this.#events, graceMs: config.hosts.stop_grace_ms },
      this.#schemas,
      new BotStore(store),
      this.#incidents,
      config.restart,
    );
    this.#watchdog = new Watchdog(
      () => this.#hosts.all(),
      config.watchdog.hang_ms,
      (host, forMs) => void this.#hostHung(host, forMs),
    );
    this.#fronts = this.#createFronts(stream);
  }

  /**
   * Resolves when the service listens and its bots are started.
   * @param listening is called then. @param stopping is aborted when the service is to end before that; start() then stops
   * it and rejects, whatever it was waiting for. @throws StartupError
   */
  async start(listening: (info: Listening) => void, stopping: AbortSignal): Promise<void> {
    try {
      await unlessAborted(this.#bringUp(listening, stopping), stopping);
    } catch (thrown) {
      await this.stop();
      throw thrown;
    }
  }

  /** Looks at `stopping` after every wait: what begins after stop() would not be ended by it. */
  async #bringUp(listening: (info: Listening) => void, stopping: AbortSignal): Promise<void> {
    const { kinds, failed } = await this.#hosts.start();
    this.#kinds.failed.push(...failed, ...this.#schemas.add(kinds));
    stopping.throwIfAborted();
    if (this.#config.demo.enabled) await this.#startDemoWorld();
    stopping.throwIfAborted();
    const bots = [...this.#configuredBots(), ...this.#demoBots()];
    const port = await this.#fronts.start();
    stopping.throwIfAborted();
    this.#say('info', `listening on ${this.#config.http.host}:${port}`);
    for (const notice of this.#store.notices) this.#say('error', notice);
    for (const { module, error } of this.#kinds.failed) {
      this.#say('error', `the bot kind ${module} does not load: ${error}`);
    }
    // After the port is ours: a bot must not log in somewhere for a service that then does not start.
    await this.#registry.restore();
    stopping.throwIfAborted();
    const missing = bots.filter(({ id }) => !this.#registry.has(id));
    await Promise.all(missing.map((bot) => this.#registry.create(bot)));
    stopping.throwIfAborted();
    listening({ port, pin: this.#pin, pinPath: writePin(this.#dataDir, this.#pin) });
  }

  /** Stops bots, lets streams have their last frames, ends every thread. */
  async stop(): Promise<void> {
    const { bots_ms: botsMs, streams_ms: streamsMs } = this.#config.shutdown;
    this.#watchdog.stop();
    this.#say('info', 'shutting down');
    await this.#registry.stopAll(botsMs);
    // One that did not start has said so to whoever started it.
    await this.#world?.then((world) => world.close()).catch(() => {});
    await this.#hosts.stop();
    const head = await this.#events.publish(logItem('info', SERVICE_SCOPE, 'stopped'));
    await this.#fronts.close(head, streamsMs);
    await this.#broadcaster.stop();
    await this.#store.close();
  }

  #createHosts(cores: number): HostPool {
    const { hosts } = this.#config;
    const options = {
      count: hosts.count ?? Math.max(1, cores - CORES_KEPT),
      maxHeapMb: hosts.max_heap_mb,
      inFlightBytes: hosts.in_flight_bytes,
      botLinesPerSecond: hosts.bot_lines_per_second,
      modules: this.#kinds.modules,
      kindLoadMs: hosts.kind_load_ms,
      graceMs: hosts.stop_grace_ms,
    };
    return new HostPool(options, this.#broadcaster, {
      exited: (exit) => this.#registry.exited(exit),
      lost: (host, error) => void this.#hostLost(host, error),
      overdue: (host, bot) => this.#botOverdue(host, bot),
      retiring: (host) => this.#registry.hostRetiring(host),
    });
  }

  /** A host's loop stands still: finds out why, then replaces the host. Its bots follow their restart policies. */
  async #hostHung(host: HostThread, forMs: number): Promise<void> {
    const captured = await captureStack(host.threadId, CAPTURE_WITHIN_MS);
    // A thread that is stuck in native code shows no stack.
    const suspect = captured ? captured.bot : host.lastBot;
    const where = captured ? ` in bot ${suspect}` : `; the code of bot ${suspect} ran last there`;
    const reason = `bot host ${host.number} stood still for ${forMs} ms${suspect === null ? '' : where}`;
    const found = {
      type: 'hang' as const,
      reason,
      suspect,
      stack: captured?.frames ?? null,
      heap: null,
    };
    await this.#incidents.report(found, host, this.#registry.idsOn(host));
    this.#condemned.set(host, reason);
    host.kill();
  }

  async #hostLost(host: HostThread, error: Error): Promise<void> {
    const bots = this.#registry.idsOn(host);
    const { lastBot } = host;
    const known = this.#condemned.get(host);
    const message = known ?? messageOf(error);
    const outOfMemory = (error as NodeJS.ErrnoException).code === 'ERR_WORKER_OUT_OF_MEMORY';
    // Its bots first: the dossier takes a while.
    this.#registry.hostLost(host, message);
    if (known !== undefined) return;
    const type = outOfMemory ? ('out_of_memory' as const) : ('host_lost' as const);
    // An error of the host's own is no bot's.
    const suspect = outOfMemory || /^worker exited/.test(message) ? lastBot : null;
    let reason = `bot host ${host.number} was lost: ${message}`;
    if (suspect !== null) {
      const alone = bots.length === 1 && bots[0] === suspect;
      reason += alone
        ? `; bot ${suspect} was alone there`
        : `; the code of bot ${suspect} ran last there`;
    }
    const found = { type, reason, suspect, stack: error.stack ?? null, heap: null };
    await this.#incidents.report(found, host, bots);
  }

  /** A run goes on although it was to end long ago, and its bot is to be started again. */
  async #botOverdue(host: HostThread, bot: string): Promise<void> {
    const graceMs = this.#config.hosts.stop_grace_ms;
    const reason = `bot ${bot} was to end and still runs after ${graceMs} ms; bot host ${host.number} is replaced, its other bots move`;
    const heap = await heapOf(host);
    const found = { type: 'overdue' as const, reason, suspect: bot, stack: null, heap };
    const others = this.#registry.idsOn(host).filter((id) => id !== bot);
    await this.#incidents.report(found, host, [bot, ...others]);
    this.#condemned.set(host, reason);
  }

  #createFronts(stream: StreamIdentity): FrontPool {
    const config = this.#config;
    const dispatcher = new Dispatcher(
      this.#registry,
      this.#events,
      config.invoke.timeout_ms,
      this.#serviceCommands(),
    );
    const bucket = createPinBucket({
      capacity: config.pin.capacity,
      refillPerMinute: config.pin.refill_per_minute,
    });
    const quota = createQuota(
      {
        total: config.stream.max_streams,
        perToken: config.stream.max_streams_per_token,
        perAddress: config.stream.max_streams_per_address,
      },
      config.http.fronts,
    );
    return new FrontPool(
      { config, pin: this.#pin, bucket, quota, stream, tokens: this.#tokens.all() },
      this.#broadcaster,
      {
        createToken: async ({ name }) => {
          const { token, record } = await this.#tokens.create(name);
          await this.#fronts.addToken(record);
          return { token };
        },
        createBot: (input) => this.#registry.create(input),
        updateBot: ({ id, change }) => this.#registry.update(id, change),
        actOnBot: ({ id, action }) => this.#registry.act(id, action),
        actOnBots: async (input) => ({ results: await this.#registry.actOnMany(input) }),
        botConfig: ({ id }) => this.#registry.config(id),
        kinds: () => ({ kinds: this.#schemas.infos(), failed: this.#kinds.failed }),
        incidents: ({ bot, limit }) => ({ incidents: this.#registry.incidents(bot, limit) }),
        invoke: (input, gone) => dispatcher.invoke(input, gone),
      },
      (message) => this.#say('error', message),
    );
  }

  /** What `POST /invoke` with `session_id: null` can do. */
  #serviceCommands(): ServiceCommands {
    const startedAt = Date.now();
    const commands: ServiceCommands = {
      ping: () => 'pong',
      status: () => ({
        bots: this.#registry.size,
        hosts: this.#hosts.count,
        uptime_ms: Date.now() - startedAt,
      }),
    };
    if (this.#config.drills.enabled) {
      commands['drill'] = (args) => this.#drill(args);
    }
    return commands;
  }

  /** Breaks a part of the service as a fault would, to see that the rest goes on. */
  async #drill({ kill, front = 0, host = 0, fault = 'crash' }: JsonObject): Promise<null> {
    if (kill === 'broadcaster') {
      await this.#broadcaster.kill();
    } else if (kill === 'front') {
      this.#fronts.drill(Number(front));
    } else if (kill === 'host') {
      const known = HOST_FAULTS.find((name) => name === fault);
      if (!known)
        throw new DroverError('bad_request', `args.fault is one of ${HOST_FAULTS.join(', ')}`);
      this.#hosts.get(Number(host)).peer.tell('drill', { fault: known });
    } else {
      throw new DroverError('bad_request', 'args.kill is "broadcaster", "front" or "host"');
    }
    return null;
  }

  /** The bots of the configuration, checked. @throws StartupError when one cannot be started. */
  #configuredBots(): CreateBotBody[] {
    const ids = new Set<string>();
    return this.#config.bots.map((bot) => {
      const { id } = bot;
      try {
        if (ids.has(id)) throw new Error('there is another bot with this id');
        ids.add(id);
        this.#registry.check(bot);
      } catch (thrown) {
        throw new StartupError(`the configured bot ${JSON.stringify(id)}: ${messageOf(thrown)}`);
      }
      return bot;
    });
  }

  async #startDemoWorld(): Promise<void> {
    this.#world = startDemoWorld((message) => this.#say('error', message));
    this.#schemas.setDefaults('demo', { world_url: (await this.#world).httpUrl });
  }

  #demoBots(): CreateBotBody[] {
    const { enabled, bots } = this.#config.demo;
    const taken = new Set(this.#config.bots.map(({ id }) => id));
    return Array.from({ length: enabled ? bots : 0 }, (_, n) => ({
      id: `demo-${n + 1}`,
      kind: 'demo',
      config: {},
      labels: { demo: 'true' },
      dedicated: false,
      desired: 'running' as const,
    })).filter(({ id }) => !taken.has(id));
  }

  /** Gives a new broadcaster what the dead one had: snapshots first, then the hosts' events, then the fronts. */
  async #restore(broadcaster: BroadcasterPeer, reason: string): Promise<void> {
    await this.#hosts.reattach(broadcaster, (hosted) => {
      broadcaster.tell('restore', { snapshots: this.#registry.snapshots(hosted) });
    });
    await this.#fronts.reattach(broadcaster);
    this.#say('error', `the broadcaster was lost and replaced: ${reason}`);
  }

  #say(level: 'info' | 'warn' | 'error', message: string): void {
    this.#events.tell(logItem(level, SERVICE_SCOPE, message));
  }
}

/** Settles as the task does, or rejects when the signal is aborted before; the task then goes on by itself. */
function unlessAborted<T>(task: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    task.then(resolve, reject);
    const abort = (): void => reject(signal.reason);
    if (signal.aborted) abort();
    else signal.addEventListener('abort', abort, { once: true });
  });
}

function newStream(config: Config): StreamIdentity {
  const bytes = config.stream.ring_bytes;
  // One reader more than there are fronts: main looks back at bots' last lines.
  const size = { bytes, slots: slotsFor(bytes), fronts: config.http.fronts + 1 };
  return {
    ring: createRing(size, FIRST_SEQ),
    epoch: randomBytes(5).toString('hex'),
    hashKey: randomBytes(32).toString('hex'),
  };
}
