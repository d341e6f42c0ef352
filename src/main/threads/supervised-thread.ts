// Runs in main. Owns one thread of the service at a time: its Rpc, and the thread that replaces it when it is lost.

import type { EventLoopUtilization } from 'node:perf_hooks';
import { type Clock, SYSTEM_CLOCK } from '../../shared/clock.js';
import { type Methods, Rpc, type Serves } from '../../shared/contract/rpc.js';
import { Deferred } from '../../shared/deferred.js';
import { type DroverError, messageOf } from '../../shared/errors.js';
import { withTimeout } from '../../shared/with-timeout.js';
import { noteMessage } from './main-activity.js';
import type { ThreadHandle, ThreadSource } from './thread-source.js';

/** The end of a thread. */
export interface ThreadExit {
  reason: string;
  /** A predecessor was lost for the same reason, and none has been healthy since. */
  isRepeated: boolean;
  /** The thread was asked to end. */
  isExpected: boolean;
}

/** How a lost thread is replaced. */
export interface RestartPolicy {
  /** Pause before a thread is started, in ms. `failures` counts the threads lost since one was healthy, from 0. */
  pauseMs: (failures: number) => number;
  /** A thread that was ready and has lived this long, in ms, resets `failures`. */
  healthyMs: number;
}

const FIRST_PAUSE_MS = 1000;

/** The pause is doubled for each thread that did not live for the longest pause, which is in ms. */
export function doubledPauses(longestMs: number): RestartPolicy {
  return {
    pauseMs: (failures) => Math.min(FIRST_PAUSE_MS * 2 ** failures, longestMs),
    healthyMs: longestMs,
  };
}

export interface ThreadOptions<Local extends Methods, Remote extends Methods> {
  source: ThreadSource;
  /** The methods that main offers to the thread. */
  methods: Serves<Local>;
  /** The error of open calls when the thread is lost. `error` is undefined when the thread has only ended. */
  lost: (reason: string, error: Error | undefined) => DroverError;
  /** Connects a thread that was just started. The thread is ready when this resolves. `replaces` is why the last one was lost. */
  prepare?: (peer: Rpc<Local, Remote>, replaces: string | undefined) => Promise<void>;
  /** Its code has ended; calls are rejected already. The thread may still take a while to exit. */
  ended?: (error: Error | undefined) => void;
  /** The thread no longer exists. Called once for each, before its successor is started: frees what it held. */
  exited?: (exit: ThreadExit) => void;
  /** A replacement did not become ready. Makes it exit: the next one is started after that. Terminates it by default. */
  notReady?: (peer: Rpc<Local, Remote>, exit: Omit<ThreadExit, 'isExpected'>) => void;
  /** Absent for a thread that is not replaced, or that its pool replaces. */
  restart?: RestartPolicy;
  clock?: Clock;
}

/** What the watch over the service's threads (src/main/service/service-watch.ts) knows of one. */
export interface Turning {
  readonly isAlive: boolean;
  readonly threadId: number;
  /** Absent when there is none. */
  utilization(): EventLoopUtilization | undefined;
  /** Resolves with the system's id of the thread when its loop has turned. */
  ping(): Promise<number>;
  /** Ends the present thread as a crash would. */
  kill(reason: Error): void;
}

interface Life<Local extends Methods, Remote extends Methods> {
  thread: ThreadHandle;
  peer: Rpc<Local, Remote>;
  startedAt: number;
  /** Why it was lost. */
  reason: string | undefined;
  error: Error | undefined;
  lost: Deferred;
  gone: Promise<void>;
}

/** Never settles: the service stops, and callers that wait for a thread wait for the end of the process. */
const NEVER = new Promise<never>(() => {});

/** start() once, then stop(). Everything else may be called at any time between. */
export class SupervisedThread<Local extends Methods, Remote extends Methods> implements Turning {
  readonly #options: ThreadOptions<Local, Remote>;
  readonly #clock: Clock;
  #state: 'starting' | 'ready' | 'restarting' | 'stopping' = 'starting';
  #life: Life<Local, Remote> | undefined;
  #ready: Promise<Rpc<Local, Remote>> = NEVER;
  #failures = 0;
  /** Reasons for which threads were lost since one was healthy. Bounded by the failures that differ. */
  readonly #reasons = new Set<string>();

  constructor(options: ThreadOptions<Local, Remote>) {
    this.#options = options;
    this.#clock = options.clock ?? SYSTEM_CLOCK;
  }

  /**
   * Starts the thread, at once. Rejects when the first one does not become ready; it is not replaced then.
   * @throws Error when the system does not allow another thread.
   */
  start(): Promise<Rpc<Local, Remote>> {
    this.#ready = this.#bringUp(this.#begin(), undefined);
    this.#ready.catch(() => {});
    return this.#ready;
  }

  /** The Rpc of the present thread, which may be lost already or not ready yet. @throws Error before start(). */
  get peer(): Rpc<Local, Remote> {
    return this.#current.peer;
  }

  /** Resolves with the Rpc of a thread that is ready. */
  get ready(): Promise<Rpc<Local, Remote>> {
    return this.#ready;
  }

  /** False between a loss and the start of the next thread. */
  get isAlive(): boolean {
    return this.#life !== undefined && this.#life.reason === undefined;
  }

  get threadId(): number {
    return this.#current.thread.threadId;
  }

  /** How long the present thread was active and idle since its start. Undefined when there is none. */
  utilization(): EventLoopUtilization | undefined {
    return this.isAlive ? this.#life?.thread.utilization() : undefined;
  }

  ping(): Promise<number> {
    return this.peer.ping();
  }

  /** Resolves when the present thread no longer exists. */
  get gone(): Promise<void> {
    return this.#life?.gone ?? Promise.resolve();
  }

  /**
   * Asks the thread to end; it is not replaced any more. Resolves when it has exited, or after `withinMs`.
   * @returns whether it has exited.
   */
  async stop(
    ask: (peer: Rpc<Local, Remote>) => void,
    withinMs = Number.POSITIVE_INFINITY,
  ): Promise<boolean> {
    this.#state = 'stopping';
    this.#ready = NEVER;
    if (this.#life) ask(this.#life.peer);
    const exited = this.gone.then(() => true);
    return withinMs === Number.POSITIVE_INFINITY
      ? exited
      : withTimeout(exited, withinMs, () => false);
  }

  /** Ends the thread as a crash would. Not for a thread that has sockets open. */
  kill(reason?: Error): void {
    const life = this.#current;
    life.thread.terminate();
    if (reason) this.#lose(life, reason);
  }

  get #current(): Life<Local, Remote> {
    if (!this.#life) throw new Error('the thread was not started');
    return this.#life;
  }

  /** @throws what `prepare` does, or an Error with the reason for which the thread was lost. */
  async #bringUp(
    life: Life<Local, Remote>,
    replaces: string | undefined,
  ): Promise<Rpc<Local, Remote>> {
    await Promise.race([this.#options.prepare?.(life.peer, replaces), life.lost.promise]);
    if (life.reason !== undefined) throw this.#options.lost(life.reason, life.error);
    if (this.#state === 'stopping') return NEVER;
    this.#state = 'ready';
    return life.peer;
  }

  #begin(): Life<Local, Remote> {
    const thread = this.#options.source();
    thread.port.on('message', noteMessage);
    const peer = new Rpc<Local, Remote>(thread.port, this.#options.methods);
    const startedAt = this.#clock.now();
    const life: Life<Local, Remote> = {
      thread,
      peer,
      startedAt,
      reason: undefined,
      error: undefined,
      lost: new Deferred(),
      gone: Promise.all([thread.ended, thread.exited]).then(() => this.#exited(life)),
    };
    this.#life = life;
    void thread.ended.then((error) => this.#lose(life, error));
    return life;
  }

  #lose(life: Life<Local, Remote>, error: Error | undefined): void {
    if (life.reason !== undefined) return;
    const reason = error ? messageOf(error) : 'its thread has ended';
    life.reason = reason;
    life.error = error;
    if (this.#state === 'ready') {
      const { restart } = this.#options;
      if (restart) {
        if (this.#clock.now() - life.startedAt >= restart.healthyMs) this.#forgetFailures();
        this.#state = 'restarting';
        this.#ready = this.#replace(restart, life, reason);
      }
    }
    // The callers whose calls this rejects wait for the next thread, so it has to be announced first.
    life.peer.close(this.#options.lost(reason, error));
    life.lost.resolve();
    this.#options.ended?.(error);
  }

  #exited({ reason = '' }: Life<Local, Remote>): void {
    const isRepeated = this.#isRepeated(`exited: ${reason}`);
    this.#options.exited?.({ reason, isRepeated, isExpected: this.#state === 'stopping' });
  }

  #isRepeated(reason: string): boolean {
    const isRepeated = this.#reasons.has(reason);
    this.#reasons.add(reason);
    return isRepeated;
  }

  /** Starts threads until one becomes ready. */
  async #replace(
    { pauseMs }: RestartPolicy,
    dead: Life<Local, Remote>,
    reason: string,
  ): Promise<Rpc<Local, Remote>> {
    await dead.gone;
    for (;;) {
      const pause = pauseMs(this.#failures++);
      if (pause > 0) await this.#clock.sleep(pause);
      if (this.#state === 'stopping') return NEVER;
      const last = this.#life;
      try {
        return await this.#bringUp(this.#begin(), reason);
      } catch (thrown) {
        // When no thread was started, the present one is still the last.
        reason = (this.#life === last ? undefined : this.#life?.reason) ?? messageOf(thrown);
      }
      const { peer, thread, gone } = this.#current;
      const { notReady } = this.#options;
      if (notReady) notReady(peer, { reason, isRepeated: this.#isRepeated(`start: ${reason}`) });
      else thread.terminate();
      await gone;
    }
  }

  #forgetFailures(): void {
    this.#failures = 0;
    this.#reasons.clear();
  }
}
