// Runs in main. Owns the contents of the files of kinds as of the start of the service.

import { createHash } from 'node:crypto';
import { readFileSync, statSync } from 'node:fs';
import * as nodeModule from 'node:module';
import type { KeptSource } from '../../shared/contract/host-messages.js';

/** Whether later hosts run the code that the first one has read (src/bot-host/kind-sources.ts). */
export const KEEPS_SOURCES = 'registerHooks' in nodeModule;

interface FileState {
  digest: string;
  /** Size and time of the last look. */
  look: string;
  hasChanged: boolean;
}

export class KindFiles {
  /** By module URL. */
  readonly #files = new Map<string, FileState>();
  #kinds: ReadonlyMap<string, string> = new Map();
  #helpers: readonly string[] = [];
  #sources: readonly KeptSource[] | null = null;

  constructor(modules: readonly string[]) {
    for (const module of modules) {
      const look = lookAt(module);
      if (look !== null)
        this.#files.set(module, { digest: digestOf(module), look, hasChanged: false });
    }
  }

  /** What the first host has read; null before it has. */
  get sources(): readonly KeptSource[] | null {
    return this.#sources;
  }

  keep(sources: readonly KeptSource[]): void {
    this.#sources = sources;
  }

  /** @param kinds the module of each. @param helpers files that are no kinds. Kinds in their directory may import them. */
  loaded(kinds: ReadonlyMap<string, string>, helpers: readonly string[]): void {
    this.#kinds = kinds;
    this.#helpers = helpers;
  }

  /** Of the code of each kind as of the start, short, by kind: its module and the files of its directory that are no kinds. */
  digests(): Map<string, string> {
    const digests = new Map<string, string>();
    for (const kind of this.#kinds.keys()) {
      const files = this.#filesOf(kind).map((file) => this.#files.get(file)?.digest ?? '');
      if (files.length === 0) continue;
      digests.set(kind, createHash('sha256').update(files.join()).digest('hex').slice(0, 8));
    }
    return digests;
  }

  /**
   * Whether a kind's module, or a file of its directory that is no kind, holds something else now than at the start. A file
   * that is gone has changed.
   */
  hasChanged(kind: string): boolean {
    return this.#filesOf(kind).some((one) => this.#isOther(one));
  }

  #filesOf(kind: string): string[] {
    const module = this.#kinds.get(kind);
    // A program of the configuration has no file.
    if (module === undefined || !URL.canParse(module)) return [];
    const folder = new URL('.', module).href;
    return [module, ...this.#helpers.filter((helper) => new URL('.', helper).href === folder)];
  }

  #isOther(module: string): boolean {
    const file = this.#files.get(module);
    if (!file) return false;
    const look = lookAt(module);
    if (look === file.look) return file.hasChanged;
    file.look = look ?? '';
    file.hasChanged = look === null || digestOf(module) !== file.digest;
    return file.hasChanged;
  }
}

/** Whether the file of a kind has this text. */
export function isOnDisk({ url, text }: KeptSource): boolean {
  try {
    return readFileSync(new URL(url), 'utf8') === text;
  } catch {
    return false;
  }
}

/** Null when there is none, or it cannot be reached. */
function lookAt(module: string): string | null {
  try {
    const stats = statSync(new URL(module));
    return `${stats.mtimeMs} ${stats.size} ${stats.ino}`;
  } catch {
    return null;
  }
}

/** Empty when it cannot be read. */
function digestOf(module: string): string {
  try {
    return createHash('sha256')
      .update(readFileSync(new URL(module)))
      .digest('base64');
  } catch {
    return '';
  }
}
