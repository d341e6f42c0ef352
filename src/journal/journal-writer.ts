// Runs in the journal thread. Owns the timer by which frames go from the ring to the recorder and from there to the file. No
// other thread waits for it: what the ring overwrites first is lost, and declared.

import { setTimeout as delay } from 'node:timers/promises';
import type { JournalStart } from '../shared/contract/threads.js';
import type { RingReader } from '../shared/memory/ring-reader.js';
import { nowRuns } from '../shared/turn.js';
import type { JournalFile } from './journal-file.js';
import type { JournalMemory, OpenJournal } from './open-journal.js';
import type { Recorder } from './recorder.js';

/** Bytes of the ring for each ms between two reads: a small ring is read more often, or it would lap the journal. */
const RING_BYTES_PER_MS = 1024 * 1024;
/** Least time between two notices about a lap, in ms. */
const LAP_NOTICE_MS = 10_000;
/** Pause between two writes that requests ask for, in ms: requests that come meanwhile share the next. */
const SYNC_MS = 5;

/** The `session` event of every bot as JSON, as of just before frame `next`. */
export interface Baseline {
  next: number;
  sessions: string[];
}

/**
 * The file is not what the last write has left: another process has opened it during that write
 * (docs/decisions/0074-nobody-opens-a-file-during-a-commit.md), or has written to it.
 */
export class TakenBack extends Error {
  constructor() {
    super('another program has opened its file, and what was written last is lost from it');
  }
}

export interface JournalWriterHost {
  /** True while frames may be written to the file. */
  isOn(): boolean;
  /** True after a failed write, until one succeeds. */
  isFailing(): boolean;
  /** The service ends: {@link JournalWriter.finish} does the rest. */
  isClosing(): boolean;
  written(): void;
  failed(thrown: unknown): void;
  notice(message: string): void;
  /** Undefined when there is no broadcaster to answer. */
  baseline(): Promise<Baseline | undefined>;
}

export class JournalWriter {
  readonly #flushMs: number;
  readonly #tickMs: number;
  readonly #ring: RingReader;
  readonly #file: JournalFile;
  readonly #memory: JournalMemory;
  readonly #host: JournalWriterHost;
  #timer: NodeJS.Timeout | undefined;
  #triedAt = 0;
  #writtenAt = 0;
  /** Retention has more to remove. */
  #more = false;
  #syncing: Promise<void> | undefined;
  #rebasing: Promise<void> | undefined;
  #nextLapNotice = 0;

  constructor(
    { config, stream }: JournalStart,
    ring: RingReader,
    file: JournalFile,
    memory: JournalMemory,
    host: JournalWriterHost,
  ) {
    this.#flushMs = config.flush_ms;
    this.#tickMs = Math.max(1, Math.min(config.flush_ms, stream.ring.bytes / RING_BYTES_PER_MS));
    this.#ring = ring;
    this.#file = file;
    this.#memory = memory;
    this.#host = host;
  }

  /** There are new frames on the ring. */
  wake(): void {
    if (!this.#timer && this.#open) this.#timer = setTimeout(() => this.#tick(), this.#tickMs);
  }

  stop(): void {
    clearTimeout(this.#timer);
  }

  /** Writes what is pending now, or a little later. Never rejects: a failure is reported to the host. */
  sync(): Promise<void> {
    this.#syncing ??= this.#syncSoon().finally(() => {
      this.#syncing = undefined;
    });
    return this.#syncing;
  }

  /** Tries to write again after a failure. */
  retry(): void {
    const opened = this.#open;
    if (!opened) return;
    this.#drain(opened, this.#ring.head());
    this.#write(opened);
  }

  /** Removes old blocks while no frames arrive. */
  sweep(opened: OpenJournal): void {
    const { reader, retention, state } = opened;
    if (retention.isDue(reader.oldest(), state.next) && this.#write(opened)) this.wake();
  }

  /**
   * Writes everything before frame `head`, in as many writes as it takes: more may be on the ring than memory holds.
   * @returns whether everything is written.
   */
  async finish(opened: OpenJournal, head: number): Promise<boolean> {
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

  get #open(): OpenJournal | undefined {
    return this.#host.isClosing() ? undefined : this.#file.opened;
  }

  /** Reads the ring, and writes when it is time. Sleeps when there is nothing left to do. */
  #tick(): void {
    this.#timer = undefined;
    const opened = this.#open;
    if (!opened) return;
    const head = this.#ring.head();
    this.#drain(opened, head);
    const isDue = performance.now() - this.#triedAt >= this.#flushMs - 1;
    const isPending = opened.recorder.isDirty || this.#more;
    if (isPending && isDue && this.#host.isOn()) this.#write(opened);
    const isIdle = !opened.recorder.isDirty && !this.#more && opened.recorder.next >= head;
    if (isIdle && this.#ring.arm(head)) return;
    this.wake();
  }

  #drain({ recorder }: OpenJournal, head: number): void {
    if (this.#rebasing) return;
    try {
      if (recorder.drain(head)) return;
      this.#rebasing = this.#rebase(recorder).finally(() => {
        this.#rebasing = undefined;
        this.wake();
      });
    } catch (thrown) {
      // A defect, not the disk. A caller that catches it must not keep the thread alive: it ends and is replaced.
      setImmediate(() => {
        throw thrown;
      });
      throw thrown;
    }
  }

  /** The ring has lapped the journal: continue from where the broadcaster is, with what the bots are at that moment. */
  async #rebase(recorder: Recorder): Promise<void> {
    const baseline = await this.#host.baseline();
    if (!baseline) return;
    recorder.skipTo(baseline.next, true);
    const snapshots = baseline.sessions.map((json) => JSON.parse(json).snapshot);
    this.#memory.labels.rebase(baseline.next, snapshots);
    this.#memory.states.rebase(baseline.next, snapshots);
    const now = performance.now();
    if (now < this.#nextLapNotice) return;
    this.#nextLapNotice = now + LAP_NOTICE_MS;
    this.#host.notice('the disk is too slow: the journal has lost events');
  }

  async #syncSoon(): Promise<void> {
    const wait = this.#writtenAt + SYNC_MS - performance.now();
    const recorder = this.#file.opened?.recorder;
    const hasNews = recorder?.isDirty || recorder?.next !== this.#ring.head();
    if (wait > 0 && hasNews) await delay(wait);
    const opened = this.#open;
    if (!opened) return;
    this.#drain(opened, this.#ring.head());
    if (opened.recorder.isDirty && this.#host.isOn()) this.#write(opened);
  }

  /** @returns whether it was written. */
  #write(opened: OpenJournal): boolean {
    const { tables, recorder, retention } = opened;
    this.#triedAt = performance.now();
    const state = { ...opened.state };
    let more = false;
    try {
      this.#file.reserveNumbers();
      nowRuns('writing of events');
      tables.commit(() => {
        if (tables.state.get('state')?.next !== opened.kept) throw new TakenBack();
        const added = recorder.write(tables, state);
        more = retention.apply(tables, state, added);
        tables.state.putSync('state', state);
        // After a failure the write counts only when the disk has confirmed it.
      }, this.#host.isFailing());
    } catch (thrown) {
      retention.reset();
      this.#more = false;
      this.#host.failed(thrown);
      return false;
    }
    this.#writtenAt = performance.now();
    recorder.written();
    opened.state = state;
    opened.kept = state.next;
    this.#more = more;
    this.#host.written();
    return true;
  }
}
