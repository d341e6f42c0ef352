// Runs in main. Owns the watches of `drover start --watch`: a saved file of a kind is rolled out to its bots at once.

import { type FSWatcher, statSync, watch } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { messageOf } from '../../shared/errors.js';
import type { KindReload } from '../bots/kind-reload.js';
import { isShipped, type KindVersions } from '../bots/kind-versions.js';
import type { BotRegistry } from '../bots/registry.js';
import type { Rollouts } from './rollouts.js';

export interface KindWatchParts {
  versions: KindVersions;
  registry: Pick<BotRegistry, 'idsOfKind'>;
  reload: Pick<KindReload, 'reload' | 'prepare'>;
  rollouts: Pick<Rollouts, 'start'>;
  /** `kinds` of the configuration. */
  places: readonly string[];
  say: (level: 'info' | 'error', line: string) => void;
}

/** Editors write a file in several steps, and several files at once, in ms. */
const SETTLE_MS = 50;
/** A bot whose kind names no status in which it is ready has to run for so long, in ms. */
const HEALTHY_MS = 1000;
const ACTOR = { name: 'drover start --watch', token: '' };

export class KindWatch {
  readonly #parts: KindWatchParts;
  /** By directory. Bounded by the directories of the kinds' files. */
  readonly #watchers = new Map<string, FSWatcher>();
  /** The last version of each kind that was rolled out. Bounded by the number of kinds. */
  readonly #tried = new Map<string, string>();
  #timer: NodeJS.Timeout | undefined;
  #isBusy = false;
  /** A file has changed since the last look began. */
  #isDue = false;
  #isStopped = false;

  constructor(parts: KindWatchParts) {
    this.#parts = parts;
  }

  /** @returns the directories. */
  start(): string[] {
    this.#watchAll();
    return [...this.#watchers.keys()];
  }

  stop(): void {
    this.#isStopped = true;
    clearTimeout(this.#timer);
    for (const watcher of this.#watchers.values()) watcher.close();
  }

  #watchAll(): void {
    const files = [...this.#parts.versions.all()].flatMap(({ module, files: own }) =>
      isShipped(module) ? [] : own.map(({ url }) => fileURLToPath(url)),
    );
    const places = this.#parts.places.map((place) => resolve(place)).filter(isDirectory);
    for (const directory of new Set([...files.map((file) => dirname(file)), ...places])) {
      if (this.#watchers.has(directory) || !isDirectory(directory)) continue;
      const watcher = watch(directory, () => this.#changed());
      // The directory is gone: its files are no kinds any more.
      watcher.on('error', () => {
        watcher.close();
        this.#watchers.delete(directory);
      });
      this.#watchers.set(directory, watcher);
    }
  }

  #changed(): void {
    this.#isDue = true;
    if (this.#isBusy || this.#isStopped) return;
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => void this.#look(), SETTLE_MS);
  }

  async #look(): Promise<void> {
    this.#isBusy = true;
    this.#isDue = false;
    const { versions, reload, say } = this.#parts;
    const own = [...versions.all()].filter(({ module }) => !isShipped(module));
    const changed = own.filter(({ kind }) => versions.hasChanged(kind));
    try {
      // Files that are of no kind yet may be a new one.
      if (changed.length === 0) await reload.reload(null);
      for (const { kind } of changed) await this.#rollOut(kind);
    } catch (thrown) {
      say('error', messageOf(thrown));
    }
    this.#watchAll();
    this.#isBusy = false;
    // What was saved meanwhile.
    if (this.#isDue) this.#changed();
  }

  /** @throws DroverError when the files do not load, or bots do not run with them. */
  async #rollOut(kind: string): Promise<void> {
    const { registry, reload, rollouts, versions, say } = this.#parts;
    const bots = registry.idsOfKind(kind);
    const prepared = await reload.prepare(kind);
    const [version] = prepared.versions;
    // Saved without a change, or changed back.
    if (!version || version.id === versions.current(kind)?.id) return;
    if (this.#tried.get(kind) === version.id) return;
    this.#tried.set(kind, version.id);
    if (bots.length === 0) {
      await prepared.commit();
      return;
    }
    const operation = await rollouts.start({
      ...{ bots, version, isWhole: true, config: null, mayRedirect: true, actor: ACTOR },
      ...{ canary: 0, promoteAfterMs: null, healthyMs: HEALTHY_MS },
      options: { parallel: bots.length, stagger_ms: 0, max_failed: 0 },
    });
    await operation.ended;
    const { counts, reason } = operation.record;
    if (counts.failed === 0) {
      say('info', `${kind} ${version.id} runs (bots: ${counts.done})`);
      return;
    }
    const failed = operation.bots.find(({ result }) => result === 'failed');
    say('error', `${kind} ${version.id}: ${failed?.text ?? reason}; its bots go back`);
  }
}

function isDirectory(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() ?? false;
}
