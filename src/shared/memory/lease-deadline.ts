// Until when this node may run its bots. Main writes it with each renewal of the lease; bot hosts read it before their connections send.
//
// Two clocks, because each misses something: CLOCK_MONOTONIC (process.hrtime) stops while the machine is suspended, and the wall
// clock can be set back. The deadline has passed when either says so: a node that stops too early is safe.

const CELLS = 2;
const MONOTONIC = 0;
const WALL = 1;

export type SharedLease = SharedArrayBuffer;

export function createLease(): SharedLease {
  return new SharedArrayBuffer(CELLS * BigInt64Array.BYTES_PER_ELEMENT);
}

/** Milliseconds of the machine's monotonic clock: the same in all threads and processes of the machine. */
export function monotonicMs(): number {
  return Number(process.hrtime.bigint() / 1_000_000n);
}

/** The two clocks. Tests supply their own. */
export interface LeaseClocks {
  monotonic(): number;
  wall(): number;
}

export const MACHINE_CLOCKS: LeaseClocks = { monotonic: monotonicMs, wall: () => Date.now() };

/** A deadline as it is sent to a process, which has no shared memory with main. In ms of {@link LeaseClocks}. */
export interface LeaseTimes {
  monotonicMs: number;
  wallMs: number;
}

export class LeaseDeadline {
  readonly #cells: BigInt64Array<SharedArrayBuffer>;
  readonly #clocks: LeaseClocks;

  constructor(shared: SharedLease, clocks: LeaseClocks = MACHINE_CLOCKS) {
    this.#cells = new BigInt64Array(shared);
    this.#clocks = clocks;
  }

  /** The time of both clocks. Read it before a renewal is sent. */
  now(): LeaseTimes {
    return { monotonicMs: this.#clocks.monotonic(), wallMs: this.#clocks.wall() };
  }

  /** The lease was renewed by a request that was sent at these times. */
  renewed(sentMonotonicMs: number, sentWallMs: number, leaseMs: number): void {
    this.set({ monotonicMs: sentMonotonicMs + leaseMs, wallMs: sentWallMs + leaseMs });
  }

  set({ monotonicMs, wallMs }: LeaseTimes): void {
    Atomics.store(this.#cells, WALL, BigInt(Math.floor(wallMs)));
    Atomics.store(this.#cells, MONOTONIC, BigInt(Math.floor(monotonicMs)));
  }

  get times(): LeaseTimes {
    return {
      monotonicMs: Number(Atomics.load(this.#cells, MONOTONIC)),
      wallMs: Number(Atomics.load(this.#cells, WALL)),
    };
  }

  /** The lease is lost, or given back. */
  end(): void {
    Atomics.store(this.#cells, MONOTONIC, 0n);
  }

  get hasPassed(): boolean {
    return this.leftMs <= 0;
  }

  /** Milliseconds until the deadline, negative after it. */
  get leftMs(): number {
    const { monotonicMs, wallMs } = this.times;
    return Math.min(monotonicMs - this.#clocks.monotonic(), wallMs - this.#clocks.wall());
  }
}
