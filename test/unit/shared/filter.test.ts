// Filters as the ring's index sees them, beside a filter that looks at the events themselves.

import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { Broadcaster } from '../../../src/broadcaster/broadcaster.js';
import { KINDS, LEVELS } from '../../../src/shared/contract/event-kinds.js';
import type { BotSnapshot, Item } from '../../../src/shared/contract/events.js';
import { NameHasher } from '../../../src/shared/contract/name-hash.js';
import { DroverError } from '../../../src/shared/errors.js';
import {
  createNodeNames,
  NodeNames,
  NodeNamesWriter,
} from '../../../src/shared/memory/node-names.js';
import { Filter, nodesOfKey, parseFilter } from '../../../src/shared/stream/filter.js';
import { LabelHistory } from '../../../src/shared/stream/label-history.js';
import { usedMemory } from '../bot-host/heap.js';
import { logLine, testRing } from './ring-fixture.js';

const names = new NameHasher('key');

type Pair = readonly [string, string];

/** Names that share a prefix, that look like other names, and that are not there. */
const NAMES = [
  'bot',
  'bot-1',
  'bot-2',
  'Bot-1',
  'tcp',
  'null',
  '',
  'log',
  'info',
  'é',
  '__proto__',
];
const VALUES: Record<string, readonly string[]> = {
  event: [...KINDS, 'other', 'toString', 'LOG'],
  level: [...LEVELS, 'debug', 'constructor', ''],
  session: NAMES,
  scope: NAMES,
};

const pairs: fc.Arbitrary<Pair[]> = fc.array(
  fc
    .constantFrom(...Object.keys(VALUES))
    .chain((name) =>
      fc
        .array(fc.constantFrom(...(VALUES[name] ?? [])), { maxLength: 3 })
        .map((values): Pair => [name, values.join(',')]),
    ),
  { maxLength: 5 },
);

const items: fc.Arbitrary<Item[]> = fc.array(
  fc.oneof(
    fc
      .record({
        level: fc.constantFrom(...LEVELS),
        scope: fc.constantFrom(...NAMES),
        session_id: fc.constantFrom(null, ...NAMES),
      })
      .map((over) => logLine(over)),
    fc.constantFrom(...NAMES).map((id): Item => ({ kind: 'session', id, patch: {} })),
  ),
  { minLength: 1, maxLength: 20 },
);

/** What the interface says of a filter, on the event as the client would see it. */
function passes(query: readonly Pair[], item: Item): boolean {
  const fields: Record<string, string | null> = {
    event: item.kind,
    level: item.kind === 'log' ? item.level : null,
    session: item.kind === 'log' ? item.session_id : item.id,
    scope: item.kind === 'log' ? item.scope : null,
  };
  return Object.entries(fields).every(([name, field]) => {
    const given = query.filter(([key]) => key === name);
    if (given.length === 0) return true;
    const values = given.flatMap(([, value]) => value.split(',')).filter((value) => value !== '');
    return field !== null && values.includes(field);
  });
}

function matchesOf(query: readonly Pair[], events: Item[]): boolean[] {
  const { shared, reader } = testRing(65_536, 256);
  const broadcaster = new Broadcaster({ ring: shared, epoch: 'e', hashKey: 'key' }, () => {});
  broadcaster.publish(structuredClone(events));
  const filter = parseFilter(query, names);
  expect(reader.protect(1)).toBe(true);
  const matches = events.map((_, at) => filter?.matches(reader, at + 1) ?? true);
  reader.release();
  return matches;
}

const snapshotOf = (id: string): BotSnapshot => ({
  id,
  kind: 'demo',
  status: 'in_world',
  desired: 'running',
  since_ms: 0,
  started_at_ms: null,
  restarts: 0,
  host: null,
  last_error: null,
  labels: {},
  data: {},
  usage: null,
  over_quota: [],
});

describe('a filter', () => {
  it('lets the frames through that a look at the events would', () => {
    fc.assert(
      fc.property(pairs, items, (query, events) => {
        expect(matchesOf(query, events)).toEqual(events.map((event) => passes(query, event)));
      }),
      { numRuns: 500 },
    );
  });

  it('lets a snapshot at the beginning through when it would let its session frame through', () => {
    fc.assert(
      fc.property(pairs, fc.constantFrom(...NAMES), (query, id) => {
        const filter = parseFilter(query, names);
        const session: Item = { kind: 'session', id, patch: {} };
        expect(filter?.matchesSnapshot(snapshotOf(id)) ?? true).toBe(passes(query, session));
      }),
      { numRuns: 500 },
    );
  });

  it('by nodes, lets the frames through that came from one of them', () => {
    const shared = createNodeNames();
    const numbers = new NodeNamesWriter(shared);
    const nodes = new NodeNames(shared);
    const frames = (node: number) => ({
      kind: () => 0,
      level: () => 0,
      sessionLow: () => 0,
      sessionHigh: () => 0,
      scopeLow: () => 0,
      scopeHigh: () => 0,
      node: () => node,
      text: () => '',
    });
    const query: Pair[] = [
      ['node', 'h1,h3'],
      ['node', 'h9'],
    ];
    const filter = parseFilter(query, names, null, nodes) as Filter;
    const [h1, h2, h3] = ['h1', 'h2', 'h3'].map((name) => numbers.number(name)) as [
      number,
      number,
      number,
    ];
    const passing = [0, h1, h2, h3].map((node) => filter.matches(frames(node), 1));
    expect(passing).toEqual([false, true, false, true]);
    const ofBot = (node: string) => filter.matchesSnapshot({ ...snapshotOf('a'), node });
    expect([ofBot('h1'), ofBot('h2'), filter.matchesSnapshot(snapshotOf('a'))]).toEqual([
      true,
      false,
      false,
    ]);
    const again = Filter.ofKey(filter.key, names, new LabelHistory(), nodes);
    expect(again.matches(frames(h3), 1)).toBe(true);
    expect(again.matches(frames(h2), 1)).toBe(false);
    // On a stream without nodes nothing is from one.
    expect(parseFilter(query, names)?.matches(frames(0), 1)).toBe(false);
    expect(parseFilter([['node', 'self']], names)).toBeNull();
  });

  it('has a key that can be asked for its nodes, and for what is left without them', () => {
    const keyOf = (query: Pair[]): string => parseFilter(query, names)?.key ?? '';
    expect(nodesOfKey(keyOf([['node', 'h2,h1']]))).toEqual({ nodes: ['h1', 'h2'], key: null });
    const level: Pair = ['level', 'warn'];
    expect(nodesOfKey(keyOf([['node', 'h1'], level]))).toEqual({
      nodes: ['h1'],
      key: keyOf([level]),
    });
    expect(nodesOfKey(keyOf([level]))).toEqual({ nodes: null, key: keyOf([level]) });
  });

  it('lets every gap through', () => {
    const gap = {
      kind: () => 2,
      level: () => 4,
      sessionLow: () => 0,
      sessionHigh: () => 0,
      scopeLow: () => 0,
      scopeHigh: () => 0,
      node: () => 0,
      text: () => '',
    };
    const filter = parseFilter(
      [
        ['event', 'session'],
        ['session', 'x'],
      ],
      names,
    );
    expect(filter?.matches(gap, 1)).toBe(true);
  });

  it('does not take a name for another one because they collide in one word of the hash', () => {
    const { low, high } = names.of('bot-1');
    const frames = (sessionLow: number, sessionHigh: number) => ({
      kind: () => 0,
      level: () => 0,
      sessionLow: () => sessionLow,
      sessionHigh: () => sessionHigh,
      scopeLow: () => 0,
      scopeHigh: () => 0,
      node: () => 0,
      text: () => '',
    });
    const filter = parseFilter([['session', 'bot-1,bot-2']], names);
    expect(filter?.matches(frames(low, high), 1)).toBe(true);
    expect(filter?.matches(frames(low, high ^ 1), 1)).toBe(false);
    expect(filter?.matches(frames(low ^ 2, high), 1)).toBe(false);
    expect(filter?.matches(frames(low, names.of('bot-2').high), 1)).toBe(false);
    expect(filter?.matches(frames(0, 0), 1)).toBe(false);
  });
});

describe('the key of a filter', () => {
  it('is the same however the filter was written', () => {
    const key = (...query: Pair[]) => parseFilter(query, names)?.key;
    const expected = key(['event', 'log'], ['session', 'a,b']);
    expect(key(['session', 'b'], ['event', 'log,log'], ['session', 'a'])).toBe(expected);
    expect(key(['session', 'b,,a,'], ['event', 'log'], ['token', 'x'])).toBe(expected);
  });

  // Subscribers with one key share what is gathered: two filters with one key get each other's frames.
  it('differs for filters that let different frames through', () => {
    fc.assert(
      fc.property(pairs, pairs, items, (one, other, events) => {
        const keys = [one, other].map((query) => parseFilter(query, names)?.key ?? '');
        if (keys[0] === keys[1]) expect(matchesOf(one, events)).toEqual(matchesOf(other, events));
      }),
      {
        numRuns: 1000,
        examples: [
          [
            [['level', 'info']],
            [
              ['level', 'info'],
              ['event', ''],
            ],
            [logLine()],
          ],
          [[['event', '']], [['session', '']], [logLine({ session_id: '' })]],
        ],
      },
    );
  });
});

describe('parseFilter', () => {
  it('makes a key that another thread can read, also of the longest query', () => {
    const longest: Pair[] = [
      ['query', Array.from({ length: 50 }, (_, at) => `id:*${at}${'x'.repeat(32)}`).join(' ')],
      ['q', '"'.repeat(1000)],
    ];
    const filter = parseFilter(longest, names) as Filter;
    const again = Filter.ofKey(filter.key, names, new LabelHistory());
    expect(again.key).toBe(filter.key);
    const quoted: Pair[] = [['query', `"${'\\a'.repeat(900)}"`]];
    expect(
      Filter.ofKey(parseFilter(quoted, names)?.key ?? '', names, new LabelHistory()),
    ).toBeDefined();
  });

  it('gives no filter for a query that does not filter', () => {
    expect(parseFilter([], names)).toBeNull();
    const others: Pair[] = [
      ['token', 'x'],
      ['last_event_id', 'e-1'],
      ['snapshot', '0'],
    ];
    expect(parseFilter(others, names)).toBeNull();
  });

  it('bounds the number of values', () => {
    const many = (count: number) => Array.from({ length: count }, (_, at) => `bot-${at}`).join(',');
    expect(parseFilter([['session', many(1000)]], names)).not.toBeNull();
    expect(() => parseFilter([['session', many(1001)]], names)).toThrow(DroverError);
    const halves: Pair[] = [
      ['session', many(600)],
      ['session', many(600).replaceAll('bot', 'other')],
    ];
    expect(() => parseFilter(halves, names)).toThrow(/more than 1000/);
  });

  it('makes little of many values: each stream may ask for others', () => {
    const pool = Array.from({ length: 20_000 }, (_, n) => `b${n}`);
    // What is remembered of names is not theirs.
    for (const name of pool) names.of(name);
    const filters: (Filter | null)[] = [];
    const before = usedMemory();
    for (let at = 0; at < 20; at++) {
      const values = pool.slice(at * 1000, (at + 1) * 1000).join(',');
      filters.push(parseFilter([['session', values]], names));
    }
    // The key and the hashes. A Set of strings and a Map of Sets would be ten times as much.
    expect((usedMemory() - before) / filters.length).toBeLessThan(40_000);
    expect(filters.every((filter) => filter !== null)).toBe(true);
  });

  it('never throws anything but a DroverError', () => {
    fc.assert(
      fc.property(fc.array(fc.tuple(fc.string(), fc.string())), (query) => {
        try {
          const filter: Filter | null = parseFilter(query, names);
          expect(filter === null || typeof filter.key === 'string').toBe(true);
        } catch (error) {
          expect(error).toBeInstanceOf(DroverError);
        }
      }),
    );
  });
});
