// Runs in main. Owns one operation while it goes through its bots.

import {
  type BotResult,
  hasEnded,
  type OperationState,
  type OperationType,
} from '../../shared/contract/operation-bounds.js';
import type { OperationBot, OperationOptions, Rollout } from '../../shared/contract/operations.js';
import { answerable } from '../../shared/contract/rpc.js';
import { Deferred } from '../../shared/deferred.js';
import { messageOf } from '../../shared/errors.js';
import type { OperationRecord, RecordedBot } from '../store/operation-store.js';
import { nextState, type OperationEvent, takes } from './operation-life.js';

/** What has become of a bot: its status, or why it was left out. A failure is thrown. */
export type BotOutcome = { status: string } | { skipped: string };

/** What is to be done to many bots. */
export interface OperationTask {
  type: OperationType;
  /** In one line: `restart 250 bots`. */
  title: string;
  actor: { name: string; token: string };
  /** In the order in which they are begun. */
  bots: readonly string[];
  options: OperationOptions;
  /**
   * Does it to one bot. When it {@link continues}, again for bots whose result was not stored. @param signal is aborted when the operation is canceled or stopped: a bot that has begun may end early.
   */
  run(bot: string, signal: AbortSignal, operation: string): Promise<BotOutcome>;
  /** It continues after a restart of the service: OperationsParts.resume makes its task again. */
  continues?: true;
  /** Called for each bot that was begun, when it has ended. */
  ended?: (bot: Readonly<OperationBot>, operation: string) => void;
  /**
   * When the first `after` bots have ended no further one is begun until `check` resolves. If it rejects, the operation stops, for
   * that reason. @param signal is aborted when the operation is canceled or stopped.
   */
  gate?: { after: number; check: (signal: AbortSignal, operation: string) => Promise<void> };
  /** Of a rollout. */
  rollout?: Rollout;
  /** What of it clients do not see. */
  plan?: OperationRecord['plan'];
  /** Called before anything is stored or begun; what it throws refuses the operation. */
  prepare?: (operation: string) => Promise<void>;
  /** Called at its end. */
  finished?: (operation: Operation) => void;
}

/** What continues after a restart of the service. */
export type OperationWork = Pick<
  OperationTask,
  'run' | 'gate' | 'ended' | 'finished' | 'continues'
>;

/** Time, and one timer at a time. Tests supply their own. */
export interface OperationClock {
  /** Unix epoch ms. */
  now(): number;
  /** Calls `task` once after `ms`, unless the returned function is called before. */
  after(ms: number, task: () => void): () => void;
}

export interface OperationParts {
  record: OperationRecord;
  bots: RecordedBot[];
  clock: OperationClock;
  /** Of the bot that has this id now; '' for none. */
  incarnationOf: (bot: string) => string;
  /** Called after each change. @param at index of the bot that has changed; null when only the operation has. */
  changed: (at: number | null) => void;
}

export class Operation {
  readonly record: OperationRecord;
  readonly bots: readonly RecordedBot[];
  readonly #task: OperationWork;
  readonly #parts: OperationParts;
  readonly #stop = new AbortController();
  readonly #ended = new Deferred();
  /** Indexes of the bots that were not begun, the next one last. Bounded by the number of bots. */
  readonly #waiting: number[];
  #gate: 'open' | 'ahead' | 'checking';
  /** A bot was begun less than `stagger_ms` ago. */
  #isStaggered = false;
  #isSuspended = false;
  #cancelTimer: () => void = () => {};

  constructor(task: OperationWork, parts: OperationParts) {
    this.#task = task;
    this.#parts = parts;
    this.record = parts.record;
    this.bots = parts.bots;
    this.#gate = task.gate ? 'ahead' : 'open';
    const waiting = parts.bots.flatMap(({ result }, at) => (result === 'waiting' ? [at] : []));
    this.#waiting = waiting.reverse();
  }

  get id(): string {
    return this.record.id;
  }

  get state(): OperationState {
    return this.record.state;
  }

  get hasEnded(): boolean {
    return hasEnded(this.record);
  }

  /** Resolves when it has ended. */
  get ended(): Promise<void> {
    return this.#ended.promise;
  }

  /** To be called once, when its record is stored. One that continues after a restart of the service stays paused if it was. */
  begin(): void {
    this.#take('begin');
    this.#advance();
  }

  /** Changes what is said of it. */
  note(change: Partial<OperationRecord>): void {
    Object.assign(this.record, change);
    this.#parts.changed(null);
  }

  /** Begins no further bot until {@link resume}. @returns false when it has ended, or is about to. */
  pause(): boolean {
    return this.state === 'paused' || this.#take('pause');
  }

  resume(): boolean {
    return this.state === 'running' || this.#take('resume');
  }

  /** Begins no further bot for good; those that are running end. @param why in one line. */
  cancel(why: string): boolean {
    return this.state === 'canceling' || this.#take('cancel', why);
  }

  /** The service ends, and the operation continues after its next start: bots that are running then are begun again. */
  suspend(): void {
    this.#isSuspended = true;
    this.#cancelTimer();
  }

  /** The service ends: what is running has no known result. */
  interrupt(why: string): void {
    this.#take('interrupt', why);
  }

  /** @returns whether the state has changed. */
  #take(event: OperationEvent, reason?: string): boolean {
    const { record } = this;
    if (!takes(record.state, event)) return false;
    record.state = nextState(record.state, event);
    if (reason !== undefined) record.reason = reason;
    if (record.state !== 'running' && record.state !== 'paused') this.#cancelTimer();
    if (event === 'cancel' || event === 'fail' || event === 'interrupt') this.#stop.abort();
    if (this.hasEnded) this.#end();
    else this.#parts.changed(null);
    this.#advance();
    return true;
  }

  #advance(): void {
    this.#lookAtGate();
    while (this.#mayBegin()) this.#begin(this.#waiting.pop() as number);
    const { state, counts } = this.record;
    if (counts.running > 0) return;
    if (state === 'canceling' || state === 'stopping') this.#take('settle');
    else if (this.#waiting.length === 0 && this.#gate !== 'checking') this.#take('finish');
  }

  #mayBegin(): boolean {
    const { state, counts, options } = this.record;
    const isHeld = this.#isStaggered || this.#isSuspended;
    if (state !== 'running' || isHeld || this.#waiting.length === 0) return false;
    if (counts.running >= options.parallel) return false;
    const begun = this.bots.length - this.#waiting.length;
    return this.#gate === 'open' || (this.#gate === 'ahead' && begun < this.#gateAfter);
  }

  get #gateAfter(): number {
    return Math.min(this.#task.gate?.after ?? 0, this.bots.length);
  }

  #begin(at: number): void {
    const { stagger_ms: staggerMs } = this.record.options;
    if (staggerMs > 0) {
      this.#isStaggered = true;
      this.#cancelTimer = this.#parts.clock.after(staggerMs, () => {
        this.#isStaggered = false;
        this.#advance();
      });
    }
    this.#set(at, 'running', { began_ms: this.#parts.clock.now() });
    void this.#run(at);
  }

  async #run(at: number): Promise<void> {
    const { id } = this.bots[at] as RecordedBot;
    let result: BotResult = 'done';
    let text: string;
    try {
      const outcome = await this.#task.run(id, this.#stop.signal, this.id);
      if ('skipped' in outcome) {
        result = 'skipped';
        text = outcome.skipped;
      } else text = outcome.status;
    } catch (thrown) {
      result = 'failed';
      text = messageOf(answerable(`${this.record.title}: bot ${id}`, thrown));
    }
    // The service ends: nobody stores the result any more.
    if (this.hasEnded || this.#isSuspended) return;
    const made = this.bots[at]?.made || this.#parts.incarnationOf(id);
    this.#set(at, result, { made, text, ended_ms: this.#parts.clock.now() });
    this.#task.ended?.(shownBot(this.bots[at] as RecordedBot), this.id);
    this.#afterEnd();
  }

  #afterEnd(): void {
    const { counts, options } = this.record;
    const { max_failed: most } = options;
    if (most !== null && counts.failed > most) {
      this.#take('fail', `failed: ${counts.failed}, max_failed: ${most}`);
    }
    this.#advance();
  }

  #lookAtGate(): void {
    const { gate } = this.#task;
    const { state, counts } = this.record;
    const ended = this.bots.length - counts.waiting - counts.running;
    const isReached = this.#gate === 'ahead' && ended >= this.#gateAfter;
    if (!gate || !isReached || (state !== 'running' && state !== 'paused')) return;
    this.#gate = 'checking';
    gate.check(this.#stop.signal, this.id).then(
      () => {
        this.#gate = 'open';
        this.#advance();
      },
      (thrown: unknown) => {
        this.#gate = 'open';
        this.#take('fail', messageOf(thrown));
        this.#advance();
      },
    );
  }

  /** What was not begun is skipped; of what is running nobody knows the end. */
  #end(): void {
    const { record, bots } = this;
    const why = record.reason ?? `the operation is ${record.state}`;
    for (const at of this.#waiting.splice(0)) this.#set(at, 'skipped', { text: why });
    for (const [at, { result }] of bots.entries())
      if (result === 'running') this.#set(at, 'unknown');
    record.ended_ms = this.#parts.clock.now();
    this.#parts.changed(null);
    this.#ended.resolve();
    this.#task.finished?.(this);
  }

  #set(at: number, result: BotResult, more: Partial<RecordedBot> = {}): void {
    const { counts } = this.record;
    const bot = this.bots[at] as RecordedBot;
    counts[bot.result] -= 1;
    counts[result] += 1;
    Object.assign(bot, more, { result });
    this.#parts.changed(at);
  }
}

/** A bot as clients see it. */
export function shownBot({ id, result, text, began_ms, ended_ms }: RecordedBot): OperationBot {
  const isDone = result === 'done';
  return {
    id,
    result,
    status: isDone ? text : null,
    error: isDone ? null : text,
    began_ms,
    ended_ms,
  };
}
