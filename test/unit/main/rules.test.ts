// Rules of a node of a cluster: what it says, and what it leaves to others.

import { expect, it } from 'vitest';
import type { RuleRecord } from '../../../src/cluster/node-service.js';
import { ruleOfBody } from '../../../src/main/rules/rule-of-body.js';
import { Rules } from '../../../src/main/rules/rules.js';
import type { MainItem } from '../../../src/shared/contract/events.js';
import type { WatchedRule } from '../../../src/shared/contract/rule-messages.js';
import type { AlertEvent, CreateRuleBody } from '../../../src/shared/contract/rules.js';
import type { Rights } from '../../../src/shared/contract/tokens.js';

const ALL: Rights = { reach: null, scopes: [] };

function node() {
  const said: string[] = [];
  const raised: AlertEvent[] = [];
  let watched: WatchedRule[] = [];
  let now = 1000;
  const sharing = {
    fault: null as string | null,
    speaks: false,
    raise: async (_: string, alert: AlertEvent) => void raised.push(alert),
  };
  const rules = new Rules({
    store: { all: () => [], put: async () => {}, remove: async () => {} },
    sharing,
    tell: (...items: MainItem[]) => {
      for (const item of items)
        if (item.kind === 'alert') said.push(`${item.event.rule.name} ${item.event.state}`);
    },
    watch: (all) => {
      watched = all;
    },
    now: () => now,
  });
  const record = (
    id: string,
    more: Partial<RuleRecord> = {},
    body: Partial<CreateRuleBody> = {},
  ) => ({
    v: 1,
    rule: ruleOfBody(id, { name: id, query: '', condition: 'bots', ...body }),
    made_at_ms: 1,
    changed_at_ms: 1,
    alert: null,
    ...more,
  });
  return {
    rules,
    sharing,
    said,
    raised,
    record,
    watched: () => watched,
    revision: (id: string) => watched.find(({ rule }) => rule.id === id)?.revision ?? 0,
    at(time: number) {
      now = time;
    },
    report(id: string, state: 'ok' | 'pending' | 'firing', value = 1) {
      const revision = watched.find(({ rule }) => rule.id === id)?.revision ?? 0;
      rules.changed([{ id, revision, state, value, bots: [] }]);
    },
    states: () => rules.list(ALL).map(({ name, state }) => `${name} ${state}`),
  };
}

const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

it('only the node that speaks stores an alert, and says it once it is stored', async () => {
  const { rules, sharing, said, raised, record, report, states } = node();
  rules.learn('a', record('a'), false);
  report('a', 'firing');
  expect(raised).toEqual([]);
  expect(states()).toEqual(['a pending']);
  sharing.speaks = true;
  rules.speak();
  rules.speak();
  expect(raised).toMatchObject([{ state: 'firing', since_ms: 1000 }]);
  expect(said).toEqual([]);
  const [alert = null] = raised;
  rules.learn('a', record('a', { alert }), true);
  await settled();
  expect(said).toEqual(['a firing']);
  expect(states()).toEqual(['a firing']);
  report('a', 'ok', 0);
  expect(raised[1]).toMatchObject({ state: 'resolved', since_ms: 1000, value: 0 });
});

it('the next one says what was stored and is not on the stream, and nothing else', () => {
  const { rules, sharing, said, raised, record, report } = node();
  const alertOf = (id: string): AlertEvent => {
    const { enabled: _, ...rule } = record(id).rule;
    return { timestamp_ms: 5, state: 'firing', rule, since_ms: 5, value: 1, bots: [] };
  };
  rules.learn('old', record('old', { alert: alertOf('old') }), false);
  for (const id of ['heard', 'unheard']) {
    rules.learn(id, record(id), true);
    rules.learn(id, record(id, { alert: alertOf(id) }), true);
  }
  rules.alerted(alertOf('heard'));
  for (const id of ['old', 'heard', 'unheard']) report(id, 'firing');
  sharing.speaks = true;
  rules.speak();
  expect(said).toEqual(['unheard firing']);
  expect(raised).toEqual([]);
});

it('a rule that fires is looked at as one that fires, from its begin on', () => {
  const { rules, watched, record, at } = node();
  const { enabled: _, ...rule } = record('a').rule;
  const alert: AlertEvent = {
    ...{ timestamp_ms: 5, state: 'firing', rule, since_ms: 400, value: 1, bots: [] },
  };
  at(1000);
  rules.learn('a', record('a', { alert }), false);
  expect(watched()).toMatchObject([{ firingForMs: 600 }]);
  rules.learn('a', record('a', { alert: { ...alert, state: 'resolved' } }), true);
  expect(watched()[0]).not.toHaveProperty('firingForMs');
});

it('a change by anybody begins it again; an alert does not', () => {
  const { rules, record, revision, states } = node();
  rules.learn('a', record('a'), false);
  const first = revision('a');
  rules.learn('a', record('a', { made_at_ms: 2 }), true);
  expect(revision('a')).toBe(first);
  rules.learn('a', record('a', { changed_at_ms: 2 }), true);
  expect(revision('a')).toBeGreaterThan(first);
  rules.learn('a', null, true);
  expect(states()).toEqual([]);
});

it('a rule whose record is bad or gone is refused, and begins again with the next', () => {
  const { rules, sharing, said, record, revision, report, watched } = node();
  const { enabled: _, ...rule } = record('a').rule;
  const alert: AlertEvent = {
    ...{ timestamp_ms: 5, state: 'firing', rule, since_ms: 5, value: 1, bots: [] },
  };
  rules.learn('a', record('a', { alert }), false);
  report('a', 'firing');
  const first = revision('a');
  const shown = () => rules.list(ALL)[0];
  rules.lack('a', 'it is bad');
  expect(shown()).toMatchObject({ state: 'refused', reason: 'it is bad' });
  rules.lack('a', null);
  expect(shown()).toMatchObject({ state: 'refused', reason: 'the cluster does not have it' });
  sharing.fault = 'NATS does not answer';
  expect(shown()).toMatchObject({ state: 'unknown' });
  sharing.fault = null;
  expect(watched()).toEqual([]);
  sharing.speaks = true;
  rules.learn('a', record('a', { alert }), true);
  expect(shown()).toMatchObject({ state: 'firing', reason: null });
  expect(revision('a')).toBeGreaterThan(first);
  // It was said before.
  expect(said).toEqual([]);
  rules.lack('none', null);
});

it('of two rules with one name the later is refused, until one of them has another', () => {
  const { rules, record, states, watched } = node();
  rules.learn('a', record('a', { made_at_ms: 2 }, { name: 'x' }), true);
  rules.learn('b', record('b', { made_at_ms: 1 }, { name: 'x' }), true);
  expect(states()).toEqual(['x ok', 'x refused']);
  expect(watched().map(({ rule }) => rule.id)).toEqual(['b']);
  rules.learn('b', record('b', { made_at_ms: 1, changed_at_ms: 2 }, { name: 'y' }), true);
  expect(states()).toEqual(['x ok', 'y ok']);
});

it('what the node does not know is not shown as fine', () => {
  const { rules, sharing, record, report } = node();
  rules.learn('a', record('a'), false);
  rules.learn('off', record('off', {}, { enabled: false }), false);
  report('a', 'ok', 0);
  sharing.fault = 'NATS does not answer';
  const [a, off] = rules.list(ALL);
  expect(a).toMatchObject({ state: 'unknown', reason: 'NATS does not answer', value: null });
  expect(off).toMatchObject({ state: 'off', reason: null });
  expect(rules.firing()).toEqual({ info: 0, warn: 0, error: 0 });
});
