// Incidents by cause: what is counted, what is kept, and the answer of several nodes.

import { expect, it } from 'vitest';
import { groupsOfNode, mergeIncidentGroups } from '../../../src/cluster/control/merged-answers.js';
import { type Counted, IncidentGroups } from '../../../src/main/bots/incident-groups.js';
import type { Incident } from '../../../src/shared/contract/bots.js';
import type { GroupQuery } from '../../../src/shared/contract/incident-groups.js';
import { causeOf } from '../../../src/shared/incidents/cause.js';
import { Moments } from '../../../src/shared/incidents/moments.js';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
/** The start of an hour. */
const NOW = 1_795_257_600_000 - (1_795_257_600_000 % HOUR);
const LAST_HOUR: GroupQuery = { cause: null, after: NOW - HOUR, before: NOW, limit: 100 };

function crash(bot: string, at: number, more: Partial<Counted> = {}, reason = 'no world'): Counted {
  const found = { type: 'crash' as const, reason, suspect: bot, stack: null };
  const cause = causeOf(found);
  return { found, cause, id: `i-${at}`, at, times: 1, bots: [bot], botCount: 1, ...more };
}

it('a group counts every time, each bot once, and knows the first and the last', () => {
  const groups = new IncidentGroups();
  groups.add(crash('a', NOW - 50 * MINUTE, {}, 'timeout after 31 ms'));
  groups.add(crash('b', NOW - 20 * MINUTE, {}, 'timeout after 7 ms'));
  groups.add(crash('a', NOW - 10 * MINUTE, { id: null, times: 5 }, 'timeout after 9 ms'));
  groups.add(crash('c', NOW - 30 * MINUTE, {}, 'another'));
  const { groups: all, from_ms, step_ms } = groups.list(LAST_HOUR);
  expect(all.map(({ title }) => title)).toEqual(['another', 'timeout after <n>']);
  expect(all[1]).toMatchObject({
    type: 'crash',
    reason: 'timeout after 9 ms',
    count: 7,
    bots: ['a', 'b'],
    bot_count: 2,
    fallen: 0,
    first_at_ms: NOW - 50 * MINUTE,
    last_at_ms: NOW - 10 * MINUTE,
    latest: `i-${NOW - 20 * MINUTE}`,
  });
  // Steps of two minutes.
  expect([from_ms, step_ms, all[1]?.counts.length]).toEqual([NOW - HOUR, 2 * MINUTE, 30]);
  const filled = all[1]?.counts.flatMap((count, at) => (count > 0 ? [[at, count]] : []));
  expect(filled).toEqual([
    [5, 1],
    [20, 1],
    [25, 5],
  ]);
});

it('a range has the groups with incidents in it', () => {
  const groups = new IncidentGroups();
  groups.add(crash('a', NOW - 3 * HOUR, {}, 'before'));
  groups.add(crash('a', NOW - 3 * HOUR, {}, 'around'));
  groups.add(crash('a', NOW - 30 * MINUTE, {}, 'within'));
  groups.add(crash('a', NOW + MINUTE, {}, 'around'));
  groups.add(crash('a', NOW, {}, 'after'));
  const titles = (query: Partial<GroupQuery>): string[] =>
    groups.list({ ...LAST_HOUR, ...query }).groups.map(({ title }) => title);
  expect(titles({})).toEqual(['around', 'within']);
  expect(titles({ limit: 1 })).toEqual(['around']);
  const { cause } = crash('a', 0, {}, 'within').cause;
  expect(titles({ cause })).toEqual(['within']);
  expect(titles({ cause: '0000000000000000' })).toEqual([]);
});

it('bots that fall with their host are counted, and are no part of the group when the cause is known', () => {
  const groups = new IncidentGroups();
  const bots = Array.from({ length: 200 }, (_, n) => `b${n}`);
  const lost = (suspect: string | null, host: number): Counted => {
    const reason = `bot host ${host} was lost: ${suspect ?? 'nobody'}`;
    const found = { type: 'host_lost' as const, reason, suspect, stack: null };
    return { ...crash('x', NOW - HOUR), found, cause: causeOf(found), bots, botCount: 1890 };
  };
  groups.add(lost('b7', 3));
  groups.add(lost('b8', 4));
  groups.add(lost(null, 5));
  const [unknown, known] = groups.list(LAST_HOUR).groups;
  expect(known).toMatchObject({ count: 2, bots: ['b7', 'b8'], bot_count: 2, fallen: 3780 });
  expect(unknown).toMatchObject({ count: 1, bot_count: 200, fallen: 1890 });
  expect(unknown?.bots).toHaveLength(5);
  const whole = groups.list({ ...LAST_HOUR, cause: unknown?.cause ?? '' });
  expect(whole.groups[0]?.bots).toEqual(bots);
});

it('more groups than fit replace those with the oldest last incident, and are counted', () => {
  const groups = new IncidentGroups();
  // Words, because numbers do not make a cause.
  const reason = (n: number): string =>
    `fault ${'x'.repeat(n % 20)} ${'y'.repeat(Math.floor(n / 20))}`;
  for (let n = 0; n < 300; n++) groups.add(crash('a', NOW - HOUR + n, {}, reason(n)));
  groups.add(crash('a', NOW - HOUR + 300, {}, reason(0)));
  groups.takeChanges();
  groups.add(crash('a', NOW - HOUR + 301, {}, reason(300)));
  const { groups: all, forgotten } = groups.list({ ...LAST_HOUR, limit: 1000 });
  expect([all.length, forgotten]).toEqual([300, 1]);
  expect(all.slice(0, 2).map(({ count }) => count)).toEqual([1, 2]);
  const changes = [...groups.takeChanges()];
  expect(changes.filter(([, group]) => group === undefined)).toEqual([
    [crash('a', 0, {}, reason(1)).cause.cause, undefined],
  ]);
  expect(changes).toHaveLength(2);
});

it('ids of bots are bounded, of one group and of all; their number stays', () => {
  const groups = new IncidentGroups();
  const reasons = Array.from({ length: 11 }, (_, n) => `fault ${'x'.repeat(n + 1)}`);
  for (const [n, reason] of reasons.entries()) {
    for (let bot = 0; bot < 10_001; bot++) groups.add(crash(`b${bot}`, NOW - HOUR + n, {}, reason));
  }
  const query = { ...LAST_HOUR, limit: 1000 };
  const counts = groups.list(query).groups.map(({ bots, bot_count }) => [bots.length, bot_count]);
  expect(counts).toEqual([...Array(10).fill([5, 10_000]), [0, 10_000]]);
});

it('what is stored returns, in the order of the last incidents', () => {
  const groups = new IncidentGroups();
  groups.add(crash('a', NOW - 20 * MINUTE, {}, 'one'));
  groups.add(crash('a', NOW - 10 * MINUTE, {}, 'two'));
  groups.add(crash('b', NOW - 5 * MINUTE, {}, 'one'));
  const stored = JSON.parse(JSON.stringify([...groups.takeChanges().values()].reverse()));
  const again = new IncidentGroups(stored);
  expect(again.list(LAST_HOUR)).toEqual(groups.list(LAST_HOUR));
  expect(again.takeChanges().size).toBe(0);
  expect(groups.takeChanges().size).toBe(0);
  // The disk refused them.
  groups.giveBack([crash('a', 0, {}, 'two').cause.cause]);
  expect([...groups.takeChanges().values()].map((group) => group?.title)).toEqual(['two']);
  expect(stored[0].bots.split(' ')).toHaveLength(stored[0].bot_count);
});

it('reports that the groups do not know are counted once: those of an earlier version, and of a run that was killed', () => {
  const report = (bot: string, at_ms: number, repeats = 0): Incident => ({
    ...crash(bot, at_ms).found,
    cause: '',
    id: `i-${at_ms}`,
    at_ms,
    host: 0,
    bots: [bot],
    bot_count: 1,
    heap: null,
    last_lines: [],
    last_lines_at_ms: [],
    last_commands: [],
    repeats,
    repeated_at_ms: repeats === 0 ? null : at_ms + MINUTE,
  });
  const groups = new IncidentGroups();
  const reports = [report('a', NOW - 40 * MINUTE, 3), report('b', NOW - 30 * MINUTE)];
  groups.catchUp(reports);
  const expected = {
    count: 5,
    bot_count: 2,
    first_at_ms: NOW - 40 * MINUTE,
    last_at_ms: NOW - 30 * MINUTE,
  };
  expect(groups.list(LAST_HOUR).groups).toMatchObject([expected]);
  groups.catchUp([...reports, report('c', NOW - 20 * MINUTE)]);
  expect(groups.list(LAST_HOUR).groups).toMatchObject([{ count: 6, bot_count: 3 }]);
});

it('moments are exact to the minute for a day, then to the hour, for 30 days', () => {
  const moments = new Moments();
  for (let at = NOW - 32 * DAY; at <= NOW; at += MINUTE) moments.add(at, 1);
  const length = moments.toJSON().length / 2;
  expect(length).toBeLessThanOrEqual(24 * 60 + 60 + 30 * 24 + 1);
  const sum = (from: number, stepMs: number, steps: number): number[] =>
    moments.counts(from, stepMs, steps);
  expect(sum(NOW - 10 * MINUTE, MINUTE, 11)).toEqual(Array(11).fill(1));
  expect(sum(NOW - 10 * DAY, HOUR, 3)).toEqual([60, 60, 60]);
  expect(sum(NOW - 10 * DAY, MINUTE, 3)).toEqual([60, 0, 0]);
  expect(sum(NOW - 32 * DAY, HOUR, 24)).toEqual(Array(24).fill(0));
  expect(new Moments(moments.toJSON()).toJSON()).toEqual(moments.toJSON());
});

it('nodes are added up: one group for each cause, with the nodes that do not answer', () => {
  const on = (node: string, ...all: Counted[]) => {
    const groups = new IncidentGroups();
    for (const one of all) groups.add(one);
    return (query: GroupQuery) => groupsOfNode(node, groups.list(query));
  };
  const h1 = on('h1', crash('a', NOW - 9 * MINUTE), crash('b', NOW - 8 * MINUTE));
  const h2 = on('h2', crash('b', NOW - 7 * MINUTE), crash('c', NOW - 6 * MINUTE, {}, 'other'));
  const ask = (query: GroupQuery) =>
    mergeIncidentGroups(
      [
        { status: 'fulfilled', value: h1(query) },
        { status: 'rejected', reason: new Error('gone') },
        { status: 'fulfilled', value: h2(query) },
      ],
      ['h3'],
      query,
    );
  const { groups, missing, step_ms } = ask(LAST_HOUR);
  expect([missing, step_ms]).toEqual([['h3'], 2 * MINUTE]);
  expect(groups.map(({ title, nodes }) => [title, nodes])).toEqual([
    ['other', ['h2']],
    ['no world', ['h1', 'h2']],
  ]);
  expect(groups[1]).toMatchObject({
    count: 3,
    first_at_ms: NOW - 9 * MINUTE,
    last_at_ms: NOW - 7 * MINUTE,
  });
  expect(groups[1]?.counts.reduce((sum, count) => sum + count)).toBe(3);
  // A list cannot know that b was on both nodes; the group alone does.
  expect(groups[1]?.bot_count).toBe(3);
  const { cause } = crash('a', 0).cause;
  expect(ask({ ...LAST_HOUR, cause }).groups).toMatchObject([{ bot_count: 2, bots: ['b', 'a'] }]);
});
