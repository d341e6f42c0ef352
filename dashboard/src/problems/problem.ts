// What is wrong: causes of incidents, and rules that fire. Both have the same times and counts, so that one list has them.

import type { IncidentGroup, Rule } from '../../../src/client/index.js';
import { withoutEscapes } from '../../../src/shared/contract/escapes.js';
import {
  eventTest,
  lineQuery,
  NO_FIELDS,
  type QueriedLine,
} from '../../../src/shared/query/line-query.js';
import type { Query } from '../../../src/shared/query/term.js';
import { bots } from '../model/live.js';

export type Problem = { group: IncidentGroup; rule?: never } | { group?: never; rule: Rule };

/** How the list can be ordered, the highest first. A rule that fires is a problem now. */
export const ORDERS = {
  last: ({ group }: Problem) => group?.last_at_ms ?? Number.POSITIVE_INFINITY,
  first: ({ group, rule }: Problem) => group?.first_at_ms ?? rule?.since_ms ?? 0,
  count: ({ group }: Problem) => (group ? inRange(group) : 1),
  bots: ({ group, rule }: Problem) => group?.bot_count ?? rule?.bots.length ?? 0,
} as const;
export type Order = keyof typeof ORDERS;

/** How often in the range that is shown. */
export function inRange({ counts }: IncidentGroup): number {
  return counts.reduce((sum, count) => sum + count, 0);
}

/**
 * Selects problems by a query for lines: a cause is an error line of each of its bots, an alert a line with the level of its rule.
 * @returns undefined where it depends on bots that the service has not listed.
 */
export function problemTest(query: Query): (problem: Problem) => boolean | undefined {
  const test = eventTest(query);
  const { line } = lineQuery(query);
  const isAboutBots =
    line.length < query.length ||
    query.some((term) => term.type === 'field' && (term.field === 'bot' || term.field === 'node'));
  return ({ group, rule }) => {
    const of = group ?? rule;
    const all: QueriedLine = {
      ...NO_FIELDS,
      event: 'log',
      level: rule?.severity ?? 'error',
      text: withoutEscapes(
        group ? `${group.title} ${group.reason} ${group.where ?? ''}` : (rule?.name ?? ''),
      ),
    };
    const passes = (id: string): boolean => {
      const bot = bots.get(id);
      return test({ ...all, bot: id, node: bot?.node ?? null }, bot);
    };
    if (of.bots.length === 0) return test(all, undefined);
    if (of.bots.some(passes)) return true;
    return isAboutBots && group && group.bot_count > of.bots.length ? undefined : false;
  };
}
