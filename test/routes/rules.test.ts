// Rules: their routes, who may use them, and the alert on the stream.

import { afterAll, beforeAll, expect, it } from 'vitest';
import type { AlertEvent, Rule } from '../../src/shared/contract/rules.js';
import { call, expectError } from '../harness/api.js';
import { create, remove, watch } from '../harness/bots.js';
import { type InjectedService, inject } from '../harness/inject.js';
import { makeDir, removeDir } from '../harness/service.js';
import { makeToken, streamOf } from '../harness/tokens.js';

let service: InjectedService;
beforeAll(async () => {
  service = await inject();
});
afterAll(() => service.close());

const COUNT = { query: 'level:error', condition: 'count', window_ms: 60_000 };

async function add(body: object, on = service): Promise<Rule> {
  const { status, json, text } = await call(on, 'POST', '/api/rules', { body });
  expect(status, text).toBe(201);
  return json as Rule;
}

async function rules(on = service): Promise<Rule[]> {
  return ((await call(on, 'GET', '/api/rules')).json as { rules: Rule[] }).rules;
}

it('a rule is made with defaults, listed by name, replaced, and deleted', async () => {
  const made = await add({ name: 'z', ...COUNT });
  expect(made).toMatchObject({
    ...COUNT,
    threshold: 1,
    for_ms: 0,
    severity: 'warn',
    enabled: true,
    state: 'ok',
    since_ms: null,
    value: null,
    bots: [],
  });
  const silent = await add({ name: 'a', query: '', condition: 'absence', window_ms: 5000 });
  expect(silent).toMatchObject({ threshold: null, window_ms: 5000 });
  expect((await rules()).map(({ name }) => name)).toEqual(['a', 'z']);
  const body = { name: 'y', query: 'data.gold<100', condition: 'bots', threshold: 3 };
  const path = `/api/rules/${made.id}`;
  const replaced = await call(service, 'PUT', path, { body: { ...body, enabled: false } });
  expect(replaced.status).toBe(200);
  expect(replaced.json).toMatchObject({ ...body, id: made.id, window_ms: null, state: 'off' });
  for (const { id } of await rules()) {
    expect((await call(service, 'DELETE', `/api/rules/${id}`)).status).toBe(204);
  }
  expect(await rules()).toEqual([]);
  expectError(await call(service, 'DELETE', path), 404, `there is no rule ${made.id}`);
  expectError(await call(service, 'PUT', path, { body }), 404, `there is no rule ${made.id}`);
});

it.each([
  [{}, 'body.name is missing'],
  [{ name: 'a', query: '' }, 'body.condition is missing'],
  [{ name: 'a', query: '', condition: 'count' }, /^window_ms: the condition count needs a window/],
  [{ name: 'a', query: 'status:up', condition: 'bots', window_ms: 5000 }, /bots has no window/],
  [{ name: 'a', ...COUNT, condition: 'absence', threshold: 2 }, /absence has none/],
  [{ name: 'a', ...COUNT, threshold: 1.5 }, /must be a whole number/],
  [{ name: 'a', ...COUNT, query: 'levl:error' }, /^query: there is no field "levl"/],
  [{ name: 'a', ...COUNT, query: 'event:session' }, /leave event: out/],
  [{ name: 'a', ...COUNT, query: 'since>5m' }, /^query: since is for bots/],
  [{ name: 'a', query: 'level:warn', condition: 'bots' }, /^query: level is about lines/],
  [{ name: 'a', ...COUNT, window_ms: 10 }, /window_ms/],
  [{ name: 'a\nb', ...COUNT }, /name/],
])('%j is refused', async (body, message) => {
  expectError(await call(service, 'POST', '/api/rules', { body }), 400, message);
  expect(await rules()).toEqual([]);
});

it('names are unique, and there are at most 100', async () => {
  const own = await inject();
  const all = await Promise.all(
    Array.from({ length: 100 }, (_, at) => add({ name: `rule ${at}`, ...COUNT }, own)),
  );
  const full = await call(own, 'POST', '/api/rules', { body: { name: 'one more', ...COUNT } });
  expectError(full, 409, 'there are 100 rules already; delete one first');
  const path = `/api/rules/${all[0]?.id}`;
  const taken = await call(own, 'PUT', path, { body: { name: 'rule 7', ...COUNT } });
  expectError(taken, 409, 'there is a rule "rule 7" already');
  expect((await call(own, 'PUT', path, { body: { name: 'rule 0', ...COUNT } })).status).toBe(200);
});

it('read lists them, control changes them, and a token that is limited to bots does neither', async () => {
  const tokenOf = async (body: object) => (await makeToken(service, body)).token;
  const reader = await tokenOf({ scopes: ['read'] });
  const limited = await tokenOf({ scopes: ['read', 'control'], bots: ['a'] });
  const body = { name: 'a', ...COUNT };
  expect((await call(service, 'GET', '/api/rules', { token: reader })).status).toBe(200);
  const refused = await call(service, 'POST', '/api/rules', { token: reader, body });
  expectError(refused, 403, /control/);
  const path = '/api/rules';
  expectError(await call(service, 'GET', path, { token: limited }), 403, /limited/);
  expectError(await call(service, 'POST', path, { token: limited, body }), 403, /limited/);
});

it('an alert is on the stream when a rule fires and when it stops, for clients that see all bots', async () => {
  const limited = (await makeToken(service, { scopes: ['read'], labels: { team: 'a' } })).token;
  const [all, alerts, partial] = await Promise.all([
    watch(service),
    watch(service, '?event=alert'),
    streamOf(service, limited),
  ]);
  const bot = { id: 'fragile', kind: 'synthetic', labels: { team: 'a' }, desired: 'stopped' };
  await create(service, bot);
  const rule = await add({
    name: 'known bots',
    query: 'label:team=a',
    condition: 'bots',
    severity: 'error',
  });
  await service.lookAtRules(1000);
  expect(await rules()).toMatchObject([{ state: 'firing', value: 1, bots: ['fragile'] }]);
  await remove(service, 'fragile');
  await service.lookAtRules(1000);
  await service.lookAtRules(5000);
  await alerts.until(() => alerts.frames.length === 2);
  const [fires, stops] = alerts.frames;
  const {
    enabled: _e,
    state: _s,
    reason: _r,
    since_ms: _m,
    value: _v,
    bots: _b,
    ...settings
  } = rule;
  expect(fires).toMatchObject({
    event: 'alert',
    json: { state: 'firing', rule: settings, value: 1, bots: ['fragile'] },
  });
  const [begin] = alerts.frames.map(({ json }) => (json as AlertEvent).since_ms);
  expect(stops?.json).toMatchObject({ state: 'resolved', since_ms: begin, value: 0, bots: [] });
  const lines = () =>
    all.frames.flatMap(({ json }) => (json as { message?: string }).message ?? []);
  await all.until(() => lines().some((line) => line.includes('is over')));
  expect(lines()).toEqual(
    expect.arrayContaining([
      'rule "known bots" fires: 1 bot, at least 1: fragile',
      expect.stringMatching(/^rule "known bots" is over after \d+ s$/),
    ]),
  );
  expect(partial.frames.map(({ event }) => event)).not.toContain('alert');
  expect(partial.frames.some(({ data }) => data.includes('known bots'))).toBe(false);
  for (const stream of [all, alerts, partial]) stream.close();
  await call(service, 'DELETE', `/api/rules/${rule.id}`);
});

it('a rule that fires stops when it is changed or deleted, and metrics count those that fire', async () => {
  const alerts = await watch(service, '?event=alert');
  const body = { name: 'no bot here', query: '', condition: 'absence', window_ms: 5000 };
  const rule = await add({ ...body, severity: 'error' });
  await service.lookAtRules();
  await service.lookAtRules(5000);
  const metrics = async () => (await call(service, 'GET', '/metrics')).text;
  expect(await metrics()).toContain('drover_alerts_firing{severity="error"} 1');
  expect(await metrics()).toContain('drover_rules 1');
  await call(service, 'PUT', `/api/rules/${rule.id}`, { body });
  expect(await metrics()).toContain('drover_alerts_firing{severity="error"} 0');
  // The line that says that it was changed is one too.
  await service.lookAtRules();
  await service.lookAtRules(5000);
  await call(service, 'DELETE', `/api/rules/${rule.id}`);
  await alerts.until(() => alerts.frames.length === 4);
  const states = alerts.frames.map(({ json }) => (json as AlertEvent).state);
  expect(states).toEqual(['firing', 'resolved', 'firing', 'resolved']);
  alerts.close();
});

it('rules are kept over a restart of the service, without their state', async () => {
  const dir = makeDir();
  const first = await inject({ dir });
  const rule = await add({ name: 'kept', query: '', condition: 'absence', window_ms: 5000 }, first);
  await first.lookAtRules();
  await first.lookAtRules(5000);
  expect(await rules(first)).toMatchObject([{ state: 'firing' }]);
  await first.close();
  const second = await inject({ dir });
  expect(await rules(second)).toEqual([rule]);
  await second.lookAtRules();
  await second.lookAtRules(5000);
  expect(await rules(second)).toMatchObject([{ state: 'firing' }]);
  await second.close();
  removeDir(dir);
});
