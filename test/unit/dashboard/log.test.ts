// What a tab holds of the log: bounded in lines and in characters, and nowhere with a hole that is not marked.

import fc from 'fast-check';
import { beforeEach, describe, expect, it } from 'vitest';
import { logLine } from '../../../dashboard/src/hub/line.js';
import type { Line, Update } from '../../../dashboard/src/hub/messages.js';
import {
  applyUpdate,
  changes,
  lastLines,
  lines,
  noNews,
  resetState,
} from '../../../dashboard/src/model/live.js';
import { isFiltered, type LogFilter } from '../../../dashboard/src/model/log-filter.js';
import { LogRows } from '../../../dashboard/src/model/log-rows.js';
import { LogWindow } from '../../../dashboard/src/model/log-window.js';
import type { DroverClient, EventsQuery } from '../../../src/client/index.js';
import { partial } from '../../harness/partial.js';

const ALL: LogFilter = { query: '', bot: undefined };
const MOST_CHARS = 48 * 1024 * 1024;

let next = 1;
/** So many lines more, as they come on the stream. */
function more(count: number, text: (n: number) => string = (n) => `line ${n}`): Line[] {
  return Array.from({ length: count }, () => {
    const n = next++;
    const event = {
      timestamp_ms: n,
      level: 'info',
      scope: 'bot',
      session_id: 'a',
      transport: null,
      direction: null,
      message: text(n),
    } as const;
    return { ...logLine(`e-${n}`, event), n };
  });
}

function update(part: Partial<Update>): void {
  applyUpdate({ ...noNews(), ...part });
}

function openWindow(filter: Partial<LogFilter> = {}): LogWindow {
  const shown = new LogWindow({ ...ALL, ...filter }, () => {
    throw new Error('nothing is asked of the past here');
  });
  shown.begin();
  return shown;
}

/** Whether each row is the one behind the last. */
function isRun({ rows }: LogWindow): boolean {
  return rows.every((row, at) => at === 0 || row.n === (rows[at - 1]?.n ?? 0) + 1);
}

const charsOf = (rows: readonly Line[]): number =>
  rows.reduce((sum, { text }) => sum + text.length, 0);

beforeEach(() => resetState());

describe('LogRows', () => {
  it('stay contiguous, numbered and bounded, for any rows and any cuts', () => {
    const bounds = { rows: 50, chars: 400 };
    const step = fc.record({ end: fc.constantFrom('old', 'new'), count: fc.nat(30) });
    fc.assert(
      fc.property(fc.array(step, { maxLength: 40 }), fc.nat(20), (steps, length) => {
        const rows = new LogRows();
        const some = (from: number, count: number): Line[] =>
          Array.from({ length: count }, (_, at) => ({
            ...(more(1)[0] as Line),
            n: from + at,
            text: 'x'.repeat(length),
          }));
        for (const { end, count } of steps) {
          const [first, last] = [rows.list[0]?.n ?? 0, rows.list.at(-1)?.n ?? -1];
          const base = rows.base;
          if (end === 'new') {
            rows.append(some(last + 1, count));
            rows.cutOldest(bounds);
          } else {
            rows.prepend(some(first - count, count));
            rows.cutNewest(bounds);
          }
          const now = rows.list[0]?.n;
          // A row that stays keeps its number.
          if (now !== undefined) expect(rows.base - base).toBe(now - first);
          expect(rows.list.map(({ n }) => n)).toEqual(rows.list.map((_, at) => (now ?? 0) + at));
          expect(rows.list.length).toBeLessThanOrEqual(bounds.rows * 1.1);
          expect(charsOf(rows.list)).toBeLessThanOrEqual(bounds.chars * 1.1);
        }
      }),
    );
  });
});

describe('a log that is paused', () => {
  it('counts what does not fit, and all that comes after it, until it follows again', () => {
    const shown = openWindow();
    for (const count of [20_000, 20_000, 19_999]) {
      update({ lines: more(count), firstLine: next - count });
      shown.takeNew(false);
    }
    // Two do not fit; one alone would.
    for (const count of [2, 1]) {
      update({ lines: more(count), firstLine: next - 20_000 });
      shown.takeNew(false);
    }
    expect(isRun(shown)).toBe(true);
    expect(shown.rows.length).toBe(59_999);
    expect(shown.held.peek()).toBe(3);
    shown.catchUp();
    expect(isRun(shown)).toBe(true);
    expect(shown.rows.at(-1)?.n).toBe(next - 1);
    expect(shown.held.peek()).toBe(0);
  });

  it('counts only what passes its filter after the tab has slept', () => {
    update({ lines: more(10) });
    const shown = openWindow({ query: '7' });
    const before = shown.rows.length;
    const since = more(100);
    update({ reset: true, lines: since, firstLine: since[0]?.n ?? 0 });
    shown.takeNew(false);
    update({ lines: more(1, () => 'no such figure') });
    shown.takeNew(false);
    expect(shown.rows.length).toBe(before);
    expect(shown.held.peek()).toBe(since.filter(({ text }) => text.includes('7')).length);
  });

  it('continues at its position when a refilled ring has its last row', () => {
    const first = more(20);
    update({ lines: first });
    const shown = openWindow();
    const again = first.slice(10).map((line, at) => ({ ...line, n: at + 1 }));
    const since = more(5).map((line, at) => ({ ...line, n: at + 11 }));
    update({ reset: true, lines: [...again, ...since], firstLine: 1 });
    shown.takeNew(false);
    expect(shown.rows).toEqual([...first, ...since]);
    expect(shown.held.peek()).toBe(0);
  });

  it('is bounded in characters too', () => {
    const shown = openWindow();
    for (let n = 0; n < 20; n++) {
      update({ lines: more(100, () => 'x'.repeat(60_000)), firstLine: next - 100 });
      shown.takeNew(false);
    }
    expect(charsOf(shown.rows)).toBeLessThanOrEqual(MOST_CHARS);
    expect(shown.held.peek()).toBe(2000 - shown.rows.length);
    expect(isRun(shown)).toBe(true);
  });
});

describe('what a tab has of the present', () => {
  it('is what the hub keeps', () => {
    update({ lines: more(100) });
    const kept = next - 20;
    update({ lines: more(10), firstLine: kept });
    expect(lines[0]?.n).toBe(kept);
    expect(lines.length).toBe(30);
  });

  it('keeps nothing of bots that come and go all day', () => {
    for (let n = 0; n < 2000; n++) {
      const bot = `short-${n}`;
      update({
        lines: more(1).map((line) => ({ ...line, bot })),
        changes: ['running', 'deleted'].map((status, at) => ({
          n: n * 2 + at,
          bot,
          status,
          at: n,
        })),
        gone: [bot],
      });
    }
    expect(changes.size).toBeLessThanOrEqual(101);
    expect(lastLines.size).toBeLessThanOrEqual(101);
  });

  it('is cut by characters while it is followed', () => {
    const shown = openWindow();
    for (let n = 0; n < 10; n++) {
      update({ lines: more(100, () => 'x'.repeat(60_000)), firstLine: next - 100 });
      shown.takeNew(true);
    }
    expect(charsOf(shown.rows)).toBeLessThanOrEqual(16 * 1024 * 1024 * 1.1);
    expect(shown.rows.at(-1)?.n).toBe(next - 1);
    expect(isRun(shown)).toBe(true);
  });
});

it('a filter is one that leaves something out, except the bot whose log it is', () => {
  expect(isFiltered(ALL)).toBe(false);
  for (const query of ['level:warn', '-scope:tcp', 'x']) {
    expect(isFiltered({ ...ALL, query })).toBe(true);
  }
  expect(isFiltered({ ...ALL, bot: 'a' })).toBe(false);
});

describe('a time range', () => {
  /** A journal with a line for each of these times. Answers as the service does, `PAGE` events at once. */
  function journal(times: readonly number[]) {
    const asked: EventsQuery[] = [];
    const api = {
      events: async (query: EventsQuery) => {
        asked.push(query);
        const { order, after, before, cursor, limit = 100 } = query;
        const low = typeof after === 'string' ? Number(after.slice(2)) + 1 : (after ?? 0);
        const high = typeof before === 'string' ? Number(before.slice(2)) : (before ?? Infinity);
        const found = times.filter((at) => at >= low && at < high);
        if (order === 'newest') found.reverse();
        const from = Number(cursor ?? 0);
        const events = found.slice(from, from + limit).map((at) => ({
          id: `e-${at}`,
          event: 'log' as const,
          data: {
            timestamp_ms: at,
            level: 'info' as const,
            scope: 'bot',
            session_id: 'a',
            transport: null,
            direction: null,
            message: `at ${at}`,
          },
        }));
        const end = from + limit;
        return { events, cursor: end < found.length ? String(end) : null };
      },
    };
    return { api: () => partial<DroverClient>(api), asked };
  }
  const OPEN = { state: 'open' } as const;
  const times = (shown: LogWindow): number[] => shown.rows.map(({ at }) => at);
  const numbers = (from: number, to: number): number[] =>
    Array.from({ length: to - from }, (_, n) => from + n);

  beforeEach(() => update({ connection: OPEN }));

  it('that is over has its lines, and no live ones', async () => {
    const { api } = journal(numbers(1, 3000));
    const range = { fromMs: 1000, toMs: 1800 };
    const shown = new LogWindow({ ...ALL, range }, api);
    shown.begin();
    shown.fill();
    await expect.poll(() => times(shown)).toEqual(numbers(1300, 1800));
    update({ lines: more(5), connection: OPEN });
    shown.takeNew(true);
    expect(times(shown)).toEqual(numbers(1300, 1800));
    await shown.older();
    expect(times(shown)).toEqual(numbers(1000, 1800));
    expect(shown.top.value).toBe('end');
    expect([shown.isJoined.value, shown.isAtEnd.value]).toEqual([false, true]);
  });

  it('opens at a moment, and is read to both of its ends', async () => {
    const { api } = journal(numbers(1, 3000));
    const shown = new LogWindow({ ...ALL, range: { fromMs: 500, toMs: 2200 } }, api);
    const index = await shown.beginAt(1500);
    expect(shown.rows[index ?? -1]?.at).toBe(1500);
    expect(shown.isAtEnd.value).toBe(false);
    while (!shown.isAtEnd.value) await shown.newer();
    while (shown.top.value !== 'end') await shown.older();
    expect(times(shown)).toEqual(numbers(500, 2200));
  });

  it('that is live takes new lines, and its past ends at its beginning', async () => {
    next = 2000;
    update({ lines: more(10), connection: OPEN });
    const { api } = journal(numbers(1, 2000));
    const shown = new LogWindow({ ...ALL, range: { fromMs: 1900, toMs: undefined } }, api);
    shown.begin();
    shown.fill();
    await expect.poll(() => times(shown)).toEqual(numbers(1900, 2010));
    expect(shown.top.value).toBe('end');
    update({ lines: more(2), connection: OPEN });
    shown.takeNew(true);
    expect(times(shown)).toEqual(numbers(1900, 2012));
  });
});
