// Runs in main. Chooses the host of each bot. Owns the queue for shared hosts, and the reserved hosts by what they are for.

import type { Isolation } from '../../shared/contract/bots.js';
import { Deferred } from '../../shared/deferred.js';
import { Semaphore } from '../../shared/semaphore.js';
import type { HostThread } from '../threads/host-thread.js';
import { FULL_BOTS, type HostCount } from './host-count.js';
import { kindMissing } from './host-starter.js';
import { OwnHosts } from './own-hosts.js';
import type { Group, Quarantine } from './quarantine.js';

/** The host that a bot needs. */
export interface Wanted {
  id: string;
  kind: string;
  /** The bot shares its host with no other. */
  dedicated: boolean;
  /** The bot shares its host with no other because it broke one. */
  isSuspect?: boolean;
  /** Thread or process; when absent, as the shared hosts. */
  isolation?: Isolation;
  /** The bot shares its host with the bots of this group only. */
  group?: string | undefined;
}

/** The part of the pool that placement uses. */
export interface PlacementPool {
  /** All hosts whose threads exist. */
  hosts(): Iterable<HostThread>;
  /** Starts a shared host, and tries until it has. */
  share(number: number): void;
  /** Starts a host that is reserved for some bots, with one kind, or with all. @throws NoPlace */
  start(number: number, kind: string | null, isolation: Isolation): Promise<HostThread>;
  /** A bot has left the host. */
  leave(host: HostThread): void;
}

/**
 * Hosts for quarantined bots, and for bots of kinds that no shared host has. At the limit further quarantined bots stay on
 * shared hosts, and bots of further such kinds wait.
 */
const MAX_GROUPS = 8;
/** Reserved hosts that start at once: many would hold up everything that runs. */
const STARTS_AT_ONCE = 3;

export class HostPlacement {
  readonly #quarantine: Quarantine;
  readonly #pool: PlacementPool;
  /** How many shared hosts there are, or are being started. */
  #sharedCount: number;
  readonly #hosts: HostCount;
  /** The last start of a shared host has failed: bots that can have another host do not wait for it. */
  #isFailing = false;
  /** Whether the shared hosts are threads or processes. */
  readonly #isolation: Isolation;
  readonly own: OwnHosts;
  /** Bots that wait for a shared host. Bounded by the number of bots. */
  #waiting: Deferred[] = [];
  /** Hosts of a quarantine group, or of one kind, also while they start. Bounded by MAX_GROUPS. */
  readonly #groups = new Map<Group | string, Promise<HostThread>>();
  /** The hosts of the groups that bots name, by isolation and name, also while they start. Bounded like {@link own}. */
  readonly #named = new Map<string, Promise<HostThread>>();
  /** Hosts that bots share which run in something else than the shared hosts. As many as those may be, started when needed. */
  readonly #others: OtherHost[];
  readonly #starts = new Semaphore({
    permits: STARTS_AT_ONCE,
    // Bounded by the number of bots.
    maxQueued: Number.POSITIVE_INFINITY,
  });
  #nextNumber: number;

  constructor(
    limits: HostCount & { maxDedicated: number; isolation?: Isolation },
    quarantine: Quarantine,
    pool: PlacementPool,
  ) {
    this.#hosts = limits;
    this.#sharedCount = limits.count;
    this.#isolation = limits.isolation ?? 'thread';
    this.#others = Array.from({ length: limits.most }, () => ({ coming: 0, started: undefined }));
    this.own = new OwnHosts(limits.maxDedicated);
    this.#nextNumber = limits.most;
    this.#quarantine = quarantine;
    this.#pool = pool;
  }

  /**
   * A place for one more bot: a dedicated host, that of its group or quarantine group, or the shared host that has its kind and
   * the fewest bots. Waits while a shared host is being started, if no other has the kind, or if all others are full. @throws NoPlace
   */
  async place(wanted: Wanted): Promise<HostThread> {
    const { id, kind, dedicated, isSuspect = false, isolation = this.#isolation } = wanted;
    if (dedicated || isSuspect) {
      return this.#occupy(await this.#startOwn(kind, isolation, !dedicated), kind);
    }
    // What one bot of it does to its host is the others' by choice: they are not quarantined.
    if (wanted.group !== undefined) return this.#placeNamed(wanted.group, kind, isolation);
    const group = this.#quarantine.groupOf(id, Date.now());
    for (;;) {
      const quarantined = group && (await this.#hostOf(group, null, isolation));
      // The isolation of the group was changed meanwhile.
      if (quarantined?.isolation === isolation) return this.#occupy(quarantined, kind);
      if (isolation !== this.#isolation) return this.#placeOther(kind, isolation);
      const shared = [...this.#pool.hosts()].filter(({ state }) => state === 'shared');
      let best: HostThread | undefined;
      for (const host of shared) {
        if (!host.kinds.has(kind)) continue;
        if (best === undefined || host.bots < best.bots) best = host;
      }
      const isFull = this.#hosts.most > this.#hosts.count && best && best.bots >= FULL_BOTS;
      if (isFull) this.#share(shared);
      const isComing = shared.length < this.#sharedCount;
      if (best && !(isFull && isComing && !this.#isFailing)) {
        return this.#occupy(best, kind);
      }
      if (!isComing) {
        // The kind is not tried on a host that has bots, because it could end them.
        const reserved = await this.#hostOf(kind, kind, isolation);
        if (!reserved) throw kindMissing(kind, 'there are too many other bot hosts');
        return this.#occupy(reserved, kind);
      }
      const offered = new Deferred();
      this.#waiting.push(offered);
      await offered.promise;
    }
  }

  /** Number of shared hosts, those that are being started included. */
  get sharedCount(): number {
    return this.#sharedCount;
  }

  /** There is another shared host, or it does not start now. */
  offer(isFailing = false): void {
    this.#isFailing = isFailing;
    for (const waiting of this.#waiting.splice(0)) waiting.resolve();
  }

  /** The host takes no more bots. */
  withdraw(host: HostThread): void {
    this.own.remove(host.number);
  }

  /** Starts as many hosts as all bots need, those that wait included. */
  #share(shared: readonly HostThread[]): void {
    const bots = shared.reduce((sum, host) => sum + host.bots, 1 + this.#waiting.length);
    const wanted = Math.min(this.#hosts.most, Math.ceil(bots / FULL_BOTS));
    while (this.#sharedCount < wanted) this.#pool.share(this.#sharedCount++);
  }

  #occupy(host: HostThread, kind: string): HostThread {
    host.bots += 1;
    if (host.kinds.has(kind)) return host;
    this.#pool.leave(host);
    throw kindMissing(kind, `it did not load on bot host ${host.number}`);
  }

  async #placeNamed(name: string, kind: string, isolation: Isolation): Promise<HostThread> {
    const key = `${isolation} ${name}`;
    for (;;) {
      let started = this.#named.get(key);
      if (!started) {
        started = this.#startOwn(null, isolation, false);
        this.#named.set(key, started);
        const forget = (): void => {
          if (this.#named.get(key) === started) this.#named.delete(key);
        };
        started.then((host) => host.gone.then(forget), forget);
      }
      const host = await started;
      if (host.state === 'reserved') return this.#occupy(host, kind);
      // It was lost meanwhile, or ends with its last bot.
      if (this.#named.get(key) === started) this.#named.delete(key);
    }
  }

  /** The host with the fewest bots among those of the other isolation. */
  async #placeOther(kind: string, isolation: Isolation): Promise<HostThread> {
    for (;;) {
      const bots = this.#others.reduce((sum, one) => sum + botsOf(one), 1);
      const wanted = Math.max(this.#hosts.count, Math.ceil(bots / FULL_BOTS));
      let other = this.#others[0] as OtherHost;
      for (const one of this.#others.slice(0, wanted)) if (botsOf(one) < botsOf(other)) other = one;
      other.started ??= startOther(this.#startReserved(this.#nextNumber++, null, isolation));
      const { started } = other;
      other.coming += 1;
      try {
        const host = await started.host;
        if (host.state === 'reserved') return this.#occupy(host, kind);
        // It was lost meanwhile, or ends with its last bot.
        if (other.started === started) other.started = undefined;
      } catch (thrown) {
        // A host that could not be started. One that has started lacks the kind, and stays.
        if (other.started === started && !started.now) other.started = undefined;
        throw thrown;
      } finally {
        other.coming -= 1;
      }
    }
  }

  /** The host of a group, undefined when the limit of such hosts is reached. @param kind the only one to load, or all. */
  async #hostOf(
    group: Group | string,
    kind: string | null,
    isolation: Isolation,
  ): Promise<HostThread | undefined> {
    for (;;) {
      const started = this.#groups.get(group) ?? this.#addGroup(group, kind, isolation);
      const host = await started;
      if (!host || host.state === 'reserved') return host;
      // It was lost meanwhile, or ends with its last bot.
      if (this.#groups.get(group) === started) this.#groups.delete(group);
    }
  }

  #addGroup(
    group: Group | string,
    kind: string | null,
    isolation: Isolation,
  ): Promise<HostThread> | undefined {
    if (this.#groups.size >= MAX_GROUPS) return undefined;
    const started = this.#startReserved(this.#nextNumber++, kind, isolation);
    this.#groups.set(group, started);
    const forget = (): void => {
      if (this.#groups.get(group) === started) this.#groups.delete(group);
    };
    started.then((host) => host.gone.then(forget), forget);
    return started;
  }

  /** A host that counts for `hosts.max_dedicated`. @throws NoPlace */
  async #startOwn(
    kind: string | null,
    isolation: Isolation,
    isSuspect: boolean,
  ): Promise<HostThread> {
    if (isSuspect) this.own.admitSuspect();
    else this.own.admit(0);
    const number = this.#nextNumber++;
    this.own.add(number, isSuspect);
    try {
      return await this.#startReserved(number, kind, isolation);
    } catch (thrown) {
      this.own.remove(number);
      throw thrown;
    }
  }

  #startReserved(number: number, kind: string | null, isolation: Isolation): Promise<HostThread> {
    return this.#starts.run(() => this.#pool.start(number, kind, isolation));
  }
}

/** A host of the other isolation than that of the shared hosts. */
interface OtherHost {
  /** Bots that wait for this host. */
  coming: number;
  /** `now` is absent while the host starts. */
  started: { host: Promise<HostThread>; now?: HostThread } | undefined;
}

function startOther(host: Promise<HostThread>): NonNullable<OtherHost['started']> {
  const started: NonNullable<OtherHost['started']> = { host };
  host.then(
    (now) => {
      started.now = now;
    },
    () => {},
  );
  return started;
}

function botsOf({ coming, started }: OtherHost): number {
  return coming + (started?.now?.state === 'reserved' ? started.now.bots : 0);
}
