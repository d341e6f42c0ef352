import { useMemo } from 'preact/hooks';
import type { BotSnapshot } from '../../../src/client/index.js';
import { compareValues, type FieldValue } from '../../../src/shared/query/bot-field.js';
import { botTest, isAboutTime } from '../../../src/shared/query/bot-query.js';
import { bots, changedBots } from '../model/live.js';
import { changeQuery } from '../model/route.js';
import { serverNow } from '../model/time.js';
import { type Tone, toneOf } from '../parts/tone.js';
import { queryIn } from '../query/address-query.js';
import { checkedQuery } from '../query/checked-query.js';
import { natural } from '../query/natural.js';
import { columnOf } from './bots-columns.js';
import { type Compare, ShownBots } from './shown-bots.js';

/** The orders that are not those of a field as the service has them: by number, or trouble first. */
const COMPARE: Readonly<Record<string, Compare>> = {
  id: (a, b) => natural.compare(a.id, b.id),
  status: (a, b) =>
    SEVERITY.indexOf(toneOf(a.status)) - SEVERITY.indexOf(toneOf(b.status)) ||
    natural.compare(a.status, b.status) ||
    natural.compare(a.id, b.id),
};
/** Bots that need attention come first. */
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
  changeQuery({ q, sort: sort === 'id' ? '' : sort, down: isDown ? '1' : '' });
}

export function useShown({ q, sort, isDown }: Query, version: number): readonly BotSnapshot[] {
  const shown = useMemo(() => {
    // A query that cannot be read selects everything.
    const terms = checkedQuery(q, 'bots').terms.map(({ term }) => term);
    return new ShownBots({
      bots,
      changed: changedBots,
      test: botTest(terms),
      isTimed: isAboutTime(terms) || sort === 'silent',
      order: (of) => orderOf(of, sort, isDown),
    });
  }, [q, sort, isDown]);
  return useMemo(() => shown.look(serverNow()), [shown, version]);
}

function orderOf(of: readonly BotSnapshot[], sort: string, isDown: boolean): Compare {
  const own = COMPARE[sort];
  if (own) return isDown ? (a, b) => own(b, a) : own;
  const field = columnOf(sort)?.field;
  // Each is compared many times.
  const values = new Map(of.map((bot) => [bot, field?.of(bot) ?? null]));
  const found = (bot: BotSnapshot): FieldValue => values.get(bot) ?? field?.of(bot) ?? null;
  const sign = isDown ? -1 : 1;
  const texts = (a: string, b: string): number => natural.compare(a, b);
  return (a, b) => compareValues(found(a), found(b), sign, texts) || natural.compare(a.id, b.id);
}

/** @returns the shown ids between `a` and `b`; only `b` if either is not shown. */
export function idsBetween(shown: readonly BotSnapshot[], a: string, b: string): string[] {
  const places = [a, b].map((id) => shown.findIndex((bot) => bot.id === id));
  const [from, to] = [Math.min(...places), Math.max(...places)];
  return from < 0 ? [b] : shown.slice(from, to + 1).map(({ id }) => id);
}
