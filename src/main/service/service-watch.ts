// Runs in main. Owns the watch over the event loops of the service's own threads: names what has blocked one, and ends a thread that
// hangs, so that it is replaced. A thread has no timer for it, and tells nothing: main reads how long its loop was idle, and asks one
// that was not.

import type { SlowTurn } from '../../shared/contract/slow-turn.js';
import { SLOW_TURN_MS } from '../../shared/lag-watch.js';
import { type Ended, endStuckTurn } from '../../shared/stack-capture.js';
import { threadWaitMs } from '../../shared/thread-waits.js';
import { type Beating, Watchdog } from '../bots/watchdog.js';
import type { Turning } from '../threads/supervised-thread.js';

/** A thread of the service. */
export interface ServiceThread {
  /** As in the metrics. */
  name: string;
  /** Undefined while there is none. */
  thread: Turning | undefined;
  /** It ends by itself once it has left; the others are terminated. */
  endsItself?: boolean;
  /** It may hang because another one does, which has to go first. */
  waitsForOthers?: boolean;
  /** It is named and not ended: to end it within a call of LMDB has ended the process (SIGSEGV, seen on a busy machine). */
  isKept?: boolean;
}

export interface ServiceWatchParts {
  hangMs: number;
  say: (level: 'warn' | 'error', line: string) => void;
  /** Ends what a thread is stuck in; see {@link endStuckTurn}. */
  endTurn?: typeof endStuckTurn;
  /** Monotonic, in ms. */
  now?: () => number;
}

/** How often the threads are looked at, in ms: as often as the load (access/pressure-gauge.ts), in the same wake-up. */
const LOOK_MS = 1000;
/** How long a thread may take to pause, in ms. */
const PAUSE_MS = 3000;
/** A thread is named once in this time, in ms. What it does meanwhile is counted, and told with the next line. */
const NAME_EVERY_MS = 60_000;
/** Frames of a stack in a line. */
const SHOWN_FRAMES = 4;
/** Characters of what a thread was doing in a line. */
const SHOWN_WORK = 300;

/** One thread, until another takes its place. */
class Loop implements Beating {
  readonly name: string;
  readonly thread: Turning;
  readonly threadId: number;
  readonly endsItself: boolean;
  readonly isKept: boolean;
  /** It is not ended before others had the time to go. */
  mustWait: boolean;
  beats = 0;
  isAsleep = true;
  /** The system's id of the thread; 0 where that is not known. */
  #systemId = 0;
  #idleMs = 0;
  #isAsked = false;

  constructor({ name, endsItself, waitsForOthers, isKept }: ServiceThread, thread: Turning) {
    this.name = name;
    this.thread = thread;
    this.threadId = thread.threadId;
    this.endsItself = endsItself ?? false;
    this.isKept = isKept ?? false;
    this.mustWait = waitsForOthers ?? false;
    this.#ask();
  }

  get waitedMs(): number {
    return threadWaitMs(this.#systemId);
  }

  /** Its loop turns if it has been idle since the last look, or if it answers. */
  look(): void {
    const { active = 0, idle = 0 } = this.thread.utilization() ?? {};
    // One that loads its modules has no loop yet.
    this.isAsleep = active === 0 || idle > this.#idleMs;
    this.#idleMs = idle;
    if (!this.isAsleep) this.#ask();
  }

  #ask(): void {
    if (this.#isAsked) return;
    this.#isAsked = true;
    this.thread.ping().then(
      (systemId) => {
        this.#systemId = systemId;
        this.beats += 1;
        this.#isAsked = false;
      },
      // It is gone.
      () => {},
    );
  }
}

interface Named {
  at: number;
  /** What it has done since. */
  times: number;
  longestMs: number;
}

export class ServiceWatch {
  readonly #parts: ServiceWatchParts;
  readonly #now: () => number;
  /** By name. Bounded by the threads of the service. */
  readonly #loops = new Map<string, Loop>();
  readonly #named = new Map<string, Named>();
  #watchdog: Watchdog<Loop> | undefined;
  /** When main was held up last, and looked again. */
  #heldUpAt = Number.NEGATIVE_INFINITY;
  #lookedAt = 0;
  /** Turns in which a thread has hardly run, until the next look. */
  #unclear: { name: string; turn: SlowTurn }[] = [];

  constructor(parts: ServiceWatchParts) {
    this.#parts = parts;
    this.#now = parts.now ?? (() => performance.now());
  }

  /** @param threads those of the service, whose loops are watched; readers of the ring before the broadcaster, which waits for them. */
  start(threads: () => Iterable<ServiceThread>): void {
    const hung = (loop: Loop, forMs: number): void => void this.#hung(loop, forMs);
    this.#lookedAt = this.#now();
    this.#watchdog = new Watchdog(() => this.#look(threads()), this.#parts.hangMs, hung, LOOK_MS);
  }

  stop(): void {
    this.#watchdog?.stop();
  }

  /** The event loop of a thread, or of main, was blocked. */
  slow(name: string, turn: SlowTurn): void {
    const { ranMs } = turn;
    if (name === MAIN || ranMs === null || ranMs >= SLOW_TURN_MS / 2) this.#name(name, turn);
    // It waited for a disk; or the process was suspended, which the next look shows.
    else this.#unclear.push({ name, turn });
  }

  #look(threads: Iterable<ServiceThread>): Iterable<Loop> {
    const now = this.#now();
    if (now - this.#lookedAt >= LOOK_MS + SLOW_TURN_MS / 2) this.#heldUpAt = now;
    this.#lookedAt = now;
    for (const { name, turn } of this.#unclear) {
      if (now - this.#heldUpAt > 2 * LOOK_MS) this.#name(name, turn);
    }
    this.#unclear = [];
    for (const one of threads) {
      const { name, thread } = one;
      const known = this.#loops.get(name);
      if (!thread?.isAlive) this.#loops.delete(name);
      else if (known?.threadId !== thread.threadId) this.#loops.set(name, new Loop(one, thread));
      else known.look();
    }
    return this.#loops.values();
  }

  #name(name: string, { forMs, ranMs, what }: SlowTurn): void {
    const now = this.#now();
    const named = this.#named.get(name) ?? { at: Number.NEGATIVE_INFINITY, times: 0, longestMs: 0 };
    this.#named.set(name, named);
    named.times += 1;
    named.longestMs = Math.max(named.longestMs, forMs);
    if (now - named.at < NAME_EVERY_MS) return;
    const times =
      named.times === 1 ? '' : ` at most, ${named.times} times since the last such line`;
    const ran =
      ranMs !== null && ranMs < forMs / 2 ? `, in which it ran for ${seconds(ranMs)}` : '';
    this.#parts.say(
      'warn',
      `the event loop of ${name} was blocked for ${seconds(named.longestMs)}${times}${ran}${inWork(what)}`,
    );
    this.#named.set(name, { at: now, times: 0, longestMs: 0 });
  }

  async #hung(loop: Loop, forMs: number): Promise<void> {
    const { name, thread, threadId } = loop;
    if (loop.mustWait) {
      loop.mustWait = false;
      this.#watchdog?.again(loop);
      return;
    }
    const blocked = `the event loop of ${name} has been blocked for ${seconds(forMs)}`;
    if (loop.isKept) {
      this.#watchdog?.again(loop);
      this.#parts.say('error', `${blocked}: if it stays so, restart the service`);
      return;
    }
    const { endTurn = endStuckTurn } = this.#parts;
    const ended = await endTurn(threadId, PAUSE_MS, loop.endsItself);
    // One that ends by itself may hang again before.
    if (!ended || ended.isAborted) this.#watchdog?.again(loop);
    if (!ended) {
      this.#parts.say(
        'error',
        `${blocked} in native code, which cannot be ended: if it stays so, restart the service`,
      );
      return;
    }
    // One that was aborted may have ended already.
    if (!ended.isAborted && thread.isAlive && thread.threadId === threadId) {
      thread.kill(new Error(`its event loop was blocked for ${seconds(forMs)}`));
    }
    // Not before: the line of a broadcaster that hangs is for its successor.
    this.#parts.say(
      'error',
      `${blocked}${inWork(ended.what)}${shownFrames(ended)}: it is replaced`,
    );
  }
}

/** Its name in the metrics. */
export const MAIN = 'main';

function inWork(what: string | null): string {
  return what === null ? '' : `, in ${what.slice(0, SHOWN_WORK)}`;
}

function shownFrames({ frames }: Ended): string {
  if (frames.length === 0) return '';
  const own = frames.filter(({ url }) => !url.startsWith('node:'));
  const shown = (own.length > 0 ? own : frames)
    .slice(0, SHOWN_FRAMES)
    .map(({ function: called, url, line }) => {
      const file = url.slice(url.lastIndexOf('/') + 1);
      return `${called} (${file}:${line})`;
    });
  return `, at ${shown.join(', ')}`;
}

function seconds(ms: number): string {
  return `${(ms / 1000).toFixed(1)} s`;
}
