// Issue 5 "Limits": how many connections and requests there may be at once, and how much of their bodies may be on its way.

import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { call, expectError } from '../harness/api.js';
import { act, create, FIXTURE_KINDS, remove } from '../harness/bots.js';
import { RawConnection, raw, requestBytes } from '../harness/http.js';
import { type Service, startService, stopClean } from '../harness/service.js';

const PING = { session_id: null, command: 'ping' };
const NEVER = '{"session_id":"slow","command":"never","args":{}}';
const JSON_TYPE = { 'Content-Type': 'application/json' };
const MAX_CONNECTIONS = 40;
const IN_FLIGHT = 3;

let service: Service;
let open: RawConnection[] = [];
beforeAll(async () => {
  service = await startService({
    config: {
      kinds: [FIXTURE_KINDS],
      invoke: { timeout_ms: 60_000 },
      http: {
        max_connections: MAX_CONNECTIONS,
        max_bodies_bytes: 65_536,
        body_timeout_ms: 7000,
        max_requests_in_flight: IN_FLIGHT,
      },
    },
  });
});
afterAll(() => stopClean(service));
afterEach(() => {
  for (const connection of open) connection.close();
  open = [];
});

async function connect(): Promise<RawConnection> {
  const connection = await RawConnection.open(service.port);
  open.push(connection);
  return connection;
}

/** Connects and sends a request; a connection that is accepted stays open. */
async function ask() {
  const connection = await connect();
  await connection.send(requestBytes('GET', '/health'));
  return { connection, answer: await connection.response() };
}

// The first test: no other client has a connection yet.
it('connections above the limit get 503 and are closed; one that closes makes room', async () => {
  const first = await Promise.all(Array.from({ length: MAX_CONNECTIONS }, ask));
  expect(first.map(({ answer }) => answer.status)).toEqual(first.map(() => 200));
  for (let n = 0; n < 3; n++) {
    const { connection, answer } = await ask();
    expectError(answer, 503, 'too many connections are open');
    await connection.ended();
  }
  // Those that were accepted are still served.
  const [kept] = first;
  await kept?.connection.send(requestBytes('GET', '/health'));
  expect((await kept?.connection.response())?.body).toBe('ok');
  first.at(-1)?.connection.close();
  // The service sees a moment later that a connection was closed.
  for (;;) {
    const { connection, answer } = await ask();
    if (answer.status === 200) break;
    connection.close();
  }
  for (const connection of open.splice(0)) connection.close();
  await expect
    .poll(async () => (await Promise.all([ask(), ask(), ask()])).map(({ answer }) => answer.status))
    .toEqual([200, 200, 200]);
});

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

describe('requests in flight', () => {
  beforeEach(async () => {
    expect((await create(service, { id: 'slow', kind: 'faulty' })).status).toBe(201);
  });
  afterEach(() => remove(service, 'slow'));

  /** Ends the commands of the bot that never end. They do not keep its stop away. */
  const stopSlow = async (): Promise<void> => {
    expect((await act(service, 'slow', 'stop')).status).toBe(200);
  };

  it('more requests in flight than the limit get 503, on that route alone', async () => {
    const token = await service.token();
    const headers = { ...JSON_TYPE, Authorization: `Bearer ${token}` };
    const answers: ReturnType<RawConnection['response']>[] = [];
    for (let n = 0; n <= IN_FLIGHT; n++) {
      const connection = await connect();
      await connection.send(requestBytes('POST', '/invoke', headers, NEVER));
      answers.push(connection.response());
    }
    // Which of them is the surplus depends on their way to the service.
    const refused = await Promise.race(answers);
    expect([refused.status, refused.headers['retry-after'], refused.body]).toEqual([
      503,
      '1',
      '{"error":"too many requests are waiting for an answer, retry in 1s"}',
    ]);
    expect((await call(service, 'GET', '/api/bots', { token })).status).toBe(200);
    await stopSlow();
    for (const answer of await Promise.all(answers)) {
      // Its stop may reach the bot before a command does.
      if (answer !== refused) expectError(answer, 409, /^bot slow (has stopped|is not running)$/);
    }
    expect((await call(service, 'POST', '/invoke', { token, body: PING })).json).toEqual({
      result: 'pong',
    });
  });

  it('bodies that do not come keep nobody from the route, and count once they are there', async () => {
    const token = await service.token();
    const invokeHead = requestBytes('POST', '/invoke', {
      ...JSON_TYPE,
      Authorization: `Bearer ${token}`,
      'Content-Length': String(NEVER.length),
    });
    const pinHead = requestBytes('POST', '/auth/pin', { ...JSON_TYPE, 'Content-Length': '100' });
    const waiting: RawConnection[] = [];
    for (let n = 0; n < IN_FLIGHT + 2; n++) {
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
    for (const connection of waiting) await connection.send(Buffer.from(NEVER));
    const statuses = new Map<RawConnection, number>();
    const answered = waiting.map(async (connection) => {
      const { status } = await connection.response();
      statuses.set(connection, status);
    });
    await expect.poll(() => [...statuses.values()]).toEqual([503, 503]);
    const pending = waiting.filter((connection) => !statuses.has(connection));
    await stopSlow();
    await Promise.all(answered);
    expect(pending.map((connection) => statuses.get(connection))).toEqual([409, 409, 409]);
  });
});
