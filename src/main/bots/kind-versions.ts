// Runs in main. Owns the versions of the kinds: what each consists of, which one is current, and with which files hosts load them.

import { createHash } from 'node:crypto';
import { readFileSync, statSync } from 'node:fs';
import { isAbsolute, posix, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { BotSpec, Isolation, KindInfo, ListedVersion } from '../../shared/contract/bots.js';
import type { KeptSource, ReadFiles } from '../../shared/contract/host-messages.js';
import type { Program, Programs } from '../../shared/contract/programs.js';
import { shippedKind } from '../../shared/package-paths.js';
import { VERSION } from '../../shared/version.js';
import type { HostedKind, KindSet } from '../threads/host-thread.js';
import { type KindModules, SHIPPED } from './kind-modules.js';

/** A kind as it was read at some time. Versions with the same id are the same code. */
export interface KindVersion {
  /** 8 hexadecimal digits: a hash of the files, of the definition of a program, and of the names and versions of packages. */
  readonly id: string;
  readonly kind: string;
  /** The URL of its module, or the name of its program. */
  readonly module: string;
  /** `<name>@<version>` of the package that it is part of; null for none. */
  readonly package: string | null;
  readonly info: KindInfo;
  /** Its files, without those of packages. */
  readonly files: readonly KeptSource[];
  readonly program?: Program;
}

/** How a file looked when it was last compared. */
interface Look {
  seen: string;
  isSame: boolean;
}

/** The format of a file that a program consists of. Its text is a hash, because only the program reads it. */
const OF_PROGRAM = 'program';

const SHIPPED_MODULES = new Set(SHIPPED.map((kind) => shippedKind(kind).href));
/** Files of a program that are larger are told apart by size and time only, in bytes. */
const MAX_READ = 16 * 2 ** 20;

export class KindVersions {
  /** By kind, in the order in which they were loaded. */
  readonly #current = new Map<string, KindVersion>();
  /** The version that bots of a rollout have while it is not over for the whole kind, by the id of the rollout. */
  readonly #rollouts = new Map<string, string>();
  /** By kind and id. Those that nobody uses any more are dropped with {@link forget}. */
  readonly #known = new Map<string, KindVersion>();
  /** What {@link hasChanged} has seen, by kind and URL. Bounded by the files of the current versions. */
  readonly #looks = new Map<string, Map<string, Look>>();

  /** The version with which bots of the kind start; undefined for a kind that is not known. */
  current(kind: string): KindVersion | undefined {
    return this.#current.get(kind);
  }

  /** The id of the version with which the bot is started. Empty for an unknown kind. */
  idFor({ kind, rollout }: Pick<BotSpec, 'kind' | 'rollout'>): string {
    const id = rollout && this.#rollouts.get(rollout.id);
    return id !== undefined && this.get(kind, id) ? id : (this.#current.get(kind)?.id ?? '');
  }

  /** Whether a rollout has given the bot a version. */
  isPinned({ rollout }: Pick<BotSpec, 'rollout'>): boolean {
    return rollout !== undefined && this.#rollouts.has(rollout.id);
  }

  /** Bots of this rollout have this version from now on; null: the current one of their kind. */
  pin(rollout: string, version: KindVersion | null): void {
    if (version) this.know(version);
    if (version) this.#rollouts.set(rollout, version.id);
    else this.#rollouts.delete(rollout);
  }

  /** There is no such kind any more. */
  drop(kind: string): void {
    this.#current.delete(kind);
    this.#looks.delete(kind);
  }

  /** It can be used from now on. */
  know(version: KindVersion): void {
    this.#known.set(`${version.kind}@${version.id}`, version);
  }

  /** Undefined when it is not known, or not any more. */
  get(kind: string, id: string): KindVersion | undefined {
    return this.#known.get(`${kind}@${id}`);
  }

  all(): IterableIterator<KindVersion> {
    return this.#current.values();
  }

  /** The id of the current version of each kind. */
  ids(): Map<string, string> {
    return new Map([...this.#current].map(([kind, { id }]) => [kind, id]));
  }

  /** The module of each kind. */
  modules(): Map<string, string> {
    return new Map([...this.#current].map(([kind, { module }]) => [kind, module]));
  }

  /** @param running how many bots run each version of the kind. */
  list(kind: string, running: ReadonlyMap<string, number>): ListedVersion[] {
    const current = this.#current.get(kind);
    const others = [...running.keys()].filter((id) => id !== current?.id);
    return [...(current ? [current.id] : []), ...others].map((id) => ({
      version: id,
      package: this.get(kind, id)?.package ?? null,
      is_current: id === current?.id,
      bots: running.get(id) ?? 0,
    }));
  }

  /** Bots of its kind start with it from now on. */
  use(version: KindVersion): void {
    this.know(version);
    this.#current.set(version.kind, version);
    this.#looks.delete(version.kind);
  }

  /** Drops the versions that are not current, that no rollout has given to bots, and that nobody uses. */
  forget(isUsed: (version: KindVersion) => boolean): void {
    const pinned = new Set(this.#rollouts.values());
    for (const [key, version] of this.#known) {
      if (this.#current.get(version.kind) === version || pinned.has(version.id)) continue;
      if (!isUsed(version)) this.#known.delete(key);
    }
  }

  /**
   * What a host loads for bots of all kinds: the current versions. A kind is left out when it shares a file with one before it, and
   * the two were read at times at which the file differed: a thread loads a file once.
   * @param without kinds that are left out. @param first a version that is loaded in any case, in place of the current one.
   */
  set(without: (kind: string) => boolean, first?: KindVersion): KindSet {
    const texts = new Map<string, KeptSource>();
    const programs: Record<string, Program> = {};
    const versions = new Map<string, string>();
    const others = [...this.#current.values()].filter(({ kind }) => kind !== first?.kind);
    for (const version of first ? [first, ...others] : others) {
      const { files, module, program, id, kind } = version;
      if (version !== first && without(kind)) continue;
      if (files.some(({ url, text }) => (texts.get(url)?.text ?? text) !== text)) continue;
      if (program) programs[module] = program;
      else for (const file of files) texts.set(file.url, file);
      versions.set(module, id);
    }
    return { modules: [...versions.keys()], versions, sources: [...texts.values()], programs };
  }

  /** What a host loads to find out about the versions of these modules. */
  static unread({ modules, programs }: Pick<KindModules, 'modules' | 'programs'>): KindSet {
    const isRead = (module: string): boolean => isShipped(module) || module in programs;
    const versions = new Map(modules.filter(isRead).map((module) => [module, '']));
    return { modules, versions, sources: [], programs };
  }

  /** What a host loads that has bots of one version only. */
  static only({ module, id, files, program }: KindVersion): KindSet {
    const sources = program ? [] : files;
    const programs = program ? { [module]: program } : {};
    return { modules: [module], versions: new Map([[module, id]]), sources, programs };
  }

  /** Whether a file of the kind holds something else now than in the current version. A file that is gone has changed. */
  hasChanged(kind: string): boolean {
    return this.#current.get(kind)?.files.some((file) => !this.#isUnchanged(kind, file)) ?? false;
  }

  #isUnchanged(kind: string, file: KeptSource): boolean {
    const looks = this.#looks.get(kind) ?? new Map<string, Look>();
    this.#looks.set(kind, looks);
    const seen = lookAt(file.url);
    let look = looks.get(file.url);
    if (look?.seen !== seen) {
      look = { seen, isSame: isOnDisk(file) };
      looks.set(file.url, look);
    }
    return look.isSame;
  }
}

/** Whether a module is that of a kind that ships: it changes with Drover only. */
export function isShipped(module: string): boolean {
  return SHIPPED_MODULES.has(module);
}

/**
 * The versions of kinds that a host has loaded.
 * @param modules the module of each kind. @param read what the host says that they consist of; null when it does not answer.
 */
export function versionsOf(
  kinds: readonly KindInfo[],
  modules: ReadonlyMap<string, Pick<HostedKind, 'module'>>,
  read: ReadFiles | null,
  programs: Programs,
): KindVersion[] {
  const sources = new Map(read?.sources.map((source) => [source.url, source]));
  return kinds.map((info): KindVersion => {
    const { kind } = info;
    const module = modules.get(kind)?.module ?? kind;
    const base = { kind, module, info };
    if (isShipped(module)) {
      return { ...base, package: `drover@${VERSION}`, files: [], id: hashOf([VERSION]) };
    }
    const program = programs[module];
    if (program) {
      const files = programFiles(program, module);
      const { definition, cwd } = program;
      const id = hashOf([definition, cwd, contents(files, module)]);
      return { ...base, package: null, files, program, id };
    }
    const urls = read?.imports[module] ?? [module];
    const files = urls.flatMap((url) => sources.get(url) ?? []);
    const packages = urls.filter((url) => url.includes('/node_modules/')).map(packageOf);
    const own = packageOf(module);
    // A host that does not answer has not said which files it has read.
    const code = read ? contents(files, module) : digestOf(module);
    const id = hashOf([own, [...new Set(packages)].sort(), code]);
    return { ...base, package: own, files, id };
  });
}

/** What a process says that it has read is not run elsewhere unless it is so. */
export function trusted(read: ReadFiles | null, isolation: Isolation): ReadFiles | null {
  if (!read || isolation === 'thread') return read;
  return { ...read, sources: read.sources.filter(isOnDisk) };
}

/** Whether the file of a kind has this text. */
export function isOnDisk({ url, text, format }: KeptSource): boolean {
  try {
    if (format === OF_PROGRAM) return digestOf(url) === text;
    return readFileSync(new URL(url), 'utf8') === text;
  } catch {
    return false;
  }
}

/** Size and time of a file, and which one it is; empty when it cannot be reached. */
function lookAt(url: string): string {
  const stats = statSync(new URL(url), { throwIfNoEntry: false });
  return stats ? `${stats.mtimeMs} ${stats.size} ${stats.ino}` : '';
}

function hashOf(parts: unknown): string {
  return createHash('sha256').update(JSON.stringify(parts)).digest('hex').slice(0, 8);
}

/** By the paths relative to the module, so that a copy in another place, or on another node, is the same version. */
export function contents(files: readonly KeptSource[], module: string): [string, string][] {
  const from = URL.canParse(module) ? posix.dirname(new URL(module).pathname) : '/';
  return files
    .map(({ url, text }): [string, string] => [posix.relative(from, new URL(url).pathname), text])
    .sort(([a], [b]) => (a < b ? -1 : 1));
}

/** `<name>@<version>` of the package with this file; null when there is none, or it says no version. */
function packageOf(url: string): string | null {
  if (!URL.canParse(url)) return null;
  for (let folder = new URL('.', url); ; folder = new URL('..', folder)) {
    try {
      const { name, version } = JSON.parse(
        readFileSync(new URL('package.json', folder), 'utf8'),
      ) as { name?: unknown; version?: unknown };
      if (typeof name === 'string') {
        return typeof version === 'string' ? `${name}@${version}` : null;
      }
    } catch {
      // There is none, or it cannot be read.
    }
    if (folder.pathname === new URL('..', folder).pathname) return null;
  }
}

/** The manifest of a program is part of its definition; these are the files that its command names. */
function programFiles({ definition, cwd }: Program, module: string): KeptSource[] {
  const manifest = URL.canParse(module) ? [new URL(module).href] : [];
  const named = definition.command
    .filter((word) => isAbsolute(word) || word.includes('/') || word.includes('.'))
    .map((word) => pathToFileURL(resolve(cwd, word)).href);
  return [...new Set([...manifest, ...named])].flatMap((url) => {
    const text = digestOf(url);
    return text === null ? [] : [{ url, format: OF_PROGRAM, text }];
  });
}

/** Null when it is no file, or cannot be read. */
function digestOf(url: string): string | null {
  try {
    const stats = statSync(new URL(url));
    if (!stats.isFile()) return null;
    if (stats.size > MAX_READ) return `${stats.size} bytes of ${stats.mtimeMs}`;
    return createHash('sha256')
      .update(readFileSync(new URL(url)))
      .digest('hex');
  } catch {
    return null;
  }
}
