// The rate limit of security events.

import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { SecurityEvents } from '../../../src/main/access/security-events.js';

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

function recorded(): { events: SecurityEvents; lines: string[]; warnings: string[] } {
  const lines: string[] = [];
  const warnings: string[] = [];
  const events = new SecurityEvents(
    (level, scope, message) => lines.push(`${level} ${scope} ${message}`),
    (message) => warnings.push(message),
  );
  return { events, lines, warnings };
}

it('warns of wrong PINs on standard error too, at the same bounded rate, and of nothing else', () => {
  const { events, warnings } = recorded();
  events.tokenCreated('token "x"', 'by token "y"');
  for (let n = 0; n < 1000; n++) events.wrongPin('10.0.0.1', 0);
  expect(warnings).toEqual(Array.from({ length: 60 }, () => 'wrong PIN from 10.0.0.1'));
  vi.advanceTimersByTime(60_000);
  expect(warnings.slice(60)).toEqual(['940 more events of PINs were skipped: rate limit exceeded']);
});

it('reports wrong PINs, and each lock once, also when two fronts report it', () => {
  const { events, lines } = recorded();
  events.wrongPin('10.0.0.1', 0);
  events.wrongPin('10.0.0.2', 5);
  events.wrongPin('10.0.0.3', 5);
  vi.advanceTimersByTime(5000);
  events.wrongPin('10.0.0.4', 5);
  expect(lines).toEqual([
    'warn auth wrong PIN from 10.0.0.1',
    'warn auth wrong PIN from 10.0.0.2',
    'warn auth the PIN exchange is locked for 5s, last by 10.0.0.2',
    'warn auth wrong PIN from 10.0.0.3',
    'warn auth wrong PIN from 10.0.0.4',
    'warn auth the PIN exchange is locked for 5s, last by 10.0.0.4',
  ]);
});

it('has at most 60 lines a minute, then a line with the number of skipped ones', () => {
  const { events, lines } = recorded();
  for (let n = 0; n < 1000; n++) events.wrongPin('10.0.0.1', 0);
  expect(lines).toHaveLength(60);
  vi.advanceTimersByTime(60_000);
  expect(lines.slice(60)).toEqual([
    'warn auth 940 more events of PINs were skipped: rate limit exceeded',
  ]);
  // Tokens are counted separately, so wrong PINs cannot hide one.
  for (let n = 0; n < 1000; n++) events.wrongPin('10.0.0.1', 0);
  events.tokenCreated('token "x"', 'by somebody');
  expect(lines).toHaveLength(121);
  expect(lines.at(-1)).toBe('info auth token "x" was created by somebody');
  vi.advanceTimersByTime(600_000);
  // One line reports the skipped ones, and no other follows.
  expect(lines).toHaveLength(122);
  events.stop();
  expect(vi.getTimerCount()).toBe(0);
});
