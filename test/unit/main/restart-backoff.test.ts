// Restarts over random lives of bots, with a known random source.

import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { RestartBackoff } from '../../../src/main/bots/restart-backoff.js';
import type { RestartPolicy } from '../../../src/shared/contract/bots.js';
import { DEFAULTS } from '../../../src/shared/contract/config.js';

const DEFAULT_POLICY: RestartPolicy = DEFAULTS.restart;

const policy = (change: Partial<RestartPolicy> = {}): RestartPolicy => ({
  policy: 'always',
  max_restarts: 5,
  window_ms: 10_000,
  backoff_ms: 100,
  backoff_cap_ms: 1000,
  healthy_ms: 5000,
  ...change,
});

/** The waits of a bot that fails `count` times in a row, each run lasting `ranMs`. */
function waits(backoff: RestartBackoff, rules: RestartPolicy, count: number, ranMs = 0): number[] {
  return Array.from({ length: count }, (_, n) => {
    const decision = backoff.next(rules, n * 60_000, ranMs);
    return decision.restart ? decision.waitMs : -1;
  });
}

const anyPolicy = fc.record({
  policy: fc.constant('always' as const),
  max_restarts: fc.nat(20),
  window_ms: fc.integer({ min: 1000, max: 1_000_000 }),
  backoff_ms: fc.oneof(fc.nat(100_000), fc.nat(Number.MAX_SAFE_INTEGER)),
  backoff_cap_ms: fc.oneof(fc.nat(100_000), fc.nat(Number.MAX_SAFE_INTEGER)),
  healthy_ms: fc.nat(100_000),
});
const anyRandom = fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true });
/** Runs: the time since the end of the run before, and how long it ran. */
const anyLife = fc.array(
  fc.record({ gap: fc.nat(200_000), ran: fc.nat(200_000), random: anyRandom }),
  { maxLength: 100 },
);

describe('RestartBackoff', () => {
  it('doubles up to the cap', () => {
    expect(waits(new RestartBackoff(() => 1), policy(), 6)).toEqual([
      100, 200, 400, 800, 1000, 1000,
    ]);
  });

  it('jitter removes at most half of the wait', () => {
    expect(waits(new RestartBackoff(() => 0), policy(), 6)).toEqual([50, 100, 200, 400, 500, 500]);
  });

  it('only a healthy run ends the doubling', () => {
    const backoff = new RestartBackoff(() => 1);
    expect(waits(backoff, policy(), 3, 4999)).toEqual([100, 200, 400]);
    expect(waits(backoff, policy(), 2, 5000)).toEqual([100, 100]);
  });

  it('gives up above the limit with the reason, and restarts again when the window has moved', () => {
    const backoff = new RestartBackoff(() => 1);
    const rules = policy({ max_restarts: 2 });
    const at = (now: number): boolean => backoff.next(rules, now, 0).restart;
    expect([at(0), at(4000), at(9999)]).toEqual([true, true, false]);
    expect(backoff.next(rules, 9999, 0)).toMatchObject({
      reason: expect.stringMatching(/\b2 times\b.*\b10 s\b/),
    });
    // The first of the two has left the window.
    expect([at(10_001), at(10_002)]).toEqual([true, false]);
  });

  it('a healthy run does not clear the window', () => {
    const backoff = new RestartBackoff(() => 1);
    const rules = policy({ max_restarts: 1, healthy_ms: 10 });
    expect(backoff.next(rules, 0, 1000).restart).toBe(true);
    expect(backoff.next(rules, 5000, 1000).restart).toBe(false);
  });

  it('with a limit of 0 it never restarts', () => {
    expect(new RestartBackoff().next(policy({ max_restarts: 0 }), 0, 0).restart).toBe(false);
  });

  it('a reset forgets window and doubling', () => {
    const backoff = new RestartBackoff(() => 1);
    const rules = policy({ max_restarts: 2 });
    const next = () => backoff.next(rules, 0, 0);
    expect([next().restart, next().restart, next().restart]).toEqual([true, true, false]);
    backoff.reset();
    expect(next()).toEqual({ restart: true, waitMs: 100, attempt: { attempt: 1, limit: 2 } });
  });

  it('in any life the wait is within its bounds and those of timers, and the window is never above its limit', () => {
    fc.assert(
      fc.property(anyPolicy, anyLife, (rules, life) => {
        let random = 0;
        const backoff = new RestartBackoff(() => random);
        const restarts: number[] = [];
        let now = 0;
        let streak = 0;
        for (const run of life) {
          now += run.gap;
          random = run.random;
          if (run.ran >= rules.healthy_ms) streak = 0;
          const within = restarts.filter((at) => at > now - rules.window_ms).length;
          const decision = backoff.next(rules, now, run.ran);
          expect(decision.restart).toBe(within < rules.max_restarts);
          if (!decision.restart) continue;
          restarts.push(now);
          // Longer waits than this make a Node timer fire at once.
          const full = Math.min(rules.backoff_cap_ms, rules.backoff_ms * 2 ** streak, 2 ** 31 - 1);
          expect(decision.waitMs).toBeGreaterThanOrEqual(Math.floor(full / 2));
          expect(decision.waitMs).toBeLessThanOrEqual(full);
          streak += 1;
        }
      }),
    );
  });

  it('without a limit it restarts for ever at the cap, and says which attempt it is since the last healthy run', () => {
    const backoff = new RestartBackoff(() => 1);
    const rules = policy({ max_restarts: null });
    const attempts = Array.from({ length: 5000 }, () => backoff.next(rules, 0, 0));
    expect(attempts[0]).toEqual({
      restart: true,
      waitMs: 100,
      attempt: { attempt: 1, limit: null },
    });
    expect(attempts.at(-1)).toEqual({
      restart: true,
      waitMs: 1000,
      attempt: { attempt: 5000, limit: null },
    });
    expect(backoff.next(rules, 0, 5000)).toEqual({
      restart: true,
      waitMs: 100,
      attempt: { attempt: 1, limit: null },
    });
  });

  // With the shortest waits the limit is reached first, with the longest ones the tries are furthest apart.
  it.each([0, 0.999])(
    'by default a bot that fails at once is tried for 25 minutes, at least once a minute (random %d)',
    (random) => {
      const backoff = new RestartBackoff(() => random);
      const start = 1_000_000;
      let now = start;
      for (;;) {
        const decision = backoff.next(DEFAULT_POLICY, now, 0);
        if (!decision.restart) break;
        expect(decision.waitMs).toBeLessThanOrEqual(60_000);
        now += decision.waitMs;
      }
      expect(now - start).toBeGreaterThan(25 * 60_000);
      // It does give up: what is broken for good is not tried for ever.
      expect(now - start).toBeLessThan(60 * 60_000);
    },
  );

  it('continues after any number of failures in a row', () => {
    const rules = policy({ max_restarts: 1000, window_ms: 1000 });
    for (const backoff_ms of [0, 1, 100]) {
      const last = waits(new RestartBackoff(() => 1), { ...rules, backoff_ms }, 1200).at(-1);
      expect(last).toBe(backoff_ms === 0 ? 0 : 1000);
    }
  });
});

it('a run that ends through no fault of the bot has the first wait, and changes neither window nor doubling', () => {
  const backoff = new RestartBackoff(() => 1);
  const rules = policy({ max_restarts: 3 });
  expect(backoff.next(rules, 0, 0)).toEqual({
    restart: true,
    waitMs: 100,
    attempt: { attempt: 1, limit: 3 },
  });
  expect(backoff.next(rules, 0, 0)).toEqual({
    restart: true,
    waitMs: 200,
    attempt: { attempt: 2, limit: 3 },
  });
  expect([0, 0, 0, 0, 0].map((ran) => backoff.uncharged(rules, ran))).toEqual(Array(5).fill(100));
  expect(backoff.next(rules, 0, 0)).toEqual({
    restart: true,
    waitMs: 400,
    attempt: { attempt: 3, limit: 3 },
  });
  expect(backoff.next(rules, 0, 0)).toMatchObject({ restart: false });
  // With the same jitter.
  expect(new RestartBackoff(() => 0).uncharged(rules, 0)).toBe(50);
  // A healthy run ends the doubling, regardless of the cause of its end.
  backoff.uncharged(rules, 5000);
  expect(backoff.next(rules, 20_000, 0)).toMatchObject({ restart: true, waitMs: 100 });
});

it('without a host the wait doubles, and the window does not change', () => {
  const backoff = new RestartBackoff(() => 1);
  const rules = policy({ max_restarts: 1 });
  expect([1, 2, 3, 4, 5].map(() => backoff.noHost(rules))).toEqual([100, 200, 400, 800, 1000]);
  expect(backoff.next(rules, 0, 0)).toMatchObject({ restart: true });
  expect(backoff.next(rules, 0, 0)).toMatchObject({ restart: false });
});

describe('after a run has ended', () => {
  const ended = { error: 'broken', restart: true, cause: 'bot' as const };
  const returned = { ...ended, error: null };

  it.each([
    ['always', ended, 'retry'],
    ['always', returned, 'retry'],
    ['always', { ...ended, restart: false }, 'giveUp'],
    ['on-failure', ended, 'retry'],
    ['on-failure', returned, 'rest'],
    ['never', ended, 'giveUp'],
    ['never', returned, 'rest'],
    ['never', { ...ended, cause: 'host' as const }, 'retry'],
    ['never', { ...ended, cause: 'no host' as const }, 'retry'],
  ] as const)('%s, %o: %s', (rule, end, expected) => {
    const backoff = new RestartBackoff(() => 1);
    expect(backoff.decide(policy({ policy: rule }), 'running', end, 0, 0).type).toBe(expected);
    const stopped = backoff.decide(policy({ policy: rule }), 'stopped', end, 0, 0);
    expect(stopped.type).toBe(end.error === null ? 'rest' : 'giveUp');
  });

  it('gives the reason, and says when it is the limit', () => {
    const backoff = new RestartBackoff(() => 1);
    expect(backoff.decide(policy({ policy: 'never' }), 'running', ended, 0, 0)).toEqual({
      type: 'giveUp',
      reason: 'broken',
      limit: false,
    });
    expect(backoff.decide(policy({ max_restarts: 0 }), 'running', returned, 0, 0)).toEqual({
      type: 'giveUp',
      reason: 'its run returned; restarted 0 times within 10 s, which is the limit',
      limit: true,
    });
  });
});
