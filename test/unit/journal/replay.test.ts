// What a filtered stream gets that resumes is what an unfiltered one gets, filtered, and what cannot match is not
// read for it. The tables are real.

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { BlockBuilder, type NameEntry } from '../../../src/journal/block-builder.js';
import { HEADER_BYTES } from '../../../src/journal/block-layout.js';
import { JournalReader } from '../../../src/journal/journal-reader.js';
import { openTables, SEGMENT, type Tables } from '../../../src/journal/tables.js';
import { NameHasher } from '../../../src/shared/contract/name-hash.js';
import { parseFilter } from '../../../src/shared/stream/filter.js';
import { KIND_CODE, LEVEL_CODE, NO_LEVEL, sseFrame } from '../../../src/shared/stream/frame.js';

const EPOCH = 'e';
const names = new NameHasher('key');
let dir: string;
let tables: Tables;
let reader: JournalReader;
beforeEach(() => {
  dir = mkdtempSync(path.join(tmpdir(), 'drover-replay-'));
  tables = openTables(path.join(dir, 'journal.mdb'), 'never');
  reader = new JournalReader(tables, () => 0);
});
afterEach(async () => {
  await tables.close();
  rmSync(dir, { recursive: true, force: true });
});

interface Frame {
  seq: number;
  bot: string | null;
  level: 'info' | 'error';
}

const builder = new BlockBuilder(1_000_000);
/** By session and segment, the places. */
const posted = new Map<string, number[]>();
const entries = new Map<string, NameEntry>();
afterEach(() => {
  posted.clear();
  entries.clear();
});

function post(session: NameEntry | undefined, seq: number): void {
  const segment = Math.floor(seq / SEGMENT) * SEGMENT;
  const key = JSON.stringify([session?.low ?? 0, session?.high ?? 0, segment]);
  const places = posted.get(key) ?? [];
  places.push(seq - segment);
  posted.set(key, places);
}

function entryOf(bot: string): NameEntry {
  const known = entries.get(bot);
  if (known) return known;
  const entry = { ...names.of(bot), next: undefined, stamp: 0, index: 0 };
  entries.set(bot, entry);
  return entry;
}

/** Puts one block of these frames, which follow one another; one without a bot tells of what is missing before it. */
function put(frames: readonly Frame[], missingFrom: number): void {
  builder.reset();
  for (const { seq, bot, level } of frames) {
    const id = `${EPOCH}-${seq}`;
    const text =
      bot === null
        ? sseFrame(id, 'gap', `{"from":"${EPOCH}-${missingFrom}","to":"${id}"}`)
        : sseFrame(id, 'log', `{"timestamp_ms":1,"session_id":"${bot}","message":"x"}`);
    const bytes = builder.data.write(text, builder.end);
    const session = bot === null ? undefined : entryOf(bot);
    const [kind, code] =
      bot === null ? [KIND_CODE.gap, NO_LEVEL] : [KIND_CODE.log, LEVEL_CODE[level]];
    builder.add(seq, bytes, 1, kind, code, session, undefined);
    post(session, seq);
  }
  const bytes = builder.encode(1);
  const first = frames[0]?.seq ?? 0;
  tables.commit(() => {
    tables.blocks.putSync(first, bytes as Buffer);
    tables.heads.putSync(first, bytes.subarray(0, HEADER_BYTES) as Buffer);
  });
}

/** Writes the postings of the segments below `open`; the others are still in memory. */
function close(open: number): (sessions: readonly (readonly [number, number])[]) => {
  segment: number;
  places: number[][];
}[] {
  const inMemory: { low: number; high: number; segment: number; places: number[] }[] = [];
  tables.commit(() => {
    for (const [key, places] of posted) {
      const [low, high, segment] = JSON.parse(key) as [number, number, number];
      if (segment >= open) inMemory.push({ low, high, segment, places });
      else {
        const value = Buffer.from(Uint16Array.from(places).buffer);
        tables.postings.putSync([low, high, segment], value);
        tables.segments.putSync(segment, Buffer.alloc(8));
      }
    }
  });
  return (sessions) =>
    [...new Set(inMemory.map(({ segment }) => segment))].map((segment) => ({
      segment,
      places: inMemory
        .filter((one) => one.segment === segment)
        .filter(({ low, high }) => sessions.some(([a, b]) => a === low && b === high))
        .map(({ places }) => places),
    }));
}

/** What a front does with the parts: ids, and where it was told that something is missing. */
function follow(
  from: number,
  query: [string, string][],
  unposted: ReturnType<typeof close>,
): { got: number[]; missing: [number, number][]; next: number } {
  const filter = query.length === 0 ? null : parseFilter(query, names);
  const got: number[] = [];
  const missing: [number, number][] = [];
  let cursor = from;
  for (let turns = 0; ; turns++) {
    expect(turns).toBeLessThan(20_000);
    const request = { from: cursor, filter: null, pieceBytes: 500, maxBytes: 3000 };
    const part = reader.replay(request, filter, unposted);
    if (part.first === null) return { got, missing, next: cursor };
    if (part.first > cursor) {
      const next = part.firstIsGap ? part.first + 1 : part.first;
      missing.push([cursor, next]);
      cursor = next;
      continue;
    }
    expect(part.next).toBeGreaterThan(cursor);
    const text = Buffer.from(part.bytes).toString();
    let at = 0;
    for (const { end, next } of part.pieces) {
      const ids = [...text.slice(at, end).matchAll(/^id: e-(\d+)$/gm)].map(([, id]) => Number(id));
      for (const id of ids) expect(id).toBeLessThan(next);
      got.push(...ids);
      at = end;
    }
    expect(part.pieces.at(-1)).toEqual({ end: part.bytes.length, next: part.next });
    cursor = part.next;
  }
}

/** Numbers that look random and are the same in each run. */
function* random(): Generator<number, never> {
  for (let state = 12_345; ; ) {
    state = (state * 1_103_515_245 + 12_345) % 2 ** 31;
    yield state / 2 ** 31;
  }
}

it('a filtered stream gets what it would get of everything, over holes and segments', () => {
  const dice = random();
  const roll = (below: number): number => Math.floor(dice.next().value * below);
  const frames: Frame[] = [];
  let seq = SEGMENT - 900;
  for (let block = 0; block < 120; block++) {
    let missingFrom = 0;
    const ownFrames: Frame[] = [];
    // A hole: within a segment, to its end, over a whole one; or none but one number.
    if (roll(12) === 0) {
      missingFrom = seq;
      seq += [0, 30, SEGMENT - (seq % SEGMENT) - 1, SEGMENT, 2 * SEGMENT + 5][roll(5)] as number;
      ownFrames.push({ seq: seq++, bot: null, level: 'info' });
    }
    for (let count = 1 + roll(60); count > 0; count--) {
      const bot = roll(80) === 0 ? 'rare' : roll(3) === 0 ? 'other' : 'busy';
      ownFrames.push({ seq: seq++, bot, level: roll(40) === 0 ? 'error' : 'info' });
    }
    put(ownFrames, missingFrom);
    frames.push(...ownFrames);
  }
  const unposted = close(Math.floor(seq / SEGMENT) * SEGMENT);
  const first = frames[0]?.seq as number;
  const starts = [
    1,
    first,
    first + 1,
    ...Array.from({ length: 12 }, () => first + roll(seq - first)),
  ];
  const queries: [[string, string][], (frame: Frame) => boolean][] = [
    [[['session', 'rare']], ({ bot }) => bot === 'rare'],
    [[['session', 'rare,other']], ({ bot }) => bot === 'rare' || bot === 'other'],
    [[['session', 'nobody']], () => false],
    [[['level', 'error']], ({ level, bot }) => level === 'error' && bot !== null],
    [
      [
        ['session', 'busy'],
        ['level', 'error'],
      ],
      ({ bot, level }) => bot === 'busy' && level === 'error',
    ],
    // As many as are not looked up.
    [
      [['session', ['rare', ...Array.from({ length: 70 }, (_, at) => `no-${at}`)].join()]],
      ({ bot }) => bot === 'rare',
    ],
  ];
  for (const from of starts) {
    const whole = follow(from, [], unposted);
    expect(whole.next).toBe(seq);
    const of = new Map(frames.map((frame) => [frame.seq, frame]));
    for (const [query, fits] of queries) {
      const wanted = whole.got.filter((id) => {
        const frame = of.get(id) as Frame;
        return frame.bot === null || fits(frame);
      });
      const { got, missing, next } = follow(from, query, unposted);
      expect([from, query, got]).toEqual([from, query, wanted]);
      expect([from, query, missing]).toEqual([from, query, whole.missing]);
      expect(next).toBe(seq);
    }
  }
});

it('blocks that have nothing for the filter are not read', () => {
  let seq = 1;
  for (let block = 0; block < 300; block++) {
    const isRare = block % 100 === 99;
    const frames = Array.from({ length: 300 }, (_, at) => ({
      seq: seq++,
      bot: isRare && at === 7 ? 'rare' : 'busy',
      level: isRare && at === 7 ? ('error' as const) : ('info' as const),
    }));
    put(frames, 0);
  }
  const unposted = close(SEGMENT);
  const reads = vi.spyOn(tables.blocks, 'getBinaryFast');
  for (const query of [
    ['session', 'rare'],
    ['level', 'error'],
  ] as [string, string][]) {
    reads.mockClear();
    expect(follow(1, [query], unposted).got).toHaveLength(3);
    expect(reads.mock.calls.length).toBeLessThanOrEqual(3);
  }
});
