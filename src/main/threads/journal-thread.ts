// Runs in main. Owns the journal's thread: starts it, connects it, starts another when it dies, and says on the stream how
// the journal is. Nothing waits for it but the end of the service.

import { join } from 'node:path';
import { MessageChannel, type MessagePort, Worker } from 'node:worker_threads';
import type { Config } from '../../shared/contract/config.js';
import type { Level } from '../../shared/contract/events.js';
import { JOURNAL_OFF, type JournalStatus } from '../../shared/contract/journal-messages.js';
import { Rpc } from '../../shared/contract/rpc.js';
import type {
  JournalControlMethods,
  JournalMethods,
  JournalStart,
  StreamIdentity,
} from '../../shared/contract/threads.js';
import { DroverError, messageOf } from '../../shared/errors.js';
import type { SharedLag } from '../../shared/memory/loop-lag.js';
import { releaseReader } from '../../shared/memory/ring-reader.js';
import { WORKERS } from '../../shared/package-paths.js';
import {
  type Identity,
  type Leaving,
  Numbering,
  newIdentity,
} from '../../shared/stream/numbering.js';
import type { BroadcasterPeer, EventSink } from '../service-events.js';

/** Pause before a dead thread is replaced, in ms: doubled with each that did not live longer than the longest. */
const RESTART_MS = 1000;
const MAX_RESTART_MS = 60_000;
/** How often it is asked how it is, and how long it may take to answer, in ms. */
const ASK_MS = 1000;
const ANSWER_MS = 5000;
/** First sequence number of a numbering, so that 0 can stand for "nothing yet". */
const FIRST_SEQ = 1;
const DIRECTORY = 'journal';

type JournalPeer = Rpc<JournalControlMethods, JournalMethods>;

/** How the stream is numbered in this run. */
export interface StreamNumbering extends Identity {
  first: number;
  left: Leaving;
  /** Why it could not be taken from the journal, and will not be known to it. */
  fault: string | null;
}

/** Takes up the journal's numbering, or begins one that ends with this run. */
export function numberingOf(dataDir: string, { enabled }: Config['journal']): StreamNumbering {
  if (!enabled) return { ...newIdentity(), first: FIRST_SEQ, left: 'ended', fault: null };
  try {
    const { numbering, first, left } = Numbering.begin(join(dataDir, DIRECTORY));
    return { ...numbering.identity, first, left, fault: null };
  } catch (thrown) {
    return { ...newIdentity(), first: FIRST_SEQ, left: 'unexamined', fault: messageOf(thrown) };
  }
}

export interface JournalOptions {
  config: Config['journal'];
  dataDir: string;
  stream: StreamIdentity;
  lag: SharedLag;
  numbering: StreamNumbering;
  /** Number of its cells on the ring. */
  reader: number;
  say: (level: Level, message: string) => void;
  /** There is another journal thread: every front needs a channel to it. */
  replaced: () => void;
}

export class JournalThread {
  status: JournalStatus = JOURNAL_OFF;
  readonly #options: JournalOptions;
  readonly #broadcaster: EventSink;
  #life: { worker: Worker; peer: JournalPeer; ended: Promise<void> } | undefined;
  #closing = false;
  #pauseMs = RESTART_MS;
  #begunAt = 0;
  /** What the threads since the last that lived long have died of: said once each. */
  readonly #deaths = new Set<string>();
  /** Why the journal does not know the stream's numbering, as long as it does not. */
  #fault: string | null;
  #left: Leaving;

  constructor(options: JournalOptions, broadcaster: EventSink) {
    this.#options = options;
    this.#fault = options.numbering.fault;
    this.#left = options.numbering.left;
    this.#broadcaster = broadcaster;
    if (options.config.enabled) this.#begin();
  }

  /** A channel for a front; undefined when the journal is off. */
  attachFront(front: number): MessagePort | undefined {
    if (!this.#life) return undefined;
    const { port1, port2 } = new MessageChannel();
    this.#life.peer.tell('attachFront', { front, port: port1 }, [port1]);
    return port2;
  }

  detachFront(front: number): void {
    this.#life?.peer.tell('detachFront', { front });
  }

  /** How long its thread has worked since it was started, in s; undefined when there is none. */
  get busySeconds(): number | undefined {
    const worked = this.#life?.worker.performance.eventLoopUtilization().active;
    return worked === undefined ? undefined : worked / 1000;
  }

  /** Connects it to a new broadcaster. */
  reattach(broadcaster: BroadcasterPeer): void {
    if (!this.#life) return;
    const { port1, port2 } = new MessageChannel();
    broadcaster.tell('attachFront', { front: this.#options.reader, port: port1 }, [port1]);
    this.#life.peer.tell('attachBroadcaster', { port: port2 }, [port2]);
  }

  /** Keeps everything that was published, for at most `withinMs`, and ends the thread. After the fronts. */
  async close(withinMs: number): Promise<void> {
    this.#closing = true;
    const life = this.#life;
    if (!life) return;
    life.peer.tell('close', null);
    // A disk that hangs must not hold the end up: what is lost then is what a crash would cost.
    const timeout = new Promise<void>((resolve) => setTimeout(resolve, withinMs).unref());
    await Promise.race([life.ended, timeout]);
  }

  #begin(): void {
    const { config, dataDir, stream, lag, numbering, reader } = this.#options;
    this.#begunAt = performance.now();
    const workerData: JournalStart = {
      config,
      dir: join(dataDir, DIRECTORY),
      stream,
      lag,
      reader,
      first: numbering.first,
      left: this.#left,
      fault: this.#fault,
    };
    const worker = new Worker(WORKERS.journal, { workerData });
    const peer: JournalPeer = new Rpc<JournalControlMethods, JournalMethods>(worker, {
      status: ({ status, notice }) => this.#told(status, notice),
    });
    let reason = 'its thread has ended';
    worker.once('error', (error) => {
      reason = messageOf(error);
    });
    const ended = new Promise<void>((resolve) => {
      worker.once('exit', () => {
        peer.close(new DroverError('unavailable', 'the journal was lost'));
        releaseReader(stream.ring, reader);
        resolve();
        if (!this.#closing) this.#replace(reason);
      });
    });
    const asking = this.#watch(peer);
    void ended.then(() => clearInterval(asking));
    this.#life = { worker, peer, ended };
    this.status = { ...JOURNAL_OFF, state: 'opening' };
    this.reattach(this.#broadcaster.peer);
  }

  /** Its figures follow what it keeps. One that stands still, since the disk does, cannot say so itself. */
  #watch(peer: JournalPeer): NodeJS.Timeout {
    let askedAt: number | undefined;
    let hangs = false;
    const ask = async (): Promise<void> => {
      askedAt = performance.now();
      const status = await peer.call('ask', null);
      askedAt = undefined;
      if (hangs) this.#told(status, status.state === 'on' ? 'it goes on again' : null);
      else this.status = status;
      hangs = false;
    };
    const look = (): void => {
      // When the thread has ended that is told elsewhere.
      if (askedAt === undefined) void ask().catch(() => {});
      else if (!hangs && !this.#closing && performance.now() - askedAt > ANSWER_MS) {
        hangs = true;
        const reason = `the disk has not answered for ${ANSWER_MS / 1000} s`;
        this.#told({ ...this.status, state: 'failed', reason }, null);
      }
    };
    return setInterval(look, ASK_MS).unref();
  }

  #replace(reason: string): void {
    this.#life = undefined;
    const now = performance.now();
    if (now - this.#begunAt > MAX_RESTART_MS) {
      this.#pauseMs = RESTART_MS;
      this.#deaths.clear();
    }
    const pause = this.#pauseMs;
    this.#pauseMs = Math.min(2 * pause, MAX_RESTART_MS);
    // Whatever has ended it may have been the file.
    this.#left = 'unexamined';
    this.status = { ...this.status, state: 'failed', reason };
    if (!this.#deaths.has(reason)) this.#told(this.status, null);
    this.#deaths.add(reason);
    setTimeout(() => {
      if (this.#closing) return;
      this.#begin();
      this.#options.replaced();
    }, pause);
  }

  #told(status: JournalStatus, notice: string | null): void {
    const { say } = this.#options;
    this.status = status;
    // A thread that is replaced later finds it there.
    if (status.state === 'on') this.#fault = null;
    if (status.state === 'failed') {
      say('error', `the service goes on without its journal: ${status.reason}`);
    }
    if (notice !== null) say('warn', `the journal: ${notice}`);
  }
}
