// What a bot does to the service does not keep a client from ending that bot.

import { expect, it, onTestFinished, vi } from 'vitest';
import { call, expectError } from '../harness/api.js';
import { act, create, FIXTURE_KINDS, remove, snapshot } from '../harness/bots.js';
import { inject } from '../harness/inject.js';
import { getPressure } from '../harness/pressure.js';
import { makeToken } from '../harness/tokens.js';

const OVERLOADED = 'too many requests are waiting for an answer, retry in 1s';
/** Time between two samples of what is short, in ms. */
const SAMPLE_MS = 1000;
const FLOOD = { events_per_second: 10_000, message_bytes: 200 };

it('while bots write more than the service can take, they are stopped, deleted and restarted, and their policy is changed', async () => {
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
  onTestFinished(() => void vi.useRealTimers());
  const ids = ['stopped', 'deleted', 'restarted', 'never', 'many'];
  const service = await inject({
    config: {
      bots: ids.map((id) => ({ id, kind: 'synthetic', config: FLOOD })),
      pressure: { max_queue: 0.05 },
    },
    sources: { queue: () => 1 },
  });
  vi.advanceTimersByTime(SAMPLE_MS);
  expect((await getPressure(service)).report.short).toEqual(['queue']);
  const full = 'bots write more than the service can take, try again later';
  expectError(await create(service, { id: 'new', kind: 'synthetic' }), 503, full);
  expect((await act(service, 'restarted', 'restart')).status).toBe(200);
  const change = { body: { restart: { policy: 'never' } } };
  expect((await call(service, 'PATCH', '/api/bots/never', change)).status).toBe(200);
  expect((await act(service, 'stopped', 'stop')).status).toBe(200);
  expect((await snapshot(service, 'stopped')).status).toBe('stopped');
  expect((await remove(service, 'deleted')).status).toBe(204);
  const stop = { body: { action: 'stop', ids: ['many'] } };
  expect((await call(service, 'POST', '/api/bots/actions', stop)).json).toMatchObject({
    results: { many: { status: 'stopped' } },
  });
  // What adds load is refused, also for a bot that was just stopped.
  expectError(await act(service, 'stopped', 'start'), 503, full);
});

it('calls of bots that take all places do not keep a bot from being stopped or deleted', async () => {
  const deaf = ['deaf-1', 'deaf-2', 'deaf-3'];
  const service = await inject({
    config: {
      kinds: [FIXTURE_KINDS],
      bots: ['other', 'deleted', 'many'].map((id) => ({ id, kind: 'synthetic' })),
      // Longer than the test: a restart waits for the run that ignores its signal.
      hosts: { stop_grace_ms: 60_000 },
      http: { max_requests_in_flight: 2 },
    },
  });
  for (const id of deaf) {
    const made = await create(service, { id, kind: 'faulty', config: { deaf: true } });
    expect(made.status).toBe(201);
  }
  // One of three is refused, at once: then the others wait.
  const restarts = deaf.map((id) => act(service, id, 'restart'));
  expectError(await Promise.race(restarts), 503, OVERLOADED);
  expectError(await act(service, 'other', 'restart'), 503, OVERLOADED);
  expectError(await create(service, { id: 'new', kind: 'synthetic' }), 503, OVERLOADED);
  expect((await act(service, 'other', 'stop')).status).toBe(200);
  expectError(await act(service, 'other', 'start'), 503, OVERLOADED);
  expect((await remove(service, 'deleted')).status).toBe(204);
  const stop = { body: { action: 'stop', ids: ['many'] } };
  expect((await call(service, 'POST', '/api/bots/actions', stop)).json).toMatchObject({
    results: { many: { status: 'stopped' } },
  });
});

it('a token whose starts are refused too often may still stop and delete bots', async () => {
  const service = await inject({
    config: { bots: ['one', 'two'].map((id) => ({ id, kind: 'synthetic' })) },
  });
  const { token } = await makeToken(service, { scopes: ['read', 'control'] });
  const ask = (method: string, path: string) => call(service, method, path, { token });
  // The share does not grow meanwhile.
  vi.useFakeTimers({ toFake: ['performance'] });
  onTestFinished(() => void vi.useRealTimers());
  const refused = Array.from({ length: 1000 }, () => ask('POST', '/api/bots/unknown/start'));
  expect(new Set((await Promise.all(refused)).map(({ status }) => status))).toEqual(new Set([404]));
  expectError(await ask('POST', '/api/bots/one/restart'), 429, /too many requests of this token/);
  expect((await ask('POST', '/api/bots/one/stop')).status).toBe(200);
  expect((await ask('DELETE', '/api/bots/two')).status).toBe(204);
  // They have the same bound, each other's refusals counted.
  const unknown = Array.from({ length: 1000 }, () => ask('DELETE', '/api/bots/unknown'));
  await Promise.all(unknown);
  expectError(await ask('POST', '/api/bots/one/stop'), 429, /too many requests of this token/);
});
