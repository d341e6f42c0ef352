// Runs in main. Owns the bot kinds, with the validators of their configurations and command arguments.

import { parse } from 'node:path';
import type { ValidateFunction } from 'ajv';
import type { KindInfo, LoadedKinds } from '../../shared/contract/bots.js';
import { CommandArgs, checkedCopy, compileAs } from '../../shared/contract/command-args.js';
import type { Json, JsonObject } from '../../shared/contract/json.js';
import {
  changedSecrets,
  redirectedSecrets,
  replaceSecrets,
  secretPaths,
  withoutSecrets,
} from '../../shared/contract/secrets.js';
import { DroverError, messageOf } from '../../shared/errors.js';
import { kindAjv } from '../../shared/kind-ajv.js';
import { lazy } from '../../shared/lazy.js';
import { noKind } from '../../shared/no-bot.js';
import { SHIPPED } from './kind-modules.js';
import type { KindVersion, KindVersions } from './kind-versions.js';

interface CompiledKind {
  info: KindInfo;
  config: () => ValidateFunction;
  defaults: JsonObject;
}

/** Methods take the id of a version; without it, and where it is not known, the current version counts. */
export class KindSchemas {
  /** Of other versions than the current ones, while those are known. */
  readonly #others = new WeakMap<KindVersion, CompiledKind>();
  readonly #versions: Pick<KindVersions, 'get'> | undefined;
  readonly #kinds = new Map<string, CompiledKind>();

  /** Lines for the authors of kinds. */
  readonly notices: string[] = [];
  /** Modules that are no kinds or did not load, to say why a kind is unknown. */
  #failed: LoadedKinds['failed'] = [];

  /** @param versions absent where kinds have one version only. */
  constructor(versions?: Pick<KindVersions, 'get'>) {
    this.#versions = versions;
  }

  /**
   * Compiles the schemas of these kinds. Those of the kinds that ship are known to be valid, and are compiled when they
   * are needed, which saves 50 ms of each start.
   * @param modules the module of each kind. @param before the modules that have failed until now.
   * @returns all that have failed: also those with an invalid schema, with the reason in one line. They cannot be used.
   */
  add(
    kinds: readonly KindInfo[],
    modules: ReadonlyMap<string, string> = new Map(),
    before: LoadedKinds['failed'] = [],
  ): LoadedKinds['failed'] {
    const failed = [...before];
    // It never forgets a schema: with one for each reload, those of old versions go with them.
    const ajv = kindAjv();
    for (const info of kinds) {
      const compiled: CompiledKind = {
        info,
        config: lazy(() => ajv().compile(info.config)),
        defaults: this.#kinds.get(info.kind)?.defaults ?? {},
      };
      const { kind } = info;
      try {
        if (!SHIPPED.includes(kind)) {
          compileAs('config', compiled.config);
          new CommandArgs(info.kind, info.commands, ajv).compile();
        }
        this.#kinds.set(kind, compiled);
        for (const format of formatsOf(info)) {
          if (Object.hasOwn(ajv().formats, format)) continue;
          const name = JSON.stringify(format);
          this.notices.push(`the bot kind ${kind}: there is no format ${name}, use a pattern`);
        }
      } catch (thrown) {
        failed.push({ module: modules.get(kind) ?? kind, error: messageOf(thrown) });
      }
    }
    this.#failed = failed;
    return failed;
  }

  #of(kind: string, version: string | undefined): CompiledKind | undefined {
    const current = this.#kinds.get(kind);
    const other = version === undefined ? undefined : this.#versions?.get(kind, version);
    if (!other || other.info.config === current?.info.config) return current;
    let compiled = this.#others.get(other);
    if (!compiled) {
      const { info } = other;
      const ajv = kindAjv();
      compiled = { info, config: lazy(() => ajv().compile(info.config)), defaults: {} };
      this.#others.set(other, compiled);
    }
    return compiled;
  }

  /** There is no such kind any more. */
  drop(kind: string): void {
    this.#kinds.delete(kind);
  }

  /** A run of the kind has these commands. They are shown as those of the kind, until another offers some. */
  offer(kind: string, commands: KindInfo['commands']): void {
    const compiled = this.#kinds.get(kind);
    if (compiled) compiled.info = { ...compiled.info, commands };
  }

  /** Values that are only known at run time, for keys that a bot's configuration leaves out. */
  setDefaults(kind: string, defaults: JsonObject): void {
    const compiled = this.#kinds.get(kind);
    if (compiled) compiled.defaults = defaults;
  }

  /** A copy of the configuration without values that its schema marks as `writeOnly`: passwords can be set, not read. */
  withoutSecrets(kind: string, config: JsonObject, version?: string): JsonObject {
    const schema = this.#of(kind, version)?.info.config;
    return schema ? withoutSecrets(config, schema) : {};
  }

  /** Paths of the secrets in the configuration. */
  secretPaths(kind: string, config: JsonObject, version?: string): string[] {
    const schema = this.#of(kind, version)?.info.config;
    return schema ? secretPaths(config, schema) : [];
  }

  /** A copy of the configuration with other values in place of its secrets. */
  replaceSecrets(
    kind: string,
    config: JsonObject,
    replacement: (path: string) => Json,
  ): JsonObject {
    const schema = this.#kinds.get(kind)?.info.config;
    // Without its schema nobody knows which values are secret.
    return schema ? replaceSecrets(config, schema, replacement) : {};
  }

  /** Paths of the secrets that have changed. */
  changedSecrets(kind: string, before: JsonObject, after: JsonObject): string[] {
    const schema = this.#kinds.get(kind)?.info.config;
    return schema ? changedSecrets(before, after, schema) : [];
  }

  /** The forms in which a configuration may have been shown: as it was given, and with defaults filled in. */
  views(kind: string, config: JsonObject): JsonObject[] {
    const forms = [config];
    try {
      forms.push(this.checkConfig(kind, config));
    } catch {
      // The configuration is no longer valid, so it cannot have been shown with defaults.
    }
    return forms.map((form) => this.withoutSecrets(kind, form));
  }

  /**
   * Refuses a change that may send a secret elsewhere which its sender has not given: who may change a bot need not know
   * its passwords.
   * @param stored the configuration after the change. @throws DroverError `bad_request`, `forbidden`.
   */
  checkRedirects(kind: string, config: JsonObject, stored: JsonObject, change: JsonObject): void {
    const schema = this.#kinds.get(kind)?.info.config;
    let [before, after] = [config, this.checkConfig(kind, stored)];
    try {
      before = this.checkConfig(kind, config);
    } catch {
      // The configuration is no longer valid, so its defaults are unknown.
      after = stored;
    }
    if (!schema) return;
    const { secrets, keys } = redirectedSecrets({ before, after, stored, change }, schema);
    if (secrets.length === 0 || keys.length === 0) return;
    throw new DroverError(
      'forbidden',
      `a change of config.${keys[0]} may send secrets elsewhere: give ${listed(secrets)} again, or use a token with the scope admin`,
    );
  }

  /** In the order in which the kinds were loaded. Keys with a value known at run time are not required. */
  infos(): KindInfo[] {
    return [...this.#kinds.values()].map(({ info, defaults }) => ({
      ...info,
      config: withOptional(info.config, Object.keys(defaults)),
    }));
  }

  has(kind: string): boolean {
    return this.#kinds.has(kind);
  }

  /** @throws DroverError `not_found` */
  expectKind(kind: string): void {
    if (!this.#kinds.has(kind)) throw noKind(kind);
  }

  /** A copy of the configuration with defaults filled in. @throws DroverError `bad_request` in one line. */
  checkConfig(kind: string, config: JsonObject, version?: string): JsonObject {
    const compiled = this.#of(kind, version);
    if (!compiled) {
      throw new DroverError(
        'bad_request',
        `unknown kind ${JSON.stringify(kind)}${this.#whyUnknown(kind)}`,
      );
    }
    return checkedCopy(compiled.config(), 'config', { ...compiled.defaults, ...config });
  }

  #whyUnknown(kind: string): string {
    const broken = this.#failed.filter(({ helper }) => !helper);
    // The file of a kind usually has its name.
    const own = broken.find(({ module }) => parse(module).name.replace(/\.program$/, '') === kind);
    if (own) return `: ${own.module} did not load: ${own.error}`;
    const known = [...this.#kinds.keys()].join(', ');
    const why =
      broken.length === 0
        ? 'drover kinds reload finds new ones'
        : `modules that did not load: ${broken.length}, see GET /api/kinds`;
    return `; there are: ${known} (${why})`;
  }
}

/** The values of `format` in the schemas of a kind. */
function formatsOf({ config, commands }: KindInfo): Set<string> {
  const found = new Set<string>();
  JSON.stringify([config, commands], (key, value: unknown) => {
    if (key === 'format' && typeof value === 'string') found.add(value);
    return value;
  });
  return found;
}

/** The first few; a list in a configuration may have many. */
function listed(secrets: readonly string[]): string {
  const shown = secrets.slice(0, 3).map((path) => `config.${path}`);
  const more = secrets.length - shown.length;
  return more > 0 ? `${shown.join(', ')} and ${more} more` : shown.join(' and ');
}

function withOptional(schema: KindInfo['config'], keys: readonly string[]): KindInfo['config'] {
  const { required } = schema;
  if (keys.length === 0 || !Array.isArray(required)) return schema;
  return { ...schema, required: required.filter((key) => !keys.includes(key as string)) };
}
