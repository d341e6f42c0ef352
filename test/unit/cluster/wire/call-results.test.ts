import { expect, test } from 'vitest';
import { CallResults } from '../../../../src/cluster/wire/call-results.js';

const bytes = (n: number): Uint8Array => new Uint8Array(n);

test('an answer is kept as long as its caller may repeat the call, and a minute at most', () => {
  let now = 0;
  const results = new CallResults(() => now);
  results.finish(results.begin('short', 1000), bytes(1));
  results.finish(results.begin('long', 600_000), bytes(1));
  now = 5999;
  results.begin('a', 1000);
  expect(results.get('short')?.answer).toHaveLength(1);
  now = 6000;
  results.begin('b', 1000);
  expect(results.get('short')).toBeUndefined();
  expect(results.get('long')?.answer).toHaveLength(1);
  now = 60_000;
  results.begin('c', 1000);
  expect(results.get('long')).toBeUndefined();
});

test('a call that never ends is cancelled and forgotten when nobody waits for it', () => {
  let now = 0;
  const results = new CallResults(() => now);
  const call = results.begin('hangs', 1000);
  now = 6000;
  results.begin('next', 1000);
  expect(results.get('hangs')).toBeUndefined();
  expect(call.cancel.signal.aborted).toBe(true);
  results.finish(call, bytes(1000));
});

test('one call above the bound is refused', () => {
  const results = new CallResults(() => 0, { calls: 1, bytes: 10 });
  results.begin('1', 1000);
  expect(() => results.begin('2', 1000)).toThrow('too many requests');
});

test('above the bound of bytes the oldest answers are dropped, and their calls are still known', () => {
  const results = new CallResults(() => 0, { calls: 10, bytes: 10 });
  for (const id of ['1', '2', '3']) results.finish(results.begin(id, 1000), bytes(5));
  expect(results.get('1')).toMatchObject({ isDone: true, answer: null });
  expect(results.get('2')?.answer).toHaveLength(5);
  results.finish(results.begin('4', 1000), bytes(11));
  expect(results.get('3')?.answer).toBeNull();
  expect(results.get('4')?.answer).toHaveLength(11);
});
