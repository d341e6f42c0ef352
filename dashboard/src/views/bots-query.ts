import { computed } from '@preact/signals';
import { useMemo, useRef } from 'preact/hooks';
import type { BotSnapshot } from '../../../src/client/index.js';
import { botTest } from '../../../src/shared/query/bot-query.js';
import { cluster } from '../model/cluster.js';
import { bots } from '../model/live.js';
import { replaceQuery } from '../model/route.js';
import { serverNow } from '../model/time.js';
import { queryIn } from '../query/address-query.js';
import { checkedQuery } from '../query/checked-query.js';
import { natural } from '../query/natural.js';

export type Column = 'id' | 'kind' | 'status' | 'since' | 'restarts' | 'node';
interface ColumnHead {
  name: Column;
  title: string;
}
const COLUMNS: ColumnHead[] = [
  { name: 'id', title: 'Bot' },
  { name: 'kind', title: 'Kind' },
  { name: 'status', title: 'Status' },
  { name: 'since', title: 'Duration' },
  { name: 'restarts', title: 'Restarts' },
];
const NODE: ColumnHead = { name: 'node', title: 'Node' };
/** Those that are shown. */
export const columns = computed(() => (cluster.value === null ? COLUMNS : [...COLUMNS, NODE]));
const COMPARE: Record<Column, (a: BotSnapshot, b: BotSnapshot) => number> = {
  id: (a, b) => natural.compare(a.id, b.id),
  kind: (a, b) => natural.compare(a.kind, b.kind) || natural.compare(a.id, b.id),
  status: (a, b) => natural.compare(a.status, b.status) || natural.compare(a.id, b.id),
  since: (a, b) => b.since_ms - a.since_ms || natural.compare(a.id, b.id),
  node: (a, b) => natural.compare(a.node ?? '', b.node ?? '') || natural.compare(a.id, b.id),
  restarts: (a, b) => a.restarts - b.restarts || natural.compare(a.id, b.id),
};

export interface Query {
  /** docs/QUERY.md */
  q: string;
  sort: Column;
  isDown: boolean;
}

export function queryOf(parameters: URLSearchParams): Query {
  const sort = parameters.get('sort') as Column;
  return {
    q: queryIn(parameters),
    sort: Object.hasOwn(COMPARE, sort ?? '') ? sort : 'id',
    isDown: parameters.get('down') === '1',
  };
}

export function change(query: Query, part: Partial<Query>): void {
  const { q, sort, isDown } = { ...query, ...part };
  replaceQuery({ q, sort: sort === 'id' ? '' : sort, down: isDown ? '1' : '' });
}

export function useShown({ q, sort, isDown }: Query, version: number): readonly BotSnapshot[] {
  /** The last order: nearly sorted, so that sorting again is cheap. */
  const before = useRef<string[]>([]);
  // A query that cannot be read selects everything.
  const test = useMemo(() => botTest(checkedQuery(q, 'bots').terms.map(({ term }) => term)), [q]);
  return useMemo(() => {
    const now = serverNow();
    const known = new Set(before.current);
    const found: BotSnapshot[] = [];
    for (const id of before.current) {
      const bot = bots.get(id);
      if (bot && test(bot, now)) found.push(bot);
    }
    for (const bot of bots.values()) if (!known.has(bot.id) && test(bot, now)) found.push(bot);
    const compare = COMPARE[sort];
    found.sort(isDown ? (a, b) => compare(b, a) : compare);
    before.current = found.map(({ id }) => id);
    return found;
  }, [test, sort, isDown, version]);
}

/** @returns the shown ids between `a` and `b`; only `b` if either is not shown. */
export function idsBetween(shown: readonly BotSnapshot[], a: string, b: string): string[] {
  const places = [a, b].map((id) => shown.findIndex((bot) => bot.id === id));
  const [from, to] = [Math.min(...places), Math.max(...places)];
  return from < 0 ? [b] : shown.slice(from, to + 1).map(({ id }) => id);
}
