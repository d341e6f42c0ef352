// What a run of the service leaves to the next one, with real files. A kill is a record that is dropped.

import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { RunRecord } from '../../../src/main/environment/run-record.js';

const AUTO = { bots: 'auto', safe_after: 3 } as const;

let dir: string;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'drover-test-'));
});
afterEach(() => rmSync(dir, { recursive: true }));

/** A run that begins and starts these bots, in this order. Nothing of it is left but its file. */
async function run(now: number, bots: readonly string[] = [], start: typeof AUTO | object = AUTO) {
  const record = new RunRecord(dir, { ...AUTO, ...start }, now);
  record.begin();
  for (const id of bots) record.started(id);
  await Promise.resolve();
  return record;
}

describe('after an end', () => {
  it('that was clean, nothing is told', async () => {
    (await run(0, ['a'])).end();
    expect((await run(1)).uncleanEnd).toBeNull();
  });

  it('of the first run, nothing is told', async () => {
    const first = await run(0);
    expect([first.uncleanEnd, first.restriction, first.holdOf('a')]).toEqual([null, null, null]);
  });

  it('that was unclean, the next one tells when that run began and which bots were started last', async () => {
    await run(0, ['a', 'b', 'a', 'c', 'd', 'e', 'f']);
    const next = await run(1000);
    expect(next.uncleanEnd).toBe(
      'the last run of the service, since 1970-01-01T00:00:00.000Z, did not end cleanly: it crashed, was killed, or the machine went down; the bots that requests started last: f, e, d, c, a',
    );
    expect(next.restriction).toBeNull();
    next.end();
    expect((await run(2000)).uncleanEnd).toBeNull();
  });

  it('that came before the run began counts as the one before', async () => {
    await run(0);
    const refused = new RunRecord(dir, AUTO, 1);
    refused.end();
    expect((await run(2)).uncleanEnd).not.toBeNull();
  });
});

describe('unclean ends that repeat', () => {
  it('three within a minute: the bots that requests started last stay stopped, and all when that does not help', async () => {
    await run(0, ['old']);
    await run(10_000, ['x', 'y']);
    const third = await run(20_000);
    expect(third.restriction).toBeNull();
    const safe = await run(30_000);
    expect(safe.restriction).toBe(
      'the bots that requests started last are not started, because the service has ended uncleanly 3 times within a minute: old, x, y',
    );
    expect(safe.holdOf('y')).toBe(`not started: ${safe.restriction}`);
    expect(safe.holdOf('other')).toBeNull();
    const none = await run(40_000);
    expect(none.holdOf('other')).toBe(
      'not started: no bots are started, because the service has ended uncleanly 4 times within a minute',
    );
    none.end();
    expect((await run(41_000)).holdOf('y')).toBeNull();
  });

  it('when no request has started a bot, all stay stopped', async () => {
    for (const now of [0, 1, 2]) await run(now);
    expect((await run(3)).holdOf('a')).toMatch(/^not started: no bots are started/);
  });

  it('three in more than a minute change nothing', async () => {
    for (const now of [0, 1, 30_000]) await run(now);
    expect((await run(60_001)).restriction).toBeNull();
  });

  it('0 switches that off', async () => {
    for (const now of [0, 1, 2, 3]) await run(now);
    expect((await run(4, [], { bots: 'all' })).restriction).toBeNull();
  });
});

describe('by hand', () => {
  it('safe: without those that were started last, also after a clean end', async () => {
    (await run(0, ['a'])).end();
    const safe = await run(1, [], { bots: 'safe' });
    expect(safe.holdOf('a')).toBe(
      'not started: the bots that requests started last are not started, because start.bots is safe: a',
    );
    expect(safe.holdOf('b')).toBeNull();
  });

  it('none', async () => {
    expect((await run(0, [], { bots: 'none' })).holdOf('a')).toBe(
      'not started: no bots are started, because start.bots is none',
    );
  });
});

it('keeps the last twenty, in a file of one size', async () => {
  const ids = Array.from({ length: 50 }, (_, n) => `${n}`.padStart(64, 'x'));
  await run(0, ids);
  const bytes = readFileSync(join(dir, 'run.json'), 'utf8');
  expect(bytes).toHaveLength(4096);
  expect((JSON.parse(bytes) as { started_last: string[] }).started_last).toEqual(ids.slice(-20));
});

it.each(['', '{', 'null', '[]', '{"is_clean":false}'])('%j is no record', async (text) => {
  writeFileSync(join(dir, 'run.json'), text);
  expect((await run(0)).uncleanEnd).toBeNull();
});

it('a file that cannot be written is told once, and the run continues', async () => {
  const stderr = vi.spyOn(process.stderr, 'write').mockReturnValue(true);
  const record = new RunRecord(join(dir, 'missing'), AUTO, 0);
  record.begin();
  record.started('a');
  await Promise.resolve();
  record.end();
  const told = stderr.mock.calls.map(String);
  stderr.mockRestore();
  expect(told).toEqual([expect.stringMatching(/run\.json cannot be written: ENOENT/)]);
});

describe('what is deployed', () => {
  it('is said at each start, with what is other than in the last run', async () => {
    const kinds = new Map([
      ['demo', '0123abcd'],
      ['irc', '4567abcd'],
    ]);
    const first = await run(0);
    expect(first.deployed('1.0.0', kinds)).toBe('the service has started: Drover 1.0.0');
    const second = await run(1);
    expect(second.deployed('1.0.0', kinds)).toBe('the service has started: Drover 1.0.0');
    const third = await run(2);
    expect(third.deployed('1.1.0', new Map([...kinds, ['irc', '89ef89ef'], ['new', '0']]))).toBe(
      'the service has started: Drover 1.1.0, before it 1.0.0; new code of bot kinds: irc, new',
    );
  });

  it('never makes the file longer than it is written in one piece', async () => {
    const kinds = new Map(Array.from({ length: 300 }, (_, n) => [`kind-${n}`, '0123abcd']));
    const bots = Array.from({ length: 20 }, (_, n) => `${n}`.padEnd(64, 'x'));
    const first = await run(0, bots);
    first.deployed('1.0.0', kinds);
    expect(readFileSync(join(dir, 'run.json'))).toHaveLength(4096);
    expect((await run(1)).deployed('1.0.0', kinds)).toBe('the service has started: Drover 1.0.0');
  });
});
