// The order of GET /api/bots?sort=, and its pages.

import { expect, it } from 'vitest';
import { BotOrder } from '../../../src/front/bots/bot-order.js';
import type { BotSnapshot } from '../../../src/shared/contract/events.js';
import type { JsonObject } from '../../../src/shared/contract/json.js';

const bot = (id: string, data: JsonObject, more: Partial<BotSnapshot> = {}) => ({
  snapshot: { id, kind: 'k', status: 'on', restarts: 0, labels: {}, data, ...more } as BotSnapshot,
});
const BOTS = [
  bot('e', { gold: 7, at: { map: 'castle' } }),
  bot('d', { gold: 'none' }, { labels: { team: 'a' } }),
  bot('c', {}, { restarts: 2, since_ms: 50 }),
  bot('b', { gold: 7, at: { map: 'beach' } }, { restarts: 10, since_ms: 100 }),
  bot('a', { gold: 100, 'at.map': 'zoo' }, { labels: { team: 'b' }, since_ms: 10 }),
];
const ids = (sort: string): string =>
  new BotOrder(sort)
    .page(BOTS)
    .bots.map(({ snapshot }) => snapshot.id)
    .join('');

it.each([
  ['data.gold', 'beadc'],
  ['-data.gold', 'dabec'],
  ['data.at.map', 'beacd'],
  ['label.team', 'dabce'],
  ['restarts', 'adecb'],
  ['-restarts', 'bcade'],
  ['-id', 'edcba'],
])(
  '%s: numbers, texts, then bots without it; the same value in the order of the ids',
  (sort, expected) => {
    expect(ids(sort)).toBe(expected);
  },
);

it('how long a bot has had its status grows with the age', () => {
  const known = BOTS.filter(({ snapshot }) => snapshot.since_ms !== undefined);
  const { bots } = new BotOrder('since').page(known);
  expect(bots.map(({ snapshot }) => snapshot.since_ms)).toEqual([100, 50, 10]);
});

it.each(['data.gold', '-data.gold', 'data.at.map', 'restarts'])(
  'pages of %s have each bot once',
  (sort) => {
    const seen: string[] = [];
    let cursor: string | null | undefined;
    do {
      const page = new BotOrder(sort).page(BOTS, 2, cursor ?? undefined);
      seen.push(...page.bots.map(({ snapshot }) => snapshot.id));
      cursor = page.next;
    } while (cursor !== null);
    expect(seen.join('')).toBe(ids(sort));
  },
);

it('continues at its place when the bot of the cursor has gone or has another value', () => {
  const order = new BotOrder('data.gold');
  const { next } = order.page(BOTS, 2);
  const others = [bot('b', { gold: 1 }), bot('x', { gold: 8 }), bot('y', { gold: 'z' })];
  const { bots } = order.page(others, 9, next ?? '');
  expect(bots.map(({ snapshot }) => snapshot.id)).toEqual(['x', 'y']);
});

it.each([
  ['gold', 'sort: there is no field "gold"'],
  ['-stauts', 'did you mean status?'],
  ['level', 'there is no field "level"'],
  ['data', 'sort: "data" needs a name'],
  ['label.', 'like label.team'],
  [`data.${'x'.repeat(400)}`, 'at most 300 characters'],
])('%s is refused', (sort, message) => {
  expect(() => new BotOrder(sort)).toThrow(message);
});

it.each(['c', 'bm9wZQ', new BotOrder('restarts').page(BOTS, 1).next ?? ''])(
  'the cursor %j is not one of this order',
  (cursor) => {
    expect(() => new BotOrder('data.gold').page(BOTS, 1, cursor)).toThrow(
      'cursor is not one of this order',
    );
  },
);
