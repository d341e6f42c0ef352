// Runs in main. Owns the journal's thread, its connections, and its status. Only the shutdown of the service waits for it.

import { MessageChannel, type MessagePort } from 'node:worker_threads';
import { type Clock, SYSTEM_CLOCK } from '../../shared/clock.js';
import type { Config } from '../../shared/contract/config.js';
import type { Level } from '../../shared/contract/event-kinds.js';
import { JOURNAL_OFF, type JournalStatus } from '../../shared/contract/journal-messages.js';
import type { Block, LoopEvents } from '../../shared/contract/slow-turn.js';
import type {
  BroadcasterPeer,
  JournalControlMethods,
  JournalMethods,
  JournalStart,
  StreamIdentity,
} from '../../shared/contract/threads.js';
import { DroverError } from '../../shared/errors.js';
import type { SharedLag } from '../../shared/memory/loop-lag.js';
import { releaseReader } from '../../shared/memory/ring-reader.js';
import { WORKERS } from '../../shared/package-paths.js';
import { journalDir, type StreamNumbering } from '../environment/stream-numbering.js';
import type { EventSink } from './service-events.js';
import {
  doubledPauses,
  SupervisedThread,
  type ThreadExit,
  type Turning,
} from './supervised-thread.js';
import { startWorker, type ThreadHandle } from './thread-source.js';

/** How often the thread is asked for its status, while it works and while it has nothing to do, in ms. */
const ASK_MS = 1000;
const IDLE_ASK_MS = 10_000;
/** How long the answer may take, in ms. */
const ANSWER_MS = 5000;

/** Longest pause before a lost thread is replaced, in ms. */
const MAX_RESTART_MS = 60_000;

export interface JournalOptions {
  config: Config['journal'];
  dataDir: string;
  /** Name of the node, null for a single service. */
  node: string | null;
  stream: StreamIdentity;
  lag: SharedLag;
  numbering: StreamNumbering;
  /** Number of its cells on the ring. */
  reader: number;
  /** Puts a line on the stream. */
  say: (level: Level, message: string) => void;
  /** Its loop was blocked. */
  slow: LoopEvents['slow'];
}

export class JournalThread {
  status: JournalStatus = JOURNAL_OFF;
  readonly #options: JournalOptions;
  readonly #broadcaster: EventSink;
  readonly #clock: Clock;
  readonly #thread: SupervisedThread<JournalControlMethods, JournalMethods>;
  /** When the status was asked for that the thread still owes. */
  #askedAt: number | undefined;
  /** It did not answer in time. */
  #isStuck = false;
  #stopAsking = (): void => {};
  #askMs = 0;
  #isClosing = false;
  /** Why the journal does not know the stream's numbering, as long as it does not. */
  #fault: string | null;
  #previousShutdown: StreamNumbering['previousShutdown'];
  readonly #replaced: (() => void)[] = [];

  /** @param start starts a thread. */
  constructor(
    options: JournalOptions,
    broadcaster: EventSink,
    start: (workerData: JournalStart) => ThreadHandle = (workerData) =>
      startWorker(WORKERS.journal, workerData),
    clock: Clock = SYSTEM_CLOCK,
  ) {
    this.#options = options;
    this.#fault = options.numbering.fault;
    this.#previousShutdown = options.numbering.previousShutdown;
    this.#broadcaster = broadcaster;
    this.#clock = clock;
    this.#thread = new SupervisedThread<JournalControlMethods, JournalMethods>({
      source: () => start(this.#startData()),
      methods: {
        awake: () => this.#askEvery(ASK_MS),
        slow: options.slow,
        status: ({ status, notice }) => this.#report(status, notice),
      },
      lost: () => new DroverError('unavailable', 'the journal was lost'),
      prepare: async (_, replaces) => {
        this.status = { ...JOURNAL_OFF, state: 'opening' };
        this.reattach(this.#broadcaster.peer);
        if (replaces !== undefined) for (const listener of this.#replaced) listener();
      },
      exited: (exit) => this.#exited(exit),
      restart: doubledPauses(MAX_RESTART_MS),
      clock,
    });
    if (!options.config.enabled) return;
    void this.#thread.start();
    this.#askEvery(ASK_MS);
  }

  /** A channel for a front; undefined when there is no journal thread now. */
  attachFront(front: number): MessagePort | undefined {
    if (!this.#thread.isAlive) return undefined;
    const { port1, port2 } = new MessageChannel();
    this.#thread.peer.tell('attachFront', { front, port: port1 }, [port1]);
    return port2;
  }

  /** Calls `listener` each time the thread was replaced: its channels have to be made again. */
  onReplaced(listener: () => void): void {
    this.#replaced.push(listener);
  }

  detachFront(front: number): void {
    if (this.#thread.isAlive) this.#thread.peer.tell('detachFront', { front });
  }

  /** For the watch over its loop; not started when it is switched off. */
  get turning(): Turning {
    return this.#thread;
  }

  /** Blocks its loop. For drills. @throws DroverError `unavailable` when there is no thread now. */
  block(block: Block): void {
    if (!this.#thread.isAlive) throw new DroverError('unavailable', 'there is no journal thread');
    this.#thread.peer.tell('block', block);
  }

  /** How long its thread has been active since its start, in s. Undefined when there is none. */
  get busySeconds(): number | undefined {
    const active = this.#thread.utilization()?.active;
    return active === undefined ? undefined : active / 1000;
  }

  /** Connects it to a new broadcaster. */
  reattach(broadcaster: BroadcasterPeer): void {
    if (!this.#thread.isAlive) return;
    const { port1, port2 } = new MessageChannel();
    broadcaster.tell('attachFront', { front: this.#options.reader, port: port1 }, [port1]);
    this.#thread.peer.tell('attachBroadcaster', { port: port2 }, [port2]);
  }

  /**
   * Has everything written that was published, and ends the thread. Call it after the fronts have ended. A disk that hangs
   * must not delay the shutdown: after `withinMs` the loss is what a crash would cost.
   * @returns whether the thread has exited.
   */
  async close(withinMs: number): Promise<boolean> {
    this.#isClosing = true;
    this.#stopAsking();
    return this.#thread.stop((peer) => peer.tell('close', null), withinMs);
  }

  #startData(): JournalStart {
    const { config, dataDir, node, stream, lag, numbering, reader } = this.#options;
    const dir = journalDir(dataDir);
    const { first } = numbering;
    return {
      config,
      dir,
      node,
      stream,
      lag,
      reader,
      first,
      previousShutdown: this.#previousShutdown,
      fault: this.#fault,
    };
  }

  #askEvery(ms: number): void {
    if (ms === this.#askMs || this.#isClosing) return;
    this.#askMs = ms;
    this.#stopAsking();
    this.#stopAsking = this.#clock.every(ms, () => this.#probe());
  }

  /** Keeps the figures current. A thread that waits for the disk cannot report that itself. */
  #probe(): void {
    if (!this.#thread.isAlive) return;
    const askedAt = this.#askedAt;
    // A thread that is lost is reported elsewhere.
    if (askedAt === undefined) this.#ask().catch(() => {});
    else if (!this.#isStuck && this.#clock.now() - askedAt > ANSWER_MS) {
      this.#isStuck = true;
      const reason = `the disk has not answered for ${ANSWER_MS / 1000} s`;
      this.#report({ ...this.status, state: 'failed', reason }, null);
    }
  }

  async #ask(): Promise<void> {
    this.#askedAt = this.#clock.now();
    const { status, isIdle } = await this.#thread.peer.call('ask', null);
    this.#askedAt = undefined;
    // While it is not on it opens its file again and again.
    this.#askEvery(isIdle && status.state === 'on' ? IDLE_ASK_MS : ASK_MS);
    if (this.#isStuck) this.#report(status, status.state === 'on' ? 'it works again' : null);
    else this.status = status;
    this.#isStuck = false;
  }

  #exited({ reason, isRepeated, isExpected }: ThreadExit): void {
    const { stream, reader } = this.#options;
    releaseReader(stream.ring, reader);
    this.#askedAt = undefined;
    this.#isStuck = false;
    if (isExpected) return;
    this.#askEvery(ASK_MS);
    // The cause may have been the file.
    this.#previousShutdown = 'unexamined';
    this.status = { ...this.status, state: 'failed', reason };
    if (!isRepeated) this.#report(this.status, null);
  }

  #report(status: JournalStatus, notice: string | null): void {
    const { say } = this.#options;
    this.#askEvery(ASK_MS);
    this.status = status;
    if (status.state === 'on') this.#fault = null;
    if (status.state === 'failed') {
      say('error', `the service continues without its journal: ${status.reason}`);
    }
    if (notice !== null) say('warn', `the journal: ${notice}`);
  }
}
