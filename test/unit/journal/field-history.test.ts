// The past of a bot's fields, read from blocks: what each part has, and how much is read for it. The tables are real.

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, expect, it, onTestFinished, vi } from 'vitest';
import { BlockBuilder } from '../../../src/journal/block-builder.js';
import { HEADER_BYTES } from '../../../src/journal/block-layout.js';
import { fieldHistory, MAX_BLOCKS } from '../../../src/journal/field-history.js';
import { Journal } from '../../../src/journal/journal.js';
import { JournalReader } from '../../../src/journal/journal-reader.js';
import { Slices } from '../../../src/journal/slices.js';
import { openTables, type Tables } from '../../../src/journal/tables.js';
import type { JsonObject } from '../../../src/shared/contract/json.js';
import { NameHasher } from '../../../src/shared/contract/name-hash.js';
import { Filter } from '../../../src/shared/stream/filter.js';
import { KIND_CODE, LEVEL_CODE, NO_LEVEL, sseFrame } from '../../../src/shared/stream/frame.js';
import { LabelHistory } from '../../../src/shared/stream/label-history.js';
import { journalDir, Life, sessionItem } from '../../harness/journal.js';

const KEY = JSON.stringify([['session'], null, ['a'], null, null, null, null]);
const names = new NameHasher('00'.repeat(16));
const filter = Filter.ofKey(KEY, names, new LabelHistory());

let dir: string;
let tables: Tables;
let reader: JournalReader;
let places: number[];
let next: number;
beforeEach(() => {
  dir = mkdtempSync(path.join(tmpdir(), 'drover-field-history-'));
  tables = openTables(path.join(dir, 'journal.mdb'), 'never');
  reader = new JournalReader(tables, () => Number.POSITIVE_INFINITY);
  places = [];
  next = 1;
});
afterEach(async () => {
  await tables.close();
  rmSync(dir, { recursive: true, force: true });
});

type Frame = [time: number, data: JsonObject | 'log'];

/** Puts one block of frames of the bot `a`. */
function put(...frames: Frame[]): void {
  const builder = new BlockBuilder(100_000);
  const { low, high } = names.of('a');
  let clock = 0;
  for (const [at, [time, data]] of frames.entries()) {
    const seq = next + at;
    const isLog = data === 'log';
    const json = isLog
      ? `{"timestamp_ms":${time},"message":"x"}`
      : JSON.stringify({ snapshot: { id: 'a', status: 'on', restarts: 0, labels: {}, data } });
    const text = sseFrame(`e-${seq}`, isLog ? 'log' : 'session', json);
    const bytes = builder.data.write(text, builder.end);
    const [kind, level] = isLog ? [KIND_CODE.log, LEVEL_CODE.info] : [KIND_CODE.session, NO_LEVEL];
    builder.add(seq, bytes, time, kind, level, { low, high, number: 1 } as never, undefined);
    places.push(seq);
    clock = Math.max(clock, time);
  }
  const bytes = builder.encode(clock);
  tables.commit(() => {
    tables.blocks.putSync(next, bytes as Buffer);
    tables.heads.putSync(next, bytes.subarray(0, HEADER_BYTES) as Buffer);
  });
  next += frames.length;
}

const read = (afterMs: number, beforeMs: number, points: number, fields = ['data.gold']) =>
  fieldHistory(
    {
      epoch: 'e',
      tables,
      reader,
      unposted: () => [{ segment: 0, places: [places] }],
      isOpen: () => true,
    },
    { filter: KEY, fields, afterMs, beforeMs, points },
    filter,
  );
const gold = (last: unknown, min = last, max = last) => ({ 'data.gold': { last, min, max } });

it('a part has the last value, the lowest and the highest; before the range is the last one before it', async () => {
  put([1000, { gold: 5 }], [1900, { gold: 7 }], [2000, { gold: 9 }]);
  put(
    [2100, { gold: 3 }],
    [2200, 'log'],
    [2300, { gold: 4 }],
    [4100, { gold: 'none' }],
    [4200, {}],
  );
  put([5000, { gold: 1 }]);
  expect(await read(2000, 5000, 3)).toEqual({
    from_ms: 2000,
    step_ms: 1000,
    before: { at_ms: 1900, count: 1, complete: true, values: gold(7) },
    points: [
      { at_ms: 2300, count: 3, complete: true, values: gold(4, 3, 9) },
      { at_ms: 4200, count: 2, complete: true, values: gold(null) },
    ],
  });
});

it('reads several fields at once, as columns of the same points', async () => {
  put([10, { at: { map: 'castle' }, list: [1, 2], on: true }]);
  const { points } = await read(0, 20, 1, [
    'data.at.map',
    'data.list',
    'data.on',
    'status',
    'host',
  ]);
  expect(points[0]?.values).toEqual({
    'data.at.map': { last: 'castle', min: null, max: null },
    'data.list': { last: '[1,2]', min: null, max: null },
    'data.on': { last: true, min: null, max: null },
    status: { last: 'on', min: null, max: null },
    host: { last: null, min: null, max: null },
  });
});

it('divides the blocks that it reads among the parts, and says which are not complete', async () => {
  // A part has as many blocks as may be read for all of them; the second part has one.
  for (let n = 0; n < MAX_BLOCKS; n++) put([1000 + n / 10, { gold: n }]);
  put([2000, { gold: 1 }], [2900, { gold: 2 }]);
  for (let n = 0; n < MAX_BLOCKS; n++) put([3000 + n / 10, { gold: n }]);
  const block = vi.spyOn(reader, 'block');
  const { points, before } = await read(1000, 4000, 3);
  expect(points.map(({ count, complete }) => ({ count, complete }))).toEqual([
    // What the others have left, and the block in which the part begins.
    { count: MAX_BLOCKS - Math.ceil(MAX_BLOCKS / 3) - 1, complete: false },
    { count: 2, complete: true },
    { count: Math.ceil(MAX_BLOCKS / 3) + 1, complete: false },
  ]);
  const newest = MAX_BLOCKS - 1;
  expect(points.map(({ values }) => values['data.gold']?.last)).toEqual([newest, 2, newest]);
  expect(before).toBeNull();
  const blocks = new Set(block.mock.results.map(({ value }) => value));
  expect(blocks.size).toBeLessThanOrEqual(MAX_BLOCKS + 3);
});

it('passes over blocks that have only lines when it looks for what was before the range', async () => {
  put([1000, { gold: 5 }]);
  for (let n = 0; n < 60; n++) put([1500, 'log']);
  put([3000, { gold: 6 }]);
  expect((await read(2000, 4000, 2)).before?.values).toEqual(gold(5));
  for (let n = 0; n < 60; n++) put([3500, 'log'], [3500, 'log']);
  expect((await read(3200, 4000, 2)).before?.values).toEqual(gold(6));
});

it('the journal answers with what is on the ring now, and refuses when the client has gone', async () => {
  const life = await Life.begin(journalDir(), { Journal });
  onTestFinished(() => life.end());
  await life.on();
  const from = Date.now() - 1000;
  for (const n of [1, 5, 3]) life.broadcaster.publish([sessionItem('a', { data: { gold: n } })]);
  life.broadcaster.publish([sessionItem('b', { data: { gold: 100 } })]);
  const request = { filter: KEY, fields: ['data.gold'], afterMs: from, beforeMs: from + 60_000 };
  const asked = { ...request, points: 1, token: 't' };
  const { body } = await life.journal.answers.fieldHistory(asked);
  const answer = JSON.parse(Buffer.from(body).toString());
  expect(answer.points).toMatchObject([{ count: 3, values: gold(3, 1, 5) }]);
  const left = life.journal.answers.fieldHistory(asked, AbortSignal.abort());
  await expect(left).rejects.toMatchObject({ code: 'no_answer' });
});

it('reads on while the newest block is written again', async () => {
  const life = await Life.begin(journalDir(), { Journal });
  onTestFinished(() => life.end());
  await life.on();
  const from = Date.now() - 1000;
  const golds = Array.from({ length: 500 }, (_, n) => n);
  life.broadcaster.publish(golds.map((gold) => sessionItem('a', { data: { gold } })));
  const request = { filter: KEY, fields: ['data.gold'], afterMs: from, beforeMs: from + 60_000 };
  // It yields after each frame.
  vi.spyOn(Slices.prototype, 'isOver', 'get').mockReturnValue(true);
  onTestFinished(() => void vi.restoreAllMocks());
  let isRead = false;
  const reading = life.journal.answers
    .fieldHistory({ ...request, points: 1, token: 't' })
    .finally(() => (isRead = true));
  let writes = 0;
  for (; !isRead; writes++) {
    life.say('more');
    // Writes what there is.
    await Promise.race([life.past({ limit: 1, order: 'newest' }), reading]);
  }
  const { points } = JSON.parse(Buffer.from((await reading).body).toString());
  expect(points).toMatchObject([{ count: 500, values: gold(499, 0, 499) }]);
  expect(writes).toBeGreaterThan(1);
});
