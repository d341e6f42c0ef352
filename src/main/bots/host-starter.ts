// Runs in main. Starts hosts with their kinds, and drops kinds that break a host. Owns the list of kinds to load.

import { setTimeout as delay } from 'node:timers/promises';
import type { Isolation, LoadedKinds } from '../../shared/contract/bots.js';
import type { HostThread } from '../threads/host-thread.js';
import { KindBrokeHost, KindUnclear } from '../threads/kind-loading.js';
import type { KindQuarantine } from './kind-quarantine.js';
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
  modules: readonly string[],
  inTurn: boolean,
  isolation?: Isolation,
) => Promise<StartedHost>;

/** Pause before a host loads a kind again that broke it, in ms. */
const LOAD_AGAIN_MS = 1000;

export class HostStarter {
  readonly #start: Start;
  readonly #dropped: (host: number, module: string, reason: string) => void;
  readonly #discard: (host: HostThread) => void;
  /** The modules that hosts load: all but those that broke the first host. */
  #modules: readonly string[];
  readonly #quarantine: Pick<KindQuarantine, 'holdOf'>;
  /** The module of each kind, as the first host has found it. */
  #kinds: ReadonlyMap<string, string> = new Map();

  /** @param dropped is told about a kind that a later host does without. @param discard ends a host that has no bots. */
  constructor(
    modules: readonly string[],
    quarantine: Pick<KindQuarantine, 'holdOf'>,
    start: Start,
    dropped: (host: number, module: string, reason: string) => void,
    discard: (host: HostThread) => void,
  ) {
    this.#modules = modules;
    this.#quarantine = quarantine;
    this.#start = start;
    this.#dropped = dropped;
    this.#discard = discard;
  }

  /** Starts the first host alone: it finds out which kinds break a host, and the others do without them. */
  async startFirst(): Promise<LoadedKinds> {
    const failed: LoadedKinds['failed'] = [];
    const start = this.#starting(0, 'share');
    for (;;) {
      try {
        const { host, loaded } = await start(this.#modules);
        this.#kinds = host.kinds;
        return { kinds: loaded.kinds, failed: [...failed, ...loaded.failed] };
      } catch (thrown) {
        if (!(thrown instanceof KindBrokeHost)) throw thrown;
        const { modules, message } = thrown;
        failed.push(...modules.map((module) => ({ module, error: message })));
        this.#modules = this.#modules.filter((other) => !modules.includes(other));
      }
    }
  }

  /** Starts a later host, in two tries: a kind may break it because the first host has a port or lock, or on a busy machine. */
  async start(
    number: number,
    use: 'share' | 'reserve',
    isolation?: Isolation,
  ): Promise<HostThread> {
    let modules = this.#released();
    const tried = new Set<string>();
    const start = this.#starting(number, use, isolation);
    for (;;) {
      try {
        return (await start(modules)).host;
      } catch (thrown) {
        if (!(thrown instanceof KindBrokeHost)) throw thrown;
        const again = thrown.modules.filter((module) => tried.has(module));
        for (const module of again) this.#dropped(number, module, thrown.message);
        modules = modules.filter((other) => !again.includes(other));
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
  ): (modules: readonly string[]) => Promise<StartedHost> {
    let inTurn = false;
    return async (modules) => {
      try {
        return await this.#start(number, use, modules, inTurn, isolation);
      } catch (thrown) {
        if (!(thrown instanceof KindUnclear)) throw thrown;
        inTurn = true;
        return this.#start(number, use, modules, inTurn, isolation);
      }
    };
  }

  /** The modules of kinds that are not quarantined. */
  #released(): readonly string[] {
    const held = [...this.#kinds].filter(([kind]) => this.#quarantine.holdOf(kind) !== null);
    const modules = new Set(held.map(([, module]) => module));
    return this.#modules.filter((module) => !modules.has(module));
  }

  /** Starts a reserved host with this kind alone. @throws NoPlace when the kind does not load. */
  async startWith(number: number, kind: string, isolation?: Isolation): Promise<HostThread> {
    const module = this.#kinds.get(kind);
    try {
      const modules = module === undefined ? [] : [module];
      const { host, loaded } = await this.#start(number, 'reserve', modules, true, isolation);
      if (host.kinds.has(kind)) return host;
      this.#discard(host);
      throw kindMissing(kind, loaded.failed[0]?.error ?? 'it is not known');
    } catch (thrown) {
      if (thrown instanceof KindBrokeHost) throw kindMissing(kind, thrown.message);
      throw thrown;
    }
  }
}

export function kindMissing(kind: string, reason: string): NoHostError {
  return new NoHostError(`no bot host has the bot kind ${kind}: ${reason}`);
}
