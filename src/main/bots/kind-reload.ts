// Runs in main. Reads kinds again while the service runs, and makes what it finds the versions with which bots start.

import { isDeepStrictEqual } from 'node:util';
import type {
  Difference,
  Isolation,
  KindInfo,
  LoadedKinds,
  ReloadedKind,
  ReloadedKinds,
} from '../../shared/contract/bots.js';
import type { Config } from '../../shared/contract/config.js';
import type { JsonObject } from '../../shared/contract/json.js';
import { firstOf } from '../../shared/counted.js';
import { DroverError, messageOf } from '../../shared/errors.js';
import { noKind } from '../../shared/no-bot.js';
import { Semaphore } from '../../shared/semaphore.js';
import type { StartLink } from '../threads/host-link.js';
import type { HostPool } from './host-pool.js';
import { allFailed, findKinds, type KindModules, programOptions } from './kind-modules.js';
import type { KindQuarantine } from './kind-quarantine.js';
import { KindSchemas } from './kind-schemas.js';
import type { KindStates } from './kind-states.js';
import { type TriedKinds, tryKinds } from './kind-trial.js';
import { contents, isShipped, type KindVersion, type KindVersions } from './kind-versions.js';
import type { BotRegistry } from './registry.js';

export interface KindReloadParts {
  config: Config;
  /** What was found until now. */
  kinds: KindModules;
  versions: KindVersions;
  schemas: KindSchemas;
  quarantine: KindQuarantine;
  hosts: Pick<HostPool, 'renew' | 'threads'>;
  registry: Pick<BotRegistry, 'specs' | 'releaseKind' | 'versionOf'>;
  /** Starts a host, by isolation. */
  states: KindStates;
  links: Readonly<Record<Isolation, StartLink>>;
  say: (line: string) => void;
}

/** What was read and can be used. Nothing has changed yet. */
export interface PreparedReload {
  versions: readonly KindVersion[];
  /** @throws DroverError `conflict` when bots of a kind could not be started, or a rollout of it is under way. */
  check(): void;
  /** Makes it the versions with which bots start. @throws DroverError like {@link KindReload.reload}. */
  commit(): Promise<ReloadedKinds>;
}

const NOTHING: TriedKinds = { kinds: [], failed: [], versions: [], schemas: new KindSchemas() };
/** Bots that an error names; the others are counted. */
const NAMED_BOTS = 3;
/** Reloads that wait for the one that is under way; further ones are refused. */
const MAX_WAITING = 8;

export class KindReload {
  readonly #parts: KindReloadParts;
  readonly #turn = new Semaphore({ permits: 1, maxQueued: MAX_WAITING });

  constructor(parts: KindReloadParts) {
    this.#parts = parts;
  }

  /**
   * Reads a kind again, or all of them and new ones. Nothing that runs is touched.
   * @param kind null for all. @throws DroverError `not_found`; `conflict` with the reason when something is wrong, and then nothing changes.
   */
  async reload(kind: string | null): Promise<ReloadedKinds> {
    return this.#turn.run(async () => {
      const prepared = await this.prepare(kind);
      return prepared.commit();
    });
  }

  /** Drops the versions that no bot runs or can go back to. */
  forget(): void {
    const { hosts, states, versions } = this.#parts;
    const used = new Set(
      [...hosts.threads()].flatMap((host) =>
        [...host.kinds].map(([kind, { version }]) => `${kind}@${version}`),
      ),
    );
    versions.forget(({ kind, id }) => used.has(`${kind}@${id}`) || states.names(kind, id));
  }

  /** The first half of {@link reload}. @param config where kinds are looked for. @throws like it. */
  async prepare(kind: string | null, config = this.#parts.config): Promise<PreparedReload> {
    const { kinds } = this.#parts;
    const found = findKinds(config.kinds, programOptions(config));
    const modules = this.#modulesOf(kind, found);
    const isolation = (kind && config.hosts.isolation_by_kind[kind]) || config.hosts.isolation;
    const { programs } = found;
    const set = { modules, programs, startLink: this.#parts.links[isolation] };
    const tried = modules.length === 0 ? NOTHING : await tryKinds(config, set);
    const failed = allFailed(found, tried.failed);
    const versions = tried.versions.filter((one) => kind === null || one.kind === kind);
    if (kind !== null && versions.length === 0) throw this.#missing(kind, modules, failed);
    const lost = this.#own().filter(
      (own) => kind === null && versions.every((one) => one.kind !== own.kind),
    );
    // A kind without bots may go.
    const gone = lost.filter(
      (own) => !found.modules.includes(own.module) && !this.#isUsed(own.kind),
    );
    for (const one of lost) {
      if (!gone.includes(one)) throw this.#missing(one.kind, [one.module], failed);
    }
    const check = (): void => {
      for (const version of versions) {
        this.#checkFree(version);
        this.#check(version, tried);
      }
    };
    return {
      versions,
      check,
      commit: async () => {
        check();
        for (const one of gone) this.#drop(one);
        return this.#commit(versions, kind === null ? failed : kinds.failed);
      },
    };
  }

  #isUsed(kind: string): boolean {
    return this.#parts.registry.specs().some((spec) => spec.kind === kind);
  }

  #drop({ kind }: KindVersion): void {
    const { versions, schemas, say } = this.#parts;
    versions.drop(kind);
    schemas.drop(kind);
    say(`the bot kind ${kind} is gone`);
  }

  /** The kinds that do not ship. */
  #own(): KindVersion[] {
    return [...this.#parts.versions.all()].filter(({ module }) => !isShipped(module));
  }

  /** The modules to read: that of the kind, all that are of no known kind when the kind is not known, or all. */
  #modulesOf(kind: string | null, found: KindModules): readonly string[] {
    const all = found.modules.filter((module) => !isShipped(module));
    if (kind === null) return all;
    const known = this.#parts.versions.current(kind);
    if (!known) {
      const others = new Set(this.#own().map(({ module }) => module));
      return all.filter((module) => !others.has(module));
    }
    if (isShipped(known.module)) {
      throw new DroverError('conflict', `the bot kind ${kind} is part of Drover`);
    }
    if (!all.includes(known.module)) throw this.#missing(kind, [known.module], found.failed);
    return [known.module];
  }

  #missing(kind: string, modules: readonly string[], failed: LoadedKinds['failed']): DroverError {
    const why = failed.find(({ module }) => modules.includes(module));
    if (!this.#parts.versions.current(kind)) return noKind(kind);
    const reason = why ? `${why.module}: ${why.error}` : `${modules[0]} is not there any more`;
    return refused(kind, reason);
  }

  /** @throws DroverError `conflict` when bots of the kind could not be started with this version. */
  #check({ kind }: KindVersion, { schemas }: TriedKinds): void {
    const { registry, versions } = this.#parts;
    const faults = registry.specs().flatMap((spec): string[] => {
      if (spec.kind !== kind || versions.isPinned(spec)) return [];
      try {
        schemas.checkConfig(kind, spec.config);
        return [];
      } catch (thrown) {
        return [`${spec.id}: ${messageOf(thrown)}`];
      }
    });
    if (faults.length === 0) return;
    const named = firstOf(faults, NAMED_BOTS);
    throw refused(kind, `configurations would not be valid any more: ${named}`);
  }

  /** @throws DroverError `conflict` when a rollout gives bots of the kind one by one another version. */
  #checkFree({ kind }: KindVersion): void {
    const rollout = this.#parts.states.openRollout(kind);
    if (rollout !== null) throw refused(kind, `rollout ${rollout} is under way`);
  }

  /** @param failed the modules that are no kinds. */
  async #commit(
    read: readonly KindVersion[],
    failed: LoadedKinds['failed'],
  ): Promise<ReloadedKinds> {
    const { versions, schemas, kinds, hosts, say, states } = this.#parts;
    await Promise.all(read.map(({ kind }) => states.reloaded(kind)));
    kinds.failed = failed;
    const changed = read.map((version): ReloadedKind => {
      const before = versions.current(version.kind);
      versions.use(version);
      schemas.add([version.info], versions.modules(), failed);
      const isNew = version.id !== before?.id;
      if (isNew) say(`the bot kind ${version.kind} has version ${version.id}${since(before)}`);
      return { ...changeOf(before, version), ...this.#bots(version, isNew) };
    });
    this.forget();
    if (changed.some(({ version, before }) => version !== before)) hosts.renew();
    return { kinds: changed, failed: kinds.failed };
  }

  #bots(version: KindVersion, isNew: boolean): Pick<ReloadedKind, 'bots' | 'released'> {
    const { registry, quarantine } = this.#parts;
    const { kind, id } = version;
    // Other code may not break hosts.
    const isReleased = isNew && quarantine.holdOf(kind) !== null;
    const released = isReleased ? registry.releaseKind(kind) : 0;
    const running = registry.specs().filter((spec) => {
      const runs = spec.kind === kind ? registry.versionOf(spec.id) : null;
      return runs !== null && runs !== id;
    });
    return { bots: running.length, released };
  }
}

function refused(kind: string, reason: string): DroverError {
  return new DroverError('conflict', `the bot kind ${kind} is not reloaded: ${reason}`);
}

function since(before: KindVersion | undefined): string {
  return before ? ` from now on, before it ${before.id}` : ' and is new';
}

function changeOf(
  before: KindVersion | undefined,
  after: KindVersion,
): Omit<ReloadedKind, 'bots' | 'released'> {
  const { kind, id, info } = after;
  return {
    kind,
    version: id,
    before: before?.id ?? null,
    files: difference(filesOf(before), filesOf(after)),
    config: difference(keysOf(before?.info), keysOf(info)),
    commands: difference(before?.info.commands ?? {}, info.commands),
  };
}

function filesOf(version: KindVersion | undefined): Record<string, string> {
  return version ? Object.fromEntries(contents(version.files, version.module)) : {};
}

function keysOf(info: KindInfo | undefined): JsonObject {
  return (info?.config['properties'] ?? {}) as JsonObject;
}

function difference(before: object, after: object): Difference {
  const [from, to] = [new Map(Object.entries(before)), new Map(Object.entries(after))];
  const names = [...to.keys()];
  return {
    added: names.filter((name) => !from.has(name)),
    removed: [...from.keys()].filter((name) => !to.has(name)),
    changed: names.filter(
      (name) => from.has(name) && !isDeepStrictEqual(from.get(name), to.get(name)),
    ),
  };
}
