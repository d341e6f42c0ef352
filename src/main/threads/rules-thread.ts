// Runs in main. Owns the rules thread, which starts with the first rule that is looked at, and its channels.

import { MessageChannel } from 'node:worker_threads';
import type { AttachReader } from '../../cluster/node-service.js';
import { type Clock, SYSTEM_CLOCK } from '../../shared/clock.js';
import type {
  RuleReport,
  RulesEvents,
  RulesMethods,
  RulesStart,
  WatchedRule,
} from '../../shared/contract/rule-messages.js';
import type { AlertEvent } from '../../shared/contract/rules.js';
import type { Block, LoopEvents } from '../../shared/contract/slow-turn.js';
import { DroverError, messageOf } from '../../shared/errors.js';
import { RingReader, releaseReader } from '../../shared/memory/ring-reader.js';
import { WORKERS } from '../../shared/package-paths.js';
import { doubledPauses, SupervisedThread, type Turning } from './supervised-thread.js';
import { startWorker, type ThreadHandle } from './thread-source.js';

/** Longest pause before a lost thread is replaced, in ms. */
const MAX_RESTART_MS = 60_000;

interface WatchedStream {
  start: RulesStart;
  attach: AttachReader;
  /** Only its head is read here; the thread reads the frames. */
  ring: Pick<RingReader, 'head'>;
}

/** Who has the rules: is asked for them, and notified of what happens to them. */
export interface RulesListener {
  /** The rules that a thread which begins is to watch. */
  readonly watched: WatchedRule[];
  changed: (reports: RuleReport[]) => void;
  /** The thread has seen an alert on the stream. */
  alerted: (event: AlertEvent) => void;
  lost: (frames: number) => void;
  threadLost: (reason: string) => void;
}

export class RulesThread {
  readonly #slow: LoopEvents['slow'];
  #rules: RulesListener | undefined;
  /** Undefined while there is none. */
  #stream: WatchedStream | undefined;
  #thread: SupervisedThread<RulesEvents, RulesMethods> | undefined;
  readonly #source: (start: RulesStart) => ThreadHandle;
  readonly #clock: Clock;
  #isClosed = false;
  #isStalled = false;

  /** @param slow is called when its loop was blocked. */
  constructor(
    slow: LoopEvents['slow'],
    source = (start: RulesStart): ThreadHandle => startWorker(WORKERS.rules, start),
    clock: Clock = SYSTEM_CLOCK,
  ) {
    this.#source = source;
    this.#clock = clock;
    this.#slow = slow;
  }

  /** To be called before the first {@link watch}. */
  listen(rules: RulesListener): void {
    this.#rules = rules;
  }

  /** Makes the thread read this stream from the next {@link watch} on. */
  follow(start: RulesStart, attach: AttachReader): void {
    const before = this.#thread;
    this.#thread = undefined;
    void before?.stop((peer) => peer.tell('close', null));
    this.#stream = { start, attach, ring: new RingReader(start.stream.ring, start.reader) };
  }

  /** Watches these rules from now on. The thread starts with the first rules, and stays: without rules it sleeps. */
  watch(rules: WatchedRule[]): void {
    if (!this.#stream || this.#isClosed) return;
    const from = this.#stream.ring.head();
    if (this.#thread?.isAlive) this.#thread.peer.tell('watch', { rules, from });
    else if (!this.#thread && rules.length > 0) this.#begin(this.#stream, from);
  }

  /** To be called when there is a new broadcaster. */
  reattach(attach: AttachReader): void {
    if (!this.#stream) return;
    this.#stream.attach = attach;
    if (this.#thread?.isAlive) this.#connect(this.#thread.peer, this.#stream);
  }

  /** Stops the time of rules while the stream is stalled. */
  stall(isStalled: boolean): void {
    this.#isStalled = isStalled;
    if (this.#thread?.isAlive) this.#thread.peer.tell('stall', { isStalled });
  }

  /** Resolves when it has read what is on the ring now, and told what has changed by that. @throws DroverError when it is lost. */
  async catchUp(): Promise<void> {
    if (this.#thread?.isAlive) await this.#thread.peer.call('catchUp', null);
  }

  /** For the watch over its loop; undefined before the first rule. */
  get turning(): Turning | undefined {
    return this.#thread;
  }

  /** Blocks its loop. For drills. @throws DroverError `unavailable` when there is no thread now. */
  block(block: Block): void {
    if (!this.#thread?.isAlive) throw new DroverError('unavailable', 'there is no rules thread');
    this.#thread.peer.tell('block', block);
  }

  /** How long its thread has been active since its start, in s. Undefined when there is none. */
  get busySeconds(): number | undefined {
    const active = this.#thread?.utilization()?.active;
    return active === undefined ? undefined : active / 1000;
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#thread?.stop((peer) => peer.tell('close', null));
  }

  /** @param first number of the frame from which the first rules see lines. */
  #begin(stream: WatchedStream, first: number): void {
    const { start, ring } = stream;
    const thread = new SupervisedThread<RulesEvents, RulesMethods>({
      source: () => this.#source(start),
      methods: {
        changed: ({ reports }) => this.#rules?.changed(reports),
        alerted: ({ event }) => this.#rules?.alerted(event),
        lost: ({ frames }) => this.#rules?.lost(frames),
        slow: this.#slow,
      },
      lost: () => new DroverError('unavailable', 'the rules thread was lost'),
      prepare: async (peer, replaces) => {
        this.#connect(peer, stream);
        if (this.#isStalled) peer.tell('stall', { isStalled: true });
        const from = replaces === undefined ? first : ring.head();
        peer.tell('watch', { rules: this.#rules?.watched ?? [], from });
      },
      exited: ({ reason, isExpected }) => {
        releaseReader(start.stream.ring, start.reader);
        if (!isExpected) this.#rules?.threadLost(reason);
      },
      restart: doubledPauses(MAX_RESTART_MS),
    });
    this.#thread = thread;
    void this.#bringUp(thread);
  }

  /** When the system allows no thread, another try follows. */
  async #bringUp(thread: SupervisedThread<RulesEvents, RulesMethods>): Promise<void> {
    try {
      await thread.start();
    } catch (thrown) {
      this.#rules?.threadLost(messageOf(thrown));
      if (this.#thread === thread) this.#thread = undefined;
      await this.#clock.sleep(MAX_RESTART_MS);
      this.watch(this.#rules?.watched ?? []);
    }
  }

  #connect(
    peer: { tell: SupervisedThread<RulesEvents, RulesMethods>['peer']['tell'] },
    { start, attach }: WatchedStream,
  ): void {
    const { port1, port2 } = new MessageChannel();
    attach(start.reader, port1);
    peer.tell('attachBroadcaster', { port: port2 }, [port2]);
  }
}
