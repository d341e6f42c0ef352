// How late lines come, and that a page knows what it does not know yet.

import { beforeEach, expect, it } from 'vitest';
import { StreamLag } from '../../../dashboard/src/hub/lag.js';
import {
  applyUpdate,
  isLoaded,
  loaded,
  noNews,
  resetState,
} from '../../../dashboard/src/model/live.js';

const NOW = 1_795_257_600_000;

beforeEach(resetState);

it('is the least of a second: one line that was held up says nothing of the stream', () => {
  const lag = new StreamLag();
  lag.note(20, NOW);
  for (const [ms, at] of [
    [9000, 100],
    [30, 200],
    [9000, 900],
    [10, 1000],
  ] as const) {
    lag.note(ms, NOW + at);
  }
  expect(lag.now).toEqual({ ms: 20, atMs: NOW + 1000 });
  for (let at = 1000; at <= 2000; at += 100) lag.note(3000 + at, NOW + at);
  for (let at = 2100; at <= 3000; at += 100) lag.note(3000 + at, NOW + at);
  expect(lag.now).toEqual({ ms: 5000, atMs: NOW + 3000 });
  // Of a line alone, after a pause, the line itself counts.
  lag.note(40, NOW + 60_000);
  expect(lag.now).toEqual({ ms: 40, atMs: NOW + 60_000 });
});

it('a line from a clock that is ahead is not early', () => {
  const lag = new StreamLag();
  lag.note(-500, NOW);
  expect(lag.now).toEqual({ ms: 0, atMs: NOW });
});

it('what is not there is unknown until the stream has said all that there is', () => {
  applyUpdate({ ...noNews(), connection: { state: 'open' } });
  expect([isLoaded.value, loaded.value.value, loaded.value.error]).toEqual([
    false,
    undefined,
    undefined,
  ]);
  applyUpdate({ ...noNews(), connection: { state: 'waiting', retryAtMs: 0, reason: 'refused' } });
  expect([isLoaded.value, loaded.value.error]).toEqual([false, new Error('refused')]);
  applyUpdate({ ...noNews(), connection: { state: 'open' }, isComplete: true });
  expect([isLoaded.value, loaded.value.value]).toEqual([true, true]);
});
