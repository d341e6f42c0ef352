// Runs in main. Owns the store's file: opens it, sets a broken one aside, keeps a copy to come back to.

import { copyFileSync, renameSync, rmSync } from 'node:fs';
import { open as openFile, rename, rm } from 'node:fs/promises';
import { dirname } from 'node:path';
import { open, type RootDatabase } from 'lmdb';
import { messageOf, StartupError } from '../../shared/errors.js';
import { faultOf, MISSING, setAside, sizeOf } from '../../shared/lmdb/file-fault.js';
import { lockFileOf, reserveLockFile } from '../../shared/lmdb/lock-file.js';
import { PROGRAMS } from '../../shared/package-paths.js';

/** How long after a change the copy is renewed, in ms; the changes that came meanwhile are in it. */
const COPY_AFTER_MS = 2000;
/** How long after a copy that failed the next is tried, in ms. */
const RETRY_MS = 30_000;

/** The service's store: one LMDB file with a database for each kind of thing. */
export class Store {
  readonly root: RootDatabase;
  /** What the operator should know of how it was opened. */
  readonly notices: readonly string[];
  readonly #copy: string;
  #timer: NodeJS.Timeout | undefined;
  /** The copy that is being made. */
  #copying: Promise<void> | undefined;
  #changedMeanwhile = false;
  #hasFailed = false;
  /** Is told in a line when copies begin to fail, and when they are made again. To be set by whoever can say it. */
  report: (level: 'info' | 'error', line: string) => void = () => {};

  private constructor(path: string, notices: readonly string[]) {
    this.#copy = copyOf(path);
    this.notices = notices;
    reserveLockFile(path);
    this.root = open({ path, noSubdir: true, maxDbs: 12 });
  }

  /**
   * Opens or makes the store. One that is broken or empty is never written to: it is set aside under another name and
   * the last copy takes its place, as it does of one that is missing. Without any copy a new store begins.
   * One that cannot be checked (rights, memory, open files) is left where it is.
   * @param stopping ends the search for faults. @throws StartupError when the directory does not allow it, or
   * when it was not found out whether the store is broken.
   */
  static async open(path: string, stopping?: AbortSignal): Promise<Store> {
    try {
      return new Store(path, await prepare(path, stopping));
    } catch (thrown) {
      throw new StartupError(`the store ${path} cannot be opened: ${messageOf(thrown)}`);
    }
  }

  /** To be called after each change: the copy is renewed soon, however many more changes come. */
  changed(): void {
    // One copy at a time: what comes while one is made may not be in it.
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
      // Whole on the disk before it takes the old one's place: after a power cut there is one or the other.
      await sync(fresh, 'r+');
      await rename(fresh, this.#copy);
      await syncDirectory(dirname(this.#copy));
      if (this.#hasFailed) this.report('info', 'the store is copied again');
      this.#hasFailed = false;
    } catch (thrown) {
      // The store itself is whole, and the old copy stays. Once, not for every try.
      if (!this.#hasFailed) {
        const why = messageOf(thrown);
        this.report('error', `the store could not be copied to ${this.#copy}: ${why}`);
      }
      this.#hasFailed = true;
    }
  }
}

const copyOf = (path: string): string => `${path}.copy`;

/** Sees to it that there is a good file, or none where there never was one. @returns what the operator should know. */
async function prepare(path: string, stopping?: AbortSignal): Promise<string[]> {
  const copy = copyOf(path);
  const fault = await faultOf(path, PROGRAMS.verifyStore, stopping);
  const isNew = fault === MISSING && sizeOf(copy) === undefined;
  if (fault === undefined || isNew) return [];
  const copyFault = await faultOf(copy, PROGRAMS.verifyStore, stopping);

  let what = `the store ${path} was missing`;
  if (fault !== MISSING) what = `the store ${path} was broken (${fault}) and ${setAside(path)}`;
  // It belongs to the file that is gone.
  rmSync(lockFileOf(path), { force: true });
  if (copyFault === undefined) {
    // Renamed when it is whole: a crash must not leave half a store.
    const fresh = `${path}.new`;
    copyFileSync(copy, fresh);
    await sync(fresh, 'r+');
    renameSync(fresh, path);
    await syncDirectory(dirname(path));
    return [`${what}; its last copy has taken its place`];
  }
  // The new store's copy would overwrite it, and something may still be found in it.
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

/** So that a new name in it outlives a power cut. */
async function syncDirectory(path: string): Promise<void> {
  // Windows cannot, and does not need to.
  if (process.platform !== 'win32') await sync(path, 'r');
}
