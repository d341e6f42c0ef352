// Who did what: each change through the API is an event with its actor, its object and its outcome.

import { afterAll, beforeAll, expect, it } from 'vitest';
import { activityText } from '../../src/shared/contract/activity.js';
import type { ActivityEvent } from '../../src/shared/contract/events.js';
import { call } from '../harness/api.js';
import { type InjectedService, inject } from '../harness/inject.js';
import { activityOf } from '../harness/shapes.js';
import { type SseStream, streamOn } from '../harness/sse.js';
import { makeToken, streamOf } from '../harness/tokens.js';

const PHRASE = 'a phrase that nobody may read';

let service: InjectedService;
let stream: SseStream;
let ada: string;

beforeAll(async () => {
  service = await inject({ fronts: 2 });
  stream = await streamOf(service, await service.token());
  ({ token: ada } = await makeToken(service, { name: 'Ada', scopes: ['admin'] }));
  await stream.until(() => all().some(({ target }) => target === 'Ada'));
});
afterAll(async () => {
  stream?.close();
  await service?.close();
});

/** What `task` has caused, once `count` activities are on the stream. */
async function during(count: number, task: () => Promise<unknown>): Promise<ActivityEvent[]> {
  const before = all().length;
  await task();
  await stream.until(() => all().length >= before + count);
  return all().slice(before);
}
const all = (): ActivityEvent[] => stream.frames.flatMap((frame) => activityOf(frame) ?? []);
const said = (events: ActivityEvent[]): string[] =>
  events.map((event) => activityText(event, event.session_id ?? ''));
const asAda = (method: string, path: string, body?: object) =>
  call(service, method, path, { token: ada, ...(body && { body }) });

it('the life of a bot is told step by step, with the one who asked for it', async () => {
  const told = await during(7, async () => {
    await asAda('POST', '/api/bots', { id: 'b', kind: 'synthetic', config: {} });
    await asAda('POST', '/api/bots/b/stop');
    await asAda('POST', '/api/bots/b/start');
    await asAda('POST', '/api/bots/b/restart');
    await asAda('PATCH', '/api/bots/b', { config: { events_per_second: 2 } });
    await asAda('DELETE', '/api/bots/b');
    await asAda('DELETE', '/api/bots/b');
  });
  expect(said(told)).toEqual([
    'Ada created b',
    'Ada stopped b',
    'Ada started b',
    'Ada restarted b',
    'Ada changed b',
    'Ada deleted b',
    'Ada could not delete b: no bot "b"',
  ]);
  expect(told[4]?.detail).toEqual({
    change: { config: { events_per_second: { from: expect.any(Number), to: 2 } } },
  });
  expect(told[0]).toMatchObject({ address: '127.0.0.1', operation: null, outcome: 'done' });
  const { json } = await call(service, 'GET', '/api/tokens/current', { token: ada });
  expect(told[0]?.token).toBe((json as { id: string }).id);
});

it('a request for many bots is an activity of each, which belong together', async () => {
  const ids = ['m1', 'm2', 'm3'];
  await during(3, async () => {
    for (const id of ids) await asAda('POST', '/api/bots', { id, kind: 'synthetic', config: {} });
  });
  const told = await during(4, () =>
    asAda('POST', '/api/bots/actions', { action: 'restart', ids: [...ids, 'gone'] }),
  );
  expect(said(told).sort()).toEqual([
    'Ada could not restart gone: no bot "gone"',
    ...ids.map((id) => `Ada restarted ${id}`),
  ]);
  expect(new Set(told.map(({ operation }) => operation)).size).toBe(1);
  // It can be asked for what has become of each.
  const { json } = await asAda('GET', `/api/operations/${told[0]?.operation}`);
  expect(json).toMatchObject({ title: 'restart 4 bots', counts: { done: 3, failed: 1 } });
  const none = await during(1, () =>
    asAda('POST', '/api/bots/actions', { action: 'stop', labels: { no: 'such' } }),
  );
  expect(said(none)).toEqual(['Ada stopped']);
});

it('commands are told with their outcome, and never with their arguments', async () => {
  await during(1, () => asAda('POST', '/api/bots', { id: 'c', kind: 'synthetic', config: {} }));
  const told = await during(2, async () => {
    await asAda('POST', '/invoke', { session_id: null, command: 'ping' });
    await asAda('POST', '/invoke', { session_id: 'c', command: 'nope', args: { text: PHRASE } });
    await asAda('POST', '/invoke', { session_id: ['gone'], command: 'say', args: { PHRASE } });
  });
  expect(said(told)).toEqual([
    expect.stringMatching(/^Ada could not run nope on c: /),
    'Ada could not run say on gone: no bot "gone"',
  ]);
  expect(JSON.stringify(told)).not.toContain(PHRASE);
});

it('sign-ins, tokens, links and rules are told, and who signs in may say a name', async () => {
  // Each front tells main what it has done: the order of two fronts is free.
  const first = await during(1, () =>
    call(service, 'POST', '/auth/pin', { body: { pin: service.pin, name: 'Grace' } }),
  );
  const rest = await during(7, async () => {
    await call(service, 'POST', '/auth/pin', { body: { pin: '000000' } });
    const made = await asAda('POST', '/api/tokens', { name: 'wall', scopes: ['read'] });
    await asAda('DELETE', `/api/tokens/${(made.json as { id: string }).id}`);
    await asAda('POST', '/api/tokens/link', { name: 'Bo', scopes: ['read'] });
    const rule = { name: 'quiet', query: 'level:error', condition: 'count', threshold: 1 };
    const added = await asAda('POST', '/api/rules', { ...rule, window_ms: 10_000 });
    const { id } = added.json as { id: string };
    await asAda('PUT', `/api/rules/${id}`, { ...rule, window_ms: 20_000 });
    await asAda('DELETE', `/api/rules/${id}`);
  });
  const told = [...first, ...rest];
  expect(said(told)).toEqual([
    'Grace signed in',
    'somebody could not sign in: wrong pin',
    'Ada created the token wall',
    'Ada revoked the token wall',
    'Ada created a sign-in link for Bo',
    'Ada created the rule quiet',
    'Ada changed the rule quiet',
    'Ada deleted the rule quiet',
  ]);
  expect(told[0]?.token).toEqual(expect.any(String));
  expect(told[2]?.detail).toEqual({ scopes: ['read'] });
});

it('a request that is not understood is none, and refusals cannot fill the stream', async () => {
  let token = '';
  await during(1, async () => {
    ({ token } = await makeToken(service, { name: 'reader', scopes: ['read'] }));
  });
  const told = await during(1, async () => {
    await asAda('POST', '/api/bots', { id: 'x' });
    await asAda('PATCH', '/api/bots/m1', { nothing: 1 });
    for (let n = 0; n < 100; n++) await call(service, 'POST', '/api/bots/m1/stop', { token });
    await asAda('POST', '/api/bots/m1/stop');
    await stream.until(() => all().at(-1)?.actor === 'Ada');
  });
  const refused = told.filter(({ outcome }) => outcome === 'refused');
  // 20 of each front.
  expect(refused).toHaveLength(40);
  expect(said(refused)[0]).toBe(
    'reader may not stop m1: this needs a token with the scope control',
  );
  expect(said(told).at(-1)).toBe('Ada stopped m1');
  expect(told).toHaveLength(41);
});

it('a token that is limited to some bots sees what was done to these alone', async () => {
  let token = '';
  await during(1, async () => {
    ({ token } = await makeToken(service, { bots: ['m2'] }));
  });
  const limited = await streamOn(service, '/events', { token });
  await during(4, async () => {
    await asAda('POST', '/api/bots/actions', { action: 'restart', ids: ['m1', 'm2', 'm3'] });
    await asAda('POST', '/invoke', { session_id: null, command: 'ping' });
    await asAda('POST', '/api/bots/m2/stop');
  });
  const seen = (): ActivityEvent[] => limited.frames.flatMap((frame) => activityOf(frame) ?? []);
  await limited.until(() => seen().length >= 2);
  expect(said(seen())).toEqual(['Ada restarted m2', 'Ada stopped m2']);
  limited.close();
});

it('actor and activity select, also with a wildcard', async () => {
  const query = encodeURIComponent('activity:bot.* actor:Ada bot:m2');
  const selected = await streamOn(service, `/events?query=${query}`, { token: ada });
  await during(4, async () => {
    await asAda('POST', '/api/bots/m2/start');
    await asAda('POST', '/invoke', { session_id: ['m2'], command: 'nope' });
    await call(service, 'POST', '/api/bots/m2/stop');
    await asAda('POST', '/api/bots/m2/stop');
  });
  await selected.until(() => selected.frames.length >= 2);
  expect(said(selected.frames.flatMap((frame) => activityOf(frame) ?? []))).toEqual([
    'Ada started m2',
    'Ada stopped m2',
  ]);
  selected.close();
});
