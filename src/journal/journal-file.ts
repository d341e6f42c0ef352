// Runs in the journal thread. Owns the journal's file: examines it before it is opened, opens and reopens it, and sets a
// broken one aside. Owns the numbering beside it.

import { rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import type { JournalStart } from '../shared/contract/threads.js';
import { Deferred } from '../shared/deferred.js';
import { faultOf, setAside } from '../shared/lmdb/file-fault.js';
import { lockFileOf } from '../shared/lmdb/lock-file.js';
import type { RingReader } from '../shared/memory/ring-reader.js';
import { PROGRAMS } from '../shared/package-paths.js';
import { JOURNAL_FILE, Numbering } from '../shared/stream/numbering.js';
import { JournalReader } from './journal-reader.js';
import type { JournalMemory, OpenJournal } from './open-journal.js';
import { FORM, openTables, type Tables } from './tables.js';

export interface JournalFileEvents {
  /** Reports something to the operator. */
  notice(message: string): void;
  /** The check in the background has found the open file broken: {@link JournalFile.replaceBroken} replaces it. */
  foundBroken(): void;
}

/** Why the file cannot be used, undefined when it can; null when that could not be found out. */
type Finding = string | undefined | null;

export class JournalFile {
  readonly #path: string;
  readonly #start: JournalStart;
  readonly #ring: RingReader;
  readonly #memory: JournalMemory;
  readonly #events: JournalFileEvents;
  /** Ends an examination whose result is not needed any more. */
  readonly #stopping = new AbortController();
  #numbering: Numbering | undefined;
  /** How the file was closed that is opened next. */
  #previousShutdown: JournalStart['previousShutdown'];
  #opened: OpenJournal | undefined;
  /** The result of the check in the background. */
  #fault = '';

  constructor(
    start: JournalStart,
    ring: RingReader,
    memory: JournalMemory,
    events: JournalFileEvents,
  ) {
    this.#start = start;
    this.#ring = ring;
    this.#memory = memory;
    this.#events = events;
    this.#path = join(start.dir, JOURNAL_FILE);
    this.#previousShutdown = start.previousShutdown;
  }

  /** The open journal, if any. */
  get opened(): OpenJournal | undefined {
    return this.#opened;
  }

  /** Examines the file and opens it, or a new one when it cannot be used. @throws Error when the disk does not allow it. */
  async open(): Promise<void> {
    const { dir, stream } = this.#start;
    const identity = { epoch: stream.epoch, hashKey: stream.hashKey };
    this.#numbering = Numbering.open(dir, identity, this.#ring.head());
    this.reserveNumbers();
    // A disk that was full may have left an empty file.
    const isNew = !statSync(this.#path, { throwIfNoEntry: false })?.size;
    const shutdown = this.#previousShutdown;
    const fault = isNew
      ? undefined
      : await this.#examine(shutdown === 'unexamined' ? 'all' : 'newest');
    if (fault !== undefined) this.#setAside(`is broken (${fault}) and`);
    let tables = this.#openTables(isNew);
    let state = await orClose(tables, () => tables.state.get('state'));
    if (state && (state.form !== FORM || state.epoch !== stream.epoch)) {
      await tables.close();
      this.#setAside('is of another numbering and');
      tables = this.#openTables(true);
      state = undefined;
    }
    const isChecked = isNew || fault !== undefined || shutdown !== 'unclean';
    const opened = await orClose(tables, () => {
      const resumed = this.#memory.resume(this.#path, tables, state);
      if (isChecked) this.#trust();
      return resumed;
    });
    const check = isChecked ? undefined : this.#examineBehind();
    // Nothing is written meanwhile.
    await check?.isOpen;
    this.#opened = opened;
    void check?.fault.then((fault) => this.#conclude(tables, fault));
  }

  /**
   * After a failed write: the environment may refuse all further writes, and lmdb does not check for that (it would end the
   * process). @returns whether the file is open again.
   */
  async reopen(): Promise<boolean> {
    const opened = this.#opened;
    this.#opened = undefined;
    if (!opened) return false;
    try {
      await opened.tables.close();
      // Reopens the file even while the service stops, because the last frames still have to be written.
      const tables = openTables(this.#path, this.#start.config.fsync);
      const reader = new JournalReader(tables, () => opened.recorder.changing);
      const state = await orClose(tables, () => tables.state.get('state'));
      // A file without the last commit is another file.
      if (state?.next !== opened.kept) {
        await tables.close();
        return false;
      }
      this.#opened = { ...opened, tables, reader };
      return true;
    } catch {
      // The next attempt to open it reports why.
      return false;
    }
  }

  /** Views on the file are invalid after this. */
  async close(): Promise<void> {
    const opened = this.#opened;
    this.#opened = undefined;
    await opened?.tables.close();
  }

  /** Opens a new file in place of the open one, which was removed or renamed. */
  replaceMissing(): Promise<void> {
    void this.close().catch(() => {});
    this.#events.notice('its file was taken away; a new one is created');
    rmSync(lockFileOf(this.#path), { force: true });
    return this.open();
  }

  /** Sets the open file aside, which was found broken, and opens a new one. */
  async replaceBroken(): Promise<void> {
    await this.close();
    this.#setAside(`is broken (${this.#fault}) and`);
    await this.open();
  }

  /** Has the whole file examined before it is opened the next time. */
  distrust(): void {
    this.#previousShutdown = 'unexamined';
  }

  /** Whether the open file has been removed or renamed. */
  isMissing({ inode }: OpenJournal): boolean {
    return statSync(this.#path, { throwIfNoEntry: false })?.ino !== inode;
  }

  /** Numbers are used whether the journal keeps the frames or not. @throws Error when the reserve cannot be written. */
  reserveNumbers(): void {
    this.#numbering?.keepAhead(this.#ring.head());
  }

  /**
   * Writes the numbering again when its file was removed: without it the next run would set the journal aside.
   * @throws Error when it cannot be written.
   */
  keepNumbering(): void {
    this.#numbering?.keep();
  }

  /** Records a clean shutdown: everything before frame `next` is in the file. */
  finish(next: number): void {
    this.#numbering?.finish(next);
  }

  /** Ends an examination under way. */
  stop(): void {
    this.#stopping.abort();
  }

  #examine(scope: 'all' | 'newest'): Promise<string | undefined> {
    const stopping = this.#stopping.signal;
    return faultOf(this.#path, PROGRAMS.verifyJournal, { stopping, scope });
  }

  /**
   * An unclean shutdown leaves a whole file, unless more than the service has failed. To read all of it takes seconds for
   * each GiB, so the service waits only until the examination has the file open. If the file ends this run meanwhile, the
   * next one reads all of it first. Neither promise rejects.
   */
  #examineBehind(): { isOpen: Promise<void>; fault: Promise<Finding> } {
    const isOpen = new Deferred();
    const fault: Promise<Finding> = faultOf(this.#path, PROGRAMS.verifyJournal, {
      stopping: this.#stopping.signal,
      scope: 'behind',
      isOpen: true,
      onOpen: isOpen.resolve,
    })
      .catch(() => null)
      .finally(isOpen.resolve);
    return { isOpen: isOpen.promise, fault };
  }

  /** Takes the result of the examination of the open file. */
  #conclude(tables: Tables, fault: Finding): void {
    const isOther = this.#stopping.signal.aborted || this.#opened?.tables !== tables;
    if (fault === null || isOther) return;
    if (fault === undefined) {
      this.#trust();
    } else {
      this.#fault = fault;
      this.#events.foundBroken();
    }
  }

  #trust(): void {
    this.#previousShutdown = 'clean';
    this.#numbering?.examined();
  }

  #openTables(isNew: boolean): Tables {
    try {
      return openTables(this.#path, this.#start.config.fsync);
    } catch (thrown) {
      // Leave nothing of a new file behind.
      if (isNew) rmSync(this.#path, { force: true });
      throw thrown;
    }
  }

  #setAside(why: string): void {
    const done = setAside(this.#path);
    rmSync(lockFileOf(this.#path), { force: true });
    this.#events.notice(`${this.#path} ${why} ${done}; a new one begins empty`);
  }
}

/** Runs the task. Closes the tables if it throws: otherwise the next attempt would open the file a second time. */
async function orClose<T>(tables: Tables, task: () => T): Promise<T> {
  try {
    return task();
  } catch (thrown) {
    await tables.close().catch(() => {});
    throw thrown;
  }
}
