// `drover activity`: who did what.

import type { Command } from 'commander';
import type { ActivityEvent, ActivityQuery, BotFilter } from '../../client/index.js';
import {
  type ActivityGroup,
  activityText,
  groupActivities,
} from '../../shared/contract/activity.js';
import { LIMIT } from '../../shared/contract/query-bounds.js';
import { type ConnectionOptions, connect, withConnection } from '../connection/connection.js';
import { withBotSelectors } from '../flags/bot-selectors.js';
import { count, eventQuery, list, timeSpan } from '../flags/flag-values.js';
import { parameterText } from '../flags/parameter-text.js';
import { action, complain } from '../terminal/action.js';
import { print, safeJson, table, timeText } from '../terminal/output.js';

const HEAD = ['AT', 'FROM', 'WHAT'];
const DEFAULT_LINES = 100;
/** Bots that are named in a line; of more there is the number. */
const MAX_NAMES = 3;

interface ActivityOptions extends ConnectionOptions, BotFilter {
  actor?: string[];
  activity?: ActivityQuery['activity'];
  bot?: string[];
  since?: number;
  lines: number;
  json?: true;
}

export function addActivity(program: Command): void {
  const command = withConnection(program.command('activity'))
    .description('list what people and programs have done, newest first')
    .option('--actor <name>', parameterText('GET /api/activity', 'actor'), list)
    .option('--activity <name>', parameterText('GET /api/activity', 'activity'), list)
    .option('--bot <id>', parameterText('GET /api/activity', 'session'), list)
    .option('--query <query>', parameterText('GET /api/activity', 'query'), eventQuery)
    .option('--since <duration>', 'only of the last 10m, 3h …', timeSpan)
    .option('-n, --lines <number>', 'number of requests', count, DEFAULT_LINES);
  withBotSelectors(command, ['status', 'kind', 'label'], 'GET /events')
    .option('--json', 'print one JSON object per line: id, event, data')
    .action(action(listActivity));
}

async function listActivity(options: ActivityOptions): Promise<undefined> {
  const { client, call } = connect(options);
  const { actor, activity, bot, status, kind, label, query, since, lines, json } = options;
  const after = since === undefined ? undefined : Math.max(0, Date.now() - since);
  const wanted = { actor, activity, session: bot, status, kind, label, query, after };
  const events: ActivityEvent[] = [];
  const missing = new Map<string, string>();
  let cursor: string | undefined;
  do {
    const page = await client.activity({ ...wanted, limit: LIMIT.maximum, cursor, ...call() });
    for (const { node, reason } of page.missing ?? []) missing.set(node, reason);
    for (const event of page.events) {
      if (event.event !== 'activity') continue;
      if (json) await print(`${safeJson(event)}\n`);
      events.push(event.data);
    }
    cursor = page.cursor ?? undefined;
  } while (cursor !== undefined && groupActivities(events).length <= lines);
  for (const [node, reason] of missing) complain(`activity of node ${node} is missing: ${reason}`);
  if (!json) await print(table(HEAD, groupActivities(events).slice(0, lines).map(row)));
}

function row({ event, bots, failed }: ActivityGroup<ActivityEvent>): string[] {
  const { timestamp_ms, address, client } = event;
  const whom = bots.length > MAX_NAMES ? `${bots.length} bots` : bots.join(', ');
  const isMixed = failed > 0 && failed < bots.length;
  const except = isMixed ? `; ${failed} of them failed` : '';
  const from = [address, client && `(${client})`].filter(Boolean).join(' ');
  return [timeText(timestamp_ms), from, `${activityText(event, whom)}${except}`];
}
