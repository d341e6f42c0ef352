// One for all threads of the process; owns the counts of children that are being started and of files that are being opened for this
// process alone (src/shared/close-on-exec.ts).
//
// Contract: no child is started between the two steps of such an opening. Both wait for each other, with a bound: a thread that was
// terminated in between never leaves. Who has waited in vain takes its count for that, and continues.

import { getEnvironmentData, setEnvironmentData } from 'node:worker_threads';

const STARTING = 0;
const OPENING = 1;
/** How long an opening waits for children that are being started, in ms. */
const START_MS = 100;
/** How long the start of a child waits for an opening, in ms. */
const OPEN_MS = 1000;
/** Node gives what has this name to all threads that a thread starts, bots' own threads too. */
const NAME = 'drover.fork-gate';

export class ForkGate {
  readonly #cells: Int32Array;
  readonly #startMs: number;
  readonly #openMs: number;

  constructor(buffer: SharedArrayBuffer, startMs = START_MS, openMs = OPEN_MS) {
    this.#cells = new Int32Array(buffer);
    this.#startMs = startMs;
    this.#openMs = openMs;
  }

  static create(): SharedArrayBuffer {
    return new SharedArrayBuffer(8);
  }

  /** That of this process. It exists from the first call on, for threads that are started after it. */
  static ofProcess(): ForkGate {
    let buffer = getEnvironmentData(NAME) as unknown as SharedArrayBuffer | undefined;
    if (!buffer) {
      buffer = ForkGate.create();
      setEnvironmentData(NAME, buffer as never);
    }
    return new ForkGate(buffer);
  }

  /** Starts a child process: not while something is being opened. */
  start<T>(task: () => T): T {
    for (;;) {
      Atomics.add(this.#cells, STARTING, 1);
      if (Atomics.load(this.#cells, OPENING) <= 0) break;
      this.#leave(STARTING);
      this.#await(OPENING, this.#openMs);
    }
    try {
      return task();
    } finally {
      this.#leave(STARTING);
    }
  }

  /** Opens something, in both steps: not while a child is being started. */
  open<T>(task: () => T): T {
    Atomics.add(this.#cells, OPENING, 1);
    try {
      this.#await(STARTING, this.#startMs);
      return task();
    } finally {
      this.#leave(OPENING);
    }
  }

  #leave(count: number): void {
    // Another thread that waited in vain may have taken the count already.
    if (Atomics.sub(this.#cells, count, 1) <= 0) Atomics.add(this.#cells, count, 1);
    Atomics.notify(this.#cells, count);
  }

  /** Blocks until nobody is counted there. */
  #await(count: number, ms: number): void {
    const deadline = performance.now() + ms;
    for (;;) {
      const now = Atomics.load(this.#cells, count);
      const remaining = deadline - performance.now();
      if (now <= 0) return;
      if (remaining > 0) Atomics.wait(this.#cells, count, now, remaining);
      else Atomics.compareExchange(this.#cells, count, now, 0);
    }
  }
}
