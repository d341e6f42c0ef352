// Runs in main. Owns the bot hosts: the shared ones, and those that are reserved for some bots. The states of a host are in
// src/main/threads/host-life.ts; this file carries out the effects.

import { setTimeout as delay } from 'node:timers/promises';
import type { Isolation, LoadedKinds } from '../../shared/contract/bots.js';
import type {
  BotExit,
  BotFlood,
  CommandOffer,
  HostedState,
  KindFailure,
  LateError,
} from '../../shared/contract/host-messages.js';
import type { BroadcasterPeer } from '../../shared/contract/threads.js';
import type { UsageReport } from '../../shared/contract/usage.js';
import { DroverError, messageOf } from '../../shared/errors.js';
import { complain } from '../../shared/terminal.js';
import { withTimeout } from '../../shared/with-timeout.js';
import {
  type HostEffect,
  type HostEvent,
  isEnding,
  isUp,
  nextHostStep,
} from '../threads/host-life.js';
import type { StartLink } from '../threads/host-link.js';
import { type HostOptions, HostThread, type KindSet } from '../threads/host-thread.js';
import type { EventSink } from '../threads/service-events.js';
import type { HostCount } from './host-count.js';
import { HostPlacement, type Wanted } from './host-placement.js';
import { HostStarter, kindMissing, type StartedHost } from './host-starter.js';
import type { KindModules } from './kind-modules.js';
import type { KindQuarantine } from './kind-quarantine.js';
import type { KindVersions } from './kind-versions.js';
import type { Quarantine } from './quarantine.js';
import { reattachHosts } from './reattach-hosts.js';

export interface HostPoolOptions extends HostOptions, HostCount {
  /** Whether the shared hosts are threads or processes. */
  isolation: Isolation;
  /** Starts a host, by isolation. */
  links: Readonly<Record<Isolation, StartLink>>;
  /** How many dedicated hosts and hosts of groups there may be. */
  maxDedicated: number;
  /** How long a bot may take to stop, in ms. */
  graceMs: number;
}

export interface HostPoolParts {
  options: HostPoolOptions;
  quarantine: Quarantine;
  kinds: KindQuarantine;
  versions: KindVersions;
  broadcaster: EventSink;
  /** Starts a host; other than createHost for tests. */
  create?: typeof createHost;
}

/** What happens on the hosts. */
export interface PoolListener {
  /** A host beats again, after a time in which nothing ran in it. */
  awake(): void;
  exited(exit: BotExit): void;
  lateError(error: LateError): void;
  /** A bot has been above its limits of lines or statuses for a while. */
  flooded(flood: BotFlood): void;
  /** What bots of a host have used since its last report. */
  used(host: HostThread, report: UsageReport): void;
  /** A run has other commands than its kind had until now. */
  offered(offer: CommandOffer): void;
  kindFailed(host: HostThread, failure: KindFailure): void;
  /** A host is lost and all of its bots with it. A shared one is being replaced. */
  lost(host: HostThread, error: Error): void;
  /** A host's loop has not turned for so long. To be killed when that is reported. */
  stuck(host: HostThread, forMs: number): void;
  /** A host is to be replaced because of a run of this bot that does not end. Resolves when that is reported. */
  overdue(host: HostThread, bot: string): Promise<void>;
  /** A host does without a kind that made it hang or end while it was loaded; the others have it. */
  kindDropped(host: number, module: string, reason: string): void;
  /** A host is on its way out, or lost: it runs no more commands. Its thread may take long to exit. */
  ending(host: HostThread): void;
  /** A host takes no more bots and ends when those that it has have moved. */
  retiring(host: HostThread): void;
}

/** Details of an event, for the effects. */
interface EventDetail {
  error?: Error;
  /** For how long its loop has not turned, in ms. */
  forMs?: number;
  /** The bot whose run does not end. */
  bot?: string;
}

/** Pause before a lost host is replaced, in ms, so that one that dies at once does not spin. */
const RESPAWN_MS = 250;
const END_WITHIN_MS = 1000;
/** How long the bots of a lost host wait for the end of its thread, in ms. */
const STUCK_MS = 10_000;
/** How much longer than the grace time of its bots a retiring host may take, in ms. */
const RETIRE_MS = 2000;
/** How much longer than the grace time it may take until a retired host has exited, in ms: its report is written first. */
const RETIRED_WITHIN_MS = 3 * RETIRE_MS;

/** Starts a host. */
function createHost(...args: ConstructorParameters<typeof HostThread>): HostThread {
  return new HostThread(...args);
}

export class HostPool {
  readonly #options: HostPoolOptions;
  readonly #broadcaster: EventSink;
  /** Given by start(): no host is there before. */
  #events!: PoolListener;
  readonly #placement: HostPlacement;
  /** All hosts whose threads exist. */
  readonly #hosts = new Set<HostThread>();
  readonly #starter: HostStarter;
  readonly #create: typeof createHost;
  /** How often the current versions of the kinds have changed. */
  #generation = 0;
  /** At the start of each host. */
  readonly #generations = new WeakMap<HostThread, number>();
  #stopping = false;

  constructor({
    options,
    quarantine,
    kinds,
    versions,
    broadcaster,
    create = createHost,
  }: HostPoolParts) {
    this.#create = create;
    this.#options = options;
    this.#broadcaster = broadcaster;
    this.#starter = new HostStarter({
      versions,
      quarantine: kinds,
      start: (...args) => this.#start(...args),
      dropped: (...args) => this.#events.kindDropped(...args),
      discard: (host) => this.#handle(host, 'empty'),
    });
    this.#placement = new HostPlacement(options, quarantine, {
      hosts: () => this.#hosts,
      share: (number) => this.#share(number, 0),
      start: (number, { kind, version: id }, isAlone, isolation) => {
        const version = versions.get(kind, id);
        if (!version) throw kindMissing(kind, `its version ${id} is not known any more`);
        return isAlone
          ? this.#starter.startWith(number, version, isolation)
          : this.#starter.start(number, 'reserve', isolation, version);
      },
      leave: (host) => this.leave(host),
    });
  }

  /** Starts the first shared hosts. @returns what they have loaded, and what they could not. */
  async start(
    modules: Pick<KindModules, 'modules' | 'programs'>,
    listener: PoolListener,
  ): Promise<LoadedKinds> {
    this.#events = listener;
    const loaded = await this.#starter.startFirst(modules);
    const others = Array.from({ length: this.count - 1 }, (_, n) => n + 1);
    await Promise.all(others.map((number) => this.#starter.start(number, 'share')));
    return loaded;
  }

  /** Number of shared hosts, those that are being started included. They have the lowest numbers. */
  get count(): number {
    return this.#placement.sharedCount;
  }

  /** The hosts that have bots, or can take some. */
  all(): HostThread[] {
    return [...this.#hosts].filter(({ state }) => isUp(state));
  }

  /** Fill of the fullest host's queue to the broadcaster, 0 to 1 and above. */
  get queueFill(): number {
    return Math.max(0, ...this.all().map((host) => host.queueFill));
  }

  /** How many connections bots have open, by kind, as far as the hosts say. */
  async openByKind(): Promise<Map<string, number>> {
    const sums = new Map<string, number>();
    for (const open of await Promise.all(this.all().map((host) => host.openByKind()))) {
      for (const [kind, count] of Object.entries(open)) {
        sums.set(kind, (sums.get(kind) ?? 0) + count);
      }
    }
    return sums;
  }

  /** All whose threads exist, those that start or end included. */
  threads(): IterableIterator<HostThread> {
    return this.#hosts.values();
  }

  /** @throws DroverError `unavailable` when there is no such host now. */
  get(number: number): HostThread {
    const host = this.all().find((other) => other.number === number);
    if (!host) throw new DroverError('unavailable', `bot host ${number} is gone`);
    return host;
  }

  /** A place for one more bot, to be given back with {@link leave}. See HostPlacement. @throws NoPlace */
  place(wanted: Wanted): Promise<HostThread> {
    return this.#placement.place(wanted);
  }

  /** See OwnHosts. */
  admitOwn(wanted: number, held?: number): void {
    this.#placement.own.admit(wanted, held);
  }

  /** See OwnHosts. */
  admitSuspect(): void {
    this.#placement.own.admitSuspect();
  }

  /** A bot has left its host. */
  leave(host: HostThread): void {
    host.bots -= 1;
    if (host.bots > 0) return;
    this.#handle(host, 'empty');
    if (host.state !== 'shared') return;
    if (host.someBot !== null) this.#replaceQuiet(host);
    else this.#renew(host);
  }

  /** Other versions of kinds are current from now on: shared hosts load them when their last bot has left. */
  renew(): void {
    this.#generation += 1;
    for (const host of this.#hosts) if (host.bots === 0 && host.someBot === null) this.#renew(host);
  }

  #renew(host: HostThread): void {
    if (this.#generations.get(host) !== this.#generation) this.#handle(host, 'outdated');
  }

  /** The watchdog has found a host whose loop does not turn. */
  hung(host: HostThread, forMs: number): void {
    this.#handle(host, 'hang', { forMs });
  }

  /**
   * Makes sure that no earlier run of the bot continues anywhere, so that a bot never runs twice. A run that ignores its signal
   * has the grace time; then its host is replaced, because nothing else can end it. The other bots of that host move.
   * @returns a host whose thread does not end, null when there is none. The bot's code runs there no more, except in threads that
   * it has made; what it had open still is.
   * @throws DroverError `unavailable` when a thread does not end and the bot's code may still run there.
   */
  async clear(id: string): Promise<number | null> {
    const { graceMs } = this.#options;
    let stuck: number | null = null;
    for (const host of this.#hosts) {
      const free = host.whenFreeOf(id);
      if (!free) continue;
      if (host.isLost && host.lastBot !== id) {
        // Told to end, it runs no more JavaScript after the native code that holds it, which another bot has called.
        if (!(await settlesWithin(free, STUCK_MS))) stuck = host.number;
        continue;
      }
      if (await settlesWithin(free, graceMs)) continue;
      if (!isEnding(host.state)) this.#handle(host, 'overdue', { bot: id });
      if (await settlesWithin(free, graceMs + RETIRED_WITHIN_MS)) continue;
      throw new DroverError(
        'unavailable',
        `an earlier run of bot ${id} still runs in bot host ${host.number}, whose thread does not end`,
      );
    }
    return stuck;
  }

  /** Gives every host a channel to a new broadcaster, those that are starting too. See reattachHosts. */
  reattach(broadcaster: BroadcasterPeer, restore: (hosted: HostedState[]) => void): Promise<void> {
    const hosts = [...this.#hosts].filter(({ state }) => !isEnding(state));
    return reattachHosts(hosts, broadcaster, restore);
  }

  /**
   * Ends all hosts, those that are starting too. Bots are to be stopped before.
   * @returns those whose threads have not exited: native code holds them, and nothing can end it.
   */
  async stop(): Promise<HostThread[]> {
    this.#stopping = true;
    const hosts = [...this.#hosts];
    for (const host of hosts) this.#handle(host, 'stop');
    await Promise.all(hosts.map(({ gone }) => settlesWithin(gone, 2 * END_WITHIN_MS)));
    return [...this.#hosts];
  }

  #handle(host: HostThread, event: HostEvent, detail: EventDetail = {}): void {
    const before = host.state;
    const { to, effects } = nextHostStep(before, event);
    host.state = to;
    if (isEnding(to)) this.#placement.withdraw(host);
    // Said once, because another host may get its number later.
    if (isEnding(to) && !isEnding(before)) this.#events.ending(host);
    for (const effect of effects) this.#carryOut(host, effect, detail);
  }

  #carryOut(host: HostThread, effect: HostEffect, { error, forMs = 0, bot }: EventDetail): void {
    switch (effect) {
      case 'offer':
        this.#placement.offer();
        return;
      case 'retire':
        if (bot !== undefined) void this.#retire(host, bot);
        return;
      case 'examine':
        this.#events.stuck(host, forMs);
        return;
      case 'shutDown':
        void host
          .shutDown(END_WITHIN_MS)
          .then((exited) => exited || this.#handle(host, 'deadline'));
        return;
      case 'kill':
        host.kill(error);
        return;
      case 'reportLoss':
        if (error) this.#events.lost(host, error);
        return;
      case 'replace':
        this.#replace(host.number);
        return;
      case 'replaceAfterExit':
        // The broadcaster knows hosts by their numbers. But a thread that does not end holds up nobody.
        void settlesWithin(host.gone, 2 * END_WITHIN_MS).then(() => this.#replace(host.number));
    }
  }

  /** A run that ignores its signal would continue for ever, also when its bot is deleted. Now it costs no other bot to end it. */
  #replaceQuiet(host: HostThread): void {
    setTimeout(() => {
      const bot = host.someBot;
      if (host.state === 'shared' && host.bots === 0 && bot !== null) {
        this.#handle(host, 'overdue', { bot });
      }
    }, this.#options.graceMs).unref();
  }

  async #retire(host: HostThread, bot: string): Promise<void> {
    // Counted like a bot, so that the host also ends when it has none left.
    host.bots += 1;
    await this.#events.overdue(host, bot);
    this.#events.retiring(host);
    this.leave(host);
    await delay(this.#options.graceMs + RETIRE_MS, undefined, { ref: false });
    // Bots that have not moved are lost with it.
    this.#handle(host, 'deadline');
  }

  /** Starts a host in the place of a shared one. */
  #replace(number: number): void {
    if (number < this.count) this.#share(number, RESPAWN_MS);
  }

  /** Starts a shared host, and tries until it has. */
  #share(number: number, afterMs: number): void {
    setTimeout(() => {
      if (this.#stopping) return;
      this.#starter.start(number, 'share').catch((thrown) => {
        complain(`bot host ${number}: ${messageOf(thrown)}`);
        this.#placement.offer(true);
        this.#share(number, RESPAWN_MS);
      });
    }, afterMs);
  }

  /** @throws KindBrokeHost, KindUnclear */
  async #start(
    number: number,
    use: 'share' | 'reserve',
    set: KindSet,
    inTurn: boolean,
    isolation = this.#options.isolation,
  ): Promise<StartedHost> {
    // stop() has ended all hosts that there were.
    if (this.#stopping) throw new DroverError('unavailable');
    const events = {
      awake: this.#events.awake,
      exited: this.#events.exited,
      lateError: this.#events.lateError,
      flooded: this.#events.flooded,
      used: (report: UsageReport) => this.#events.used(host, report),
      offered: this.#events.offered,
      kindFailed: (failure: KindFailure) => this.#events.kindFailed(host, failure),
      failed: (error: Error) => this.#handle(host, 'fail', { error }),
    };
    const link = this.#options.links?.[isolation];
    const host: HostThread = this.#create(
      number,
      this.#options,
      set,
      this.#broadcaster,
      events,
      link,
    );
    this.#generations.set(host, this.#generation);
    this.#hosts.add(host);
    void host.gone.then(() => {
      this.#hosts.delete(host);
      this.#handle(host, 'exit');
    });
    try {
      const loaded = await host.open(inTurn);
      this.#handle(host, use);
      // The host may have been awake all the time, and is watched from now on.
      this.#events.awake();
      return { host, loaded };
    } catch (thrown) {
      this.#handle(host, 'fail');
      await settlesWithin(host.gone, END_WITHIN_MS);
      // A host that was asked to end while it loaded a kind says nothing about the kind.
      if (this.#stopping) throw new DroverError('unavailable');
      throw thrown;
    }
  }
}

/** Whether the promise resolves within `ms`. */
function settlesWithin(promise: Promise<unknown>, ms: number): Promise<boolean> {
  return withTimeout(
    promise.then(() => true),
    ms,
    () => false,
  );
}
