// One token cannot take what the others need: requests that are refused, streams with many names.

import { expect, it, onTestFinished, vi } from 'vitest';
import * as filters from '../../src/shared/stream/filter.js';
import { call, expectError } from '../harness/api.js';
import { inject } from '../harness/inject.js';
import { makeToken, streamOf } from '../harness/tokens.js';

vi.mock('../../src/shared/stream/filter.js', { spy: true });

it('a token whose requests are refused all the time is refused before they are examined', async () => {
  const service = await inject();
  const { token } = await makeToken(service);
  const ask = (target: string) => call(service, 'GET', target, { token });
  // The share does not grow meanwhile.
  vi.useFakeTimers({ toFake: ['performance'] });
  onTestFinished(() => void vi.useRealTimers());
  const refused = await Promise.all(Array.from({ length: 1000 }, () => ask('/api/events?wrong=1')));
  expect(new Set(refused.map(({ status }) => status))).toEqual(new Set([400]));
  const parsed = vi.mocked(filters.parseFilter).mock.calls.length;
  expectError(await ask('/events?session=a'), 429, /too many requests of this token were refused/);
  expect(vi.mocked(filters.parseFilter).mock.calls.length).toBe(parsed);
  // Others are not affected.
  expect((await call(service, 'GET', '/api/bots')).status).toBe(200);
});

it('the filter of a stream above the limit is not even parsed, and a wrong one takes no place', async () => {
  const service = await inject({ config: { stream: { max_streams_per_token: 1 } } });
  const { token } = await makeToken(service);
  const names = Array.from({ length: 900 }, (_, n) => `bot-${n}`).join();
  expectError(await call(service, 'GET', '/events?wrong=1', { token }), 400);
  const stream = await streamOf(service, token);
  const parsed = vi.mocked(filters.parseFilter).mock.calls.length;
  const refused = await call(service, 'GET', `/events?session=${names}`, { token });
  expectError(refused, 429, /too many streams are open with this token/);
  expect(vi.mocked(filters.parseFilter).mock.calls.length).toBe(parsed);
  stream.close();
});
