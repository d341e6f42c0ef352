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

it('serves the owners of waiting tasks in turn, and gives each its share of the room', async () => {
  const semaphore = new Semaphore({ permits: 1, maxQueued: 4 });
  const started: string[] = [];
  const end = new Deferred();
  const run = (name: string): Promise<unknown> =>
    semaphore.run(
      () => {
        started.push(name);
        return end.promise;
      },
      undefined,
      name[0],
    );
  const outcome = (run: Promise<unknown>): Promise<string> =>
    run.then(
      () => 'done',
      ({ code }) => code,
    );
  const first = ['a1', 'a2', 'a3', 'a4', 'a5'].map((name) => outcome(run(name)));
  const more = ['a6', 'b1', 'c1', 'b2', 'c2', 'd1'].map((name) => outcome(run(name)));
  end.resolve();
  // a5 and a4 made room for b1 and c1. Then a has two tasks, and b, c one each: only d has fewer.
  expect(await Promise.all(first)).toEqual([
    'done',
    'done',
    'overloaded',
    'overloaded',
    'overloaded',
  ]);
  expect(await Promise.all(more)).toEqual([
    'overloaded',
    'done',
    'done',
    'overloaded',
    'overloaded',
    'done',
  ]);
  expect(started).toEqual(['a1', 'a2', 'b1', 'c1', 'd1']);
});
