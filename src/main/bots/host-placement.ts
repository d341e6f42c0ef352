// Runs in main. Chooses the host of each bot. Owns the queue for shared hosts, and the reserved hosts by what they are for.

import type { Isolation } from '../../shared/contract/bots.js';
import { Deferred } from '../../shared/deferred.js';
import { Semaphore } from '../../shared/semaphore.js';
import type { HostThread } from '../threads/host-thread.js';
import { kindMissing } from './host-starter.js';
import { OwnHosts } from './own-hosts.js';
import type { Group, Quarantine } from './quarantine.js';

/** What a bot needs of a host. */
export interface Wanted {
  id: string;
  kind: string;
  /** It shares its host with no other bot. */
  dedicated: boolean;
  /** The same, because it broke its host. */
  isSuspect?: boolean;
  /** What the host runs in; that of the shared hosts when absent. */
  isolation?: Isolation;
  /** It shares its host with the bots of this group only. */
  group?: string | undefined;
}

/** What placement needs of the pool. */
export interface PlacementPool {
  /** All hosts whose threads exist. */
  hosts(): Iterable<HostThread>;
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
  readonly #sharedCount: number;
  /** What the shared hosts run in. */
  readonly #isolation: Isolation;
  readonly own: OwnHosts;
  /** Those who wait for a shared host. Bounded by the number of bots. */
  #waiting: Deferred[] = [];
  /** Hosts of a quarantine group, or of one kind, also while they start. Bounded by MAX_GROUPS. */
  readonly #groups = new Map<Group | string, Promise<HostThread>>();
  /** The hosts of the groups that bots name, by isolation and name, also while they start. Bounded like {@link own}. */
  readonly #named = new Map<string, Promise<HostThread>>();
  /** Hosts that bots share which run in something else than the shared hosts. As many as those, started when needed. */
  readonly #others: OtherHost[];
  readonly #starts = new Semaphore({
    permits: STARTS_AT_ONCE,
    // Bounded by the number of bots.
    maxQueued: Number.POSITIVE_INFINITY,
  });
  #nextNumber: number;

  constructor(
    limits: { count: number; maxDedicated: number; isolation?: Isolation },
    quarantine: Quarantine,
    pool: PlacementPool,
  ) {
    this.#sharedCount = limits.count;
    this.#isolation = limits.isolation ?? 'thread';
    this.#others = Array.from({ length: limits.count }, () => ({ coming: 0, started: undefined }));
    this.own = new OwnHosts(limits.maxDedicated);
    this.#nextNumber = limits.count;
    this.#quarantine = quarantine;
    this.#pool = pool;
  }

  /**
   * A place for one more bot: a dedicated host, that of its group or quarantine group, or the shared host that has its kind and
   * the fewest bots. Waits while a shared host is being replaced, if no other has the kind. @throws NoPlace
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
      // Another isolation: it was changed since then.
      if (quarantined?.isolation === isolation) return this.#occupy(quarantined, kind);
      if (isolation !== this.#isolation) return this.#placeOther(kind, isolation);
      const shared = [...this.#pool.hosts()].filter(({ state }) => state === 'shared');
      let best: HostThread | undefined;
      for (const host of shared) {
        if (!host.kinds.has(kind)) continue;
        if (best === undefined || host.bots < best.bots) best = host;
      }
      if (best) return this.#occupy(best, kind);
      if (shared.length === this.#sharedCount) {
        // It is not tried on a host that has bots: it could end them.
        const reserved = await this.#hostOf(kind, kind, isolation);
        if (!reserved) throw kindMissing(kind, 'there are too many other bot hosts');
        return this.#occupy(reserved, kind);
      }
      const offered = new Deferred();
      this.#waiting.push(offered);
      await offered.promise;
    }
  }

  /** There is another shared host. */
  offer(): void {
    for (const waiting of this.#waiting.splice(0)) waiting.resolve();
  }

  /** The host takes no more bots. */
  withdraw(host: HostThread): void {
    this.own.remove(host.number);
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

  /** The one with the fewest bots, of those that are not what the shared hosts are. */
  async #placeOther(kind: string, isolation: Isolation): Promise<HostThread> {
    for (;;) {
      let other = this.#others[0] as OtherHost;
      for (const one of this.#others) if (botsOf(one) < botsOf(other)) other = one;
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

/** A place for a host that runs in something else than the shared hosts. */
interface OtherHost {
  /** Bots that wait for it. */
  coming: number;
  /** `now` is absent while it starts. */
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
