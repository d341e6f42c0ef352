import { expect, it } from 'vitest';
import { Deferred } from '../../../src/shared/deferred.js';
import { type Timers, withTimeout } from '../../../src/shared/with-timeout.js';

/** Timers that fire when the test says so. */
class FakeTimers implements Timers {
  readonly pending = new Set<{ callback: () => void; ms: number; isRef: boolean }>();

  setTimeout(callback: () => void, ms: number): { unref(): void } {
    const unref = (): void => {
      timer.isRef = false;
    };
    const timer = { callback, ms, isRef: true, unref };
    this.pending.add(timer);
    return timer;
  }

  clearTimeout(timer: unknown): void {
    this.pending.delete(timer as never);
  }

  fire(): void {
    for (const timer of this.pending) {
      this.pending.delete(timer);
      timer.callback();
    }
  }
}

it('resolves as the promise does, and clears its timer', async () => {
  const timers = new FakeTimers();
  const answer = new Deferred<string>();
  const result = withTimeout(answer.promise, 50, () => 'late', { timers });
  expect([...timers.pending]).toMatchObject([{ ms: 50, isRef: true }]);
  answer.resolve('in time');
  expect(await result).toBe('in time');
  expect(timers.pending.size).toBe(0);
});

it('rejects as the promise does, and clears its timer', async () => {
  const timers = new FakeTimers();
  const answer = new Deferred();
  const result = withTimeout(answer.promise, 50, () => 'late', { timers });
  answer.reject(new Error('failed'));
  await expect(result).rejects.toThrow('failed');
  expect(timers.pending.size).toBe(0);
});

it('resolves with what onTimeout returns, and ignores a promise that fails later', async () => {
  const timers = new FakeTimers();
  const answer = new Deferred();
  const result = withTimeout(answer.promise, 50, () => 'late', { timers });
  timers.fire();
  expect(await result).toBe('late');
  // An unhandled rejection would fail the test run.
  answer.reject(new Error('failed'));
  await new Promise(setImmediate);
});

it('rejects with what onTimeout throws', async () => {
  const timers = new FakeTimers();
  const result = withTimeout(
    new Promise(() => {}),
    50,
    () => {
      throw new Error('took too long');
    },
    { timers },
  );
  timers.fire();
  await expect(result).rejects.toThrow('took too long');
});

it('does not keep the process alive when told so', () => {
  const timers = new FakeTimers();
  void withTimeout(new Promise(() => {}), 50, () => {}, { ref: false, timers });
  expect([...timers.pending]).toMatchObject([{ isRef: false }]);
});

it('uses the timers of Node by default', async () => {
  expect(await withTimeout(new Promise(() => {}), 1, () => 'late')).toBe('late');
});
