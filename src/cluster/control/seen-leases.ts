// In main. When each lease of the bucket was renewed last, as seen from here. No NATS, no timers: members.ts has them.

import type { Clock } from '../../shared/clock.js';
import { marginOf } from './lease.js';

export interface SeenLease {
  /** The last one that was there. */
  value: string;
  /** null: it is not in the bucket any more, or the bucket is another one. */
  revision: number | null;
  /** It was ended: by its owner, or because it had run out. */
  isEnded: boolean;
  /** Its key has had what is no lease since the last one that was seen. */
  isDisturbed: boolean;
  seenMs: number;
}

export class SeenLeases {
  readonly #clock: Clock;
  /** How long a lease counts after its renewal was seen. The owner counts from when it sent it, which was earlier. */
  readonly #countsMs: number;
  readonly #leases = new Map<string, SeenLease>();
  /** Since when nothing was missed; null while something may be. */
  #currentSinceMs: number | null = null;

  constructor(clock: Clock, leaseMs: number) {
    this.#clock = clock;
    this.#countsMs = leaseMs + marginOf(leaseMs);
  }

  get(key: string): SeenLease | undefined {
    return this.#leases.get(key);
  }

  entries(): IterableIterator<[string, SeenLease]> {
    return this.#leases.entries();
  }

  /** Keys with their revisions that the bucket has not dropped yet, also where the clock of its server is a little ahead. */
  *fresh(): Iterable<[key: string, revision: number]> {
    for (const [key, lease] of this.#leases) {
      const isFresh = !lease.isEnded && this.ageMs(lease) < this.#countsMs / 2;
      if (isFresh && lease.revision !== null) yield [key, lease.revision];
    }
  }

  /** A watch that starts over tells again what it has told: only another revision is a renewal. */
  saw(key: string, value: string | null, revision: number): void {
    const lease = this.#leases.get(key);
    if (lease?.revision === revision) return;
    const seenMs = this.#clock.now();
    const fresh = { isEnded: false, isDisturbed: false, seenMs };
    if (value !== null) this.#leases.set(key, { value, revision, ...fresh });
    else if (lease) Object.assign(lease, { revision, isEnded: true });
  }

  /**
   * Its key has what is no lease: the owner may have renewed it just before that, or may hold it again. That counts once: an owner that is
   * there writes over it, and who wants to end the lease asks it.
   */
  disturbed(key: string, revision: number): void {
    const known = this.#leases.get(key);
    if (known?.revision === revision) return;
    const { value = '', isDisturbed = false } = known ?? {};
    const seenMs = isDisturbed && known ? known.seenMs : this.#clock.now();
    this.#leases.set(key, { value, revision, isEnded: false, isDisturbed: true, seenMs });
  }

  /** Its owner has said that it is there. */
  answered(key: string): void {
    const lease = this.#leases.get(key);
    if (lease) lease.seenMs = this.#clock.now();
  }

  /** The owner may still count on it until its time is over. */
  vanished(key: string): void {
    const lease = this.#leases.get(key);
    if (lease) lease.revision = null;
  }

  current(isCurrent: boolean): void {
    if (!isCurrent) this.#currentSinceMs = null;
    else this.#currentSinceMs ??= this.#clock.now();
  }

  isLive(key: string): boolean {
    const lease = this.#leases.get(key);
    return lease !== undefined && !lease.isEnded && this.ageMs(lease) < this.#countsMs;
  }

  /**
   * Whether nobody can hold this lease but one that has renewed it unseen, which a write that names the revision finds out. A lease that
   * was never seen may have been renewed just before this node began to look.
   */
  mayBeEnded(key: string): boolean {
    if (this.#currentSinceMs === null || this.isLive(key)) return false;
    return (
      this.#leases.get(key)?.isEnded === true ||
      this.#clock.now() - this.#currentSinceMs >= this.#countsMs
    );
  }

  /** Whether it has run out, and nobody has ended it. Not while renewals may have been missed. */
  ranOut(key: string): boolean {
    return this.#leases.get(key)?.isEnded === false && this.mayBeEnded(key);
  }

  ageMs(lease: SeenLease): number {
    return this.#clock.now() - lease.seenMs;
  }

  forget(key: string): void {
    this.#leases.delete(key);
  }
}
