// In main and in the bus thread. The times at which calls and questions are sent, which are signed: what is old is not accepted, so that
// nobody sends it again after this node has forgotten it.
//
// A wall clock that is set back would make old what is new, and new what is old. So the time continues with the monotonic clock, and comes
// nearer to the wall clock at half speed: it never goes back, and is that of other machines again some time after a clock was set, or the
// machine was suspended.

import { DroverError } from '../../shared/errors.js';
import { type LeaseClocks, MACHINE_CLOCKS } from '../../shared/memory/lease-deadline.js';

/** What was sent is accepted for so long, in ms. `drover doctor` warns when a clock is wrong by a second. */
const EXPIRES_MS = 15_000;
/** How fast it comes nearer to the wall clock, in ms each ms. */
const PULL = 0.5;
const RETRY_AFTER_S = 1;

export class SendTimes {
  readonly #clocks: LeaseClocks;
  /** What was sent before is not known here: it may have been done. */
  readonly #since: number;
  #monotonic: number;
  /** Unix epoch ms. */
  #ms: number;

  constructor(clocks = MACHINE_CLOCKS) {
    this.#clocks = clocks;
    this.#monotonic = clocks.monotonic();
    this.#since = clocks.wall();
    this.#ms = this.#since;
  }

  /** For what is sent now. */
  stamp(): number {
    return Math.round(Math.max(this.#now(), this.#clocks.wall()));
  }

  /** @returns for how long the same would be accepted again, in ms of the monotonic clock. @throws DroverError when it is not. */
  check(stamp: number): number {
    const now = this.#now();
    const lateMs = now - stamp;
    const earlyMs = stamp - Math.max(now, this.#clocks.wall());
    if (lateMs > EXPIRES_MS) throw refused(lateMs, 'behind');
    if (earlyMs > EXPIRES_MS) throw refused(earlyMs, 'ahead of');
    if (stamp < this.#since) {
      throw new DroverError(
        'unavailable',
        'it was sent before the node had started',
        RETRY_AFTER_S,
      );
    }
    return (EXPIRES_MS - lateMs) / (1 - PULL);
  }

  #now(): number {
    const monotonic = this.#clocks.monotonic();
    const passed = monotonic - this.#monotonic;
    const off = this.#clocks.wall() - this.#ms - passed;
    this.#monotonic = monotonic;
    this.#ms += passed + Math.max(-PULL * passed, Math.min(PULL * passed, off));
    return this.#ms;
  }
}

function refused(byMs: number, how: string): DroverError {
  const seconds = Math.round(byMs / 1000);
  const why = `the clock of who has sent it is ${seconds} s ${how} this one, or somebody has sent it again: run NTP on both`;
  return new DroverError('unavailable', why, RETRY_AFTER_S);
}
