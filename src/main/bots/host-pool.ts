// Runs in main. Owns the bot hosts: the shared ones, one for each dedicated bot, some for bots that are put apart, and what
// takes the place of a lost one.

import { setTimeout as delay } from 'node:timers/promises';
import type { LoadedKinds } from '../../shared/contract/bots.js';
import type { BotExit, HostedState } from '../../shared/contract/threads.js';
import { DroverError, messageOf } from '../../shared/errors.js';
import { Semaphore } from '../../shared/semaphore.js';
import { type BroadcasterPeer, type EventSink, sessionItem } from '../service-events.js';
import {
  type HostOptions,
  HostThread,
  KindBrokeHost,
  type Reattached,
} from '../threads/host-thread.js';
import type { Group, Quarantine } from './quarantine.js';

export interface HostPoolOptions extends HostOptions {
  /** Number of shared hosts. */
  count: number;
  /** How many bots may have a host of their own. */
  maxDedicated: number;
  /** Module URLs of the kinds that the hosts load. */
  modules: readonly string[];
  /** How long a bot may take to stop, in ms. */
  graceMs: number;
}

/** What a bot needs of a host. */
export interface Wanted {
  id: string;
  kind: string;
  /** A host of its own. */
  dedicated: boolean;
}

/** There is no host for a bot now. It is not the bot's fault, and to be tried again. */
export class NoPlace extends DroverError {
  constructor(message: string) {
    super('unavailable', message);
  }
}

/** What the pool tells of its hosts. */
export interface PoolEvents {
  exited(exit: BotExit): void;
  /** A host is lost and all of its bots with it. A shared one is being replaced. */
  lost(host: HostThread, error: Error): void;
  /** A host is to be replaced because of a run of this bot that does not end. Resolves when that is noted. */
  overdue(host: HostThread, bot: string): Promise<void>;
  /** A host does without a kind that hung it or ended it while it was loaded; the others have it. */
  kindDropped(host: number, module: string, reason: string): void;
  /** A host takes no more bots and ends when those that it has have moved. */
  retiring(host: HostThread): void;
}

/** Pause before a lost host is replaced, in ms, so that one that dies at once does not spin. */
const RESPAWN_MS = 250;
/** Pause before a host tries again to load a kind that broke it, in ms. */
const LOAD_AGAIN_MS = 1000;
const END_WITHIN_MS = 1000;
/** How much longer than the grace of its bots a host that is being replaced may take, in ms. */
const RETIRE_MS = 2000;
/** How long a new broadcaster waits for what a host knows of its bots, in ms. */
const REATTACH_WITHIN_MS = 500;
/**
 * Hosts for bots that are put apart, and for bots of kinds that no shared host has. When there are so many, others that are
 * to be put apart stay with everybody else, and those of other such kinds wait.
 */
const MAX_GROUPS = 8;
/** Hosts that start at a time, of those that are started for some bots: many at once would hold up all that runs. */
const SPAWN_AT_ONCE = 3;

export class HostPool {
  readonly #options: HostPoolOptions;
  readonly #broadcaster: EventSink;
  readonly #events: PoolEvents;
  /** Hosts that can take bots, by number. Those of dedicated bots are among them. */
  readonly #hosts = new Map<number, HostThread>();
  readonly #shared = new Set<number>();
  /** All whose threads have not ended, also those that can take no bots yet, or any more. */
  readonly #threads = new Set<HostThread>();
  #modules: readonly string[];
  /** Those who wait for a shared host. Bounded by the number of bots. */
  #waiting: (() => void)[] = [];
  readonly #quarantine: Quarantine;
  /** Those of bots that are put apart, or of one kind, present or just starting. Bounded by MAX_GROUPS. */
  readonly #groups = new Map<Group | string, Promise<HostThread>>();
  /** Numbers of the hosts of dedicated bots, also of those that are to start. Bounded by the option maxDedicated. */
  readonly #own = new Set<number>();
  readonly #spawning = new Semaphore({
    permits: SPAWN_AT_ONCE,
    maxQueued: Number.POSITIVE_INFINITY,
  });
  /** Where each kind is, as the first host has found it. */
  #kinds: ReadonlyMap<string, string> = new Map();
  /** Number of the next host that is not shared by all. */
  #nextNumber: number;
  #stopping = false;

  constructor(
    options: HostPoolOptions,
    separation: Quarantine,
    broadcaster: EventSink,
    events: PoolEvents,
  ) {
    this.#options = options;
    this.#quarantine = separation;
    this.#broadcaster = broadcaster;
    this.#events = events;
    this.#nextNumber = options.count;
    this.#modules = options.modules;
  }

  /** Starts the shared hosts. @returns what they have loaded, and what they could not. */
  async start(): Promise<LoadedKinds> {
    // The first alone: it finds out which kinds hang a host or end it, and the others do without them.
    const loaded = await this.#spawnFirst();
    const others = Array.from({ length: this.#options.count - 1 }, (_, n) => n + 1);
    await Promise.all(others.map((number) => this.#spawn(number, true)));
    return loaded;
  }

  async #spawnFirst(): Promise<LoadedKinds> {
    const failed: LoadedKinds['failed'] = [];
    for (;;) {
      try {
        const loaded = await this.#open(0, true, this.#modules);
        this.#kinds = this.get(0).kinds;
        return { kinds: loaded.kinds, failed: [...failed, ...loaded.failed] };
      } catch (thrown) {
        if (!(thrown instanceof KindBrokeHost)) throw thrown;
        const { module, message } = thrown;
        failed.push({ module, error: message });
        this.#modules = this.#modules.filter((other) => other !== module);
      }
    }
  }

  /** Number of shared hosts. */
  get count(): number {
    return this.#options.count;
  }

  all(): IterableIterator<HostThread> {
    return this.#hosts.values();
  }

  /** All whose threads have not ended: those that are just starting, or ending, too. */
  threads(): IterableIterator<HostThread> {
    return this.#threads.values();
  }

  /** @throws DroverError `unavailable` when the host is not there any more. */
  get(number: number): HostThread {
    const host = this.#hosts.get(number);
    if (!host) throw new DroverError('unavailable', `bot host ${number} is gone`);
    return host;
  }

  /**
   * A place for one more bot: the shared host that has its kind and the fewest bots, a host of its own, or that of those
   * that it is put apart with. Waits while shared hosts are being replaced, when no other has the kind. To be given back
   * with {@link leave}. @throws NoPlace
   */
  async place({ id, kind, dedicated }: Wanted): Promise<HostThread> {
    if (dedicated) return this.#taken(await this.#spawnOwn(kind), kind);
    const group = this.#quarantine.groupOf(id, Date.now());
    for (;;) {
      const apart = group && (await this.#hostOf(group, () => this.#spawnNext()));
      if (apart) return this.#taken(apart, kind);
      let best: HostThread | undefined;
      for (const number of this.#shared) {
        const host = this.#hosts.get(number);
        if (!host?.kinds.has(kind)) continue;
        if (best === undefined || host.load < best.load) best = host;
      }
      if (best) return this.#taken(best, kind);
      if (this.#shared.size === this.count) {
        // On one that has bots already it is not tried: it could end them.
        const own = await this.#hostOf(kind, () => this.#spawnWith(kind));
        if (!own) throw kindMissing(kind, 'there are too many other bot hosts');
        return this.#taken(own, kind);
      }
      await new Promise<void>((resolve) => this.#waiting.push(resolve));
    }
  }

  #taken(host: HostThread, kind: string): HostThread {
    host.load += 1;
    if (host.kinds.has(kind)) return host;
    this.leave(host);
    throw kindMissing(kind, `it did not load on bot host ${host.number}`);
  }

  /** The host of a group of bots, undefined when there are as many such hosts as there may be. */
  async #hostOf(
    group: Group | string,
    spawn: () => Promise<HostThread>,
  ): Promise<HostThread | undefined> {
    for (;;) {
      const spawned = this.#groups.get(group) ?? this.#addGroup(group, spawn);
      const host = await spawned;
      if (!host || (this.#hosts.get(host.number) === host && !host.isRetiring)) return host;
      // It was lost meanwhile, or ends with its last bot.
      if (this.#groups.get(group) === spawned) this.#groups.delete(group);
    }
  }

  #addGroup(
    group: Group | string,
    spawn: () => Promise<HostThread>,
  ): Promise<HostThread> | undefined {
    if (this.#groups.size >= MAX_GROUPS) return undefined;
    const spawned = spawn();
    this.#groups.set(group, spawned);
    const forget = (): void => {
      if (this.#groups.get(group) === spawned) this.#groups.delete(group);
    };
    spawned.then((host) => host.gone.then(forget), forget);
    return spawned;
  }

  /** @param wanted how many bots are to have a host of their own. @throws NoPlace when one more may not. */
  admitDedicated(wanted: number): void {
    const max = this.#options.maxDedicated;
    if (Math.max(wanted, this.#own.size) >= max) {
      throw new NoPlace(
        `there are as many bots with a host of their own as there may be (hosts.max_dedicated is ${max})`,
      );
    }
  }

  async #spawnOwn(kind: string): Promise<HostThread> {
    this.admitDedicated(0);
    const number = this.#nextNumber++;
    this.#own.add(number);
    try {
      return await this.#spawnWith(kind, number);
    } catch (thrown) {
      this.#own.delete(number);
      throw thrown;
    }
  }

  /** One more host, with all kinds. */
  async #spawnNext(): Promise<HostThread> {
    const number = this.#nextNumber++;
    await this.#spawning.run(() => this.#spawn(number, false));
    return this.get(number);
  }

  /** One more host, with this kind alone. @throws NoPlace */
  async #spawnWith(kind: string, number = this.#nextNumber++): Promise<HostThread> {
    const module = this.#kinds.get(kind);
    const modules = module === undefined ? [] : [module];
    try {
      const { failed } = await this.#spawning.run(() => this.#open(number, false, modules));
      const host = this.get(number);
      if (host.kinds.has(kind)) return host;
      host.load += 1;
      this.leave(host);
      throw kindMissing(kind, failed[0]?.error ?? 'it is not known');
    } catch (thrown) {
      if (thrown instanceof KindBrokeHost) throw kindMissing(kind, thrown.message);
      throw thrown;
    }
  }

  /** A bot has left its host. A dedicated host ends with its bot, one that is being replaced with its last. */
  leave(host: HostThread): void {
    host.load -= 1;
    if (host.load > 0 || this.#shared.has(host.number)) return;
    if (this.#hosts.get(host.number) !== host) return;
    this.#hosts.delete(host.number);
    this.#own.delete(host.number);
    const ended = host.end(END_WITHIN_MS);
    if (host.number >= this.count) return;
    // Not before: the broadcaster knows hosts by their numbers. But a thread that does not end holds nobody up.
    void settlesWithin(ended, 2 * END_WITHIN_MS).then(() => this.#respawn(host.number));
  }

  /**
   * Makes sure that no earlier run of the bot goes on anywhere, so that there are never two of it. A run that ignores its
   * signal has the grace time; then its host is replaced: nothing else can end it. The other bots of that host move.
   * @returns whether a host had to be replaced. @throws DroverError `unavailable` when its thread does not end.
   */
  async clear(id: string): Promise<boolean> {
    let replaced = false;
    for (const host of this.#threads) {
      const free = host.whenFreeOf(id);
      if (!free || (await settlesWithin(free, this.#options.graceMs))) continue;
      if (!host.isEnding) {
        replaced = true;
        await this.#retire(host, id);
      }
      if (await settlesWithin(free, this.#options.graceMs + 2 * RETIRE_MS)) continue;
      throw new DroverError(
        'unavailable',
        `an earlier run of bot ${id} still goes on in bot host ${host.number}, whose thread does not end`,
      );
    }
    return replaced;
  }

  async #retire(host: HostThread, bot: string): Promise<void> {
    if (host.isRetiring) return;
    host.isRetiring = true;
    this.#shared.delete(host.number);
    await this.#events.overdue(host, bot);
    // So that it ends also when no bot is left on it.
    host.load += 1;
    this.#events.retiring(host);
    this.leave(host);
    const limit = setTimeout(() => {
      // Bots that do not move are lost with it.
      if (!host.isEnding) host.kill();
    }, this.#options.graceMs + RETIRE_MS);
    limit.unref();
  }

  /**
   * Gives every host a channel to a new broadcaster, those that are just starting too.
   * @param restore is called with what the hosts know of their bots, before any of their new events is taken.
   */
  async reattach(
    broadcaster: BroadcasterPeer,
    restore: (hosted: HostedState[]) => void,
  ): Promise<void> {
    const hosts = [...this.#threads].filter((host) => !host.isEnding);
    const attempts = hosts.map((host) =>
      // A host that is lost meanwhile gets its own channel when it is replaced.
      host.reattach(broadcaster).catch(() => undefined),
    );
    // Nobody waits for a host that hangs: the stream goes on without it, and so does the watchdog, which needs it.
    const answers = attempts.map((attempt) =>
      Promise.race([attempt, delay(REATTACH_WITHIN_MS, undefined, { ref: false })]),
    );
    const done = await Promise.all(answers);
    restore(done.flatMap((answer) => answer?.bots ?? []));
    for (const [n, attempt] of attempts.entries()) {
      if (done[n]) done[n].attach();
      else void attempt.then((late) => late && attachLate(broadcaster, late));
    }
  }

  /** Ends all hosts, those that are just starting too. Bots are to be stopped before. */
  async stop(): Promise<void> {
    this.#stopping = true;
    // A thread that is stuck in native code does not end, and is not waited for.
    const ends = [...this.#threads].map((host) =>
      settlesWithin(host.end(END_WITHIN_MS), 2 * END_WITHIN_MS),
    );
    await Promise.all(ends);
  }

  /** A kind may break a later host only: by a port or lock that the first one has, or on a busy machine. It has two tries. */
  async #spawn(number: number, shared: boolean): Promise<void> {
    let modules = this.#modules;
    const late = new Set<string>();
    for (;;) {
      try {
        await this.#open(number, shared, modules);
        return;
      } catch (thrown) {
        if (!(thrown instanceof KindBrokeHost) || this.#stopping) throw thrown;
        const { module, message } = thrown;
        if (late.has(module)) {
          this.#events.kindDropped(number, module, message);
          modules = modules.filter((other) => other !== module);
        } else {
          late.add(module);
          await delay(LOAD_AGAIN_MS, undefined, { ref: false });
        }
      }
    }
  }

  /** @throws KindBrokeHost */
  async #open(number: number, shared: boolean, modules: readonly string[]): Promise<LoadedKinds> {
    // What begins after the end would not be ended by it.
    if (this.#stopping) throw new DroverError('unavailable');
    const host: HostThread = new HostThread(number, this.#options, this.#broadcaster, {
      exited: this.#events.exited,
      lost: (error) => this.#lost(host, error),
    });
    this.#threads.add(host);
    void host.gone.then(() => this.#threads.delete(host));
    let loaded: LoadedKinds;
    try {
      loaded = await host.open(modules);
    } catch (thrown) {
      await settlesWithin(host.end(0), END_WITHIN_MS);
      throw thrown;
    }
    this.#hosts.set(number, host);
    if (shared) {
      this.#shared.add(number);
      for (const resume of this.#waiting.splice(0)) resume();
    }
    return loaded;
  }

  #lost(host: HostThread, error: Error): void {
    if (this.#hosts.get(host.number) === host) this.#hosts.delete(host.number);
    this.#own.delete(host.number);
    if (this.#stopping) return;
    this.#shared.delete(host.number);
    this.#events.lost(host, error);
    if (host.number < this.count) this.#respawn(host.number);
  }

  /** Puts a host in the place of a shared one. */
  #respawn(number: number): void {
    setTimeout(() => {
      if (this.#stopping) return;
      this.#spawn(number, true).catch((thrown) => {
        process.stderr.write(`drover: bot host ${number}: ${messageOf(thrown)}\n`);
        this.#respawn(number);
      });
    }, RESPAWN_MS);
  }
}

function kindMissing(kind: string, reason: string): NoPlace {
  return new NoPlace(`no bot host has the bot kind ${kind}: ${reason}`);
}

/** Whether the promise resolves within `ms`. */
async function settlesWithin(promise: Promise<unknown>, ms: number): Promise<boolean> {
  const late = new AbortController();
  const limit = delay(ms, false, { signal: late.signal }).catch(() => false);
  const settled = await Promise.race([promise.then(() => true), limit]);
  late.abort();
  return settled;
}

/** The broadcaster has not had the states of these bots when it was restored. */
function attachLate(broadcaster: BroadcasterPeer, { bots, attach }: Reattached): void {
  const items = bots.map(({ id, ...patch }) => sessionItem(id, patch));
  broadcaster.tell('publish', { items });
  attach();
}
