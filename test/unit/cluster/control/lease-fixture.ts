// Clocks and a bucket for tests of leases: time passes only when the test says so.

import {
  Lease,
  type LeaseEntry,
  type LeaseOptions,
  type LeaseStore,
  stopMsOf,
} from '../../../../src/cluster/control/lease.js';
import type { Clock } from '../../../../src/shared/clock.js';
import { createLease, LeaseDeadline } from '../../../../src/shared/memory/lease-deadline.js';

/** A monotonic and a wall clock, which a test can move apart. */
export class Time implements Clock {
  monotonicMs = 1_000_000;
  wallMs = 1_700_000_000_000;
  #sleepers: { at: number; wake: () => void }[] = [];

  now(): number {
    return this.monotonicMs;
  }

  sleep(ms: number): Promise<void> {
    return new Promise((wake) => this.#sleepers.push({ at: this.monotonicMs + ms, wake }));
  }

  every(): () => void {
    return () => {};
  }

  /** As time passes for a process that runs: each timer in its turn. */
  async pass(ms: number): Promise<void> {
    const end = this.monotonicMs + ms;
    await settle();
    for (;;) {
      const next = Math.min(...this.#sleepers.map(({ at }) => at));
      if (next > end) break;
      this.#to(next);
      await settle();
    }
    this.#to(end);
    await settle();
  }

  /** As it passes for a process that was stopped: the clocks run, and nothing else. */
  async freeze(ms: number): Promise<void> {
    this.monotonicMs += ms;
    this.wallMs += ms;
    this.#wake();
    await settle();
  }

  #to(at: number): void {
    this.wallMs += Math.max(0, at - this.monotonicMs);
    this.monotonicMs = Math.max(this.monotonicMs, at);
    this.#wake();
  }

  #wake(): void {
    const due = this.#sleepers.filter(({ at }) => at <= this.monotonicMs);
    this.#sleepers = this.#sleepers.filter(({ at }) => at > this.monotonicMs);
    for (const { wake } of due) wake();
  }
}

/** Everything that can run without time passing has run. */
export async function settle(): Promise<void> {
  for (let i = 0; i < 5; i++) await new Promise((resolve) => setImmediate(resolve));
}

class Outdated extends Error {}

/** One key, with revisions like JetStream's. */
export class Key implements LeaseStore {
  entry: LeaseEntry | null = null;
  /** Why nothing works at present. */
  fault: string | null = null;
  /** Answers are lost: what was asked is done. */
  losesAnswers = false;
  /** Reads wait for this before they look. */
  readGate: Promise<void> = Promise.resolve();
  /** Nothing arrives, and each call ends only with this, which the bucket's timeout is. */
  silence: (() => Promise<never>) | null = null;
  /** Writes are acknowledged, and lost: what servers do that have diverged. */
  forgets = false;
  /** Writes that have arrived wait for this. */
  gate: Promise<void> = Promise.resolve();
  writes = 0;
  #revision = 0;

  read = async (): Promise<LeaseEntry | null> => {
    this.#check();
    if (this.silence) return this.silence();
    await this.readGate;
    return this.entry && { ...this.entry };
  };

  write = async (value: string | null, expected: number): Promise<number> => {
    this.#check();
    if (this.silence) return this.silence();
    if ((this.entry?.revision ?? 0) !== expected) throw new Outdated('wrong last sequence');
    this.#revision++;
    this.writes++;
    const revision = this.#revision;
    if (!this.forgets) this.entry = { value, revision };
    await this.gate;
    if (this.losesAnswers) throw new Error('timeout');
    return revision;
  };

  end = async (expected: number): Promise<void> => {
    await this.write(null, expected);
  };

  isOutdated = (thrown: unknown): boolean => thrown instanceof Outdated;
  reasonOf = (thrown: unknown): string => (thrown as Error).message;

  #check(): void {
    if (this.fault !== null) throw new Error(this.fault);
  }
}

export const LEASE_MS = 12_000;
/** Bots are stopped so long before the deadline. */
export const STOP_MS = stopMsOf(LEASE_MS);

/** A node with its lease on a key. `log` has what its owner was told. */
export class Node {
  readonly log: string[] = [];
  readonly deadline: LeaseDeadline;
  readonly lease: Lease;
  /** Bots of it run. */
  isRunning = false;
  /** Stopping its bots takes so long. */
  stopTakesMs = 100;
  /** To end them by force takes until this. */
  ending: Promise<void> = Promise.resolve();

  /** @param id of the service. @param run its number. */
  constructor(
    time: Time,
    key: Key,
    id = 'a',
    run = '1',
    whenGone: LeaseOptions['whenGone'] = 'renew',
  ) {
    this.deadline = new LeaseDeadline(createLease(), {
      monotonic: () => time.monotonicMs,
      wall: () => time.wallMs,
    });
    const value = `${id}/${run}`;
    this.lease = new Lease({
      store: key,
      clock: time,
      deadline: this.deadline,
      leaseMs: LEASE_MS,
      stopMs: STOP_MS,
      value: () => value,
      whenGone,
      ownerOf: (found) =>
        found === value ? 'self' : found.startsWith(`${id}/`) ? 'earlier' : 'other',
      events: {
        onHeld: () => {
          this.isRunning = true;
          this.log.push('held');
        },
        onExpiring: async (reason) => {
          this.log.push(`expiring: ${reason}`);
          await time.sleep(this.stopTakesMs);
          this.isRunning = false;
        },
        onLost: async (reason) => {
          this.isRunning = false;
          this.log.push(`lost: ${reason}`);
          await this.ending;
        },
        onOther: (found, isAlive) => this.log.push(`${found} ${isAlive ? 'lives' : 'is there'}`),
        onTrouble: (reason) => this.log.push(`trouble: ${reason}`),
      },
    });
  }

  async start(): Promise<this> {
    this.lease.start();
    await settle();
    return this;
  }
}
