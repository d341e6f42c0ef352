// When a bot in backoff is tried again, in words.

import { expect, it } from 'vitest';
import { nextTryText } from '../../../dashboard/src/model/next-try.js';
import type { BotSnapshot } from '../../../src/client/index.js';

const NOW = 1_795_257_600_000;
const seconds = (ms: number): string => `${Math.floor(ms / 1000)} s`;

it.each([
  [{ at_ms: NOW + 30_400, attempt: 6, limit: 10 }, 'next try in 31 s, attempt 6 of 10'],
  [{ at_ms: NOW + 1, attempt: 20, limit: null }, 'next try in 1 s, attempt 20'],
  [{ at_ms: NOW + 120_000, attempt: null, limit: null }, 'next try in 120 s'],
  [{ at_ms: NOW - 5, attempt: 1, limit: 3 }, 'next try is due, attempt 1 of 3'],
  [null, null],
  [undefined, null],
])('%j', (next_try, text) => {
  const bot = { status: 'backoff', next_try } as BotSnapshot;
  expect(nextTryText(bot, NOW, seconds)).toBe(text);
  expect(nextTryText({ ...bot, status: 'failed' }, NOW, seconds)).toBeNull();
});
