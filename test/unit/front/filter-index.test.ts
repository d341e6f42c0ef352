// Run by vitest. What the index finds, beside a scan of the ring: the same bytes for every cursor, and nothing for a filter that
// a frame does not concern.

import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { FilterIndex, type FilterIndexBounds } from '../../../src/front/stream/filter-index.js';
import { GatherArena } from '../../../src/front/stream/gather-arena.js';
import { SubscriberGroup } from '../../../src/front/stream/subscriber-group.js';
import { NameHasher } from '../../../src/shared/contract/name-hash.js';
import type { FrameMeta } from '../../../src/shared/memory/layout.js';
import {
  createNodeNames,
  NodeNames,
  NodeNamesWriter,
} from '../../../src/shared/memory/node-names.js';
import { type Filter, parseFilter } from '../../../src/shared/stream/filter.js';
import { KIND_CODE, LEVEL_CODE, NO_LEVEL } from '../../../src/shared/stream/frame.js';
import { LabelHistory } from '../../../src/shared/stream/label-history.js';
import { NO_META, type TestRing, testRing } from '../shared/ring-fixture.js';

const names = new NameHasher('key');
const sharedNodes = createNodeNames();
const nodeNames = new NodeNames(sharedNodes);
const nodeNumbers = new NodeNamesWriter(sharedNodes);
const MAX_WRITE = 400;

type Pairs = [string, string][];

/** A frame to come: what the index of the ring has of it, and its length, which may exceed a write. */
interface Frame {
  kind: keyof typeof KIND_CODE;
  level: keyof typeof LEVEL_CODE;
  session: string | null;
  scope: string;
  /** Null on a node's own stream. */
  node: string | null;
  length: number;
}

const SESSIONS = ['a', 'b', 'c', 'd'];
const SCOPES = ['tcp', 'bot'];
const NODES = ['h1', 'h2', 'h3'];

const frame: fc.Arbitrary<Frame> = fc.record({
  kind: fc.constantFrom('log', 'log', 'log', 'log', 'log', 'session', 'gap'),
  level: fc.constantFrom('info', 'info', 'warn', 'error'),
  session: fc.constantFrom(null, ...SESSIONS),
  scope: fc.constantFrom(...SCOPES),
  node: fc.constantFrom(null, ...NODES),
  length: fc.constantFrom(20, 100, 390, 600),
});

const someOf = (values: readonly string[]): fc.Arbitrary<string> =>
  fc.subarray([...values, 'nobody']).map((chosen) => chosen.join(','));
const query: fc.Arbitrary<Pairs> = fc
  .record(
    {
      session: someOf(SESSIONS),
      scope: someOf(SCOPES),
      node: someOf(NODES),
      level: someOf(['info', 'warn', 'error']),
      kind: someOf(['log', 'session']),
    },
    { requiredKeys: [] },
  )
  .map((given) => Object.entries(given) as Pairs)
  .filter((pairs) => pairs.length > 0);

function filterOf(pairs: Pairs): Filter {
  const filter = parseFilter(pairs, names, null, nodeNames);
  if (!filter) throw new Error('no filter');
  return filter;
}

function append({ writer }: TestRing, { kind, level, session, scope, node, length }: Frame): void {
  const meta: FrameMeta = { ...NO_META, kind: KIND_CODE[kind], level: NO_LEVEL };
  if (node !== null) meta.node = nodeNumbers.number(node);
  if (kind !== 'gap' && session !== null) {
    const { low, high } = names.of(session);
    Object.assign(meta, { sessionLow: low, sessionHigh: high });
  }
  if (kind === 'log') {
    const { low, high } = names.of(scope);
    Object.assign(meta, { level: LEVEL_CODE[level], scopeLow: low, scopeHigh: high });
  }
  writer.append(`${writer.next}`.padEnd(length, '.'), meta);
}

/** A group by the index and one that scans, for the same members. */
class Pair {
  readonly byIndex: SubscriberGroup;
  readonly byScan: SubscriberGroup;
  readonly filter: Filter;
  /** Members that passes serve. */
  readonly cursors: number[] = [];
  /** Where a member waits, as a parked subscriber does. */
  waitsAt = -1;
  /** Whether the index said since then that a frame matches. */
  wasCalled = false;

  constructor({ reader }: TestRing, index: FilterIndex, arena: GatherArena, pairs: Pairs) {
    this.filter = filterOf(pairs);
    this.byIndex = new SubscriberGroup(reader, this.filter, arena);
    this.byScan = new SubscriberGroup(reader, this.filter, arena);
    this.byIndex.indexed = index.add(this.filter, () => {
      this.wasCalled = true;
    });
  }

  /** What a member at `from` gets in so many writes, and where it stands then. */
  static read(group: SubscriberGroup, from: number, head: number, writes: number) {
    let text = '';
    let cursor = from;
    for (let write = 0; write < writes && cursor < head; write++) {
      const { bytes, next } = group.next(cursor, head, MAX_WRITE);
      expect(next).toBeGreaterThanOrEqual(cursor);
      // Either there is a frame or the cursor moves on, unless the index has yet to examine the rest.
      if (bytes.length === 0 && next === cursor) break;
      text += Buffer.from(bytes).toString();
      cursor = next;
    }
    return { text, cursor };
  }
}

/** The bytes of all frames in between that pass. */
function passing({ reader }: TestRing, filter: Filter, from: number, to: number): string {
  let text = '';
  for (let seq = from; seq < to; seq++) if (filter.matches(reader, seq)) text += reader.text(seq);
  return text;
}

type Step =
  | { do: 'pass'; frames: Frame[]; writes: number }
  | { do: 'add'; pairs: Pairs }
  | { do: 'resume'; pair: number; back: number }
  | { do: 'remove'; pair: number };

const steps: fc.Arbitrary<Step[]> = fc.array(
  fc.oneof(
    {
      weight: 5,
      arbitrary: fc.record({
        do: fc.constant('pass' as const),
        frames: fc.array(frame, { maxLength: 30, size: 'max' }),
        // Some members do not get to the head in one pass.
        writes: fc.constantFrom(1, 2, 1000),
      }),
    },
    { weight: 3, arbitrary: fc.record({ do: fc.constant('add' as const), pairs: query }) },
    {
      weight: 2,
      arbitrary: fc.record({
        do: fc.constant('resume' as const),
        pair: fc.nat(),
        back: fc.nat({ max: 60 }),
      }),
    },
    { weight: 1, arbitrary: fc.record({ do: fc.constant('remove' as const), pair: fc.nat() }) },
  ),
  { maxLength: 40, size: 'max' },
);

/** Small ones, so that windows end early and filters do not fit. */
const bounds: fc.Arbitrary<Partial<FilterIndexBounds>> = fc.oneof(
  fc.constant({}),
  fc.record({
    examined: fc.integer({ min: 1, max: 20 }),
    hits: fc.integer({ min: 1, max: 12 }),
    names: fc.nat({ max: 12 }),
  }),
);

function play(script: readonly Step[], limits: Partial<FilterIndexBounds>): void {
  // Holds all frames of a script.
  const ring = testRing(1024 * 1024, 2048);
  const { reader, writer } = ring;
  const index = new FilterIndex(reader, nodeNames, limits);
  const arena = new GatherArena(4096);
  const pairs: Pair[] = [];
  const pass = (writes: number): boolean => {
    arena.restart();
    const head = reader.head();
    const before = index.examined;
    const isDone = index.examine(head);
    expect(isDone).toBe(pairs.length === 0 || index.examined === head || !hasIndexed(pairs));
    for (const pair of pairs) {
      const { indexed } = pair.byIndex;
      // A member that waits gets nothing unless the index calls for it, and then from where it waits.
      if (indexed && pair.waitsAt !== -1) {
        expect(pair.waitsAt).toBe(before);
        expect(reader.protect(before)).toBe(true);
        const missed = passing(ring, pair.filter, before, index.examined);
        expect(pair.wasCalled).toBe(missed !== '');
        if (pair.wasCalled) pair.cursors.push(pair.waitsAt);
        pair.waitsAt = pair.wasCalled ? -1 : index.examined;
      }
      pair.wasCalled = false;
      for (const [at, cursor] of pair.cursors.entries()) {
        expect(reader.protect(cursor)).toBe(true);
        const got = Pair.read(pair.byIndex, cursor, head, writes);
        // Everything up to the new cursor, whole and in order, as the scan has it.
        expect(got.text).toBe(passing(ring, pair.filter, cursor, got.cursor));
        const scanned = Pair.read(pair.byScan, cursor, got.cursor, Number.POSITIVE_INFINITY);
        expect(got.text).toBe(scanned.text);
        pair.cursors[at] = got.cursor;
      }
      const last = pair.cursors.at(-1);
      if (pair.waitsAt === -1 && last !== undefined && pair.byIndex.isWaiting(last)) {
        pair.cursors.pop();
        pair.waitsAt = last;
      }
    }
    reader.release();
    return isDone;
  };
  for (const step of script) {
    if (step.do === 'pass') {
      for (const one of step.frames) append(ring, one);
      writer.publish();
      pass(step.writes);
    } else if (step.do === 'add') {
      const pair = new Pair(ring, index, arena, step.pairs);
      pairs.push(pair);
      pair.cursors.push(reader.head());
    } else if (step.do === 'resume') {
      const pair = pairs[step.pair % pairs.length];
      if (!pair) continue;
      pair.cursors.unshift(Math.max(reader.tail(), reader.head() - step.back));
    } else {
      const pair = pairs[step.pair % pairs.length];
      if (!pair) continue;
      pairs.splice(pairs.indexOf(pair), 1);
      if (pair.byIndex.indexed) index.remove(pair.byIndex.indexed);
    }
  }
  // In the end every member reaches the head.
  for (let turns = 0; !pass(1000); turns++) expect(turns).toBeLessThan(10_000);
  pass(1000);
  for (const pair of pairs) for (const at of pair.cursors) expect(at).toBe(reader.head());
}

function hasIndexed(pairs: readonly Pair[]): boolean {
  return pairs.some(({ byIndex }) => byIndex.indexed !== undefined);
}

describe('the index of filters', () => {
  it('gives what a scan gives, to members at any place, with any filters that come and go', () => {
    fc.assert(fc.property(steps, bounds, play), { numRuns: 100 });
  });

  it('calls for nothing that does not match', () => {
    const ring = testRing(65_536, 1024);
    const index = new FilterIndex(ring.reader);
    let calls = 0;
    const called = (): void => {
      calls += 1;
    };
    index.add(filterOf([['session', 'a,b']]), called);
    index.add(
      filterOf([
        ['session', 'c'],
        ['level', 'error'],
      ]),
      called,
    );
    const line: Frame = {
      kind: 'log',
      level: 'info',
      session: 'c',
      scope: 'bot',
      node: null,
      length: 50,
    };
    for (let at = 0; at < 100; at++) append(ring, line);
    ring.writer.publish();
    expect(index.examine(ring.reader.head())).toBe(true);
    expect(calls).toBe(0);
    append(ring, { ...line, level: 'error' });
    append(ring, { ...line, session: 'b' });
    append(ring, { ...line, session: 'a' });
    ring.writer.publish();
    expect(index.examine(ring.reader.head())).toBe(true);
    expect(calls).toBe(2);
    ring.reader.release();
  });

  it('has only so many filters and names, and room for more when some have gone', () => {
    const { reader } = testRing(65_536, 1024);
    const index = new FilterIndex(reader, undefined, { hits: 3, names: 5 });
    const add = (session: string) => index.add(filterOf([['session', session]]), () => {});
    const first = add('a,b,c');
    expect(first).toBeDefined();
    expect(add('d,e,f')).toBeUndefined();
    expect(add('d,e')).toBeDefined();
    if (first) index.remove(first);
    expect(add('f')).toBeDefined();
    expect(index.add(filterOf([['level', 'info']]), () => {})).toBeDefined();
    expect(add('')).toBeUndefined();
  });

  it('leaves filters with labels to the scan, whose frames may be known later', () => {
    const { reader } = testRing(65_536, 1024);
    const index = new FilterIndex(reader);
    const reach = { labels: { team: 'x' }, history: new LabelHistory() };
    const filter = parseFilter([['session', 'a']], names, reach) as Filter;
    expect(index.add(filter, () => {})).toBeUndefined();
  });

  it('calls for all when the writer has overtaken it, and continues at the head', () => {
    const ring = testRing(65_536, 64);
    const { reader, writer } = ring;
    const index = new FilterIndex(reader);
    let calls = 0;
    const indexed = index.add(filterOf([['session', 'a']]), () => {
      calls += 1;
    });
    const line: Frame = {
      kind: 'log',
      level: 'info',
      session: 'b',
      scope: 'bot',
      node: null,
      length: 50,
    };
    for (let at = 0; at < 100; at++) append(ring, line);
    writer.publish();
    const head = reader.head();
    expect(index.examine(head)).toBe(true);
    expect(calls).toBe(1);
    expect(index.examined).toBe(head);
    expect(indexed?.covers(reader.tail(), head)).toBe(false);
    append(ring, { ...line, session: 'a' });
    writer.publish();
    expect(index.examine(head + 1)).toBe(true);
    expect(calls).toBe(2);
    reader.release();
  });

  it('looks at a limited number of frames in one call', () => {
    const ring = testRing(4 * 1024 * 1024, 65_536);
    const index = new FilterIndex(ring.reader);
    index.add(filterOf([['session', 'nobody']]), () => {});
    const line: Frame = {
      kind: 'log',
      level: 'info',
      session: 'a',
      scope: 'bot',
      node: null,
      length: 20,
    };
    for (let at = 0; at < 20_000; at++) append(ring, line);
    ring.writer.publish();
    const head = ring.reader.head();
    expect(index.examine(head)).toBe(false);
    expect(index.examined).toBeLessThan(head);
    let calls = 1;
    for (; !index.examine(head); calls++) expect(calls).toBeLessThan(10);
    expect(index.examined).toBe(head);
    ring.reader.release();
  });
});
