// Runs in main. Owns the store's file and its copy.

import { copyFileSync, renameSync, rmSync } from 'node:fs';
import { open as openFile, rename, rm } from 'node:fs/promises';
import { dirname } from 'node:path';
import { open, type RootDatabase } from 'lmdb';
import { messageOf, StartupError } from '../../shared/errors.js';
import { faultOf, MISSING, setAside, sizeOf } from '../../shared/lmdb/file-fault.js';
import { lockFileOf, reserveLockFile } from '../../shared/lmdb/lock-file.js';
import { PROGRAMS } from '../../shared/package-paths.js';

/** How long after a change the copy is renewed, in ms. It contains all changes until then. */
const COPY_AFTER_MS = 2000;
/** Wait after a failed copy, in ms. */
const RETRY_MS = 30_000;

/** One LMDB file with a database each for tokens, bots and incidents. */
export class Store {
  readonly root: RootDatabase;
  /** Messages for the operator about how it was opened. */
  readonly notices: readonly string[];
  readonly #copy: string;
  #timer: NodeJS.Timeout | undefined;
  /** The copy that is being written. */
  #copying: Promise<void> | undefined;
  #changedMeanwhile = false;
  #hasFailed = false;
  /** Called with a line when copies start to fail, and when they succeed again. Set by the service. */
  report: (level: 'info' | 'error', line: string) => void = () => {};

  private constructor(path: string, notices: readonly string[]) {
    this.#copy = copyOf(path);
    this.notices = notices;
    reserveLockFile(path);
    this.root = open({ path, noSubdir: true, maxDbs: 12 });
  }

  /**
   * Opens or creates the store. A broken or empty file is never written to: it is renamed, and the last copy replaces it,
   * as it replaces a missing file. Without a copy a new store is created. A file that cannot be checked (permissions,
   * memory, open files) stays as it is.
   * @param stopping ends the check. @throws StartupError when the directory does not allow it, or the check did not
   * complete.
   */
  static async open(path: string, stopping?: AbortSignal): Promise<Store> {
    try {
      return new Store(path, await prepare(path, stopping));
    } catch (thrown) {
      throw new StartupError(`the store ${path} cannot be opened: ${messageOf(thrown)}`);
    }
  }

  /** To be called after each change. Schedules a new copy. */
  changed(): void {
    // A change during a copy may not be in it.
    if (this.#copying) this.#changedMeanwhile = true;
    else if (!this.#timer) this.#renewIn(COPY_AFTER_MS);
  }

  #renewIn(ms: number): void {
    this.#timer = setTimeout(() => void this.#renewCopy(), ms);
    this.#timer.unref();
  }

  async close(): Promise<void> {
    await this.#copying;
    if (this.#timer) await this.#renewCopy();
    await this.root.close();
  }

  #renewCopy(): Promise<void> {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#copying = this.#copyAll().finally(() => {
      this.#copying = undefined;
      if (this.#hasFailed) this.#renewIn(RETRY_MS);
      else if (this.#changedMeanwhile) this.changed();
      this.#changedMeanwhile = false;
    });
    return this.#copying;
  }

  async #copyAll(): Promise<void> {
    const fresh = `${this.#copy}.new`;
    try {
      await rm(fresh, { force: true });
      await this.root.backup(fresh, true);
      // Synced before the rename: after a power failure there is the old copy or the new one.
      await sync(fresh, 'r+');
      await rename(fresh, this.#copy);
      await syncDirectory(dirname(this.#copy));
      if (this.#hasFailed) this.report('info', 'the store is copied again');
      this.#hasFailed = false;
    } catch (thrown) {
      // The store is intact, and the old copy stays. Reported once, not for every try.
      if (!this.#hasFailed) {
        const why = messageOf(thrown);
        this.report('error', `the store could not be copied to ${this.#copy}: ${why}`);
      }
      this.#hasFailed = true;
    }
  }
}

const copyOf = (path: string): string => `${path}.copy`;

/** Replaces a broken or missing file by its copy. @returns messages for the operator. */
async function prepare(path: string, stopping?: AbortSignal): Promise<string[]> {
  const copy = copyOf(path);
  const fault = await faultOf(path, PROGRAMS.verifyStore, stopping);
  const isNew = fault === MISSING && sizeOf(copy) === undefined;
  if (fault === undefined || isNew) return [];
  const copyFault = await faultOf(copy, PROGRAMS.verifyStore, stopping);

  let what = `the store ${path} was missing`;
  if (fault !== MISSING) what = `the store ${path} was broken (${fault}) and ${setAside(path)}`;
  // The lock file belongs to the old file.
  rmSync(lockFileOf(path), { force: true });
  if (copyFault === undefined) {
    // Renamed when complete: a crash must not leave a partial store.
    const fresh = `${path}.new`;
    copyFileSync(copy, fresh);
    await sync(fresh, 'r+');
    renameSync(fresh, path);
    await syncDirectory(dirname(path));
    return [`${what}; its last copy has taken its place`];
  }
  // Renamed too, because the new store's copy would overwrite it, and data may be recovered from it.
  const lost =
    copyFault === MISSING ? '' : ` (it was broken too: ${copyFault}; it ${setAside(copy)})`;
  return [`${what}; there is no good copy of it${lost}, a new one begins empty`];
}

async function sync(path: string, flags: string): Promise<void> {
  const file = await openFile(path, flags);
  try {
    await file.sync();
  } finally {
    await file.close();
  }
}

/** Makes a rename in the directory durable. */
async function syncDirectory(path: string): Promise<void> {
  // Not possible and not needed on Windows.
  if (process.platform !== 'win32') await sync(path, 'r');
}
