import type { FieldHistoryRequest } from '../../shared/contract/journal-messages.js';
import type { HISTORY_QUERY } from '../../shared/contract/queries.js';
import { MAX_HISTORY_FIELDS, POINTS } from '../../shared/contract/query-bounds.js';
import { DroverError } from '../../shared/errors.js';
import { readBotField } from '../../shared/query/read-bot-field.js';
import { type Filter, parseFilter, type StreamReach } from '../../shared/stream/filter.js';
import { expectSelf, type Pairs, queryValue } from '../http/query-string.js';
import type { View } from '../views/view.js';
import { timeOf } from './event-query.js';

/** They never change, or always. */
const WITHOUT_PAST: readonly string[] = ['bot', 'kind', 'since'];
const DEFAULT_RANGE_MS = 3_600_000;

/** @throws DroverError `bad_request`. */
export function parseFieldHistoryQuery(
  pairs: Pairs,
  bot: string,
  { names, nodes, makeJudge }: Pick<View, 'names' | 'nodes' | 'makeJudge'>,
  reach: StreamReach,
): FieldHistoryRequest {
  const value = (name: keyof typeof HISTORY_QUERY) => queryValue(pairs, name);
  expectSelf(value('node'), 'the past is');
  const before = value('before');
  const after = value('after');
  const beforeMs = before === undefined ? Date.now() : timeOf('before', before);
  const afterMs = after === undefined ? beforeMs - DEFAULT_RANGE_MS : timeOf('after', after);
  if (afterMs >= beforeMs)
    throw new DroverError('bad_request', 'after must be earlier than before');
  const only = [
    ['event', 'session'],
    ['bot', bot],
  ] as const;
  const filter = parseFilter(only, names, reach, nodes, makeJudge) as Filter;
  return {
    // No query: nothing is judged.
    filter: filter.key,
    fields: fieldsOf(pairs),
    afterMs,
    beforeMs,
    points: pointsOf(value('points')),
  };
}

function fieldsOf(pairs: Pairs): string[] {
  const given = pairs.filter(([name]) => name === 'field').flatMap(([, value]) => value.split(','));
  const fields = new Set(given.filter((text) => text !== '').map(nameOf));
  if (fields.size === 0) {
    throw new DroverError('bad_request', 'field is missing: what is to be read, like data.gold');
  }
  if (fields.size > MAX_HISTORY_FIELDS) {
    throw new DroverError('bad_request', `field has more than ${MAX_HISTORY_FIELDS} values`);
  }
  return [...fields];
}

function nameOf(text: string): string {
  const { name } = readBotField(text, 'field');
  if (WITHOUT_PAST.includes(name)) {
    throw new DroverError('bad_request', `field: ${name} has no past`);
  }
  return name;
}

function pointsOf(value: string | undefined): number {
  const points = Number(value ?? POINTS.default);
  if ((value !== undefined && !/^[1-9][0-9]*$/.test(value)) || points > POINTS.maximum) {
    throw new DroverError(
      'bad_request',
      `points must be a whole number from ${POINTS.minimum} to ${POINTS.maximum}`,
    );
  }
  return points;
}
