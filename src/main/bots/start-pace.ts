// Runs in main. Spreads the starts of bots over time. Owns the bots that wait for their turn, and one timer.

import { MAX_TIMER_MS } from '../../shared/contract/timers.js';

/** How many bots may start in a second: in all, null for any number; and of a kind, where that is limited. */
export interface StartLimits {
  total: number | null;
  byKind: Readonly<Record<string, number>>;
}

/** A start of one bot, which an operator asked for, comes before starts of many. */
export type Lane = 'one' | 'many';

/** A bot in the queue. */
export interface QueueEntry {
  /** How many bots start before this one, as far as is known now. */
  ahead: number;
  /** When its turn is, in ms from now, as far as is known now. */
  waitMs: number;
  /** The setting that makes the bot wait. */
  setting: string;
  /** Gives up the place. Does nothing after its turn. */
  leave(): void;
}

interface Waiting {
  lane: Lane;
  order: number;
  /** Called when it is the bot's turn. */
  go(): void;
}

const TOTAL = 'hosts.starts_per_second';
const BY_KIND = 'hosts.starts_per_second_by_kind';
/** How much later than it was due a start may be caught up, in ms: after a pause of main not all starts of it come at once. */
const CATCH_UP_MS = 100;

/** Starts at a steady rate. */
class Rate {
  readonly #everyMs: number;
  #nextAt = 0;

  constructor(perSecond: number) {
    this.#everyMs = 1000 / perSecond;
  }

  waitMs(now: number): number {
    return Math.max(0, this.#nextAt - now);
  }

  /** @param waited whether a bot was waiting for this turn, which may have been due before `now`. */
  take(now: number, waited: boolean): void {
    const due = Math.max(this.#nextAt, waited ? now - CATCH_UP_MS : now);
    this.#nextAt = due + this.#everyMs;
  }

  /** How long `starts` take, in ms. */
  timeFor(starts: number): number {
    return starts * this.#everyMs;
  }
}

/** The bots of one kind that wait, in order. Together bounded by the number of bots, each of which is here at most once. */
class KindQueue {
  readonly one = new Set<Waiting>();
  readonly many = new Set<Waiting>();
  rate: Rate | undefined;

  constructor(rate: Rate | undefined) {
    this.rate = rate;
  }

  get size(): number {
    return this.one.size + this.many.size;
  }

  get first(): Waiting | undefined {
    for (const waiting of this.one) return waiting;
    for (const waiting of this.many) return waiting;
    return undefined;
  }
}

export class StartPace {
  #total: Rate | undefined;
  #byKind: Readonly<Record<string, number>> = {};
  /** By kind, for each that is limited or has waited. Bounded by the number of kinds. */
  readonly #queues = new Map<string, KindQueue>();
  readonly #now: () => number;
  #order = 0;
  #timer: NodeJS.Timeout | undefined;

  /** @param now a monotonic clock in ms. */
  constructor(limits: StartLimits, now: () => number = () => performance.now()) {
    this.#now = now;
    this.change(limits);
  }

  /** Other limits hold from now on, also for bots that wait. */
  change({ total, byKind }: StartLimits): void {
    this.#total = total === null ? undefined : new Rate(total);
    this.#byKind = byKind;
    for (const [kind, queue] of this.#queues) queue.rate = this.#rateOf(kind);
    this.#arm(this.#now());
  }

  /** Whether a bot may start now, without overtaking another. It counts as started then. */
  tryTake(kind: string, lane: Lane): boolean {
    if (!this.#isLimited(kind)) return true;
    const queue = this.#queue(kind);
    const now = this.#now();
    if ((lane === 'one' ? queue.one.size : queue.size) > 0 || this.#waitMs(queue, now) > 0) {
      return false;
    }
    this.#total?.take(now, false);
    queue.rate?.take(now, false);
    return true;
  }

  /** For a bot that may not start now. @param go is called once, at its turn. */
  join(kind: string, lane: Lane, go: () => void): QueueEntry {
    const now = this.#now();
    const queue = this.#queue(kind);
    let total = 0;
    for (const other of this.#queues.values())
      total += lane === 'one' ? other.one.size : other.size;
    const ofKind = lane === 'one' ? queue.one.size : queue.size;
    const waitMs = (rate: Rate | undefined, ahead: number): number =>
      rate === undefined ? 0 : rate.waitMs(now) + rate.timeFor(ahead);
    const inAll = { ahead: total, waitMs: waitMs(this.#total, total), setting: TOTAL };
    const byKind = { ahead: ofKind, waitMs: waitMs(queue.rate, ofKind), setting: BY_KIND };
    const longest = byKind.waitMs > inAll.waitMs ? byKind : inAll;
    const waiting: Waiting = { lane, order: this.#order++, go };
    queue[lane].add(waiting);
    this.#arm(now);
    const leave = (): void => {
      if (queue[lane].delete(waiting)) this.#arm(this.#now());
    };
    return { ...longest, leave };
  }

  #isLimited(kind: string): boolean {
    return this.#total !== undefined || Object.hasOwn(this.#byKind, kind);
  }

  #queue(kind: string): KindQueue {
    let queue = this.#queues.get(kind);
    if (!queue) {
      queue = new KindQueue(this.#rateOf(kind));
      this.#queues.set(kind, queue);
    }
    return queue;
  }

  #rateOf(kind: string): Rate | undefined {
    const limit = Object.hasOwn(this.#byKind, kind) ? this.#byKind[kind] : undefined;
    return limit === undefined ? undefined : new Rate(limit);
  }

  #waitMs({ rate }: KindQueue, now: number): number {
    return Math.max(this.#total?.waitMs(now) ?? 0, rate?.waitMs(now) ?? 0);
  }

  #turns(): void {
    this.#timer = undefined;
    const now = this.#now();
    for (;;) {
      const queue = this.#next(now);
      const waiting = queue?.first;
      if (!queue || !waiting) break;
      queue[waiting.lane].delete(waiting);
      this.#total?.take(now, true);
      queue.rate?.take(now, true);
      waiting.go();
    }
    this.#arm(now);
  }

  /** The kind whose first bot is the next of those that may start now. */
  #next(now: number): KindQueue | undefined {
    let best: { queue: KindQueue; first: Waiting } | undefined;
    for (const queue of this.#queues.values()) {
      const { first } = queue;
      if (!first || this.#waitMs(queue, now) > 0) continue;
      if (best === undefined || isBefore(first, best.first)) best = { queue, first };
    }
    return best?.queue;
  }

  #arm(now: number): void {
    let wait = Number.POSITIVE_INFINITY;
    for (const queue of this.#queues.values()) {
      if (queue.size > 0) wait = Math.min(wait, this.#waitMs(queue, now));
    }
    clearTimeout(this.#timer);
    this.#timer = undefined;
    if (wait === Number.POSITIVE_INFINITY) return;
    // Rounded up: a timer that is early would find nothing to start.
    this.#timer = setTimeout(() => this.#turns(), Math.min(MAX_TIMER_MS, Math.ceil(wait)));
  }
}

function isBefore(a: Waiting, b: Waiting): boolean {
  return a.lane === b.lane ? a.order < b.order : a.lane === 'one';
}
