import type { BotActionsBody } from '../../shared/contract/bots.js';
import { hasLabels } from '../../shared/contract/labels.js';
import { reaches } from '../../shared/contract/rights.js';
import type { TokenRecord } from '../../shared/contract/tokens.js';
import { type BotTest, botTest } from '../../shared/query/bot-query.js';
import { selectionOf } from '../../shared/query/selection.js';
import { findBots } from '../bots/bot-selection.js';
import type { Views } from '../views/views.js';

/**
 * The bots of a request: all that fit what it names. Ids that are given alone are selected even when there is no such bot: main says so.
 * @param gone ends the search.
 */
export async function selectBots(
  views: Pick<Views, 'default' | 'whenCurrent'>,
  { ids, labels, query }: Pick<BotActionsBody, 'ids' | 'labels' | 'query'>,
  { id: token, reach }: Pick<TokenRecord, 'id' | 'reach'>,
  gone: AbortSignal,
): Promise<string[]> {
  if (labels === undefined && query === undefined) return [...new Set(ids)];
  const matches = botTest(selectionOf([['query', query]], 'bots'));
  let found = new Set<string>();
  await views.whenCurrent(views.default, async (snapshots) => {
    const test: BotTest = (bot, now) =>
      reaches(reach, bot.id, bot.labels) &&
      (labels === undefined || hasLabels(bot.labels, labels)) &&
      matches(bot, now);
    found = await findBots(snapshots, test, token, gone);
  });
  return ids === undefined ? [...found] : [...new Set(ids)].filter((id) => found.has(id));
}
