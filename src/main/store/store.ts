// Runs in main. Owns the store: one LMDB file with tables for tokens, bots and incidents, and its copy. One commit runs at a
// time; changes that come meanwhile share the next. While the disk accepts no writes, every change is refused.

import { setImmediate as nextTurn } from 'node:timers/promises';
import type { StoreState } from '../../shared/contract/pressure.js';
import { DroverError, messageOf, StartupError } from '../../shared/errors.js';
import { sizeOf } from '../../shared/lmdb/file-fault.js';
import { Semaphore } from '../../shared/semaphore.js';
import { type Change, StoreFile, type Table, type TableName } from './store-file.js';
import {
  copyOf,
  prepareStore,
  probeDisk,
  putRewritten,
  renewCopy,
  rewrite,
  syncDirectory,
} from './store-files.js';

/** How long after a change the copy is renewed, in ms. It contains all changes until then. */
const COPY_AFTER_MS = 2000;
/** Wait after a failed copy, in ms. */
const RETRY_COPY_MS = 30_000;
/** How often a disk that has refused a change is tried again, in ms. */
const PROBE_MS = 1000;

/** A call of {@link Store.write} that waits for its commit. */
interface Waiting {
  changes: readonly Change[];
  resolve(): void;
  reject(thrown: unknown): void;
}

export class Store {
  /** Messages for the operator about how it was opened. */
  readonly notices: readonly string[];
  readonly #path: string;
  /** The open file; undefined when it could not be opened again. */
  #file: StoreFile | undefined;
  /** Held by a commit, and by the replacement or the reopening of the file: they exclude each other. */
  readonly #turn = new Semaphore({ permits: 1, maxQueued: 8 });
  /** Bounded by the calls of the fronts that main has not answered, and by the number of bots. */
  #queue: Waiting[] = [];
  /** Why the disk accepts no writes, null while it does. */
  #fault: string | null = null;
  #probe: NodeJS.Timeout | undefined;
  /** The attempt that is under way. Never rejects. */
  #trying: Promise<void> = Promise.resolve();
  #timer: NodeJS.Timeout | undefined;
  /** The copy that is being written. Never rejects. */
  #copying: Promise<void> | undefined;
  #changedMeanwhile = false;
  /** Free pages may have secrets. */
  #hasErased = false;
  #copyFails = false;
  #isClosing = false;
  /** Called with a line when writing or copying starts to fail, and when it succeeds again. Set by the service. */
  report: (level: 'info' | 'error', line: string) => void = () => {};

  private constructor(path: string, notices: readonly string[]) {
    this.#path = path;
    this.notices = notices;
    const isNew = sizeOf(path) === undefined;
    this.#file = new StoreFile(path);
    // An earlier version, or a run that was killed, may have left free pages with secrets.
    if (!isNew && this.#file.hasFreePages) this.#changed(true);
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
      return new Store(path, await prepareStore(path, stopping));
    } catch (thrown) {
      throw new StartupError(`the store ${path} cannot be opened: ${messageOf(thrown)}`);
    }
  }

  /** Whether changes are stored. */
  get state(): StoreState {
    return { state: this.#fault === null ? 'on' : 'failed', reason: this.#fault };
  }

  /** To be called for each use: the file can be replaced meanwhile. @throws DroverError `not_stored`. */
  table<V>(name: TableName): Table<V> {
    if (!this.#file) throw this.#refusal();
    return this.#file.table<V>(name);
  }

  /**
   * All changes are on the disk when this resolves, or none when it rejects.
   * @param erases what they replace may contain secrets: it is removed from the file within seconds.
   * @throws DroverError `not_stored`.
   */
  async write(changes: readonly Change[], erases = false): Promise<void> {
    if (this.#fault !== null) throw this.#refusal();
    await new Promise<void>((resolve, reject) => {
      this.#queue.push({ changes, resolve, reject });
      if (this.#queue.length === 1) void this.#turn.run(() => this.#commit());
    });
    this.#changed(erases);
  }

  async close(): Promise<void> {
    this.#isClosing = true;
    clearTimeout(this.#probe);
    await this.#trying;
    await this.#turn.run(async () => {});
    await this.#copying;
    if (this.#timer) await this.#copySoon();
    await this.#file?.close();
  }

  async #commit(): Promise<void> {
    // Changes that this turn of the event loop still makes share the commit.
    await nextTurn();
    const batch = this.#queue;
    this.#queue = [];
    const changes = batch.flatMap((waiting) => waiting.changes);
    try {
      if (this.#fault !== null || !this.#file) throw this.#refusal();
      await this.#file.commit(changes);
      for (const { resolve } of batch) resolve();
    } catch (thrown) {
      if (this.#fault === null) await this.#failed(changes, messageOf(thrown));
      for (const { reject } of batch) reject(this.#refusal());
    }
  }

  async #failed(changes: readonly Change[], reason: string): Promise<void> {
    const bytes = JSON.stringify(changes).length;
    // LMDB reports a write that had room for a part as EIO: the answer to a plain write is the better reason.
    this.#fault = (await probeDisk(this.#path, bytes)) ?? reason;
    this.report('error', `the store cannot be written, changes are refused: ${this.#fault}`);
    this.#tryLater(bytes);
  }

  /** @param bytes for which there must be room. */
  #tryLater(bytes: number): void {
    if (this.#isClosing) return;
    this.#probe = setTimeout(() => {
      this.#trying = this.#tryAgain(bytes);
    }, PROBE_MS);
  }

  async #tryAgain(bytes: number): Promise<void> {
    // A trial commit would not do: LMDB prints a line for each one that fails.
    this.#fault = (await probeDisk(this.#path, bytes)) ?? (await this.#reopen());
    if (this.#fault !== null) return this.#tryLater(bytes);
    this.report('info', 'the store is written again');
  }

  /** After a failure the environment may refuse all further writes, which lmdb does not check for. @returns what failed. */
  async #reopen(): Promise<string | null> {
    while (this.#copying) await this.#copying;
    return this.#turn.run(async () => {
      await this.#file?.close();
      this.#file = undefined;
      try {
        this.#file = new StoreFile(this.#path);
        return null;
      } catch (thrown) {
        return messageOf(thrown);
      }
    });
  }

  #refusal(): DroverError {
    return new DroverError('not_stored', `the change could not be stored: ${this.#fault}`);
  }

  /** Schedules a new copy. */
  #changed(erases: boolean): void {
    this.#hasErased ||= erases;
    // The copy may lack a change that is made while it is written.
    if (this.#copying) this.#changedMeanwhile = true;
    else if (!this.#timer) this.#copyIn(COPY_AFTER_MS);
  }

  #copyIn(ms: number): void {
    this.#timer = setTimeout(() => void this.#copySoon(), ms);
    this.#timer.unref();
  }

  #copySoon(): Promise<void> {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#copying = this.#copy().finally(() => {
      this.#copying = undefined;
      if (this.#copyFails) this.#copyIn(RETRY_COPY_MS);
      else if (this.#changedMeanwhile) this.#copyIn(COPY_AFTER_MS);
      this.#changedMeanwhile = false;
    });
    return this.#copying;
  }

  async #copy(): Promise<void> {
    const erases = this.#hasErased;
    this.#hasErased = false;
    try {
      if (erases) await this.#turn.run(() => this.#rewrite());
      else await renewCopy(this.#path, this.#opened);
      if (this.#copyFails) this.report('info', 'the store is copied again');
      this.#copyFails = false;
    } catch (thrown) {
      this.#hasErased ||= erases;
      if (!this.#file && this.#fault === null) await this.#failed([], messageOf(thrown));
      // The store is intact, and the old copy stays. Reported once, not for every try.
      if (!this.#copyFails) {
        const why = messageOf(thrown);
        this.report('error', `the store could not be copied to ${copyOf(this.#path)}: ${why}`);
      }
      this.#copyFails = true;
    }
  }

  get #opened(): StoreFile {
    if (!this.#file) throw this.#refusal();
    return this.#file;
  }

  /** Puts a file without free pages in the place of the open one. */
  async #rewrite(): Promise<void> {
    const file = this.#opened;
    await rewrite(this.#path, file);
    // Without a wait from here until it is open again: it may be read at any time.
    await file.close();
    try {
      putRewritten(this.#path);
    } finally {
      this.#file = undefined;
      this.#file = new StoreFile(this.#path);
    }
    await syncDirectory(this.#path);
  }
}
