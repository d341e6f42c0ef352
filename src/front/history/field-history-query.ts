import type { FieldHistoryRequest } from '../../shared/contract/journal-messages.js';
import type { QueryOf } from '../../shared/contract/routes/table.js';
import { DroverError } from '../../shared/errors.js';
import { readBotField } from '../../shared/query/read-bot-field.js';
import { type Filter, parseFilter, type StreamReach } from '../../shared/stream/filter.js';
import type { View } from '../views/view.js';

/** Fields that never change, or always do. */
const WITHOUT_PAST: readonly string[] = ['bot', 'kind', 'since'];
const DEFAULT_RANGE_MS = 3_600_000;

/** @throws DroverError `bad_request`. */
export function parseFieldHistoryQuery(
  { field, after, before = Date.now(), points }: QueryOf<'GET /api/bots/{id}/history'>,
  bot: string,
  { names, nodes, makeJudge }: Pick<View, 'names' | 'nodes' | 'makeJudge'>,
  reach: StreamReach,
): FieldHistoryRequest {
  const afterMs = after ?? before - DEFAULT_RANGE_MS;
  if (afterMs >= before) throw new DroverError('bad_request', 'after must be earlier than before');
  const only = [
    ['event', 'session'],
    ['bot', bot],
  ] as const;
  const filter = parseFilter(only, names, reach, nodes, makeJudge) as Filter;
  return {
    // The filter has no query, so its key needs no judging of bots.
    filter: filter.key,
    fields: [...new Set(field.map(nameOf))],
    afterMs,
    beforeMs: before,
    points,
  };
}

function nameOf(text: string): string {
  const { name } = readBotField(text, 'field');
  if (WITHOUT_PAST.includes(name)) {
    throw new DroverError('bad_request', `field: ${name} has no past`);
  }
  return name;
}
