// Runs in main. Starts hosts with their kinds, and drops kinds that break a host. Owns the list of kinds to load.

import { setTimeout as delay } from 'node:timers/promises';
import type { Isolation, LoadedKinds } from '../../shared/contract/bots.js';
import type { HostThread, KindSet } from '../threads/host-thread.js';
import { KindBrokeHost, KindUnclear } from '../threads/kind-loading.js';
import type { KindModules } from './kind-modules.js';
import type { KindQuarantine } from './kind-quarantine.js';
import { type KindVersion, KindVersions, trusted, versionsOf } from './kind-versions.js';
import { NoHostError } from './no-host.js';

export interface StartedHost {
  host: HostThread;
  loaded: LoadedKinds;
}

/**
 * Starts one host, shared by all bots or reserved for some.
 * @param inTurn its modules are loaded one after the other. @param isolation absent for that of the shared hosts.
 * @throws KindBrokeHost, KindUnclear
 */
type Start = (
  number: number,
  use: 'share' | 'reserve',
  set: KindSet,
  inTurn: boolean,
  isolation?: Isolation,
) => Promise<StartedHost>;

export interface HostStarterParts {
  versions: KindVersions;
  quarantine: Pick<KindQuarantine, 'holdOf'>;
  start: Start;
  /** Is told about a kind that a later host does without. */
  dropped: (host: number, module: string, reason: string) => void;
  /** Ends a host that has no bots. */
  discard: (host: HostThread) => void;
}

/** Pause before a host loads a kind again that broke it, in ms. */
const LOAD_AGAIN_MS = 1000;

export class HostStarter {
  readonly #parts: HostStarterParts;

  constructor(parts: HostStarterParts) {
    this.#parts = parts;
  }

  /**
   * Starts the first host alone: it finds out which kinds break a host, and of which versions they are. The others do without the
   * former.
   */
  async startFirst(modules: Pick<KindModules, 'modules' | 'programs'>): Promise<LoadedKinds> {
    const { versions } = this.#parts;
    const failed: LoadedKinds['failed'] = [];
    const start = this.#starting(0, 'share');
    let set = KindVersions.unread(modules);
    for (;;) {
      try {
        const { host, loaded } = await start(set);
        const read = trusted(await host.readFiles(), host.isolation);
        const found = versionsOf(loaded.kinds, host.kinds, read, set.programs);
        for (const version of found) {
          versions.use(version);
          host.kinds.set(version.kind, { module: version.module, version: version.id });
        }
        return { kinds: loaded.kinds, failed: [...failed, ...loaded.failed] };
      } catch (thrown) {
        if (!(thrown instanceof KindBrokeHost)) throw thrown;
        const { message } = thrown;
        failed.push(...thrown.modules.map((module) => ({ module, error: message })));
        set = without(set, thrown.modules);
      }
    }
  }

  /**
   * Starts a later host, in two tries: a kind may break it because the first host has a port or lock, or on a busy machine.
   * @param first a version that it is to have in any case.
   */
  async start(
    number: number,
    use: 'share' | 'reserve',
    isolation?: Isolation,
    first?: KindVersion,
  ): Promise<HostThread> {
    const { versions, quarantine, dropped } = this.#parts;
    let set = versions.set((kind) => quarantine.holdOf(kind) !== null, first);
    const tried = new Set<string>();
    const start = this.#starting(number, use, isolation);
    for (;;) {
      try {
        return (await start(set)).host;
      } catch (thrown) {
        if (!(thrown instanceof KindBrokeHost)) throw thrown;
        const again = thrown.modules.filter((module) => tried.has(module));
        for (const module of again) dropped(number, module, thrown.message);
        set = without(set, again);
        for (const module of thrown.modules) tried.add(module);
        if (again.length === 0) await delay(LOAD_AGAIN_MS, undefined, { ref: false });
      }
    }
  }

  /** Loads the modules in turn from the first time on at which it was not clear which one broke the host. */
  #starting(
    number: number,
    use: 'share' | 'reserve',
    isolation?: Isolation,
  ): (set: KindSet) => Promise<StartedHost> {
    let inTurn = false;
    return async (set) => {
      try {
        return await this.#parts.start(number, use, set, inTurn, isolation);
      } catch (thrown) {
        if (!(thrown instanceof KindUnclear)) throw thrown;
        inTurn = true;
        return this.#parts.start(number, use, set, inTurn, isolation);
      }
    };
  }

  /** Starts a reserved host with this version alone. @throws NoPlace when it does not load. */
  async startWith(
    number: number,
    version: KindVersion,
    isolation?: Isolation,
  ): Promise<HostThread> {
    const { kind } = version;
    const set = KindVersions.only(version);
    try {
      const { host, loaded } = await this.#parts.start(number, 'reserve', set, true, isolation);
      if (host.kinds.has(kind)) return host;
      this.#parts.discard(host);
      throw kindMissing(kind, loaded.failed[0]?.error ?? 'it is not known');
    } catch (thrown) {
      if (thrown instanceof KindBrokeHost) throw kindMissing(kind, thrown.message);
      throw thrown;
    }
  }
}

function without(set: KindSet, broken: readonly string[]): KindSet {
  return { ...set, modules: set.modules.filter((module) => !broken.includes(module)) };
}

export function kindMissing(kind: string, reason: string): NoHostError {
  return new NoHostError(`no bot host has the bot kind ${kind}: ${reason}`);
}
