import { expect, it } from 'vitest';
import { RuleWatch } from '../../../src/rules/rule-watch.js';
import type { RuleSettings } from '../../../src/shared/contract/rules.js';

const BASE: RuleSettings = {
  id: 'r',
  name: 'r',
  query: '',
  condition: 'count',
  threshold: 3,
  window_ms: 60_000,
  for_ms: 0,
  severity: 'warn',
  enabled: true,
};
const S = 1000;

/** A rule, and a function that looks at it at a time. */
function rule(change: Partial<RuleSettings>) {
  const watch = new RuleWatch({ ...BASE, ...change }, 0);
  return {
    take: (forMs: number, now: number) => watch.takeFiring(forMs, now),
    note: (now: number, bot?: string) => watch.note(bot, now),
    match: (count: number, ...sample: string[]) => watch.match(count, sample),
    at: (now: number) => watch.look(now),
    state: (now: number) => watch.look(now).state,
  };
}

it('count fires at its threshold, names the last bots first, and stops 5 s after the lines have left the window', () => {
  const { note, at, state } = rule({});
  note(1 * S, 'a');
  note(2 * S, 'b');
  expect(at(2 * S)).toEqual({ state: 'ok', value: 2, bots: ['b', 'a'] });
  note(3 * S, 'a');
  expect(at(3 * S)).toEqual({ state: 'firing', value: 3, bots: ['a', 'b'] });
  expect(at(60 * S)).toMatchObject({ state: 'firing', value: 3 });
  // The first line has left: calm from here.
  expect(at(61 * S)).toMatchObject({ state: 'firing', value: 2 });
  expect(state(65 * S)).toBe('firing');
  expect(state(66 * S)).toBe('ok');
  expect(at(200 * S)).toEqual({ state: 'ok', value: 0, bots: [] });
});

it('a condition that holds again within the calm does not stop it', () => {
  const { match, state } = rule({ condition: 'bots', threshold: 2, window_ms: null });
  match(2);
  expect(state(0)).toBe('firing');
  match(1);
  expect(state(1 * S)).toBe('firing');
  match(2);
  expect(state(5 * S)).toBe('firing');
  match(1);
  expect(state(9 * S)).toBe('firing');
  expect(state(14 * S)).toBe('ok');
});

it('fires only when the condition has held for `for_ms` without a break', () => {
  const { match, state } = rule({
    condition: 'bots',
    threshold: 1,
    window_ms: null,
    for_ms: 10 * S,
  });
  match(1);
  expect(state(0)).toBe('pending');
  expect(state(9 * S)).toBe('pending');
  match(0);
  expect(state(9.5 * S)).toBe('ok');
  match(1);
  expect(state(10 * S)).toBe('pending');
  expect(state(20 * S)).toBe('firing');
});

it('absence fires when nothing has matched for the window, from its begin on, and stops after a line', () => {
  const { note, at, state } = rule({ condition: 'absence', threshold: null, window_ms: 30 * S });
  expect(at(29 * S)).toEqual({ state: 'ok', value: 29, bots: [] });
  expect(state(30 * S)).toBe('firing');
  note(40 * S, 'a');
  expect(at(41 * S)).toMatchObject({ state: 'firing', value: 1 });
  expect(state(46 * S)).toBe('ok');
  expect(state(70 * S)).toBe('firing');
});

it('rate is lines per second over the window, and may be a fraction', () => {
  const { note, at } = rule({ condition: 'rate', threshold: 0.5, window_ms: 10 * S });
  for (let second = 0; second < 10; second += 3) note(second * S, 'a');
  expect(at(9 * S)).toMatchObject({ state: 'ok', value: 0.4 });
  note(9 * S, 'a');
  expect(at(9 * S)).toMatchObject({ state: 'firing', value: 0.5 });
});

it('counts a flood exactly, and forgets it after a pause that is longer than the window', () => {
  const { note, at } = rule({ threshold: 1_000_000, window_ms: 86_400_000 });
  for (let line = 0; line < 10_000; line++) note(line, `bot-${line}`);
  expect(at(10 * S)).toMatchObject({ value: 10_000 });
  expect(at(10 * S).bots).toEqual(Array.from({ length: 10 }, (_, at) => `bot-${9999 - at}`));
  expect(at(3 * 86_400_000)).toEqual({ state: 'ok', value: 0, bots: [] });
});

it('one that others know to fire does not stop before a whole window was seen', () => {
  const { take, note, state } = rule({});
  take(20 * S, 0);
  expect(state(0)).toBe('firing');
  note(10 * S);
  expect(state(59 * S)).toBe('firing');
  expect(state(60 * S)).toBe('firing');
  expect(state(65 * S)).toBe('ok');
  // Its own count is as good as that of others by now.
  take(0, 70 * S);
  expect(state(70 * S)).toBe('ok');
});

it('an absence that others know to fire stops with the first line', () => {
  const { take, note, state } = rule({ condition: 'absence', threshold: null, window_ms: 30 * S });
  take(20 * S, 0);
  expect(state(0)).toBe('firing');
  expect(state(10 * S)).toBe('firing');
  note(11 * S);
  expect(state(11 * S)).toBe('firing');
  expect(state(16 * S)).toBe('ok');
});

it('bots that others know to match are counted at once, and must not hold again', () => {
  const held = { condition: 'bots', threshold: 1, window_ms: null, for_ms: 10 * S } as const;
  const { take, match, state } = rule(held);
  take(20 * S, 0);
  match(1);
  expect(state(0)).toBe('firing');
  match(0);
  expect(state(1 * S)).toBe('firing');
  expect(state(6 * S)).toBe('ok');
});
