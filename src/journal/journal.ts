// Runs in the journal thread. Owns the life of the journal: opens it, writes what has come, tries again when the disk does
// not take it. Nothing outside waits for it: what it cannot keep is lost and said to be.

import { rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { JournalStatus } from '../shared/contract/journal-messages.js';
import { NameHasher } from '../shared/contract/name-hash.js';
import type { JournalStart } from '../shared/contract/threads.js';
import { DroverError, messageOf } from '../shared/errors.js';
import { faultOf, setAside } from '../shared/lmdb/file-fault.js';
import { lockFileOf } from '../shared/lmdb/lock-file.js';
import { RingReader } from '../shared/memory/ring-reader.js';
import { PROGRAMS } from '../shared/package-paths.js';
import { eventId } from '../shared/stream/frame.js';
import { JOURNAL_FILE, Numbering } from '../shared/stream/numbering.js';
import { withTimeout } from '../shared/with-timeout.js';
import { JournalReader } from './journal-reader.js';
import { type Opened, Remembered } from './opened.js';
import type { Recorder } from './recorder.js';
import { type AnswerSource, Answers } from './requests.js';
import { FORM, openTables, type Tables } from './tables.js';

/** Pause before the disk is tried again, in ms. */
const RETRY_MS = 1000;
/** The same for a file that cannot be opened, at most: doubled each time, because to examine it takes a process. */
const MAX_RETRY_MS = 8000;
/** How often age is looked at while nothing comes, and whether the file is still there, in ms. */
const TEND_MS = 5000;
/** Bytes of ring for each ms between two looks at it: a small ring is looked at more often, or it would lap the journal. */
const RING_BYTES_PER_MS = 1024 * 1024;
/** How often it is said that the ring has passed the journal, in ms, at most. */
const LAP_TOLD_MS = 10_000;
/** Pause between two writes that requests ask for, in ms: those that come meanwhile share the next. */
const SYNC_MS = 5;
/** How long a request waits for a journal that is being opened, in ms. */
const OPEN_WITHIN_MS = 15_000;
/** What one is told to wait then that comes too early, in s. */
const RETRY_OPENING_S = 5;
/** Errors of LMDB that say the file is broken, or that nothing more can be done with it as it is open now. */
const BROKEN: ReadonlySet<unknown> = new Set([-30797, -30796, -30795, -30794, -30793, -30779]);

/** What the journal asks of others. */
export interface JournalPeers {
  status(status: JournalStatus, notice: string | null): void;
  /** The `session` event of every bot as JSON, as of just before frame `next`; undefined when nobody answers. */
  baseline(): Promise<{ next: number; sessions: string[] } | undefined>;
}

export class Journal {
  /** For the fronts. */
  readonly answers: Answers;
  readonly #start: JournalStart;
  readonly #peers: JournalPeers;
  readonly #reader: RingReader;
  readonly #remembered: Remembered;
  readonly #path: string;
  readonly #tickMs: number;
  #numbering: Numbering | undefined;
  /** How the file that is opened next was left. */
  #left: JournalStart['left'];
  #opened: Opened | undefined;
  #opening: Promise<void> = Promise.resolve();
  #state: JournalStatus['state'] = 'opening';
  #reason: string | null = null;
  #timer: NodeJS.Timeout | undefined;
  #retry: NodeJS.Timeout | undefined;
  #retryMs = RETRY_MS;
  readonly #tender: NodeJS.Timeout;
  #lastWrite = 0;
  #writtenAt = 0;
  #syncing: Promise<void> | undefined;
  #more = false;
  #rebasing: Promise<void> | undefined;
  #closing = false;
  /** Ends the examination of a file that nobody waits for any more. */
  readonly #ending = new AbortController();
  #nextLapTold = 0;

  constructor(start: JournalStart, peers: JournalPeers) {
    this.#start = start;
    this.#peers = peers;
    this.#reader = new RingReader(start.stream.ring, start.reader);
    this.#path = join(start.dir, JOURNAL_FILE);
    const names = new NameHasher(start.stream.hashKey);
    this.#remembered = new Remembered(start, this.#reader, names);
    const source: AnswerSource = {
      epoch: start.stream.epoch,
      status: () => this.status,
      opened: () => this.#opened,
      ready: () => this.#ready(),
      sync: () => this.#sync(),
    };
    this.answers = new Answers(source, names, this.#remembered.labels);
    this.#left = start.left;
    this.#tickMs = Math.max(
      1,
      Math.min(start.config.flush_ms, start.stream.ring.bytes / RING_BYTES_PER_MS),
    );
    this.#tender = setInterval(() => this.#sweep(), TEND_MS);
    if (start.fault === null) this.#tryOpen();
    else this.#failed(new Error(start.fault));
  }

  /** There is news on the ring. */
  wake(): void {
    if (!this.#timer && this.#opened && !this.#closing) {
      this.#timer = setTimeout(() => this.#tick(), this.#tickMs);
    }
  }

  /**
   * Keeps everything that is on the ring and says where numbering goes on. To be called when no front is there any more:
   * what was published while the last streams were open has been seen, and its numbers must not be used again.
   */
  async close(): Promise<void> {
    this.#ending.abort();
    await this.#opening.catch(() => {});
    this.#closing = true;
    clearTimeout(this.#timer);
    clearTimeout(this.#retry);
    clearInterval(this.#tender);
    const opened = this.#opened;
    if (!opened) return;
    const head = this.#reader.head();
    const isWhole = await this.#keepAll(opened, head);
    // Searches end: what they read from is not to be touched again.
    this.#opened = undefined;
    await opened.tables.close();
    // Otherwise the next start takes the numbers from behind the reserve, as after a crash.
    if (isWhole) this.#numbering?.finish(head);
  }

  /** As many writes as it takes: more may be on the ring than waits for one. @returns whether everything is kept. */
  async #keepAll(opened: Opened, head: number): Promise<boolean> {
    const { recorder } = opened;
    for (let before = -1; recorder.next > before; ) {
      before = recorder.next;
      this.#drain(opened, head);
      await this.#rebasing;
      if (!this.#write(opened)) return false;
      if (recorder.next >= head) return true;
    }
    return false;
  }

  #tryOpen(): void {
    this.#opening = this.#open().catch((thrown: unknown) => this.#failed(thrown));
  }

  async #open(): Promise<void> {
    const { dir, stream } = this.#start;
    const identity = { epoch: stream.epoch, hashKey: stream.hashKey };
    this.#numbering = Numbering.open(dir, identity, this.#reader.head());
    this.#keepAhead();
    // An empty file is what a disk was too full for.
    const isNew = !statSync(this.#path, { throwIfNoEntry: false })?.size;
    const isBehind = this.#left === 'broken-off';
    const fault = isNew
      ? undefined
      : await this.#examine(this.#left === 'unexamined' ? 'all' : 'newest');
    if (fault !== undefined) this.#moveAway(`is broken (${fault}) and`);
    let tables = this.#openNew(isNew);
    let state = tables.state.get('state');
    if (state && (state.form !== FORM || state.epoch !== stream.epoch)) {
      await tables.close();
      this.#moveAway('is of another numbering and');
      tables = this.#openNew(true);
      state = undefined;
    }
    this.#opened = this.#remembered.takeUp(this.#path, tables, state);
    if (isNew || fault !== undefined || !isBehind) this.#examined();
    else void this.#examineBehind(tables);
    this.#begin('on', null);
    this.#tick();
  }

  #examine(scope: 'all' | 'newest' | 'behind'): Promise<string | undefined> {
    return faultOf(
      this.#path,
      PROGRAMS.verifyJournal,
      this.#ending.signal,
      scope,
      scope === 'behind',
    );
  }

  /**
   * A run that broke off leaves a whole file, unless more than the service has failed. To read all of it takes seconds for
   * each GiB, while the ring goes on: that is done beside the service. Should the file end this run meanwhile, the next one
   * reads all of it first.
   */
  async #examineBehind(tables: Tables): Promise<void> {
    const fault = await this.#examine('behind').catch(() => null);
    // Not found out, or it is another file by now.
    if (fault === null || this.#closing || this.#opened?.tables !== tables) return;
    if (fault === undefined) return this.#examined();
    this.#opened = undefined;
    this.#opening = tables.close().then(() => {
      this.#moveAway(`is broken (${fault}) and`);
      return this.#open();
    });
    this.#opening = this.#opening.catch((thrown: unknown) => this.#failed(thrown));
  }

  #examined(): void {
    this.#left = 'ended';
    this.#numbering?.examined();
  }

  /** Opens the file; where there was none, nothing of it is left when that fails. */
  #openNew(isNew: boolean): Tables {
    try {
      return openTables(this.#path, this.#start.config.fsync);
    } catch (thrown) {
      if (isNew) rmSync(this.#path, { force: true });
      throw thrown;
    }
  }

  /** Looks at the ring, and writes when it is time. Sleeps when there is nothing more. */
  #tick(): void {
    this.#timer = undefined;
    const opened = this.#opened;
    if (!opened || this.#closing) return;
    const head = this.#reader.head();
    this.#drain(opened, head);
    // While the disk does not take it only the retry writes.
    const isOn = this.#state === 'on';
    const isDue = isOn && performance.now() - this.#lastWrite >= this.#start.config.flush_ms - 1;
    if ((opened.recorder.isDirty || this.#more) && isDue) this.#write(opened);
    const isIdle = !opened.recorder.isDirty && !this.#more && opened.recorder.next >= head;
    if (isIdle && this.#reader.arm(head)) return;
    this.wake();
  }

  #drain({ recorder }: Opened, head: number): void {
    if (this.#rebasing) return;
    try {
      if (recorder.drain(head)) return;
      this.#rebasing = this.#rebase(recorder).finally(() => {
        this.#rebasing = undefined;
        this.wake();
      });
    } catch (thrown) {
      // A fault of ours and not of the disk: whoever waits for this must not take it in, the thread ends and is replaced.
      setImmediate(() => {
        throw thrown;
      });
      throw thrown;
    }
  }

  /** The ring has passed the journal: it goes on from where the broadcaster is, with the labels as they are then. */
  async #rebase(recorder: Recorder): Promise<void> {
    const baseline = await this.#peers.baseline();
    if (!baseline) return;
    recorder.skipTo(baseline.next, true);
    const snapshots = baseline.sessions.map((json) => JSON.parse(json).snapshot);
    this.#remembered.labels.rebase(baseline.next, snapshots);
    this.#tellLap();
  }

  #tellLap(): void {
    const now = performance.now();
    if (now < this.#nextLapTold) return;
    this.#nextLapTold = now + LAP_TOLD_MS;
    this.#tell('the disk is too slow for what comes: events were lost to the journal');
  }

  /** Takes in and writes all that there is now, or a little later. What cannot be written is told of elsewhere. */
  #sync(): Promise<void> {
    this.#syncing ??= this.#syncSoon().finally(() => {
      this.#syncing = undefined;
    });
    return this.#syncing;
  }

  async #syncSoon(): Promise<void> {
    const wait = this.#writtenAt + SYNC_MS - performance.now();
    const recorder = this.#opened?.recorder;
    const hasNews = recorder?.isDirty || recorder?.next !== this.#reader.head();
    if (wait > 0 && hasNews) await delay(wait);
    const opened = this.#opened;
    if (!opened || this.#closing) return;
    this.#drain(opened, this.#reader.head());
    if (opened.recorder.isDirty && this.#state === 'on') this.#write(opened);
  }

  /** @returns whether it was written. */
  #write(opened: Opened): boolean {
    const { tables, recorder, retention } = opened;
    this.#lastWrite = performance.now();
    const state = { ...opened.state };
    let more = false;
    try {
      this.#keepAhead();
      tables.commit(() => {
        const added = recorder.write(tables, state);
        more = retention.apply(tables, state, added);
        tables.state.putSync('state', state);
        // After a failure it is on when the disk has it.
      }, this.#state === 'failed');
    } catch (thrown) {
      retention.reset();
      this.#failed(thrown);
      return false;
    }
    this.#writtenAt = performance.now();
    recorder.written();
    opened.state = state;
    this.#more = more;
    if (this.#state === 'failed') this.#begin('on', 'it is written again');
    return true;
  }

  /** By the ring's head: numbers are used whether the journal takes the frames or not. @throws Error as the disk has it. */
  #keepAhead(): void {
    this.#numbering?.keepAhead(this.#reader.head());
  }

  /** The disk does not take it: everything else goes on, and it is tried again. */
  #failed(thrown: unknown): void {
    if (this.#ending.signal.aborted) return;
    const reason = messageOf(thrown);
    this.#more = false;
    const isBroken = BROKEN.has((thrown as { code?: unknown }).code);
    if (isBroken) this.#left = 'unexamined';
    this.#opening = this.#reopen(isBroken);
    if (this.#state !== 'failed' || this.#reason !== reason) {
      this.#state = 'failed';
      this.#reason = reason;
      this.#tell(null);
    }
    if (this.#closing || this.#retry) return;
    this.#retry = setTimeout(() => {
      this.#retry = undefined;
      void this.#opening.then(() => this.#tryAgain());
    }, this.#retryMs);
  }

  #tryAgain(): void {
    const opened = this.#opened;
    if (this.#closing) return;
    if (!opened) {
      this.#retryMs = Math.min(2 * this.#retryMs, MAX_RETRY_MS);
      this.#tryOpen();
      return;
    }
    this.#drain(opened, this.#reader.head());
    if (this.#write(opened)) this.wake();
  }

  /**
   * An environment in which a write has failed may refuse all others, and lmdb does not look at that (it would end the
   * process): it is opened anew, for what is in it, and for the next write. One that is broken is examined first, later.
   */
  async #reopen(isBroken: boolean): Promise<void> {
    const opened = this.#opened;
    this.#opened = undefined;
    if (!opened) return;
    try {
      await opened.tables.close();
      if (isBroken || this.#closing) return;
      const tables = openTables(this.#path, this.#start.config.fsync);
      const past = new JournalReader(tables, () => opened.recorder.changing);
      // What is in it is what was committed last; anything else was not ours.
      if (tables.state.get('state')?.next !== opened.state.next) return await tables.close();
      this.#opened = { ...opened, tables, past };
    } catch {
      // The next try finds out.
    }
  }

  /** Removes what is too old while nothing comes, and finds out when the file has been taken away. */
  #sweep(): void {
    const opened = this.#opened;
    if (!opened || this.#closing || this.#state !== 'on') return;
    if (statSync(this.#path, { throwIfNoEntry: false })?.ino !== opened.inode) {
      this.#opened = undefined;
      void opened.tables.close().catch(() => {});
      this.#tell('its file was taken away; a new one begins');
      rmSync(lockFileOf(this.#path), { force: true });
      this.#tryOpen();
      return;
    }
    try {
      // Without its file the next run would set the journal aside.
      this.#numbering?.keep();
    } catch (thrown) {
      this.#failed(thrown);
      return;
    }
    const { past, retention, state } = opened;
    if (retention.isDue(past.oldest(), state.next) && this.#write(opened)) this.wake();
  }

  #moveAway(why: string): void {
    const done = setAside(this.#path);
    // It belongs to the file that is gone.
    rmSync(lockFileOf(this.#path), { force: true });
    this.#tell(`${this.#path} ${why} ${done}; a new one begins empty`);
  }

  #begin(state: 'on', notice: string | null): void {
    this.#state = state;
    this.#reason = null;
    this.#retryMs = RETRY_MS;
    this.#tell(notice);
  }

  #tell(notice: string | null): void {
    this.#peers.status(this.status, notice);
  }

  /** How it is now. */
  get status(): JournalStatus {
    const opened = this.#opened;
    const { epoch } = this.#start.stream;
    const oldest = opened?.past.oldest();
    const newest = opened?.past.newest();
    return {
      state: this.#state,
      reason: this.#reason,
      oldest: oldest ? eventId(epoch, oldest.first) : null,
      newest: newest ? eventId(epoch, newest.next - 1) : null,
      bytes: opened?.state.bytes ?? 0,
      lost: opened?.state.lost ?? 0,
      holes: opened?.state.holes ?? 0,
    };
  }

  async #ready(): Promise<Opened> {
    if (!this.#opened) {
      await withTimeout(this.#opening, OPEN_WITHIN_MS, () => {}, { ref: false });
    }
    const opened = this.#opened;
    if (opened && !this.#closing) return opened;
    const why = this.#reason ?? 'it is being opened';
    const retryAfterS = this.#reason === null ? RETRY_OPENING_S : undefined;
    throw new DroverError('unavailable', `the journal is not there: ${why}`, retryAfterS);
  }
}
