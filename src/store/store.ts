// Runs in main. Owns the store's file: opens it, sets a broken one aside, keeps a copy to come back to.

import { spawnSync } from 'node:child_process';
import { copyFileSync, existsSync, renameSync, rmSync, statSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { open, type RootDatabase } from 'lmdb';
import { messageOf, StartupError } from '../errors.js';

/** How long after a change the copy is renewed, in ms; the changes that came meanwhile are in it. */
const COPY_AFTER_MS = 2000;
const VERIFIER = fileURLToPath(new URL('./verify-store.js', import.meta.url));

/** The service's store: one LMDB file with a database for each kind of thing. */
export class Store {
  readonly root: RootDatabase;
  /** What the operator should know of how it was opened. */
  readonly notices: readonly string[];
  readonly #copy: string;
  #timer: NodeJS.Timeout | undefined;

  /**
   * Opens or makes the store. One that is broken or empty is never written to: it is set aside under another name and
   * the last copy takes its place, when there is one.
   * @throws StartupError when the directory does not allow it.
   */
  constructor(path: string) {
    this.#copy = `${path}.copy`;
    try {
      const fault = faultOf(path);
      this.notices = fault === undefined ? [] : [replace(path, fault, this.#copy)];
      this.root = open({ path, noSubdir: true, maxDbs: 12 });
    } catch (thrown) {
      throw new StartupError(`the store ${path} cannot be opened: ${messageOf(thrown)}`);
    }
  }

  /** To be called after each change: the copy is renewed soon, however many more changes come. */
  changed(): void {
    if (this.#timer) return;
    this.#timer = setTimeout(() => void this.#renewCopy(), COPY_AFTER_MS);
    this.#timer.unref();
  }

  async close(): Promise<void> {
    if (this.#timer) await this.#renewCopy();
    await this.root.close();
  }

  async #renewCopy(): Promise<void> {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    const fresh = `${this.#copy}.new`;
    try {
      rmSync(fresh, { force: true });
      await this.root.backup(fresh, true);
      renameSync(fresh, this.#copy);
    } catch {
      // The store itself is whole; the old copy stays until the next change.
    }
  }
}

/** Why the file cannot be used, undefined when it can or is not there. */
function faultOf(path: string): string | undefined {
  if (!existsSync(path)) return undefined;
  if (statSync(path).size === 0) return 'it is empty';
  const { status, signal, stderr } = spawnSync(process.execPath, [VERIFIER, path], {
    encoding: 'utf8',
  });
  if (status === 0) return undefined;
  return signal === null
    ? stderr.trim().split('\n').at(-1) || 'it cannot be read'
    : 'it cannot be read';
}

function replace(path: string, fault: string, copy: string): string {
  const aside = `${path}.broken-${Date.now()}`;
  renameSync(path, aside);
  rmSync(`${path}-lock`, { force: true });
  const what = `the store ${path} was broken (${fault}) and is set aside as ${aside}`;
  if (faultOf(copy) !== undefined || !existsSync(copy)) {
    return `${what}; there is no good copy of it, a new one begins empty`;
  }
  copyFileSync(copy, path);
  return `${what}; its last copy has taken its place`;
}
