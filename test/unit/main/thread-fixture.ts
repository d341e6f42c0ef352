// A thread without a thread, and time without waiting.

import { MessageChannel, type MessagePort } from 'node:worker_threads';
import type { ThreadHandle } from '../../../src/main/threads/thread-source.js';
import type { Clock } from '../../../src/shared/clock.js';
import { Deferred } from '../../../src/shared/deferred.js';

export class FakeThread implements ThreadHandle {
  readonly port: MessagePort;
  /** The thread's end of its channel. */
  readonly inner: MessagePort;
  readonly threadId = 1;
  isTerminated = false;
  readonly #ended = new Deferred<Error | undefined>();
  readonly #exited = new Deferred();
  readonly ended = this.#ended.promise;
  readonly exited = this.#exited.promise;

  constructor() {
    const { port1, port2 } = new MessageChannel();
    this.port = port1;
    this.inner = port2;
    port2.unref();
  }

  utilization() {
    return { active: 1, idle: 1, utilization: 0.5 };
  }

  terminate(): void {
    this.isTerminated = true;
    this.exit();
  }

  /** Its code has failed; the thread is still there. */
  fail(error: Error): void {
    this.#ended.resolve(error);
  }

  exit(error?: Error): void {
    this.#ended.resolve(error);
    this.#exited.resolve();
    this.port.close();
  }
}

/** Time that passes when a test says so; sleeps are recorded. */
export class FakeClock implements Clock {
  time = 0;
  /** How long each sleep was asked to last, in ms. */
  readonly sleeps: number[] = [];
  #timers: { at: number; run: () => void }[] = [];

  now(): number {
    return this.time;
  }

  sleep(ms: number): Promise<void> {
    this.sleeps.push(ms);
    return new Promise((run) => this.#timers.push({ at: this.time + ms, run }));
  }

  every(ms: number, task: () => void): () => void {
    let isOn = true;
    const arm = (): void => {
      const run = (): void => {
        if (!isOn) return;
        task();
        arm();
      };
      this.#timers.push({ at: this.time + ms, run });
    };
    arm();
    return () => {
      isOn = false;
    };
  }

  /** Lets time pass, with everything that becomes due, and what that starts. */
  async advance(ms: number): Promise<void> {
    const until = this.time + ms;
    await settled();
    for (;;) {
      const due = this.#timers.filter(({ at }) => at <= until).sort((a, b) => a.at - b.at)[0];
      if (!due) break;
      this.#timers = this.#timers.filter((timer) => timer !== due);
      this.time = due.at;
      due.run();
      await settled();
    }
    this.time = until;
  }
}

/** Resolves when everything that needs no time has happened, messages between ports included. */
export async function settled(): Promise<void> {
  for (let n = 0; n < 3; n++) await new Promise((resolve) => setImmediate(resolve));
}
