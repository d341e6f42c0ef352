// Who is named, moved and stopped because of what it uses, with the clock of the test.

import { beforeEach, describe, expect, it } from 'vitest';
import { type JudgedBot, Quotas } from '../../../src/main/bots/quotas.js';
import type { BotUsage } from '../../../src/shared/contract/events.js';
import { limitsOf, type Quota, quotaFault } from '../../../src/shared/contract/quota.js';

const WINDOW_MS = 10_000;
const HOST = 'host 0';

let now: number;
let bots: Record<string, JudgedBot>;
let said: string[];
beforeEach(() => {
  now = 0;
  bots = { a: { quota: undefined, ranMs: 60_000 } };
  said = [];
});

const quotas = (service: Quota): Quotas<string> =>
  new Quotas(
    service,
    {
      bot: (id) => bots[id],
      warn: (id, line) => said.push(`${id}: ${line}`),
      exceeded: (id, host, reason) => said.push(`${id} on ${host}: ${reason}`),
    },
    () => now,
  );

const of = (figures: Partial<BotUsage>): BotUsage => ({
  cpu: 0,
  memory_mb: null,
  lines_per_second: 0,
  bytes_per_second: 0,
  connections: 0,
  ...figures,
});

/** What `a` is over when it has used this in a window. */
function judge(by: Quotas<string>, usage: BotUsage | null): readonly string[] | undefined {
  now += WINDOW_MS;
  const [judged] = by.judge(HOST, [{ id: 'a', usage }], WINDOW_MS);
  return judged?.over_quota;
}

it('without a quota nobody is over it', () => {
  expect(judge(quotas({ cpu: null }), of({ cpu: 8, connections: 1e6 }))).toEqual([]);
  expect(said).toEqual([]);
});

it('over a soft quota: a line once in 10 minutes for each figure, and the names each time', () => {
  const by = quotas({ cpu: { soft: 0.5 }, connections: { soft: 10, hard: 100 } });
  expect(judge(by, of({ cpu: 0.5, connections: 10 }))).toEqual([]);
  expect(judge(by, of({ cpu: 0.6 }))).toEqual(['cpu']);
  expect(judge(by, of({ cpu: 0.7, connections: 11 }))).toEqual(['cpu', 'connections']);
  for (let n = 0; n < 50; n++) judge(by, of({ cpu: 0.8, connections: 12 }));
  expect(said).toEqual([
    'a: used more than its quota in 10 s: cpu 0.6 of 0.5',
    'a: used more than its quota in 10 s: connections 11 of 10',
  ]);
  said.length = 0;
  now += 600_000;
  expect(judge(by, of({ cpu: 0.8 }))).toEqual(['cpu']);
  expect(said).toHaveLength(1);
  expect(judge(by, null)).toEqual([]);
});

it('over a hard quota for a whole window: moved or stopped, and not for what it did when it started', () => {
  const by = quotas({ cpu: 0.5, lines_per_second: { hard: 100 } });
  bots['a'] = { quota: undefined, ranMs: 4000 };
  expect(judge(by, of({ cpu: 0.9 }))).toEqual(['cpu']);
  expect(said).toEqual(['a: used more than its quota in 10 s: cpu 0.9 of 0.5']);
  bots['a'] = { quota: undefined, ranMs: 14_000 };
  judge(by, of({ cpu: 0.9, lines_per_second: 100.5 }));
  expect(said.at(-1)).toBe(
    'a on host 0: it used more than its hard quota in 10 s: cpu 0.9 of 0.5, lines_per_second 100.5 of 100',
  );
});

it('the quota of a bot is its own, for each figure; null is none', () => {
  const by = quotas({ cpu: 0.5, connections: 10 });
  bots['a'] = { quota: { cpu: null }, ranMs: 60_000 };
  expect(judge(by, of({ cpu: 0.9, connections: 11 }))).toEqual(['connections']);
  bots['a'] = { quota: { cpu: 0.1, connections: 20 }, ranMs: 60_000 };
  expect(judge(by, of({ cpu: 0.2, connections: 11 }))).toEqual(['cpu']);
});

it('memory that is not known is over no quota', () => {
  const by = quotas({ memory_mb: 100 });
  expect(judge(by, of({ memory_mb: null }))).toEqual([]);
  expect(judge(by, of({ memory_mb: 101 }))).toEqual(['memory_mb']);
});

it('a bot that does not run any more is not judged', () => {
  bots = {};
  expect(judge(quotas({ cpu: 0.1 }), of({ cpu: 1 }))).toEqual([]);
  expect(said).toEqual([]);
});

describe('the forms of a quota', () => {
  const none = Number.POSITIVE_INFINITY;
  it.each([
    [undefined, none, none],
    [null, none, none],
    [3, none, 3],
    [{ soft: 1 }, 1, none],
    [{ hard: 2 }, none, 2],
    [{ soft: 1, hard: 2 }, 1, 2],
  ])('%j', (given, soft, hard) => {
    expect(limitsOf('cpu', given === undefined ? {} : { cpu: given }, {})).toEqual({ soft, hard });
  });

  it('soft must not be above hard', () => {
    expect(quotaFault({ cpu: { soft: 2, hard: 1 } })).toBe(
      'quota.cpu: soft (2) must not be above hard (1)',
    );
    for (const fine of [{}, { cpu: 1 }, { cpu: { soft: 1, hard: 1 } }, { cpu: { soft: 9 } }]) {
      expect(quotaFault(fine)).toBeNull();
    }
  });
});
