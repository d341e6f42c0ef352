// Rules on a ring, without threads: the clock and the ticks are the test's.

import { expect, it, onTestFinished, vi } from 'vitest';
import { Broadcaster } from '../../../src/broadcaster/broadcaster.js';
import { ruleOfBody } from '../../../src/main/rules/rule-of-body.js';
import { logItem, sessionItem } from '../../../src/main/threads/service-events.js';
import { Evaluation } from '../../../src/rules/evaluation.js';
import type { MainItem } from '../../../src/shared/contract/events.js';
import { NameHasher } from '../../../src/shared/contract/name-hash.js';
import type { RuleReport } from '../../../src/shared/contract/rule-messages.js';
import type { CreateRuleBody } from '../../../src/shared/contract/rules.js';
import { createRing, slotsFor } from '../../../src/shared/memory/layout.js';
import { RingReader } from '../../../src/shared/memory/ring-reader.js';
import { lookClock } from '../../harness/look-clock.js';

function world(bytes = 2 ** 16) {
  const size = { bytes, slots: slotsFor(bytes), fronts: 1 };
  const stream = { ring: createRing(size, 1), epoch: 'abcdef0123', hashKey: '00'.repeat(16) };
  const broadcaster = new Broadcaster(stream, () => {});
  const ring = new RingReader(stream.ring, 0);
  const states = new Map<string, RuleReport>();
  const alerts: string[] = [];
  let reports = 0;
  const began = performance.now();
  // Time that looks take, where a test lets them take some.
  const clock = () => (vi.isMockFunction(performance.now) ? performance.now() - began : 0);
  let now = 0;
  let timers = 0;
  let lost = 0;
  const evaluation = new Evaluation({
    ring,
    names: new NameHasher(stream.hashKey),
    baseline: async () => broadcaster.baseline(),
    changed: (changed) => {
      reports += changed.length;
      for (const report of changed) states.set(report.id, report);
    },
    alerted: ({ rule: { id }, state }) => void alerts.push(`${id} ${state}`),
    lost: (frames) => {
      lost += frames;
    },
    every() {
      timers += 1;
      return () => {
        timers -= 1;
      };
    },
    now: () => now + clock(),
  });
  return {
    evaluation,
    publish: (...items: MainItem[]) => broadcaster.publish(items),
    say: (id: string | null, message: string, level: 'info' | 'error' = 'info') =>
      broadcaster.publish([logItem(level, 'bot', message, id)]),
    bot: (id: string, patch: Parameters<typeof sessionItem>[1]) =>
      broadcaster.publish([sessionItem(id, patch)]),
    /** Rules with these ids. Another revision is another rule. */
    async watch(rules: Record<string, Partial<CreateRuleBody>>, revision = 1, from = ring.head()) {
      evaluation.watch(
        Object.entries(rules).map(([id, body]) => ({
          revision,
          rule: ruleOfBody(id, {
            name: id,
            query: '',
            condition: 'count',
            ...(body.condition === 'bots' ? {} : { window_ms: 60_000 }),
            ...body,
          }),
        })),
        from,
      );
      await new Promise(setImmediate);
    },
    async tick(ms = 1000) {
      now += ms;
      // Values are told with each fourth tick.
      for (let at = 0; at < 4; at++) evaluation.tick();
      await new Promise(setImmediate);
    },
    of: (id: string) => states.get(id),
    head: () => ring.head(),
    reports: () => reports,
    timers: () => timers,
    alerts: () => alerts,
    lost: () => lost,
  };
}

it('counts the lines that a query selects, and names their bots', async () => {
  const { bot, say, watch, tick, of } = world();
  bot('a-1', { kind: 'demo', labels: { team: 'a' } });
  bot('b-1', { kind: 'demo', labels: { team: 'b' } });
  say('a-1', 'before the rules');
  await watch({
    errors: { query: 'level:error', threshold: 2 },
    text: { query: '"login refused" -bot:b-*' },
    ofTeam: { query: 'label:team=b' },
    all: {},
  });
  await tick();
  expect(of('all')).toMatchObject({ state: 'ok', value: 0 });
  say('a-1', 'Login refused', 'error');
  say('b-1', 'login refused', 'error');
  say('b-1', 'fine');
  say(null, 'of the service');
  await tick();
  expect(of('errors')).toMatchObject({ state: 'firing', value: 2, bots: ['b-1', 'a-1'] });
  expect(of('text')).toMatchObject({ state: 'firing', value: 1, bots: ['a-1'] });
  expect(of('ofTeam')).toMatchObject({ value: 2, bots: ['b-1'] });
  expect(of('all')).toMatchObject({ value: 4 });
});

it('judges a bot as it is when its line comes', async () => {
  const { bot, say, watch, tick, of } = world();
  bot('a', { status: 'in_world' });
  await watch({ lost: { query: 'status:failed' }, others: { query: '-status:failed' } });
  say('a', 'one');
  bot('a', { status: 'failed' });
  say('a', 'two');
  say('a', 'three');
  await tick();
  expect(of('lost')).toMatchObject({ value: 2 });
  expect(of('others')).toMatchObject({ value: 1 });
});

it('bots: how many match now, by their data, with those that come, change and leave', async () => {
  const { bot, watch, tick, of } = world();
  bot('rich', { data: { gold: 500 } });
  bot('poor', { data: { gold: 3 } });
  await watch({ poor: { condition: 'bots', query: 'data.gold<100', threshold: 2 } });
  await tick();
  expect(of('poor')).toMatchObject({ state: 'ok', value: 1, bots: ['poor'] });
  bot('poorer', { data: { gold: 1 } });
  await tick();
  expect(of('poor')).toMatchObject({ state: 'firing', value: 2, bots: ['poor', 'poorer'] });
  bot('poor', { data: { gold: 100 } });
  bot('poorer', { status: 'deleted' });
  await tick();
  expect(of('poor')).toMatchObject({ state: 'firing', value: 0, bots: [] });
  await tick(5000);
  expect(of('poor')).toMatchObject({ state: 'ok' });
});

it('does not count the lines about alerts, nor anything but lines', async () => {
  const { bot, publish, watch, tick, of } = world();
  await watch({ all: {}, silent: { condition: 'absence', window_ms: 5000 } });
  bot('a', { status: 'in_world' });
  publish(logItem('error', 'drover.rules', 'rule "all" fires'));
  await tick(5000);
  expect(of('all')).toMatchObject({ state: 'ok', value: 0 });
  expect(of('silent')).toMatchObject({ state: 'firing', value: 5 });
});

it('a rule that is there already keeps its past; another revision begins again', async () => {
  const { say, watch, tick, of, evaluation } = world();
  await watch({ one: {}, two: {} });
  await tick();
  say('a', 'line');
  await watch({ one: {}, two: {}, three: {} });
  await tick();
  expect(['one', 'two', 'three'].map((id) => of(id)?.value)).toEqual([1, 1, 0]);
  await watch({ one: {} }, 2);
  await tick();
  expect(of('one')).toMatchObject({ revision: 2, value: 0, state: 'ok' });
  evaluation.close();
});

it('without rules it has no timer and tells nothing; with some, nothing when nothing changes', async () => {
  const { say, watch, tick, timers, reports } = world();
  say('a', 'line');
  await tick();
  expect([timers(), reports()]).toEqual([0, 0]);
  await watch({ one: {} });
  await tick();
  expect([timers(), reports()]).toEqual([1, 1]);
  await tick();
  expect(reports()).toBe(1);
  await watch({});
  say('a', 'line');
  await tick();
  expect([timers(), reports()]).toEqual([0, 1]);
});

it('a rule sees lines from the frame on at which it was made, also when the thread begins later', async () => {
  const { bot, say, watch, tick, of, head } = world();
  bot('a', { labels: { team: 'a' } });
  say('a', 'before');
  const made = head();
  say('a', 'meanwhile');
  bot('a', { labels: { team: 'b' } });
  await watch({ all: {}, ofTeam: { query: 'label:team=b' } }, 1, made);
  say('a', 'after');
  await tick();
  expect(of('all')).toMatchObject({ value: 2 });
  const later = head();
  say('a', 'one more');
  await watch({ all: {}, ofTeam: { query: 'label:team=b' }, late: {} }, 1, later);
  await tick();
  expect(['all', 'late'].map((id) => of(id)?.value)).toEqual([3, 1]);
});

it('says how many events it has lost to a lap, and continues with the bots of then', async () => {
  const { bot, say, watch, tick, of, lost } = world();
  bot('a', { labels: { team: 'a' } });
  await watch({
    ofTeam: { query: 'label:team=a' },
    poor: { condition: 'bots', query: 'kind:new' },
  });
  await tick();
  bot('b', { kind: 'new', labels: { team: 'a' } });
  for (let line = 0; line < 1000; line++) say('a', `line ${line} `.padEnd(200, '.'));
  await tick();
  expect(lost()).toBe(1001);
  say('b', 'seen');
  await tick();
  expect(of('ofTeam')).toMatchObject({ value: 1, bots: ['b'] });
  expect(of('poor')).toMatchObject({ value: 1, bots: ['b'] });
});

it('a hostile query about many bots, and many rules for many lines, take slices', async () => {
  const { bot, say, watch, tick, of } = world(2 ** 20);
  const bots = 100;
  for (let at = 0; at < bots; at++) bot(`bot-${at}`, { last_error: at % 2 ? 'ab' : 'a' });
  const looks = lookClock();
  onTestFinished(() => void vi.restoreAllMocks());
  // A slice of 20 ms, and those until the clock is read.
  const most = 20 + 8;
  const settled = async (id: string, value: number) => {
    await tick(0);
    while (of(id)?.value !== value) await new Promise(setImmediate);
    expect(looks.most()).toBeLessThanOrEqual(most);
  };
  await watch({
    bots: { condition: 'bots', query: 'last_error:b' },
    lines: { query: 'last_error:b' },
  });
  await settled('bots', bots / 2);
  for (let at = 0; at < bots; at++) {
    bot(`bot-${at}`, { restarts: 1 });
    say(`bot-${at}`, 'a line');
    say(`bot-${at}`, 'another');
  }
  await settled('lines', bots);
  // Rules that come while others are read see lines from their frame on.
  for (let at = 0; at < bots; at++) bot(`bot-${at}`, { last_error: 'b' });
  await watch({ all: { condition: 'bots', query: 'last_error:b' } }, 2);
  await settled('all', bots);
});

it('while the stream is stalled, nothing is late', async () => {
  const { say, watch, tick, of, evaluation } = world();
  await watch({ quiet: { condition: 'absence', window_ms: 5000 }, lines: { threshold: 2 } });
  await tick();
  say('a', 'one');
  await tick();
  await tick(4000);
  evaluation.stall(true);
  await tick(600_000);
  expect(of('quiet')).toMatchObject({ state: 'ok', value: 4 });
  evaluation.stall(false);
  say('a', 'two');
  await tick(1000);
  expect(of('quiet')).toMatchObject({ state: 'ok', value: 0 });
  expect(of('lines')).toMatchObject({ state: 'firing', value: 2 });
});

it('tells the alerts on the stream, before it says that it has caught up', async () => {
  const { publish, watch, alerts, evaluation } = world();
  await watch({ a: {} });
  evaluation.tick();
  await new Promise(setImmediate);
  const rule = { ...ruleOfBody('a', { name: 'a', query: '', condition: 'bots' }) };
  const event = {
    timestamp_ms: 1,
    state: 'firing' as const,
    rule,
    since_ms: 1,
    value: 1,
    bots: [],
  };
  publish({ kind: 'alert', event });
  await evaluation.catchUp();
  expect(alerts()).toEqual(['a firing']);
  await watch({});
  await evaluation.catchUp();
});

it('what others say of a rule counts also for one that is looked at already', async () => {
  const { tick, of, head, evaluation } = world();
  const rule = ruleOfBody('r', { name: 'r', query: '', condition: 'count', window_ms: 60_000 });
  evaluation.watch([{ rule, revision: 1 }], head());
  await new Promise(setImmediate);
  await tick();
  expect(of('r')).toMatchObject({ state: 'ok' });
  evaluation.watch([{ rule, revision: 1, firingForMs: 1000 }], head());
  await tick();
  expect(of('r')).toMatchObject({ state: 'firing' });
});
