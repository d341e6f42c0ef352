// The life cycle of a journal: how it starts, how it ends, and what it does about failures in between.

import { randomBytes } from 'node:crypto';
import { cpSync, existsSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { expect, it, onTestFinished, vi } from 'vitest';
import { HEADER_BYTES } from '../../src/journal/block-layout.js';
import { openTables } from '../../src/journal/tables.js';
import type { StatsAnswer } from '../../src/shared/contract/journal-messages.js';
import { JOURNAL_FILE, Numbering } from '../../src/shared/stream/numbering.js';
import { eventually } from '../harness/bots.js';
import { expectNoHole, journalDir, Life, logItem, sessionItem } from '../harness/journal.js';

it('events published while the last streams drain keep their numbers', async () => {
  const dir = journalDir();
  const first = await Life.begin(dir);
  await first.on();
  const stopped = first.say('one', 'stopped');
  await first.past();
  // A request that is answered while a slow stream still receives its last frames.
  const head = first.say('after it', 'and one more');
  expect(head).toBe(stopped + 2);
  await first.end();
  const next = await Life.begin(dir);
  await next.on();
  expect(next.first).toBe(head);
  const events = await next.past();
  expectNoHole(events);
  expect(events.map(({ data }) => data.message)).toEqual([
    'one',
    'stopped',
    'after it',
    'and one more',
  ]);
  await next.end();
});

it('a replacement thread continues the journal of this run, even when the run started without one', async () => {
  const dir = journalDir();
  const before = await Life.begin(dir);
  await before.on();
  before.say('of another run');
  await before.end();
  const life = await Life.begin(dir, { fault: 'EROFS: read-only file system' });
  expect(life.state).toBe('failed');
  life.say('while it could not be kept');
  await life.on();
  // The journal on disk belongs to another epoch.
  expect(life.notices).toEqual([expect.stringContaining('another numbering')]);
  life.say('kept');
  expect(await life.past()).toHaveLength(2);
  await life.replace({ fault: 'EROFS: read-only file system' });
  expect(life.notices).toEqual([]);
  expect((await life.past()).map(({ data }) => data.message)).toEqual([
    'while it could not be kept',
    'kept',
  ]);
  await life.end();
});

const DAY_MS = 86_400_000;
/** Mocks the system clock, so that a test can set it ahead. */
function setClock(): (aheadMs: number) => void {
  const real = Date.now.bind(Date);
  let ahead = 0;
  const spy = vi.spyOn(Date, 'now').mockImplementation(() => real() + ahead);
  onTestFinished(() => spy.mockRestore());
  return (aheadMs) => {
    ahead = aheadMs;
  };
}

it.each([
  ['within one run', false],
  ['over a restart', true],
])(
  'a temporarily wrong clock neither empties the journal nor hides later events, %s',
  async (_, restarts) => {
    const set = setClock();
    const dir = journalDir();
    const config = { max_age_hours: 24 };
    let life = await Life.begin(dir, { config });
    await life.on();
    const again = async (): Promise<void> => {
      if (!restarts) return;
      await life.end();
      life = await Life.begin(dir, { config });
      await life.on();
    };
    const block = (name: string): void => {
      // Several blocks at each time: the newest block is never expired.
      life.say(...Array.from({ length: 200 }, (_, at) => `${name} ${at} ${'x'.repeat(1000)}`));
    };
    const count = async (request = {}): Promise<Record<string, number>> => {
      const counts: Record<string, number> = {};
      for (const { data } of await life.past(request)) {
        const name = data.message?.split(' ')[0] ?? 'other';
        counts[name] = (counts[name] ?? 0) + 1;
      }
      return counts;
    };
    block('before');
    await life.past();
    set(3000 * DAY_MS);
    await again();
    for (let write = 0; write < 5; write++) {
      block('ahead');
      await life.past();
    }
    set(0);
    await again();
    block('after');
    life.broadcaster.publish([sessionItem('x', {})]);
    const all = { before: 200, ahead: 1000, after: 200, other: 1 };
    expect(await count()).toEqual(all);
    // Queries by time find them too.
    const now = { beforeMs: Date.now() + 1000 };
    expect(await count(now)).toEqual({ before: 200, after: 200, other: 1 });
    expect(await count({ ...now, order: 'newest' })).toEqual({ before: 200, after: 200, other: 1 });
    const upToNow = { token: 'a', after: null, before: Date.now() + 1000, stepS: 3600 };
    const { body } = await life.journal.answers.stats(upToNow);
    const { buckets } = JSON.parse(Buffer.from(body).toString()) as StatsAnswer;
    expect(buckets.reduce((sum, { events }) => sum + events, 0)).toBe(401);
    await life.end();
  },
);

it('events past max_age_hours expire, by a plausible clock', async () => {
  const set = setClock();
  const life = await Life.begin(journalDir(), { config: { max_age_hours: 0.5 } });
  await life.on();
  const block = (name: string): void => {
    life.say(...Array.from({ length: 200 }, (_, at) => `${name} ${at} ${'x'.repeat(1000)}`));
  };
  block('step0');
  await life.past();
  for (let step = 1; step <= 3; step++) {
    // Steps small enough to be plausible.
    set(step * 1_900_000);
    block(`step${step}`);
    await life.past();
  }
  await eventually(async () => {
    block('more');
    const names = new Set((await life.past()).map(({ data }) => data.message?.split(' ')[0]));
    return !names.has('step0') && !names.has('step1') && names.has('step3');
  }, 'the oldest events have expired');
  await life.end();
});

/** The stored row of an old block, in one piece in the file: it is too large to share a page. */
async function oldRow(dir: string): Promise<Buffer> {
  const tables = openTables(path.join(dir, JOURNAL_FILE), 'never');
  try {
    const [row] = [...tables.packed.getRange({ start: 20_000, limit: 1 })];
    return Buffer.from(row?.value as Buffer);
  } finally {
    await tables.close();
  }
}

/** @param change gets the file's bytes, and where the row begins in them. */
function damage(dir: string, row: Buffer, change: (bytes: Buffer, at: number) => void): void {
  const file = path.join(dir, JOURNAL_FILE);
  const bytes = readFileSync(file);
  const at = bytes.indexOf(row);
  expect(at).toBeGreaterThan(0);
  change(bytes, at);
  writeFileSync(file, bytes);
}

it('after a kill the journal is verified in the background, and after a second kill before it is used', {
  timeout: 120_000,
}, async () => {
  const dir = journalDir();
  const life = await Life.begin(dir);
  await life.on();
  // More than one segment, and blocks after it.
  for (let batch = 0; batch < 60; batch++) {
    life.say(...Array.from({ length: 2000 }, (_, at) => `line ${batch} ${at} ${'x'.repeat(200)}`));
    await life.past({ order: 'newest', limit: 1 });
  }
  const { epoch } = life.stream;
  // Copies as kill -9 leaves the files; two of them are damaged in an old block.
  const files = [journalDir(), journalDir(), journalDir(), journalDir()];
  for (const copy of files) cpSync(dir, copy, { recursive: true });
  await life.end();
  const [whole = '', beside = '', before = '', read = ''] = files;
  const old = await oldRow(read);
  // A bit of a line's text, with which the block decompresses as well as before; and a whole page, as a disk loses it.
  damage(beside, old, (bytes, at) => {
    const text = bytes.indexOf('"level"', at);
    expect(text).toBeLessThan(at + old.length);
    bytes[text + 1] = (bytes[text + 1] as number) ^ 1;
  });
  damage(before, old, (bytes, at) => {
    const page = at - (at % 4096);
    bytes.fill(0xff, page, page + 4096);
  });
  const healthy = await Life.begin(whole);
  expect(healthy.previousShutdown).toBe('unclean');
  await healthy.on();
  const shutdown = (): string => Numbering.open(whole, healthy.stream, 0).shutdown;
  expect(shutdown()).toBe('unexamined');
  await eventually(() => shutdown() === 'unclean', 'the journal is verified', 60_000);
  expect(healthy.notices).toEqual([]);
  await healthy.end();

  const second = await Life.begin(beside);
  await second.on();
  // The journal was used unverified; the damage is found later.
  expect(second.told[0]?.status.oldest).toBe(`${epoch}-1`);
  await eventually(() => second.notices.length > 0, 'the damaged journal is set aside', 60_000);
  expect(second.notices).toEqual([
    expect.stringMatching(/is broken \(a block is damaged\).*set aside/),
  ]);
  await eventually(() => second.state === 'on' && second.told.length > 2, 'a new journal begins');
  second.say('kept again');
  expect((await second.past()).at(-1)?.data.message).toBe('kept again');
  await second.end();

  Numbering.begin(before);
  const third = await Life.begin(before);
  expect(third.previousShutdown).toBe('unexamined');
  await eventually(() => third.told.length > 0, 'the journal is verified', 60_000);
  expect(third.notices).toEqual([expect.stringMatching(/is broken \(.*set aside/)]);
  await third.on();
  await third.end();
});

it('a journal of an earlier version, compressed by lmdb and without a CRC, is read and continued', async () => {
  const dir = journalDir();
  const life = await Life.begin(dir);
  await life.on();
  life.say(...Array.from({ length: 1000 }, (_, at) => `old ${at} ${'x'.repeat(200)}`));
  await life.end();
  const tables = openTables(path.join(dir, JOURNAL_FILE), 'never');
  const keys = [...tables.blocks.getKeys()];
  expect(keys.length).toBeGreaterThan(2);
  tables.commit(() => {
    for (const key of keys) {
      const block = Buffer.from(tables.blocks.getBinary(key) as Buffer);
      tables.blocks.putSync(key, block);
      tables.heads.putSync(key, block.subarray(0, HEADER_BYTES));
    }
  });
  await tables.close();
  const next = await Life.begin(dir);
  await next.on();
  expect(next.notices).toEqual([]);
  next.say('new');
  const events = await next.past();
  expect(events).toHaveLength(1001);
  expectNoHole(events);
  expect(events.at(-1)?.data.message).toBe('new');
  // All of it is also what the check of everything accepts.
  await next.end();
  Numbering.begin(dir);
  Numbering.begin(dir);
  const last = await Life.begin(dir);
  expect(last.previousShutdown).toBe('unexamined');
  await last.on();
  expect(last.notices).toEqual([]);
  await last.end();
});

it('reading pages of written events does not write', async () => {
  const life = await Life.begin(journalDir(), { config: { flush_ms: 10_000 } });
  await life.on();
  life.say('one', 'two', 'three');
  expect(await life.past()).toHaveLength(3);
  life.say('four');
  const written = (): bigint =>
    statSync(path.join(life.dir, JOURNAL_FILE), { bigint: true }).mtimeNs;
  const before = written();
  for (const order of ['newest', 'oldest'] as const) {
    expect(await life.past({ beforeSeq: 4, order })).toHaveLength(3);
  }
  expect(written()).toBe(before);
  // Events not yet written are written first.
  expect(await life.past({ beforeSeq: 5 })).toHaveLength(4);
  expect(written()).toBeGreaterThan(before);
  await life.end();
});

it('close() writes everything that is on the ring, even with a long queue or after a lap', async () => {
  const dir = journalDir();
  const life = await Life.begin(dir, { ringBytes: 2 ** 26 });
  await life.on();
  // Some 20 MB that do not compress, more than the maximum queue.
  const line = (): string => randomBytes(6000).toString('base64');
  const lines = Array.from({ length: 2500 }, (_, at) => `${at} ${line()}`);
  const head = life.say(...lines);
  await life.end();
  const next = await Life.begin(dir, { ringBytes: 2 ** 20 });
  expect([next.first, next.previousShutdown]).toEqual([head, 'clean']);
  await next.on();
  expect(next.journal.status.lost).toBe(0);
  // The ring has 1 MB: most lines are overwritten before the journal reads them.
  next.say(...lines.slice(0, 300));
  await next.end();
  const last = await Life.begin(dir);
  expect([last.first, last.previousShutdown]).toEqual([head + 300, 'clean']);
  await last.on();
  const events = await last.past({ afterSeq: head - 2 });
  expect(events.map(({ seq }) => seq)).toEqual([head - 1, head + 299]);
  expect(events[1]?.data).toMatchObject({ dropped: 300 });
  await last.end();
});

it('the numbering file or the whole directory is deleted while in use: the next run continues with the same epoch', async () => {
  // At the same time, because it takes seconds until the journal looks.
  await Promise.all([losing('numbering', ['before', 'after']), losing('', ['after'])]);
});

/** @param name what is deleted in the directory. @param kept the lines that the next run has. */
async function losing(name: string, kept: string[]): Promise<void> {
  const dir = journalDir();
  const life = await Life.begin(dir);
  await life.on();
  life.say('before');
  await life.past();
  rmSync(path.join(dir, name), { recursive: true });
  await eventually(
    () => existsSync(path.join(dir, 'numbering')),
    'the numbering file exists again',
    30_000,
  );
  await life.on();
  life.say('after');
  await eventually(
    async () => (await life.past()).at(-1)?.data.message === 'after',
    'the line is in the journal',
  );
  // Starts before the first run has closed its journal.
  const next = await Life.begin(dir);
  expect(next.stream.epoch).toBe(life.stream.epoch);
  expect(next.first).toBeGreaterThan(2);
  await life.journal.close();
  await next.on();
  const messages = (await next.past()).flatMap(({ data }) => data.message ?? []);
  expect(messages).toEqual(expect.arrayContaining(kept));
  await next.end();
}

it('a journal that starts late records a gap for what it missed, and keeps what is still on the ring', async () => {
  const life = await Life.begin(journalDir(), { ringBytes: 2 ** 20, fault: 'EROFS' });
  const line = 'x'.repeat(8000);
  for (let batch = 0; batch < 20; batch++) {
    life.say(...Array.from({ length: 20 }, (_, at) => `${batch} ${at} ${line}`));
  }
  await life.on();
  const [gap, ...rest] = await life.past();
  const missed = (gap?.seq ?? 0) - life.first + 1;
  expect(missed).toBeGreaterThan(200);
  expect(gap).toMatchObject({
    event: 'gap',
    data: { from: `${life.stream.epoch}-1`, dropped: missed },
  });
  expect(rest.length).toBeGreaterThan(50);
  expect(rest.map(({ seq }) => seq)).toEqual(rest.map((_, at) => missed + 1 + at));
  expect(rest.at(-1)?.seq).toBe(400);
  expect(life.journal.status).toMatchObject({ lost: missed, holes: 1 });
  await life.end();
});

it('labels of a bot from the previous run do not apply until the bot exists in this run', async () => {
  const dir = journalDir();
  const filter = JSON.stringify([null, null, null, null, null, [['team', 'a']]]);
  const lines = async (of: Life): Promise<string[]> =>
    (await of.past({ filter })).flatMap(({ data }) => data.message ?? []);
  const first = await Life.begin(dir);
  await first.on();
  first.broadcaster.publish([
    sessionItem('x', { labels: { team: 'a' } }),
    logItem('one', { session_id: 'x' }),
  ]);
  expect(await lines(first)).toEqual(['one']);
  await first.end();
  const next = await Life.begin(dir);
  await next.on();
  next.broadcaster.publish([
    logItem('begun', { session_id: null }),
    logItem('of nobody yet', { session_id: 'x' }),
    sessionItem('x', { labels: { team: 'a' } }),
    logItem('two', { session_id: 'x' }),
  ]);
  expect(await lines(next)).toEqual(['one', 'two']);
  // Within the same run, a replacement thread knows the labels.
  await next.replace();
  next.broadcaster.publish([logItem('three', { session_id: 'x' })]);
  expect(await lines(next)).toEqual(['one', 'two', 'three']);
  await next.end();
});
