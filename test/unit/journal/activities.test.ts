// Activities in the journal: found at their own time, by bot, by actor and by name, and not among the lines.

import { expect, it } from 'vitest';
import { Journal } from '../../../src/journal/journal.js';
import type { ActivityEvent } from '../../../src/shared/contract/events.js';
import { keyOfQuery, Life, logItem, PAGE } from '../../harness/journal.js';
import { makeDir, removeDir } from '../../harness/service.js';

const AT = 1_795_257_600_000;

function activity(at: number, more: Partial<ActivityEvent>): ActivityEvent {
  return {
    timestamp_ms: AT + at,
    activity: 'bot.restart',
    actor: 'Ada',
    token: 't',
    address: '192.0.2.7',
    client: null,
    session_id: null,
    target: null,
    operation: null,
    outcome: 'done',
    error: null,
    took_ms: 1,
    detail: null,
    ...more,
  };
}

it('is found at its own time, and by what it says', async () => {
  const dir = makeDir();
  const life = await Life.begin(dir, { Journal });
  const events = [
    activity(0, { session_id: 'a' }),
    activity(1000, { session_id: 'b', actor: 'Grace' }),
    activity(2000, { activity: 'rule.delete', target: 'quiet' }),
  ];
  life.broadcaster.publish([
    logItem('Ada did nothing', { session_id: 'a', timestamp_ms: AT }),
    ...events.map((event) => ({ kind: 'activity' as const, event })),
  ]);
  const find = async (query: string, range: object = {}): Promise<number[]> => {
    const filter = keyOfQuery(query);
    const { body } = await life.journal.answers.page({ ...PAGE, filter, ...range });
    const lines = Buffer.from(body).toString().trimEnd().split('\n');
    const found = lines.map((line) => JSON.parse(line) as { data: { timestamp_ms: number } });
    return found.map(({ data }) => data.timestamp_ms - AT).sort((a, b) => a - b);
  };
  expect(await find('event:activity')).toEqual([0, 1000, 2000]);
  expect(await find('event:activity', { afterMs: AT + 500, beforeMs: AT + 1500 })).toEqual([1000]);
  expect(await find('event:activity bot:b')).toEqual([1000]);
  expect(await find('actor:Ada')).toEqual([0, 2000]);
  expect(await find('activity:bot.*')).toEqual([0, 1000]);
  expect(await find('activity:bot.* -actor:Ada')).toEqual([1000]);
  expect(await find('quiet')).toEqual([2000]);
  expect(await find('event:log')).toEqual([0]);
  await life.end();
  removeDir(dir);
});
