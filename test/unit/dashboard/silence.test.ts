// How long bots have said nothing, also when the page has missed lines or a bot has the name of an earlier one.

import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { gapLine, logLine } from '../../../dashboard/src/hub/line.js';
import type { Line, Update } from '../../../dashboard/src/hub/messages.js';
import {
  addHistoryLines,
  applyUpdate,
  noNews,
  resetState,
} from '../../../dashboard/src/model/live.js';
import {
  forgetSilence,
  noteReadTo,
  silenceOf,
  silenceRank,
  silentBots,
} from '../../../dashboard/src/model/silence.js';
import type { BotSnapshot } from '../../../src/client/index.js';

const NOW = 1_795_257_600_000;
const MINUTE_MS = 60_000;

beforeEach(() => {
  vi.useFakeTimers({ now: NOW });
  resetState();
  forgetSilence();
});
afterEach(() => void vi.useRealTimers());

let next = 1;
function line(bot: string, at: number): Line {
  const n = next++;
  const event = {
    timestamp_ms: at,
    level: 'info',
    scope: 'bot',
    session_id: bot,
    transport: null,
    direction: null,
    message: `line ${n}`,
  } as const;
  return { ...logLine(`e-${n}`, event), n };
}

function bot(id: string, since_ms = NOW - 600 * MINUTE_MS): BotSnapshot {
  return { id, status: 'running', desired: 'running', since_ms } as BotSnapshot;
}

function update(part: Partial<Update>): void {
  applyUpdate({ ...noNews(), connection: { state: 'open' }, ...part });
}

it('is since the last line, or since the status changed, which is a line too', () => {
  update({ bots: [bot('a')], lines: [line('a', NOW - 5 * MINUTE_MS)] });
  expect(silenceOf(bot('a'))).toEqual({ at: NOW - 5 * MINUTE_MS, isSince: false });
  // A bot that was made again: the line is that of the bot before.
  const again = bot('a', NOW - 2000);
  expect(silenceOf(again)).toEqual({ at: NOW - 2000, isSince: false });
  // One that is newer than all that was looked at has no earlier line.
  noteReadTo(NOW - 60 * MINUTE_MS);
  expect(silenceOf(bot('b', NOW - 2000))).toEqual({ at: NOW - 2000, isSince: false });
  expect(silenceOf(bot('b'))).toEqual({ at: NOW - 60 * MINUTE_MS, isSince: true });
});

it('of a bot that went, no line is kept, also one that came together with that', () => {
  update({ bots: [bot('a')] });
  update({ gone: ['a'], lines: [line('a', NOW)] });
  update({ bots: [bot('a')] });
  expect(silenceOf(bot('a'))).toBeNull();
});

it('has the same order at any time', () => {
  noteReadTo(NOW - MINUTE_MS);
  update({ bots: [bot('a'), bot('b')] });
  const before = silenceRank(bot('a'));
  vi.setSystemTime(NOW + 1);
  expect(silenceRank(bot('b'))).toBe(before);
});

it.each([-10, 10])(
  'is by the clock of the service, from which this one differs by %s min',
  (min) => {
    const aheadMs = min * MINUTE_MS;
    update({ bots: [bot('a')], clockAheadMs: aheadMs, countedSince: (NOW + aheadMs) / 1000 });
    expect(silenceOf(bot('a'))).toEqual({ at: NOW, isSince: true });
  },
);

it.each<[why: string, missed: Partial<Update>]>([
  ['a gap', { lines: [{ ...gapLine('g', { dropped: 7, from: 'x', to: 'y' }, NOW), n: 0 }] }],
  ['a tab that took no updates for a while', { reset: true, bots: [bot('a'), bot('b')] }],
])('does not take a line for the last one after %s', (_why, missed) => {
  const old = line('a', NOW - 120 * MINUTE_MS);
  update({ bots: [bot('a'), bot('b')], lines: [old, line('b', NOW - 130 * MINUTE_MS)] });
  noteReadTo(NOW - 300 * MINUTE_MS);
  expect(silentBots()).toEqual([]);
  update({ ...missed, lines: [...(missed.lines ?? []), line('b', NOW - 1)] });
  forgetSilence();
  expect(silenceOf(bot('b'))).toEqual({ at: NOW - 1, isSince: false });
  expect(silenceOf(bot('a'))).toEqual({ at: NOW, isSince: true });
  expect(silentBots()).toEqual(['a']);
  // The journal says that it is.
  addHistoryLines([old]);
  expect(silenceOf(bot('a'))).toEqual({ at: old.at, isSince: false });
  expect(silentBots()).toEqual([]);
});
