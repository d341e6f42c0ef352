// interface-seed §2.1, §2.2, §4 POST /auth/pin and §8 over sockets. test/routes/pin.test.ts has the details.

import { expect, it, onTestFinished } from 'vitest';
import { call, expectError, tryPin } from '../harness/api.js';
import { raw, requestBytes } from '../harness/http.js';
import { frontFlags, startService, stopClean } from '../harness/service.js';

it('§8.1, §8.2 the bucket is one per process: on 4 fronts exactly 12 of 80 wrong PINs are 401, then the right one is 429', async () => {
  const service = await startService({
    host: '0.0.0.0',
    config: { pin: { capacity: 12, refill_per_minute: 1 } },
    args: frontFlags(4),
  });
  onTestFinished(() => stopClean(service));
  const right = await tryPin(service, service.pin);
  expect(right.status).toBe(200);
  expect(Object.keys(right.json as object)).toEqual(['token']);
  const { token } = right.json as { token: string };
  expect(Buffer.from(token, 'base64')).toHaveLength(48);

  const attempt = (n: number, pin: string) => {
    const headers = { 'Content-Type': 'application/json' };
    const localAddress = process.platform === 'linux' ? `127.0.0.${2 + (n % 40)}` : '127.0.0.1';
    const bytes = requestBytes('POST', '/auth/pin', headers, JSON.stringify({ pin }));
    return raw(service.port, bytes, { localAddress });
  };
  const wrong = (n: number): string =>
    String((Number(service.pin) + n + 1) % 1_000_000).padStart(6, '0');
  const answers = await Promise.all(Array.from({ length: 80 }, (_, n) => attempt(n, wrong(n))));
  const refused = answers.filter(({ status }) => status === 401);
  expect(refused).toHaveLength(12);
  for (const answer of refused) expectError(answer, 401, 'wrong pin');
  expect(answers.filter(({ status }) => status === 429)).toHaveLength(68);
  for (let n = 0; n < 40; n++) {
    const locked = await attempt(n, service.pin);
    const seconds = locked.headers['retry-after'];
    expectError(locked, 429, `locked, retry in ${seconds}s`);
    expect(Number(seconds)).toBeGreaterThan(0);
  }
  expect((await call(service, 'GET', '/api-info', { token })).status).toBe(200);
});
