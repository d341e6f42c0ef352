// Runs in main. Chooses the host of each bot. Owns the queue for shared hosts, and the reserved hosts by what they are for.

import { Deferred } from '../../shared/deferred.js';
import { Semaphore } from '../../shared/semaphore.js';
import type { HostThread } from '../threads/host-thread.js';
import { kindMissing } from './host-starter.js';
import { NoPlace } from './no-place.js';
import type { Group, Quarantine } from './quarantine.js';

/** What a bot needs of a host. */
export interface Wanted {
  id: string;
  kind: string;
  /** It shares its host with no other bot. */
  dedicated: boolean;
}

/** What placement needs of the pool. */
export interface PlacementPool {
  /** All hosts whose threads exist. */
  hosts(): Iterable<HostThread>;
  /** Starts a host that is reserved for some bots, with one kind, or with all. @throws NoPlace */
  start(number: number, kind: string | null): Promise<HostThread>;
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
  readonly #maxDedicated: number;
  /** Those who wait for a shared host. Bounded by the number of bots. */
  #waiting: Deferred[] = [];
  /** Hosts of a quarantine group, or of one kind, also while they start. Bounded by MAX_GROUPS. */
  readonly #groups = new Map<Group | string, Promise<HostThread>>();
  /** Numbers of dedicated hosts, also of those that are to start. Bounded by `hosts.max_dedicated`. */
  readonly #dedicated = new Set<number>();
  readonly #starts = new Semaphore({
    permits: STARTS_AT_ONCE,
    // Bounded by the number of bots.
    maxQueued: Number.POSITIVE_INFINITY,
  });
  #nextNumber: number;

  constructor(
    limits: { count: number; maxDedicated: number },
    quarantine: Quarantine,
    pool: PlacementPool,
  ) {
    this.#sharedCount = limits.count;
    this.#maxDedicated = limits.maxDedicated;
    this.#nextNumber = limits.count;
    this.#quarantine = quarantine;
    this.#pool = pool;
  }

  /**
   * A place for one more bot: a dedicated host, that of its quarantine group, or the shared host that has its kind and the
   * fewest bots. Waits while a shared host is being replaced, if no other has the kind. @throws NoPlace
   */
  async place({ id, kind, dedicated }: Wanted): Promise<HostThread> {
    if (dedicated) return this.#occupy(await this.#startDedicated(kind), kind);
    const group = this.#quarantine.groupOf(id, Date.now());
    for (;;) {
      const quarantined = group && (await this.#hostOf(group, null));
      if (quarantined) return this.#occupy(quarantined, kind);
      const shared = [...this.#pool.hosts()].filter(({ state }) => state === 'shared');
      let best: HostThread | undefined;
      for (const host of shared) {
        if (!host.kinds.has(kind)) continue;
        if (best === undefined || host.bots < best.bots) best = host;
      }
      if (best) return this.#occupy(best, kind);
      if (shared.length === this.#sharedCount) {
        // It is not tried on a host that has bots: it could end them.
        const reserved = await this.#hostOf(kind, kind);
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
    this.#dedicated.delete(host.number);
  }

  /** @param wanted how many bots are to have a dedicated host. @throws NoPlace when one more may not. */
  admitDedicated(wanted: number): void {
    if (Math.max(wanted, this.#dedicated.size) >= this.#maxDedicated) {
      throw new NoPlace(
        `limit of bots with a dedicated host reached (hosts.max_dedicated is ${this.#maxDedicated})`,
      );
    }
  }

  #occupy(host: HostThread, kind: string): HostThread {
    host.bots += 1;
    if (host.kinds.has(kind)) return host;
    this.#pool.leave(host);
    throw kindMissing(kind, `it did not load on bot host ${host.number}`);
  }

  /** The host of a group, undefined when the limit of such hosts is reached. @param kind the only one to load, or all. */
  async #hostOf(group: Group | string, kind: string | null): Promise<HostThread | undefined> {
    for (;;) {
      const started = this.#groups.get(group) ?? this.#addGroup(group, kind);
      const host = await started;
      if (!host || host.state === 'reserved') return host;
      // It was lost meanwhile, or ends with its last bot.
      if (this.#groups.get(group) === started) this.#groups.delete(group);
    }
  }

  #addGroup(group: Group | string, kind: string | null): Promise<HostThread> | undefined {
    if (this.#groups.size >= MAX_GROUPS) return undefined;
    const started = this.#startReserved(this.#nextNumber++, kind);
    this.#groups.set(group, started);
    const forget = (): void => {
      if (this.#groups.get(group) === started) this.#groups.delete(group);
    };
    started.then((host) => host.gone.then(forget), forget);
    return started;
  }

  async #startDedicated(kind: string): Promise<HostThread> {
    this.admitDedicated(0);
    const number = this.#nextNumber++;
    this.#dedicated.add(number);
    try {
      return await this.#startReserved(number, kind);
    } catch (thrown) {
      this.#dedicated.delete(number);
      throw thrown;
    }
  }

  #startReserved(number: number, kind: string | null): Promise<HostThread> {
    return this.#starts.run(() => this.#pool.start(number, kind));
  }
}
