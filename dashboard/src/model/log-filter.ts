import type { BotSnapshot, EventsQuery } from '../../../src/client/index.js';
import { withoutEscapes } from '../../../src/shared/contract/escapes.js';
import { eventTest, type QueriedLine } from '../../../src/shared/query/line-query.js';
import type { Line } from '../hub/messages.js';
import { checkedQuery } from '../query/checked-query.js';
import type { Bounds } from '../range/range.js';
import { bots } from './live.js';

export const LEVEL_NAMES = ['info', 'warn', 'error', 'state'] as const;

export interface LogFilter {
  /** docs/QUERY.md. One that cannot be read selects everything. */
  query: string;
  /** The only bot of the log. */
  bot: string | undefined;
  /** Undefined: all times. */
  range?: Bounds | undefined;
}

/** The filter as a query of the journal, without its range. */
export function queryOf({ query, bot }: LogFilter): EventsQuery {
  const { terms } = checkedQuery(query, 'lines');
  return {
    event: ['log'],
    session: bot === undefined ? undefined : [bot],
    query: terms.length === 0 ? undefined : query,
  };
}

/** Whether it leaves out anything, besides the lines of other bots. */
export function isFiltered({ query }: LogFilter): boolean {
  return checkedQuery(query, 'lines').terms.length > 0;
}

/** The longest text that is searched for, to mark it. */
export function markOf({ query }: LogFilter): string {
  const texts = checkedQuery(query, 'lines').terms.flatMap(({ term }) =>
    term.type === 'text' && !term.isNot ? [term.text] : [],
  );
  return texts.sort((a, b) => b.length - a.length)[0] ?? '';
}

/** A predicate for lines, the same as the service's. Gaps in the range always pass. */
export function passesOf({ query, bot: only, range }: LogFilter): (line: Line) => boolean {
  const terms = checkedQuery(query, 'lines').terms.map(({ term }) => term);
  const test = eventTest(terms);
  const { fromMs = Number.NEGATIVE_INFINITY, toMs = Number.POSITIVE_INFINITY } = range ?? {};
  return (line) => {
    if (line.at < fromMs || line.at >= toMs) return false;
    if (line.level === 'gap') return true;
    if (only !== undefined && line.bot !== only) return false;
    const bot = line.bot === null ? undefined : bots.get(line.bot);
    return test(queried(line, bot), bot);
  };
}

function queried(line: Line, of: BotSnapshot | undefined): QueriedLine {
  const { level, scope, bot, dir, transport, text } = line;
  return {
    event: 'log',
    level,
    scope,
    bot,
    // A line does not say which node it is from. In a cluster it is nearly always that of its bot.
    node: of?.node ?? null,
    transport,
    direction: dir === null ? null : dir === 'in' ? 'incoming' : 'outgoing',
    get text() {
      return withoutEscapes(text);
    },
  };
}
