// Runs in main. Owns the rules thread, which starts with the first rule that is looked at, and its channels.

import { MessageChannel } from 'node:worker_threads';
import type {
  RuleReport,
  RulesEvents,
  RulesMethods,
  RulesStart,
  WatchedRule,
} from '../../shared/contract/rule-messages.js';
import type { Block, LoopEvents } from '../../shared/contract/slow-turn.js';
import { DroverError, messageOf } from '../../shared/errors.js';
import { RingReader, releaseReader } from '../../shared/memory/ring-reader.js';
import { WORKERS } from '../../shared/package-paths.js';
import type { BroadcasterPeer, EventSink } from '../service-events.js';
import { type Clock, SYSTEM_CLOCK } from './clock.js';
import { doubledPauses, SupervisedThread, type Turning } from './supervised-thread.js';
import { startWorker, type ThreadSource } from './thread-source.js';

/** Longest pause before a lost thread is replaced, in ms. */
const MAX_RESTART_MS = 60_000;

export interface RulesThreadOptions {
  start: RulesStart;
  /** What it is to look at, when one has to begin. */
  watched: () => WatchedRule[];
  changed: (reports: RuleReport[]) => void;
  lost: (frames: number) => void;
  /** Its loop was blocked. */
  slow: LoopEvents['slow'];
  threadLost: (reason: string) => void;
}

export class RulesThread {
  readonly #options: RulesThreadOptions;
  readonly #broadcaster: EventSink;
  /** For its head only: the thread reads. */
  readonly #ring: Pick<RingReader, 'head'>;
  #thread: SupervisedThread<RulesEvents, RulesMethods> | undefined;
  readonly #source: ThreadSource;
  readonly #clock: Clock;
  #isClosed = false;

  constructor(
    options: RulesThreadOptions,
    broadcaster: EventSink,
    source: ThreadSource = () => startWorker(WORKERS.rules, options.start),
    clock: Clock = SYSTEM_CLOCK,
  ) {
    this.#source = source;
    this.#clock = clock;
    this.#options = options;
    this.#broadcaster = broadcaster;
    this.#ring = new RingReader(options.start.stream.ring, options.start.reader);
  }

  /** Looks at these from now on. It starts with the first ones, and stays: without rules it sleeps. */
  watch(rules: WatchedRule[]): void {
    const from = this.#ring.head();
    if (this.#thread?.isAlive) this.#thread.peer.tell('watch', { rules, from });
    else if (!this.#thread && rules.length > 0) this.#begin(from);
  }

  /** Connects it to a new broadcaster. */
  reattach(broadcaster: BroadcasterPeer): void {
    if (this.#thread?.isAlive) this.#connect(this.#thread.peer, broadcaster);
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
  #begin(first: number): void {
    const { start, watched, changed, lost, slow, threadLost } = this.#options;
    const thread = new SupervisedThread<RulesEvents, RulesMethods>({
      source: this.#source,
      methods: {
        changed: ({ reports }) => changed(reports),
        lost: ({ frames }) => lost(frames),
        slow,
      },
      lost: () => new DroverError('unavailable', 'the rules thread was lost'),
      prepare: async (peer, replaces) => {
        this.#connect(peer, this.#broadcaster.peer);
        const from = replaces === undefined ? first : this.#ring.head();
        peer.tell('watch', { rules: watched(), from });
      },
      exited: ({ reason, isExpected }) => {
        releaseReader(start.stream.ring, start.reader);
        if (!isExpected) threadLost(reason);
      },
      restart: doubledPauses(MAX_RESTART_MS),
    });
    this.#thread = thread;
    void this.#start(thread);
  }

  /** When the system allows no thread, another try follows. */
  async #start(thread: SupervisedThread<RulesEvents, RulesMethods>): Promise<void> {
    try {
      await thread.start();
    } catch (thrown) {
      this.#options.threadLost(messageOf(thrown));
      this.#thread = undefined;
      await this.#clock.sleep(MAX_RESTART_MS);
      if (!this.#isClosed) this.watch(this.#options.watched());
    }
  }

  #connect(
    peer: { tell: SupervisedThread<RulesEvents, RulesMethods>['peer']['tell'] },
    broadcaster: BroadcasterPeer,
  ): void {
    const { port1, port2 } = new MessageChannel();
    const { reader } = this.#options.start;
    broadcaster.tell('attachFront', { front: reader, port: port1 }, [port1]);
    peer.tell('attachBroadcaster', { port: port2 }, [port2]);
  }
}
