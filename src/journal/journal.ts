// Runs in the journal thread. Owns the life of the journal: carries out what journal-life.ts decides. Nothing outside waits
// for it: what it cannot keep is lost, and declared.

import { blockLater } from '../shared/block-loop.js';
import type { JournalStatus } from '../shared/contract/journal-messages.js';
import { NameHasher } from '../shared/contract/name-hash.js';
import type { Block } from '../shared/contract/slow-turn.js';
import type { JournalStart } from '../shared/contract/threads.js';
import { DroverError, messageOf } from '../shared/errors.js';
import { RingReader } from '../shared/memory/ring-reader.js';
import { eventId } from '../shared/stream/frame.js';
import { withTimeout } from '../shared/with-timeout.js';
import { JournalFile } from './journal-file.js';
import { type Effect, type LifeEvent, type LifeState, transition } from './journal-life.js';
import { type Baseline, JournalWriter, TakenBack } from './journal-writer.js';
import { JournalMemory, type OpenJournal } from './open-journal.js';
import { type AnswerSource, Answers } from './requests.js';

/** Pause before a failed write or open is tried again, in ms. */
const RETRY_MS = 1000;
/** Longest pause before a file is opened again, in ms: the pause doubles, because to examine a file takes a process. */
const MAX_RETRY_MS = 8000;
/** How often age is checked while nothing comes, and whether the file is still there, in ms. */
const SWEEP_MS = 5000;
/** How long a request waits for a journal that is being opened, in ms. */
const OPEN_WITHIN_MS = 15_000;
/** `Retry-After` of a request that comes while the journal is being opened, in s. */
const RETRY_OPENING_S = 5;
/** Errors of LMDB that say the file is broken, or that it cannot be used as it is open now. */
const CORRUPT: ReadonlySet<unknown> = new Set([-30797, -30796, -30795, -30794, -30793, -30779]);

const SHOWN_STATE: Record<LifeState, JournalStatus['state']> = {
  opening: 'opening',
  on: 'on',
  replacing: 'on',
  reopening: 'failed',
  stalled: 'failed',
  waiting: 'failed',
  retrying: 'failed',
  closing: 'on',
};

/** The parts of other threads that the journal needs. */
export interface JournalPeers {
  status(status: JournalStatus, notice: string | null): void;
  /** Undefined when there is no broadcaster to answer. */
  baseline(): Promise<Baseline | undefined>;
}

export class Journal {
  /** The methods that fronts call. */
  readonly answers: Answers;
  readonly #epoch: string;
  readonly #peers: JournalPeers;
  readonly #ring: RingReader;
  readonly #file: JournalFile;
  readonly #writer: JournalWriter;
  readonly #sweeper: NodeJS.Timeout;
  readonly #effects: Record<Effect, () => void>;
  #state: LifeState = 'opening';
  /** The last failure. */
  #failure: unknown;
  /** Why the journal does not write, null while it does. */
  #reason: string | null = null;
  /** The file is being opened or closed. Never rejects. */
  #pending: Promise<void> = Promise.resolve();
  #retry: NodeJS.Timeout | undefined;
  #retryMs = RETRY_MS;

  constructor(start: JournalStart, peers: JournalPeers) {
    this.#epoch = start.stream.epoch;
    this.#peers = peers;
    this.#ring = new RingReader(start.stream.ring, start.reader);
    const names = new NameHasher(start.stream.hashKey);
    const memory = new JournalMemory(start, this.#ring, names);
    this.#file = new JournalFile(start, this.#ring, memory, {
      notice: (message) => this.#tell(message),
      foundBroken: () => this.#dispatch('foundBroken'),
    });
    this.#writer = new JournalWriter(start, this.#ring, this.#file, memory, {
      isOn: () => this.#state === 'on',
      isFailing: () => this.#reason !== null,
      isClosing: () => this.#state === 'closing',
      written: () => this.#dispatch('written'),
      failed: (thrown) => this.#failed('writeFailed', thrown),
      notice: (message) => this.#tell(message),
      baseline: () => peers.baseline(),
    });
    this.answers = new Answers(this.#source(start.node), names, memory.labels);
    this.#effects = this.#effectTable();
    this.#sweeper = setInterval(() => this.#sweep(), SWEEP_MS);
    if (start.fault === null) this.#effects.open();
    else this.#failed('openFailed', new Error(start.fault));
  }

  /** There are new frames on the ring. */
  wake(): void {
    this.#writer.wake();
  }

  /**
   * Writes everything that is on the ring and records where numbering continues. Call it after the last front has
   * ended: the numbers of all events published until then must not be used again.
   */
  async close(): Promise<void> {
    this.#dispatch('close');
    await this.#pending;
    const { opened } = this.#file;
    if (!opened) return;
    const head = this.#ring.head();
    const isWhole = await this.#writer.finish(opened, head);
    await this.#file.close();
    // Otherwise the next start takes its numbers from after the reserved range, as after a crash.
    if (isWhole) this.#file.finish(head);
  }

  /** For drills: in the midst of a write, if it has a file. */
  block(block: Block): void {
    blockLater(block, (task) => {
      const tables = this.#file.opened?.tables;
      if (tables) tables.commit(task);
      else task();
    });
  }

  get status(): JournalStatus {
    const { opened } = this.#file;
    const oldest = opened?.reader.oldest();
    const newest = opened?.reader.newest();
    return {
      state: SHOWN_STATE[this.#state],
      reason: this.#reason,
      oldest: oldest ? eventId(this.#epoch, oldest.first) : null,
      newest: newest ? eventId(this.#epoch, newest.next - 1) : null,
      bytes: opened?.state.bytes ?? 0,
      lost: opened?.state.lost ?? 0,
      holes: opened?.state.holes ?? 0,
    };
  }

  #dispatch(event: LifeEvent): void {
    const { to, effects } = transition(this.#state, event);
    this.#state = to;
    for (const effect of effects) this.#effects[effect]();
  }

  #failed(event: 'openFailed' | 'writeFailed', thrown: unknown): void {
    this.#failure = thrown;
    const isCorrupt =
      thrown instanceof TakenBack || CORRUPT.has((thrown as { code?: unknown }).code);
    this.#dispatch(isCorrupt ? 'corrupted' : event);
  }

  #effectTable(): Record<Effect, () => void> {
    const file = this.#file;
    return {
      open: () => this.#attempt(file.open()),
      replaceMissing: () => this.#attempt(file.replaceMissing()),
      replaceBroken: () => this.#attempt(file.replaceBroken()),
      reopen: () => {
        this.#pending = file
          .reopen()
          .then((isOpen) => this.#dispatch(isOpen ? 'reopened' : 'closed'));
      },
      closeFile: () => {
        this.#pending = file
          .close()
          .catch(() => {})
          .then(() => this.#dispatch('closed'));
      },
      distrustFile: () => file.distrust(),
      startPause: () => {
        this.#retry = setTimeout(() => this.#dispatch('retryDue'), this.#retryMs);
      },
      lengthenPause: () => {
        this.#retryMs = Math.min(2 * this.#retryMs, MAX_RETRY_MS);
      },
      resetPause: () => {
        this.#retryMs = RETRY_MS;
      },
      write: () => this.#writer.retry(),
      wake: () => this.#writer.wake(),
      reportOn: () => this.#reportOn(null),
      reportRecovery: () => this.#reportOn('it is written again'),
      reportFailure: () => {
        const reason = messageOf(this.#failure);
        if (reason === this.#reason) return;
        this.#reason = reason;
        this.#tell(null);
      },
      stop: () => {
        file.stop();
        this.#writer.stop();
        clearTimeout(this.#retry);
        clearInterval(this.#sweeper);
      },
    };
  }

  /** The outcome of opening the file is an event. */
  #attempt(opening: Promise<void>): void {
    this.#pending = opening
      .then(
        () => this.#dispatch('opened'),
        (thrown: unknown) => this.#failed('openFailed', thrown),
      )
      // Fails when the file is open but its status cannot be read.
      .catch((thrown: unknown) => this.#failed('writeFailed', thrown));
  }

  #reportOn(notice: string | null): void {
    this.#reason = null;
    this.#tell(notice);
  }

  #tell(notice: string | null): void {
    this.#peers.status(this.status, notice);
  }

  /** Detects that the file or the numbering was removed, and removes old blocks while no frames arrive. */
  #sweep(): void {
    const { opened } = this.#file;
    if (!opened || this.#state !== 'on') return;
    if (this.#file.isMissing(opened)) {
      this.#dispatch('fileMissing');
      return;
    }
    try {
      this.#file.keepNumbering();
    } catch (thrown) {
      this.#failed('writeFailed', thrown);
      return;
    }
    this.#writer.sweep(opened);
  }

  #source(node: string | null): AnswerSource {
    return {
      epoch: this.#epoch,
      node,
      status: () => this.status,
      opened: () => this.#file.opened,
      ready: () => this.#ready(),
      sync: () => this.#writer.sync(),
    };
  }

  async #ready(): Promise<OpenJournal> {
    if (!this.#file.opened) {
      await withTimeout(this.#pending, OPEN_WITHIN_MS, () => {}, { ref: false });
    }
    const { opened } = this.#file;
    if (opened && this.#state !== 'closing') return opened;
    const why = this.#reason ?? 'it is being opened';
    const retryAfterS = this.#reason === null ? RETRY_OPENING_S : undefined;
    throw new DroverError('unavailable', `the journal is not there: ${why}`, retryAfterS);
  }
}
