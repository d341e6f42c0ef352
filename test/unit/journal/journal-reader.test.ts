// What the journal gives out of its blocks: pieces for streams that resume, and pages that are searched for.
// The tables are real.

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, expect, it, onTestFinished, vi } from 'vitest';
import { parseEventQuery } from '../../../src/front/history/event-query.js';
import { Head } from '../../../src/journal/block.js';
import { BlockBuilder } from '../../../src/journal/block-builder.js';
import { HEADER_BYTES } from '../../../src/journal/block-layout.js';
import { BlockPacker } from '../../../src/journal/block-packer.js';
import { page } from '../../../src/journal/event-pages.js';
import { JournalReader } from '../../../src/journal/journal-reader.js';
import { readStats, Stats } from '../../../src/journal/stats.js';
import { FORM, openTables, type State, type Tables } from '../../../src/journal/tables.js';
import {
  JOURNAL_OFF,
  type JournalStatus,
  type PageRequest,
  type StatsAnswer,
  type StatsRequest,
} from '../../../src/shared/contract/journal-messages.js';
import { NameHasher } from '../../../src/shared/contract/name-hash.js';
import { Filter, parseFilter } from '../../../src/shared/stream/filter.js';
import { KIND_CODE, LEVEL_CODE, NO_LEVEL, sseFrame } from '../../../src/shared/stream/frame.js';
import { LabelHistory } from '../../../src/shared/stream/label-history.js';
import { PAGE } from '../../harness/journal.js';

const EPOCH = 'e';
let dir: string;
let tables: Tables;
let reader: JournalReader;
beforeEach(() => {
  // A part ends after some ms too, on a slow machine before it is full.
  vi.useFakeTimers({ toFake: ['performance'] });
  dir = mkdtempSync(path.join(tmpdir(), 'drover-journal-'));
  tables = openTables(path.join(dir, 'journal.mdb'), 'never');
  reader = new JournalReader(tables, () => Number.POSITIVE_INFINITY);
});
afterEach(async () => {
  vi.useRealTimers();
  await tables.close();
  rmSync(dir, { recursive: true, force: true });
});

const frameOf = (seq: number, message: string): string =>
  sseFrame(`${EPOCH}-${seq}`, 'log', `{"timestamp_ms":1,"message":${JSON.stringify(message)}}`);
const gapOf = (from: number, to: number): string =>
  sseFrame(`${EPOCH}-${to}`, 'gap', `{"from":"${EPOCH}-${from}","to":"${EPOCH}-${to}"}`);

/** Puts one block of these frames, the first numbered `first`. */
function put(first: number, frames: readonly string[]): void {
  const builder = new BlockBuilder(2_000_000);
  for (const [at, text] of frames.entries()) {
    const isGap = text.includes('\nevent: gap\n');
    const bytes = builder.data.write(text, builder.end);
    const [kind, level] = isGap ? [KIND_CODE.gap, NO_LEVEL] : [KIND_CODE.log, LEVEL_CODE.info];
    const time = text.includes('"timestamp_ms":NaN') ? 0 : 1;
    builder.add(first + at, bytes, time, kind, level, undefined, undefined);
  }
  const bytes = builder.encode(1);
  tables.commit(() => {
    tables.blocks.putSync(first, bytes as Buffer);
    tables.heads.putSync(first, bytes.subarray(0, HEADER_BYTES) as Buffer);
  });
}
it('a block that is not what was written is an error, not other events', () => {
  fill(1, 3);
  const rows = [1, 11, 21].map((first) => {
    const bytes = Buffer.from(tables.blocks.getBinary(first) as Buffer);
    const packed = Buffer.from(new BlockPacker().pack(bytes));
    tables.commit(() => {
      tables.packed.putSync(first, packed);
      tables.heads.putSync(first, Head.row(bytes, packed) as Buffer);
    });
    return packed;
  });
  const damaged = Buffer.from(rows[1] as Buffer);
  // In the text of a line: it decompresses as well as before.
  const at = damaged.indexOf('line');
  damaged[at] = (damaged[at] as number) ^ 1;
  const request = { from: 1, filter: null, pieceBytes: 1000, maxBytes: 10_000 };
  expect(reader.replay(request, null).next).toBe(31);
  tables.commit(() => tables.packed.putSync(11, damaged));
  expect(tables.blocks.getBinary(11)?.toString('latin1')).toContain('mine 11');
  expect(() => reader.replay(request, null)).toThrow('a block is damaged');
  expect(() => reader.from(11)).toThrow('a block is damaged');
  // The others are read as before.
  expect(reader.replay({ ...request, from: 21 }, null).next).toBe(31);
});

it('a line without a time, as earlier builds let pass, is a gap of one', async () => {
  const broken = (seq: number): string =>
    sseFrame(`${EPOCH}-${seq}`, 'log', '{"timestamp_ms":NaN,"message":"line"}');
  put(1, [broken(1), frameOf(2, 'line'), frameOf(3, 'line'), broken(4), broken(5)]);
  put(6, [frameOf(6, 'line'), broken(7), frameOf(8, 'line')]);
  const served = (seq: number): string =>
    [1, 4, 5, 7].includes(seq)
      ? sseFrame(
          `${EPOCH}-${seq}`,
          'gap',
          `{"from":"${EPOCH}-${seq}","to":"${EPOCH}-${seq}","dropped":1}`,
        )
      : frameOf(seq, 'line');
  for (const pieceBytes of [1, 150, 10_000]) {
    const part = reader.replay({ from: 1, filter: null, pieceBytes, maxBytes: 10_000 }, null);
    const text = Buffer.from(part.bytes).toString();
    expect(text).toBe([1, 2, 3, 4, 5, 6, 7, 8].map(served).join(''));
    // Each piece is of whole frames.
    const ends = part.pieces.map(({ end }) => end);
    for (const end of ends) expect(text.slice(0, end)).toMatch(/\n\n$/);
    expect(ends.at(-1)).toBe(text.length);
  }
  const { seqs, gap } = await find({});
  expect(seqs).toEqual([1, 2, 3, 4, 5, 6, 7, 8]);
  expect(gap).toEqual({ from: `${EPOCH}-1`, to: `${EPOCH}-1`, dropped: 1 });
  expect((await find({}, ofText('line'))).seqs).toEqual([1, 2, 3, 4, 5, 6, 7, 8]);
});

/** Blocks of 10 frames each, from `first` on. */
function fill(first: number, blocks: number): void {
  for (let block = 0; block < blocks; block++) {
    const from = first + 10 * block;
    put(
      from,
      Array.from({ length: 10 }, (_, at) => frameOf(from + at, `line ${from + at}`)),
    );
  }
}

const replay = (from: number, maxBytes = 1_000_000) =>
  reader.replay({ from, filter: null, pieceBytes: 200, maxBytes }, null);
const idsIn = (bytes: Uint8Array): number[] =>
  [
    ...Buffer.from(bytes)
      .toString()
      .matchAll(/^id: e-(\d+)$/gm),
  ].map(([, seq]) => Number(seq));

it('streams that stand at different places of a block ask for the same behind it', () => {
  fill(1, 5);
  for (const from of [2, 5, 10]) {
    const part = replay(from);
    expect(part).toMatchObject({ first: from, next: 11 });
    expect(idsIn(part.bytes)).toEqual(Array.from({ length: 11 - from }, (_, at) => from + at));
  }
  const rest = replay(11);
  expect(rest.next).toBe(51);
  expect(idsIn(rest.bytes)).toEqual(Array.from({ length: 40 }, (_, at) => 11 + at));
  // Each piece ends where it says that the next one begins.
  let from = 0;
  let next = 11;
  for (const piece of rest.pieces) {
    const ids = idsIn(rest.bytes.subarray(from, piece.end));
    expect(ids[0]).toBe(next);
    expect(ids.at(-1)).toBe(piece.next - 1);
    expect(piece.end - from).toBeLessThanOrEqual(200);
    from = piece.end;
    next = piece.next;
  }
  expect(next).toBe(51);
});

it('a part is read into the memory that came with the request, or into its own', () => {
  const lines = Array.from({ length: 1000 }, (_, at) => `${at} `.repeat(20));
  for (let block = 0; block < 10; block++) {
    const from = 1 + 100 * block;
    put(
      from,
      lines.slice(from - 1, from + 99).map((line, at) => frameOf(from + at, line)),
    );
  }
  const request = { from: 1, filter: null, pieceBytes: 5000, maxBytes: 100_000 };
  const whole = reader.replay(request, null);
  const used = new Uint8Array(200_000).fill(7);
  const again = reader.replay({ ...request, memory: used.buffer }, null);
  expect(again.bytes.buffer).toBe(used.buffer);
  expect(again.bytes.length).toBeGreaterThanOrEqual(100_000);
  expect(Buffer.from(again.bytes).equals(whole.bytes)).toBe(true);
  expect(again).toEqual({ ...whole, bytes: again.bytes });
  const tooSmall = new ArrayBuffer(1000);
  const other = reader.replay({ ...request, memory: tooSmall }, null);
  expect(other.bytes.buffer).not.toBe(tooSmall);
  expect(Buffer.from(other.bytes).equals(whole.bytes)).toBe(true);
  // What was read before does not change with what is read next.
  reader.replay({ ...request, from: whole.next }, null);
  expect(idsIn(whole.bytes)).toEqual(idsIn(again.bytes));
  // Little does not hold on to much, and nothing lies in memory that Node shares out.
  const little = reader.replay({ ...request, from: 1000, memory: used.buffer }, null);
  expect(idsIn(little.bytes)).toEqual([1000]);
  for (const { bytes } of [whole, other, little]) expect(bytes.byteOffset).toBe(0);
  expect(little.bytes.buffer.byteLength).toBe(little.bytes.length);
});

it('a part ends where frames are missing, and the next one tells of it', () => {
  fill(1, 2);
  put(1000, [gapOf(21, 1000), frameOf(1001, 'after it')]);
  expect(replay(1)).toMatchObject({ first: 1, next: 21 });
  expect(replay(21)).toMatchObject({ first: 1000, firstIsGap: true });
  expect(replay(2000)).toMatchObject({ first: null, next: 2000 });
});

const everything: PageRequest = { ...PAGE, order: 'oldest' };
async function find(request: Partial<PageRequest>, filter: Filter | null = null) {
  const parts = { epoch: EPOCH, tables, reader, unposted: () => [], isOpen: () => true };
  const { body, end, cursor } = await page(parts, { ...everything, ...request }, filter);
  const lines = Buffer.from(body).toString().split('\n').slice(0, -1);
  const events = lines.map(
    (line) => JSON.parse(line) as { id: string; event: string; data: object },
  );
  return {
    seqs: events.map(({ id }) => Number(id.slice(2))),
    gap: events.find(({ event }) => event === 'gap')?.data,
    end,
    cursor,
  };
}

/** As the journal gets the filter of a request. */
function ofText(q: string): Filter {
  const names = new NameHasher('key');
  return Filter.ofKey(parseFilter([['q', q]], names)?.key ?? '', names, new LabelHistory());
}

it('a text is found in what a message says, not in how it is written down', async () => {
  const messages = [
    'one\nfoot',
    'nfoot',
    'a "quoted" word',
    'back\\slash',
    'ÄÖÜ and Ω',
    '{"json":"inside"}',
    'tab\there',
    '\u001f\u2028',
  ];
  put(
    1,
    messages.map((message, at) => frameOf(1 + at, message)),
  );
  put(9, [gapOf(9, 9)]);
  for (const text of ['nfoot', 'NFOOT', '"', '\\', 'äö', 'ω', '}', '"}', '\t', 'there', 'e-9']) {
    const wanted = messages.flatMap((message, at) =>
      message.toLowerCase().includes(text.toLowerCase()) ? [1 + at] : [],
    );
    expect([text, (await find({}, ofText(text))).seqs]).toEqual([text, [...wanted, 9]]);
  }
});

it('a text is found across colours, and colours are not found as text', async () => {
  put(1, [
    frameOf(1, 'a \u001b[31mred\u001b[0mdish hat'),
    frameOf(2, 'reddish'),
    frameOf(3, 'b \u009b1mred'),
  ]);
  expect((await find({}, ofText('REDDISH'))).seqs).toEqual([1, 2]);
  expect((await find({}, ofText('a red'))).seqs).toEqual([1]);
  expect((await find({}, ofText('[31m'))).seqs).toEqual([]);
  expect((await find({}, ofText('b red'))).seqs).toEqual([3]);
});

it.each(['oldest', 'newest'] as const)('a gap passes every query, %s first', async (order) => {
  put(1, [frameOf(1, 'griffin of the harbour'), frameOf(2, 'harbour')]);
  put(4, [gapOf(3, 4), frameOf(5, 'griffin'), frameOf(6, 'the last griffin of the harbour')]);
  put(7, [frameOf(7, 'dropped griffin'), frameOf(8, 'to e-4')]);
  const names = new NameHasher('key');
  const makeJudge = (): never => {
    throw new Error('there are no bots');
  };
  /** As `GET /api/events` reads its parameters. */
  const asked = async (q: string, query: string): Promise<number[]> => {
    const parameters = { order, ...(q !== '' && { q }), ...(query !== '' && { query }) };
    const view = { epoch: EPOCH, names, nodes: undefined, makeJudge };
    const { request, filter: wanted } = parseEventQuery(parameters, view, null);
    const filter = Filter.ofKey((await wanted?.pastKey) as string, names, new LabelHistory());
    const { seqs } = await find({ ...request, lines: true }, filter);
    return seqs.toSorted((one, other) => one - other);
  };
  expect(await asked('', 'griffin')).toEqual([1, 4, 5, 6, 7]);
  expect(await asked('', '/unicorn|wyvern/')).toEqual([4]);
  expect(await asked('', 'scope:tc* transport:tcp')).toEqual([4]);
  expect(await asked('HARBOUR', 'griffin')).toEqual([1, 4, 6]);
  expect(await asked('harbour', '/unicorn \\d+/')).toEqual([4]);
  expect(await asked('griffin', 'dropped')).toEqual([4, 7]);
});

it('a page says where its range ended, so that a download does not run after the stream', async () => {
  fill(1, 3);
  expect(await find({ limit: 5 })).toMatchObject({ seqs: [1, 2, 3, 4, 5], end: 31 });
  expect(await find({ beforeSeq: 8 })).toMatchObject({ seqs: [1, 2, 3, 4, 5, 6, 7], end: 8 });
});

it('a page is the whole answer, with a cursor where it ends for its size', async () => {
  fill(1, 3);
  const parts = { epoch: EPOCH, tables, reader, unposted: () => [], isOpen: () => true };
  const { maxBytes } = parseEventQuery(
    {},
    {
      epoch: EPOCH,
      names: new NameHasher('key'),
      nodes: undefined,
      makeJudge: () => {
        throw new Error('there are no bots');
      },
    },
    null,
  ).request;
  expect(maxBytes).toBe(1024 * 1024);
  put(
    31,
    Array.from({ length: 15 }, (_, at) => frameOf(31 + at, 'x'.repeat(60_000))),
  );
  put(
    46,
    Array.from({ length: 15 }, (_, at) => frameOf(46 + at, 'x'.repeat(60_000))),
  );
  const seqs: number[] = [];
  let afterSeq: number | null = null;
  let pages = 0;
  do {
    const request = { ...everything, lines: false, maxBytes, afterSeq };
    const { body, count, cursor } = await page(parts, request, null);
    expect(body.length).toBeLessThan(maxBytes + 65_536);
    const answer = JSON.parse(Buffer.from(body).toString()) as {
      events: { id: string }[];
      cursor: string | null;
    };
    expect(Object.keys(answer)).toEqual(['events', 'cursor']);
    expect(answer.cursor).toBe(cursor === null ? null : `${EPOCH}-${cursor}`);
    expect(answer.events).toHaveLength(count);
    seqs.push(...answer.events.map(({ id }) => Number(id.slice(2))));
    afterSeq = cursor;
    pages += 1;
  } while (afterSeq !== null);
  expect(seqs).toEqual(Array.from({ length: 60 }, (_, at) => 1 + at));
  expect(pages).toBe(2);
});

it('resuming from a deleted number reports the loss, even on a page without room for events', async () => {
  fill(101, 3);
  const gap = { from: 'e-41', to: 'e-100', dropped: null };
  expect(await find({ afterSeq: 40, limit: 3 })).toMatchObject({ seqs: [100, 101, 102], gap });
  expect(await find({ afterSeq: 40, limit: 1 })).toMatchObject({ seqs: [100], gap, cursor: 100 });
  expect(await find({ afterSeq: 100, limit: 1 })).toMatchObject({ seqs: [101], gap: undefined });
  expect(await find({ afterSeq: 40, beforeSeq: 60 })).toMatchObject({
    seqs: [59],
    gap: { from: 'e-41', to: 'e-59', dropped: null },
    cursor: null,
  });
  expect(await find({ afterSeq: 0, limit: 1 })).toMatchObject({ seqs: [101], gap: undefined });
});

const newState = (): State => ({
  form: FORM,
  epoch: EPOCH,
  next: 1,
  posted: 0,
  clock: 0,
  bytes: 0,
  stats: 0,
  lost: 0,
  holes: 0,
});
const statsOf = async (request: StatsRequest): Promise<StatsAnswer & { journal: JournalStatus }> =>
  JSON.parse(await readStats({ tables, isOpen: () => true }, request, () => JOURNAL_OFF));

it('a point of the statistics names the scopes with the most events, with any scope names', async () => {
  const stats = new Stats();
  const NAMES = 300;
  let events = 0;
  for (let at = 0; at < NAMES; at++) {
    const name = at === 7 ? '__proto__' : `scope ${at}`;
    for (let count = 0; count <= at % 50; count++, events++) stats.count(1000, 0, name);
  }
  tables.commit(() => stats.write(tables, newState()));
  stats.written();
  const { buckets, journal } = await statsOf({ after: 0, before: 10_000, stepS: 10 });
  expect(journal).toEqual(JOURNAL_OFF);
  const scopes = Object.entries(buckets[0]?.scopes ?? {});
  expect(scopes).toHaveLength(21);
  expect(scopes.reduce((sum, [, count]) => sum + count, 0)).toBe(events);
  expect(scopes.at(-1)?.[0]).toBe('…');
  // The first 200 of them are known by their names: of each 50 the last has 50 events.
  const counts = scopes.slice(0, 20).map(([, count]) => count);
  expect(counts).toEqual([50, 49, 48, 47, 46].flatMap((count) => new Array(4).fill(count)));
});

it('a rate is that of the time which was asked for and has passed, not of the whole width', async () => {
  vi.useFakeTimers({ toFake: ['Date'], now: 1_000_345_000 });
  onTestFinished(() => void vi.useRealTimers());
  const stats = new Stats();
  // 10 events a second, until now.
  for (let ms = 1_000_000_000; ms < 1_000_345_000; ms += 100) stats.count(ms, 0, 'bot');
  tables.commit(() => stats.write(tables, newState()));
  stats.written();
  const whole = await statsOf({ after: 1_000_043_000, before: null, stepS: 100 });
  expect(whole.buckets.map(({ events, per_second }) => [events, per_second])).toEqual([
    [600, 10],
    [1000, 10],
    [1000, 10],
    [450, 10],
  ]);
  const part = await statsOf({ after: 1_000_043_000, before: 1_000_121_000, stepS: 100 });
  expect(part.buckets.map(({ per_second }) => per_second)).toEqual([10, 10]);
});

it('statistics add up over buckets, and the oldest go when they are too much', async () => {
  const state = newState();
  const stats = new Stats();
  const BUCKETS = 1500;
  for (let bucket = 0; bucket < BUCKETS; bucket++) {
    stats.count(bucket * 10_000, LEVEL_CODE.info, 'bot');
    stats.count(bucket * 10_000 + 9_999, LEVEL_CODE.error, `scope ${bucket % 3}`);
  }
  tables.commit(() => stats.write(tables, state));
  stats.written();
  // And once more into the last bucket, which is in the table by now.
  stats.count((BUCKETS - 1) * 10_000, LEVEL_CODE.info, 'bot');
  tables.commit(() => stats.write(tables, state));
  stats.written();

  const answer = await statsOf({ after: 0, before: BUCKETS * 10_000, stepS: 100 });
  expect(answer.buckets).toHaveLength(BUCKETS / 10);
  expect(answer.buckets[0]).toEqual({
    at_ms: 0,
    events: 20,
    per_second: 0.2,
    levels: { info: 10, warn: 0, error: 10, state: 0 },
    other: 0,
    scopes: { bot: 10, 'scope 0': 4, 'scope 1': 3, 'scope 2': 3 },
  });
  expect(answer.buckets.at(-1)?.events).toBe(21);

  const before = state.stats;
  expect(before).toBeGreaterThan(BUCKETS * 64);
  for (let step = 0; step < BUCKETS; step++) {
    tables.commit(() => stats.prune(tables, state, 0, before / 2));
  }
  expect(state.stats).toBeLessThanOrEqual(before / 2);
  const left = [...tables.stats.getKeys()];
  expect(left.at(-1)).toBe((BUCKETS - 1) * 10);
  expect(left.length).toBeGreaterThan(BUCKETS / 3);
  expect(left.length).toBeLessThan((BUCKETS * 2) / 3);
  // What is too old goes however little it is.
  for (let step = 0; step < BUCKETS; step++) {
    tables.commit(() => stats.prune(tables, state, Number.MAX_SAFE_INTEGER, before));
  }
  expect([...tables.stats.getKeys()]).toEqual([]);
  expect(state.stats).toBe(0);
});
