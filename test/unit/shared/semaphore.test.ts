import { expect, it } from 'vitest';
import { Deferred } from '../../../src/shared/deferred.js';
import { Semaphore } from '../../../src/shared/semaphore.js';

/** Runs numbered tasks, each of which ends when the test says so. */
class Tasks {
  readonly started: number[] = [];
  readonly #ends = new Map<number, Deferred>();

  readonly #semaphore: Semaphore;

  constructor(semaphore: Semaphore) {
    this.#semaphore = semaphore;
  }

  run(number: number, signal?: AbortSignal): Promise<void> {
    return this.#semaphore.run(() => {
      this.started.push(number);
      const end = new Deferred();
      this.#ends.set(number, end);
      return end.promise;
    }, signal);
  }

  end(number: number): void {
    this.#ends.get(number)?.resolve();
  }

  fail(number: number): void {
    this.#ends.get(number)?.reject(new Error('failed'));
  }
}

it('runs as many as it has permits, and the others in order, without those that were cancelled', async () => {
  const tasks = new Tasks(new Semaphore({ permits: 2, maxQueued: 4 }));
  const gone = new AbortController();
  const runs = [1, 2, 3, 4, 5, 6].map((n) => tasks.run(n, n === 4 ? gone.signal : undefined));
  await expect(tasks.run(7)).rejects.toMatchObject({ code: 'overloaded', retryAfterS: 1 });
  expect(tasks.started).toEqual([1, 2]);
  gone.abort();
  await expect(runs[3]).rejects.toMatchObject({ code: 'no_answer' });
  tasks.fail(2);
  await expect(runs[1]).rejects.toThrow('failed');
  await expect.poll(() => tasks.started).toEqual([1, 2, 3]);
  tasks.end(1);
  tasks.end(3);
  await expect.poll(() => tasks.started).toEqual([1, 2, 3, 5, 6]);
  tasks.end(5);
  tasks.end(6);
  await Promise.all([runs[0], runs[2], runs[4], runs[5]]);
});

it('gives every permit back', async () => {
  const tasks = new Tasks(new Semaphore({ permits: 1, maxQueued: 1 }));
  const runs = [tasks.run(1), tasks.run(2)];
  tasks.end(1);
  await runs[0];
  await expect.poll(() => tasks.started).toEqual([1, 2]);
  tasks.end(2);
  await runs[1];
  const again = [tasks.run(3), tasks.run(4)];
  expect(tasks.started).toEqual([1, 2, 3]);
  tasks.end(3);
  await again[0];
  await expect.poll(() => tasks.started).toEqual([1, 2, 3, 4]);
  tasks.end(4);
  await again[1];
});

it('does not run a task whose signal is aborted already', async () => {
  const tasks = new Tasks(new Semaphore({ permits: 1, maxQueued: 1 }));
  await expect(tasks.run(1, AbortSignal.abort())).rejects.toMatchObject({ code: 'no_answer' });
  expect(tasks.started).toEqual([]);
});
