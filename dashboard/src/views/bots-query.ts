import { useMemo, useRef } from 'preact/hooks';
import type { BotSnapshot } from '../../../src/client/index.js';
import { compareValues } from '../../../src/shared/query/bot-field.js';
import { botTest } from '../../../src/shared/query/bot-query.js';
import { bots } from '../model/live.js';
import { changeQuery } from '../model/route.js';
import { serverNow } from '../model/time.js';
import { type Tone, toneOf } from '../parts/tone.js';
import { queryIn, queryParameters } from '../query/address-query.js';
import { checkedQuery } from '../query/checked-query.js';
import { natural } from '../query/natural.js';
import { columnOf } from './bots-columns.js';

type Compare = (a: BotSnapshot, b: BotSnapshot) => number;
/** The orders that are not those of a field as the service has them: people count, and look for trouble first. */
const COMPARE: Readonly<Record<string, Compare>> = {
  id: (a, b) => natural.compare(a.id, b.id),
  status: (a, b) =>
    SEVERITY.indexOf(toneOf(a.status)) - SEVERITY.indexOf(toneOf(b.status)) ||
    natural.compare(a.status, b.status) ||
    natural.compare(a.id, b.id),
};
/** What needs somebody comes first. */
const SEVERITY: readonly Tone[] = ['bad', 'wait', 'busy', 'good', 'off'];

export interface Query {
  /** docs/QUERY.md */
  q: string;
  /** Name of a column. */
  sort: string;
  isDown: boolean;
}

export function queryOf(parameters: URLSearchParams): Query {
  const sort = parameters.get('sort') ?? '';
  return {
    q: queryIn(parameters),
    sort: columnOf(sort)?.field ? sort : 'id',
    isDown: parameters.get('down') === '1',
  };
}

export function change(query: Query, part: Partial<Query>): void {
  const { q, sort, isDown } = { ...query, ...part };
  changeQuery({ ...queryParameters(q), sort: sort === 'id' ? '' : sort, down: isDown ? '1' : '' });
}

export function useShown({ q, sort, isDown }: Query, version: number): readonly BotSnapshot[] {
  /** The last order: nearly sorted, so that sorting again is cheap. */
  const before = useRef<string[]>([]);
  // A query that cannot be read selects everything.
  const test = useMemo(() => botTest(checkedQuery(q, 'bots').terms.map(({ term }) => term)), [q]);
  return useMemo(() => {
    const now = serverNow();
    const found: BotSnapshot[] = [];
    let present = 0;
    for (const id of before.current) {
      const bot = bots.get(id);
      if (!bot) continue;
      present += 1;
      if (test(bot, now)) found.push(bot);
    }
    // Mostly all of them were there: then there is nothing to look for.
    if (present < bots.size) {
      const known = new Set(before.current);
      for (const bot of bots.values()) if (!known.has(bot.id) && test(bot, now)) found.push(bot);
    }
    found.sort(orderOf(found, sort, isDown));
    before.current = found.map(({ id }) => id);
    return found;
  }, [test, sort, isDown, version]);
}

function orderOf(found: readonly BotSnapshot[], sort: string, isDown: boolean): Compare {
  const own = COMPARE[sort];
  if (own) return isDown ? (a, b) => own(b, a) : own;
  const field = columnOf(sort)?.field;
  const values = new Map(found.map((bot) => [bot.id, field?.of(bot) ?? null]));
  const sign = isDown ? -1 : 1;
  const texts = (a: string, b: string): number => natural.compare(a, b);
  return (a, b) =>
    compareValues(values.get(a.id) ?? null, values.get(b.id) ?? null, sign, texts) ||
    natural.compare(a.id, b.id);
}

/** @returns the shown ids between `a` and `b`; only `b` if either is not shown. */
export function idsBetween(shown: readonly BotSnapshot[], a: string, b: string): string[] {
  const places = [a, b].map((id) => shown.findIndex((bot) => bot.id === id));
  const [from, to] = [Math.min(...places), Math.max(...places)];
  return from < 0 ? [b] : shown.slice(from, to + 1).map(({ id }) => id);
}
