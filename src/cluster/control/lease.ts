// In main. A lease: a key in a KV bucket that is renewed by revision. The node's own, and that of the leader.
//
// The deadline counts from when a renewal was sent, so that it is never later here than where the renewal was seen. Once it has passed,
// or is so near that the bots have to be stopped, the lease is given up: it is not renewed, but acquired again when nothing runs.
//
// It is renewed much more often than it must be, and a renewal without an answer is not waited for: when NATS has been silent, the first
// renewal after that counts (docs/CLUSTER.md, "Leases and elections").

import type { Clock } from '../../shared/clock.js';
import { DroverError, messageOf } from '../../shared/errors.js';
import type { LeaseDeadline } from '../../shared/memory/lease-deadline.js';
import { unlessAborted } from '../../shared/unless-aborted.js';

const SUSPENDED =
  'it was not renewed in time: the process or the machine was suspended, or its clock was set';
const NO_ANSWER = 'it was not renewed in time: the NATS servers do not answer';
const TOO_LATE = 'it was renewed too late';
const GONE = 'its key is gone: the NATS servers have lost it, or the bucket was deleted';

/** A lease is renewed so many times in its time. */
const RENEWALS = 12;
/** While it is not answered, or fails, so many times. */
const ATTEMPTS = 24;

/** How long an answer may take: a few renewals are then on their way. */
export function answerMsOf(leaseMs: number): number {
  return leaseMs / 6;
}

/** How long before the deadline what needs the lease has to begin to stop, at the latest. */
export function stopMsOf(leaseMs: number): number {
  return leaseMs / 8;
}

/** How long a stop waits for what is under way, and to give the lease back, in ms each. NATS may be away. */
const CLOSE_MS = 1000;

export interface LeaseEntry {
  revision: number;
  /** null: it was ended, by its owner or by another node. */
  value: string | null;
  /** It is no lease, and why. The value is null then, too. */
  fault?: string;
}

/** The key. Each call ends within {@link answerMsOf}, with an error if need be. */
export interface LeaseStore {
  /** Not from a copy that may be behind. null: there is no such key. */
  read(): Promise<LeaseEntry | null>;
  /**
   * @param expected the revision that is to be replaced; 0 for a key that does not exist. @returns the new revision
   * @throws Error for which {@link isOutdated} is true when it has another revision
   */
  write(value: string, expected: number): Promise<number>;
  /** Leaves a mark in place of the value. Throws as `write` does. */
  end(expected: number): Promise<void>;
  isOutdated(thrown: unknown): boolean;
  reasonOf(thrown: unknown): string;
}

/** Whose a value is: of this run; of an earlier one of this service; of another service. */
export type LeaseOwner = 'self' | 'earlier' | 'other';
export type LeaseState = 'joining' | 'held' | 'lost';

export interface LeaseOptions {
  store: LeaseStore;
  clock: Clock;
  deadline: LeaseDeadline;
  leaseMs: number;
  /** How long before the deadline the owner is told to stop. */
  stopMs: number;
  /** What is written with each renewal. */
  value: () => string;
  ownerOf: (value: string) => LeaseOwner;
  /**
   * What a renewal does that finds no key. `renew` makes it again, if nobody else has: nobody may end a lease before its deadline, so it
   * has not been ended. `lose` gives it up.
   */
  whenGone: 'renew' | 'lose';
  /** Asked before it is acquired, and when it was: `isHeld`. Rejects when it must not be. */
  admit?: (isHeld: boolean) => Promise<void>;
  events: LeaseEvents;
}

export interface LeaseEvents {
  /** It runs until it is lost. */
  onHeld: () => void;
  /** After each renewal: the deadline is another. */
  onRenewed?: (revision: number) => void;
  /** The deadline is near: what needs the lease has to stop. Resolves when nothing runs any more. */
  onExpiring: (reason: string) => Promise<void>;
  /** What still runs has to be ended now. It is acquired again once this has resolved. */
  onLost: (reason: string) => Promise<void>;
  /** Another has it. @param isAlive whether it has renewed it since this one looks. */
  onOther: (value: string, isAlive: boolean) => void;
  /** It cannot be acquired, or renewed, at present. @param thrown what `reason` is about */
  onTrouble: (reason: string, thrown: unknown) => void;
}

/** How long others wait beyond the lease: clocks may differ by a tenth, and a second is enough for those of the default lease. */
export function marginOf(leaseMs: number): number {
  return Math.max(1000, leaseMs / 10);
}

export class Lease {
  readonly #options: LeaseOptions;
  readonly #closing = new AbortController();
  #state: LeaseState = 'joining';
  #revision = 0;
  #run: Promise<void> | null = null;
  /** Grows when the lease is given up: the answer to a renewal that comes after that must not extend the deadline. */
  #generation = 0;
  /** Another's entry, and since when it is unchanged. */
  #other: { revision: number; sinceMs: number; hasChanged: boolean; isLease: boolean } | null =
    null;

  constructor(options: LeaseOptions) {
    this.#options = options;
  }

  get state(): LeaseState {
    return this.#state;
  }

  /** Acquires it, and again each time it was lost, until {@link close}. */
  start(): void {
    this.#run ??= this.#keep();
  }

  /** Writes the value now instead of with the next renewal. Does nothing unless it is held. */
  async refresh(): Promise<void> {
    if (this.#state === 'held') await this.#renew();
  }

  /** Gives it back, if it is held. What needs it must have ended. */
  async close(): Promise<void> {
    const { deadline, store, clock } = this.#options;
    const inTime = (task: Promise<void> | null) => Promise.race([task, clock.sleep(CLOSE_MS)]);
    this.#closing.abort();
    await inTime(this.#run);
    this.#generation++;
    deadline.end();
    const isHeld = this.#state === 'held';
    this.#state = 'lost';
    // When this fails, it runs out.
    if (isHeld) await inTime(store.end(this.#revision).catch(() => {}));
  }

  async #keep(): Promise<void> {
    while (!this.#isClosed) {
      await this.#acquire();
      const reason = await this.#hold();
      if (reason !== null) await this.#lose(reason);
    }
  }

  async #acquire(): Promise<void> {
    const { leaseMs, events } = this.#options;
    while (!this.#isClosed) {
      if (await this.#tryOnce(() => this.#take())) {
        this.#state = 'held';
        this.#other = null;
        if (!this.#isClosed) events.onHeld();
        return;
      }
      await this.#sleep(Math.min(500, leaseMs / 10));
    }
  }

  /** Once: whether it is held now. */
  async #take(): Promise<boolean> {
    const { store, ownerOf, admit, events } = this.#options;
    await admit?.(false);
    const entry = await store.read();
    const value = entry?.value ?? null;
    // What an earlier run began has ended with it, or at its deadline at the latest; the revision excludes that it renews.
    const isOther = value !== null && ownerOf(value) === 'other';
    if (entry && (isOther || entry.fault !== undefined) && !this.#watchOther(entry)) {
      if (value !== null) events.onOther(value, this.#other?.hasChanged ?? false);
      else events.onTrouble(`what has the key of its lease is no lease: ${entry.fault}`, null);
      return false;
    }
    await this.#write(entry?.revision ?? 0, true);
    await admit?.(true);
    return true;
  }

  /** @returns whether another's lease has run out: it was not renewed for so long, as seen from here. */
  #watchOther({ revision, fault }: LeaseEntry): boolean {
    const { clock, leaseMs } = this.#options;
    const isLease = fault === undefined;
    const before = this.#other;
    if (before?.revision !== revision) {
      // More of what is no lease hides no renewal for longer: who has the lease writes over it.
      const isSame = before !== null && !isLease && !before.isLease;
      const sinceMs = isSame ? before.sinceMs : clock.now();
      this.#other = { revision, sinceMs, hasChanged: before !== null, isLease };
    }
    const { sinceMs } = this.#other as { sinceMs: number };
    return clock.now() - sinceMs >= leaseMs + marginOf(leaseMs);
  }

  /** @param isNew the key was not this one's before: it is held once it can be read back. @throws NotKeptError; of the store. */
  async #write(expected: number, isNew = false): Promise<void> {
    const { store, deadline, leaseMs, value, events } = this.#options;
    const sent = deadline.now();
    const generation = this.#generation;
    const revision = await store.write(value(), expected);
    if (isNew && !(await this.#isKept(revision))) throw new NotKeptError();
    if (generation !== this.#generation) throw new Error(TOO_LATE);
    // One that was sent later was answered before.
    if (sent.monotonicMs + leaseMs < deadline.times.monotonicMs) return;
    this.#revision = revision;
    deadline.renewed(sent.monotonicMs, sent.wallMs, leaseMs);
    events.onRenewed?.(revision);
  }

  /** NATS servers that have diverged acknowledge what none of them has then. */
  async #isKept(revision: number): Promise<boolean> {
    const { store, ownerOf } = this.#options;
    const { value = null, revision: found = 0 } = (await store.read()) ?? {};
    return value !== null && ownerOf(value) === 'self' && found >= revision;
  }

  /** Renews it until it is to be given up. @returns the reason; null when it was closed */
  async #hold(): Promise<string | null> {
    const { deadline, leaseMs, stopMs, clock } = this.#options;
    const tickMs = Math.min(250, leaseMs / ATTEMPTS);
    let trouble: unknown = null;
    let sentAt = clock.now();
    let isAnswered = true;
    /** Bounded: each ends in time. */
    const underWay = new Set<Promise<void>>();
    const ended = (thrown: unknown): void => {
      if (!(trouble instanceof TakenError)) trouble = thrown;
      if (thrown === null) isAnswered = true;
    };
    const renew = (): void => {
      sentAt = clock.now();
      isAnswered = false;
      const renewal = this.#renew()
        .then(() => null)
        .then(ended, ended)
        .then(() => void underWay.delete(renewal));
      underWay.add(renewal);
    };
    while (!this.#isClosed) {
      if (trouble instanceof TakenError) {
        // It may be somebody's who has begun to run what this one runs.
        deadline.end();
        return trouble.message;
      }
      // Before anything is sent: one that has passed must not be renewed, also not by a process that was frozen.
      if (deadline.leftMs <= stopMs) {
        if (trouble !== null) return messageOf(trouble);
        // Who is awake sees the time come before the deadline.
        return underWay.size > 0 && deadline.leftMs > 0 ? NO_ANSWER : SUSPENDED;
      }
      const dueMs = (): number =>
        sentAt + leaseMs / (isAnswered ? RENEWALS : ATTEMPTS) - clock.now();
      if (dueMs() <= 0) renew();
      await this.#sleep(Math.min(tickMs, dueMs()));
    }
    await Promise.all(underWay);
    return null;
  }

  /** @throws TakenError when it is not ours any more, or why it was not renewed. */
  async #renew(): Promise<void> {
    const { store, events, deadline } = this.#options;
    if (deadline.hasPassed) throw new Error(TOO_LATE);
    try {
      await this.#write(this.#revision).catch(async (thrown: unknown) => {
        if (!store.isOutdated(thrown)) throw thrown;
        await this.#renewFound();
      });
    } catch (thrown) {
      if (thrown instanceof TakenError) throw thrown;
      const reason = store.reasonOf(thrown);
      // Outdated: another renewal of this one was faster.
      if (!store.isOutdated(thrown)) events.onTrouble(reason, thrown);
      throw new Error(reason);
    }
  }

  /** The revision is another: by a renewal of ours whose answer was lost, because the key is gone, or because it is not ours any more. */
  async #renewFound(): Promise<void> {
    const { store, ownerOf, deadline, whenGone } = this.#options;
    const entry = await store.read();
    if (deadline.hasPassed) throw new TakenError(TOO_LATE);
    if (entry === null) {
      if (whenGone === 'lose') throw new TakenError(GONE);
      return await this.#write(0, true);
    }
    // As when it is gone: nobody may have ended it.
    if (entry.fault !== undefined) return await this.#write(entry.revision);
    if (entry.value === null) throw new TakenError('another node has ended it');
    if (ownerOf(entry.value) !== 'self') throw new TakenError('another service has taken it');
    await this.#write(entry.revision);
  }

  async #lose(reason: string): Promise<void> {
    const { deadline, events, clock } = this.#options;
    this.#state = 'lost';
    this.#generation++;
    const { leftMs } = deadline;
    let stopped: Promise<void> = Promise.resolve();
    if (leftMs > 0) {
      stopped = events.onExpiring(reason).catch(() => {});
      await Promise.race([stopped, clock.sleep(leftMs)]);
    }
    deadline.end();
    await Promise.all([stopped, events.onLost(reason).catch(() => {})]);
    if (!this.#isClosed) this.#state = 'joining';
  }

  async #tryOnce(attempt: () => Promise<boolean>): Promise<boolean> {
    const { store, events } = this.#options;
    try {
      return await attempt();
    } catch (thrown) {
      // Another was faster: look again.
      if (!store.isOutdated(thrown)) events.onTrouble(store.reasonOf(thrown), thrown);
      return false;
    }
  }

  get #isClosed(): boolean {
    return this.#closing.signal.aborted;
  }

  async #sleep(ms: number): Promise<void> {
    await unlessAborted(this.#options.clock.sleep(ms), this.#closing.signal).catch(() => {});
  }
}

/** The lease is another's by now, or may be. */
class TakenError extends Error {}

/** NATS has acknowledged the key and does not have it. */
export class NotKeptError extends DroverError {
  constructor() {
    super(
      'unavailable',
      'NATS has acknowledged the lease and does not have it: its servers have diverged (docs/CLUSTER.md, "What NATS loses")',
    );
  }
}
