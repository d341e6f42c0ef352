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
  /** Of the kind: see KindVersions. */
  version: string;
  /** The bot shares its host with no other. */
  dedicated: boolean;
  /** The bot shares its host with no other because it broke one. */
  isSuspect?: boolean;
  /** Thread or process; when absent, as the shared hosts. */
  isolation?: Isolation;
  /** The bot shares its host with the bots of this group only. */
  group?: string | undefined;
}

/** The code that a bot runs. */
type Code = Pick<Wanted, 'kind' | 'version'>;

/** The part of the pool that placement uses. */
export interface PlacementPool {
  /** All hosts whose threads exist. */
  hosts(): Iterable<HostThread>;
  /** Starts a shared host, and tries until it has. */
  share(number: number): void;
  /**
   * Starts a host that is reserved for some bots. @param isAlone whether it loads this code only, or with it the current versions of
   * all other kinds. @throws NoPlace
   */
  start(number: number, code: Code, isAlone: boolean, isolation: Isolation): Promise<HostThread>;
  /** A bot has left the host. */
  leave(host: HostThread): void;
}

/** Hosts for quarantined bots. At the limit further ones stay on shared hosts. */
const MAX_GROUPS = 8;
/**
 * Versions of kinds that run beside those of the shared hosts, each in its own hosts. At the limit bots of further ones are not
 * placed, and their restart policy tries again.
 */
const MAX_VERSIONS = 64;
/** Bots of such a version for which there is one more host, up to as many as there are shared hosts. */
const VERSION_BOTS = 50;
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
  /** Hosts of a quarantine group, also while they start. Bounded by MAX_GROUPS. */
  readonly #groups = new Map<Group | string, Promise<HostThread>>();
  /** The hosts of the groups that bots name, by isolation and name, also while they start. Bounded like {@link own}. */
  readonly #named = new Map<string, Promise<HostThread>>();
  /**
   * Hosts that bots share which run in something else than the shared hosts, by isolation, and those with a version that the shared
   * hosts do not have, by isolation and version. As many of each as shared hosts may be, started when needed.
   */
  readonly #others = new Map<string, OtherHost[]>();
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
    const { id, dedicated, isSuspect = false, isolation = this.#isolation } = wanted;
    if (dedicated || isSuspect) {
      return this.#occupy(await this.#startOwn(wanted, true, isolation, !dedicated), wanted);
    }
    // What one bot of it does to its host is the others' by choice: they are not quarantined.
    if (wanted.group !== undefined) return this.#placeNamed(wanted.group, wanted, isolation);
    const group = this.#quarantine.groupOf(id, Date.now());
    for (;;) {
      const quarantined = group && (await this.#hostOf(group, wanted, isolation));
      // The isolation of the group was changed meanwhile.
      if (quarantined?.isolation === isolation) return this.#occupy(quarantined, wanted);
      if (isolation !== this.#isolation) return this.#placeOther(wanted, isolation, false);
      const shared = [...this.#pool.hosts()].filter(({ state }) => state === 'shared');
      let best: HostThread | undefined;
      for (const host of shared) {
        if (!runs(host, wanted)) continue;
        if (best === undefined || host.bots < best.bots) best = host;
      }
      const isFull = this.#hosts.most > this.#hosts.count && best && best.bots >= FULL_BOTS;
      if (isFull) this.#share(shared);
      const isComing = shared.length < this.#sharedCount;
      if (best && !(isFull && isComing && !this.#isFailing)) {
        return this.#occupy(best, wanted);
      }
      // The code is not loaded by a host that has bots: it could end them, and a thread that loads a kind again keeps the old one.
      if (!isComing) return this.#placeOther(wanted, isolation, true);
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

  #occupy(host: HostThread, code: Code): HostThread {
    host.bots += 1;
    if (runs(host, code)) return host;
    this.#pool.leave(host);
    throw kindMissing(code.kind, `it did not load on bot host ${host.number}`);
  }

  /** The bot goes to another host. One that was started for it alone ends. */
  #pass(host: HostThread): void {
    if (host.bots > 0) return;
    host.bots += 1;
    this.#pool.leave(host);
  }

  async #placeNamed(name: string, code: Code, isolation: Isolation): Promise<HostThread> {
    let key = `${isolation} ${name}`;
    for (;;) {
      let started = this.#named.get(key);
      if (!started) {
        started = this.#startOwn(code, false, isolation, false);
        this.#named.set(key, started);
        const forget = (): void => {
          if (this.#named.get(key) === started) this.#named.delete(key);
        };
        started.then((host) => host.gone.then(forget), forget);
      }
      const host = await started;
      const other = keyBeside(key, host, code);
      if (host.state === 'reserved' && other === key) return this.#occupy(host, code);
      // It was lost meanwhile, or ends with its last bot.
      if (host.state !== 'reserved' && this.#named.get(key) === started) this.#named.delete(key);
      else this.#pass(host);
      key = other;
    }
  }

  /** The host with the fewest bots among those of another isolation, or of one version. */
  async #placeOther(code: Code, isolation: Isolation, isAlone: boolean): Promise<HostThread> {
    const key = isAlone ? `${isolation} ${nameOf(code)}` : isolation;
    for (;;) {
      const others = this.#othersOf(key, code);
      const bots = others.reduce((sum, one) => sum + botsOf(one), 1);
      const wanted = isAlone
        ? Math.min(others.length, Math.ceil(bots / VERSION_BOTS))
        : Math.max(this.#hosts.count, Math.ceil(bots / FULL_BOTS));
      let other = others[0] as OtherHost;
      for (const one of others.slice(0, wanted)) if (botsOf(one) < botsOf(other)) other = one;
      other.started ??= startOther(
        this.#startReserved(this.#nextNumber++, code, isAlone, isolation),
      );
      const { started } = other;
      other.coming += 1;
      try {
        const host = await started.host;
        const isThere = host.state === 'reserved';
        if (isThere && !isAlone && !runs(host, code)) {
          return await this.#placeOther(code, isolation, true);
        }
        if (isThere) return this.#occupy(host, code);
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

  #othersOf(key: string, { kind }: Code): OtherHost[] {
    let others = this.#others.get(key);
    if (others) return others;
    for (const [other, hosts] of this.#others) {
      if (hosts.every((one) => one.coming === 0 && isOver(one))) this.#others.delete(other);
    }
    if (this.#others.size >= MAX_VERSIONS) {
      throw kindMissing(kind, 'too many versions of kinds run already');
    }
    others = Array.from({ length: this.#hosts.most }, () => ({ coming: 0, started: undefined }));
    this.#others.set(key, others);
    return others;
  }

  /** The host of a quarantine group, undefined when the limit of such hosts is reached. */
  async #hostOf(
    group: Group | string,
    code: Code,
    isolation: Isolation,
  ): Promise<HostThread | undefined> {
    let key = group;
    for (;;) {
      const started = this.#groups.get(key) ?? this.#addGroup(key, code, isolation);
      const host = await started;
      if (!host) return host;
      const other = keyBeside(key, host, code);
      if (host.state === 'reserved' && other === key) return host;
      // It was lost meanwhile, or ends with its last bot.
      if (host.state !== 'reserved' && this.#groups.get(key) === started) this.#groups.delete(key);
      else this.#pass(host);
      key = other;
    }
  }

  #addGroup(
    group: Group | string,
    code: Code,
    isolation: Isolation,
  ): Promise<HostThread> | undefined {
    if (this.#groups.size >= MAX_GROUPS) return undefined;
    const started = this.#startReserved(this.#nextNumber++, code, false, isolation);
    this.#groups.set(group, started);
    const forget = (): void => {
      if (this.#groups.get(group) === started) this.#groups.delete(group);
    };
    started.then((host) => host.gone.then(forget), forget);
    return started;
  }

  /** A host that counts for `hosts.max_dedicated`. @throws NoPlace */
  async #startOwn(
    code: Code,
    isAlone: boolean,
    isolation: Isolation,
    isSuspect: boolean,
  ): Promise<HostThread> {
    if (isSuspect) this.own.admitSuspect();
    else this.own.admit(0);
    const number = this.#nextNumber++;
    this.own.add(number, isSuspect);
    try {
      return await this.#startReserved(number, code, isAlone, isolation);
    } catch (thrown) {
      this.own.remove(number);
      throw thrown;
    }
  }

  #startReserved(
    number: number,
    code: Code,
    isAlone: boolean,
    isolation: Isolation,
  ): Promise<HostThread> {
    return this.#starts.run(() => this.#pool.start(number, code, isAlone, isolation));
  }
}

function runs({ kinds }: HostThread, { kind, version }: Code): boolean {
  return kinds.get(kind)?.version === version;
}

function nameOf({ kind, version }: Code): string {
  return `${kind}@${version}`;
}

/** The key of the host beside this one that has the code; the same key when this one has it, or should have loaded it. */
function keyBeside<K>(key: K, host: HostThread, code: Code): K | string {
  const beside = ` ${nameOf(code)}`;
  return runs(host, code) || String(key).endsWith(beside) ? key : `${key}${beside}`;
}

/** A host that is none of the shared ones. */
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

/** It has ended, or was never started. */
function isOver({ started }: OtherHost): boolean {
  return started === undefined || (started.now !== undefined && started.now.state !== 'reserved');
}

function botsOf({ coming, started }: OtherHost): number {
  return coming + (started?.now?.state === 'reserved' ? started.now.bots : 0);
}
