// docs/INTERFACE.md §2.1, §2.2, §4 POST /auth/pin and §8: the exchange of the PIN for a token, and its bucket.

import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Answer, call, expectError, tryPin } from '../harness/api.js';
import { type InjectedService, inject } from '../harness/inject.js';

/** A bucket of 12 that gives back so little that a test never sees it. */
const SLOW = { pin: { capacity: 12, refill_per_minute: 1 } };

/** A clock that moves when a test says so. */
function manualClock(): { clock: () => bigint; pass(seconds: number): void } {
  let now = 1_000_000_000_000n;
  return {
    clock: () => now,
    pass: (seconds) => {
      now += BigInt(Math.round(seconds * 1e9));
    },
  };
}

/** A 6-digit PIN that is not the service's. */
function otherPin(service: InjectedService, offset = 1): string {
  return String((Number(service.pin) + offset) % 1_000_000).padStart(6, '0');
}

/** Tries wrong PINs until the bucket is empty. Returns how many were answered 401, and the 429. */
async function emptyBucket(service: InjectedService): Promise<{ wrong: number; locked: Answer }> {
  for (let wrong = 0; wrong < 100; wrong++) {
    const answer = await tryPin(service, otherPin(service, wrong + 1));
    if (answer.status === 429) return { wrong, locked: answer };
    expectError(answer, 401, 'wrong pin');
  }
  throw new Error('100 wrong PINs and no lock');
}

/** Seconds of a 429, which must stand in the message and in Retry-After alike. */
function lockSeconds(answer: Answer): number {
  const message = expectError(answer, 429, /^locked, retry in [1-9]\d*s$/);
  const seconds = Number(/(\d+)s$/.exec(message)?.[1]);
  expect(answer.headers.get('retry-after')).toBe(String(seconds));
  return seconds;
}

describe('the exchange', () => {
  let service: InjectedService;
  beforeAll(async () => {
    service = await inject({ config: { pin: { capacity: 1000, refill_per_minute: 60 } } });
  });
  afterAll(() => service.close());

  it('§5.2 the right PIN gives a token, which is accepted on a later call', async () => {
    const answer = await tryPin(service, service.pin);
    expect(answer.status).toBe(200);
    const { token } = answer.json as { token: string };
    expect((await call(service, 'GET', '/api-info', { token })).status).toBe(200);
  });

  it('§2.2 the body of the 200 is JSON with `token` alone: base64 text of 48 bytes', async () => {
    const answer = await tryPin(service, service.pin);
    expect(answer.headers.get('content-type')).toMatch(/^application\/json\b/);
    expect(Object.keys(answer.json as object)).toEqual(['token']);
    const { token } = answer.json as { token: string };
    expect(token).toMatch(/^[A-Za-z0-9+/]{64}$/);
    const bytes = Buffer.from(token, 'base64');
    expect(bytes).toHaveLength(48);
    expect(bytes.toString('base64')).toBe(token);
  });

  it('each exchange makes a new random token, and the earlier ones stay good', async () => {
    const made: string[] = [];
    for (let n = 0; n < 5; n++) {
      made.push(((await tryPin(service, service.pin)).json as { token: string }).token);
    }
    expect(new Set(made).size).toBe(5);
    for (const token of made) {
      expect((await call(service, 'GET', '/api-info', { token })).status).toBe(200);
    }
  });

  it('no file of the data directory holds a token, only what it was digested to', async () => {
    const token = await service.token();
    const files = readdirSync(service.dir, { recursive: true, withFileTypes: true });
    const names = files.filter((f) => f.isFile()).map((f) => path.join(f.parentPath, f.name));
    expect(names.length).toBeGreaterThan(1);
    for (const name of names) {
      const content = readFileSync(name);
      expect(content.includes(token)).toBe(false);
      expect(content.includes(Buffer.from(token, 'base64'))).toBe(false);
    }
  });

  it('§4 a wrong PIN is 401 with the body {"error":"wrong pin"}', async () => {
    const answer = await tryPin(service, otherPin(service));
    expect(answer.status).toBe(401);
    expect(answer.text.replace(/\s/g, '')).toBe('{"error":"wrongpin"}');
    expectError(answer, 401, 'wrong pin');
  });

  it('§5.4 POST /auth/pin needs no token, and a wrong one changes nothing', async () => {
    const body = { pin: service.pin };
    expect((await call(service, 'POST', '/auth/pin', { token: null, body })).status).toBe(200);
    expect((await call(service, 'POST', '/auth/pin', { token: 'nonsense', body })).status).toBe(
      200,
    );
  });

  it('any string is an attempt, however little it looks like a PIN', async () => {
    const { pin } = service;
    const strings = [
      '',
      ' ',
      `${pin} `,
      ` ${pin}`,
      `${pin}0`,
      pin.slice(1),
      `${pin}\0`,
      'abcdef',
      '🐑',
      'x'.repeat(4000),
    ];
    for (const attempt of strings) expectError(await tryPin(service, attempt), 401, 'wrong pin');
  });

  it('§2.1 `pin` is required and a string: anything else is 400', async () => {
    const bodies = [
      {},
      { pin: Number(service.pin) },
      { pin: null },
      { pin: [service.pin] },
      { pin: {} },
    ];
    const more = [
      { pin: true },
      { PIN: service.pin },
      [service.pin],
      service.pin,
      Number(service.pin),
      null,
    ];
    for (const body of [...bodies, ...more]) {
      expectError(await call(service, 'POST', '/auth/pin', { token: null, body }), 400);
    }
  });
});

describe('the bucket', () => {
  it('§8.2 it allows 12 wrong attempts, then is locked for the 5 s until the next', async () => {
    const service = await inject({ clock: manualClock().clock });
    const { wrong, locked } = await emptyBucket(service);
    expect(wrong).toBe(12);
    expect(lockSeconds(locked)).toBe(5);
  });

  it('§8.3 while locked every attempt is 429 with the remaining wait, the right PIN too', async () => {
    const service = await inject({ config: SLOW });
    const { wrong, locked } = await emptyBucket(service);
    expect(wrong).toBe(12);
    const first = lockSeconds(locked);
    expect(first).toBeLessThanOrEqual(60);
    expect(first).toBeGreaterThan(30);
    const again = await tryPin(service, service.pin);
    expect(lockSeconds(again)).toBeLessThanOrEqual(first);
    expect(again.text).not.toContain('token');
  });

  it('§8.3 tokens still work while the PIN exchange is locked', async () => {
    const service = await inject({ config: SLOW });
    const token = await service.token();
    await emptyBucket(service);
    expect((await call(service, 'GET', '/api-info', { token })).status).toBe(200);
  });

  it('a right PIN costs no attempt: after 20 of them 12 wrong ones are allowed', async () => {
    const service = await inject({ config: SLOW });
    for (let n = 0; n < 20; n++) expect((await tryPin(service, service.pin)).status).toBe(200);
    expect((await emptyBucket(service)).wrong).toBe(12);
  });

  it('a right PIN gives nothing back either', async () => {
    const service = await inject({ config: SLOW });
    for (let n = 1; n <= 6; n++) {
      expectError(await tryPin(service, otherPin(service, n)), 401, 'wrong pin');
      expect((await tryPin(service, service.pin)).status).toBe(200);
    }
    expect((await emptyBucket(service)).wrong).toBe(6);
  });

  it('a body without a string `pin` costs nothing', async () => {
    const service = await inject({ config: SLOW });
    for (const body of [{}, { pin: 1 }, { pin: null }, [], 'x']) {
      for (let n = 0; n < 4; n++) {
        expectError(await call(service, 'POST', '/auth/pin', { token: null, body }), 400);
      }
    }
    expect((await emptyBucket(service)).wrong).toBe(12);
  });

  it('after the wait that it names, exactly one more attempt is let through', async () => {
    const { clock, pass } = manualClock();
    const config = { pin: { capacity: 3, refill_per_minute: 20 } };
    const service = await inject({ config, clock });
    const seconds = lockSeconds((await emptyBucket(service)).locked);
    expect(seconds).toBe(3);
    pass(seconds - 0.001);
    lockSeconds(await tryPin(service, otherPin(service)));
    pass(0.001);
    expectError(await tryPin(service, otherPin(service)), 401, 'wrong pin');
    lockSeconds(await tryPin(service, otherPin(service)));
  });

  it('the wait counts down, and then the right PIN is let in', async () => {
    const { clock, pass } = manualClock();
    const config = { pin: { capacity: 1, refill_per_minute: 20 } };
    const service = await inject({ config, clock });
    const seen = [lockSeconds((await emptyBucket(service)).locked)];
    for (let step = 0; step < 5; step++) {
      pass(0.5);
      seen.push(lockSeconds(await tryPin(service, service.pin)));
    }
    expect(seen).toEqual([3, 3, 2, 2, 1, 1]);
    pass(0.5);
    expect((await tryPin(service, service.pin)).status).toBe(200);
  });

  it.each([1, 2, 4])(
    '§8.1 is one per process, not per client: of 80 wrong PINs at once to %i front(s) exactly 12 are 401',
    async (fronts) => {
      const service = await inject({ config: SLOW, fronts });
      const attempt = async (n: number, pin: string): Promise<number> => {
        const response = await service.inject({
          method: 'POST',
          target: '/auth/pin',
          headers: { 'content-type': 'application/json' },
          body: JSON.stringify({ pin }),
          address: `127.0.0.${2 + (n % 40)}`,
        });
        return response.statusCode;
      };
      const statuses = await Promise.all(
        Array.from({ length: 80 }, (_, n) => attempt(n, otherPin(service, n + 1))),
      );
      expect(statuses.filter((status) => status === 401)).toHaveLength(12);
      expect(statuses.filter((status) => status === 429)).toHaveLength(68);
      for (let n = 0; n < 40; n++) expect(await attempt(n, service.pin)).toBe(429);
    },
  );
});

it('Configuration: http.max_body_bytes is the limit of a body', async () => {
  const service = await inject({ config: { http: { max_body_bytes: 2000 } } });
  expectError(await tryPin(service, 'x'.repeat(1980)), 401, 'wrong pin');
  expectError(await tryPin(service, 'x'.repeat(2000)), 413);
});
