// Issue 5 "Limits": how many requests may be worked on at once, and how much of their bodies may be on its way.

import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { call, expectError } from '../harness/api.js';
import { create, FIXTURE_KINDS } from '../harness/bots.js';
import { RawConnection, raw, requestBytes } from '../harness/http.js';
import { type Service, startService, stopClean } from '../harness/service.js';

const PING = { session_id: null, command: 'ping' };
const JSON_TYPE = { 'Content-Type': 'application/json' };

let open: RawConnection[] = [];
afterEach(() => {
  for (const connection of open) connection.close();
  open = [];
});

async function connectTo(service: Service): Promise<RawConnection> {
  const connection = await RawConnection.open(service.port);
  open.push(connection);
  return connection;
}

describe('bodies', () => {
  let service: Service;
  beforeAll(async () => {
    service = await startService({
      config: { http: { max_bodies_bytes: 65_536, body_timeout_ms: 7000 } },
    });
  });
  afterAll(() => stopClean(service));

  const connect = () => connectTo(service);

  it('large bodies that are on their way have a bound together; small ones are always taken', async () => {
    const token = await service.token();
    const json = (bytes: number): string => JSON.stringify({ pin: 'x'.repeat(bytes - 10) });
    const begin = async (bytes: number, sent: number): Promise<RawConnection> => {
      const connection = await connect();
      const head = requestBytes('POST', '/invoke', {
        ...JSON_TYPE,
        Authorization: `Bearer ${token}`,
        'Content-Length': String(bytes),
      });
      await connection.send([Buffer.concat([head, Buffer.from(json(bytes).slice(0, sent))])]);
      return connection;
    };
    const message = 'too many large request bodies are on their way, retry in 1s';
    // Two fit: what of each is not counted leaves room for half of a third.
    const first = await begin(30_000, 29_999);
    const second = await begin(30_000, 29_999);
    /** Until what was sent before it has arrived. */
    const refused = async (): Promise<void> => {
      for (;;) {
        const third = await begin(60_000, 59_000);
        const answer = await third.response();
        third.close();
        if (answer.status === 408) continue;
        expectError(answer, 503, message);
        expect(answer.headers['retry-after']).toBe('1');
        return;
      }
    };
    await refused();
    // Small ones have nothing to do with it, though they are many.
    for (let n = 0; n < 8; n++) {
      const small = await begin(4096, 4096);
      expectError(await small.response(), 400);
    }
    // Those that were there first come to their end, and leave their room.
    for (const connection of [first, second]) {
      await connection.send('}');
      expectError(await connection.response(), 400);
    }
    const whole = await begin(60_000, 60_000);
    expectError(await whole.response(), 400);
  });

  it('without a token nobody has a large body: what is beyond 4 KiB is 413 before it comes', async () => {
    const json = (bytes: number): string => JSON.stringify({ pin: 'x'.repeat(bytes - 10) });
    for (let n = 0; n < 20; n++) {
      const connection = await connect();
      await connection.send(
        requestBytes('POST', '/auth/pin', { ...JSON_TYPE, 'Content-Length': '4097' }),
      );
      expectError(await connection.response(), 413, 'the request body is too large');
    }
    expectError(
      await raw(service.port, requestBytes('POST', '/auth/pin', JSON_TYPE, json(4096))),
      401,
    );
    const { pin } = service;
    const padded = `${JSON.stringify({ pin }).slice(0, -1)}${' '.repeat(4000)}}`;
    const right = await raw(service.port, requestBytes('POST', '/auth/pin', JSON_TYPE, padded));
    expect(right.status).toBe(200);
  });
});

describe('requests in flight', () => {
  let service: Service;
  beforeAll(async () => {
    service = await startService({
      config: {
        kinds: [FIXTURE_KINDS],
        invoke: { timeout_ms: 7000 },
        http: { max_requests_in_flight: 2 },
      },
    });
    expect((await create(service, { id: 'slow', kind: 'faulty' })).status).toBe(201);
  });
  afterAll(() => stopClean(service));

  const connect = () => connectTo(service);

  it('more requests in flight than the limit get 503, on that route alone', async () => {
    const token = await service.token();
    const headers = { ...JSON_TYPE, Authorization: `Bearer ${token}` };
    const never = '{"session_id":"slow","command":"never","args":{}}';
    const waiting = [await connect(), await connect()];
    for (const connection of waiting) {
      await connection.send(requestBytes('POST', '/invoke', headers, never));
    }
    const refused = await connect();
    await expect
      .poll(async () => {
        await refused.send(requestBytes('POST', '/invoke', headers, '{}'));
        const answer = await refused.response();
        return [answer.status, answer.headers['retry-after'], answer.body];
      })
      .toEqual([503, '1', '{"error":"too many requests are waiting for an answer, retry in 1s"}']);
    expect((await call(service, 'GET', '/api/bots', { token })).status).toBe(200);
    for (const connection of waiting) {
      expectError(await connection.response(), 504);
    }
    expect((await call(service, 'POST', '/invoke', { token, body: PING })).json).toEqual({
      result: 'pong',
    });
  });

  it('bodies that do not come keep nobody from the route, and count once they are there', async () => {
    const token = await service.token();
    const never = '{"session_id":"slow","command":"never","args":{}}';
    const invokeHead = requestBytes('POST', '/invoke', {
      ...JSON_TYPE,
      Authorization: `Bearer ${token}`,
      'Content-Length': String(never.length),
    });
    const pinHead = requestBytes('POST', '/auth/pin', { ...JSON_TYPE, 'Content-Length': '100' });
    const waiting: RawConnection[] = [];
    for (let n = 0; n < 4; n++) {
      const connection = await connect();
      await connection.send(invokeHead);
      waiting.push(connection);
      await (await connect()).send(Buffer.concat([pinHead, Buffer.from('{')]));
    }
    const pin = { token: null, body: { pin: service.pin } };
    expect((await call(service, 'POST', '/auth/pin', pin)).status).toBe(200);
    expect((await call(service, 'POST', '/invoke', { token, body: PING })).json).toEqual({
      result: 'pong',
    });
    for (const connection of waiting) await connection.send(Buffer.from(never));
    const answers = await Promise.all(waiting.map((connection) => connection.response()));
    expect(answers.map(({ status }) => status).sort()).toEqual([503, 503, 504, 504]);
  });
});
