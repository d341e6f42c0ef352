// Issue 5 "Limits": each has a clear answer, and what comes too slowly is closed. Small limits, so that they are met soon.

import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { call, expectError } from '../harness/api.js';
import { create, FIXTURE_KINDS } from '../harness/bots.js';
import { RawConnection, raw, requestBytes } from '../harness/http.js';
import { frontFlags, type Service, startService, stopClean } from '../harness/service.js';

const PING = { session_id: null, command: 'ping' };
const JSON_TYPE = { 'Content-Type': 'application/json' };
/** uWebSockets.js closes what is silent after 8 to 12 s; the rest is for machines that are busy. */
const CLOSED_WITHIN_MS = 30_000;

const isNode = (service: Service): boolean => service.engine === 'node:http';

describe('one request', () => {
  let service: Service;
  let authorization: string;
  beforeAll(async () => {
    service = await startService({
      config: {
        http: {
          max_url_bytes: 1000,
          max_json_depth: 10,
          max_header_bytes: 8192,
          body_timeout_ms: 300,
          header_timeout_ms: 1000,
          idle_timeout_ms: 1000,
        },
      },
    });
    authorization = `Bearer ${await service.token()}`;
  });
  afterAll(() => stopClean(service));

  afterEach(async () => {
    expect((await call(service, 'GET', '/health', { token: null })).text).toBe('ok');
  });

  it('a URL over the limit is 414, with or without a token, also when it is the query', async () => {
    const path = `/${'a'.repeat(1000)}`;
    const query = `/api/kinds?${'b'.repeat(1000)}`;
    for (const target of [path, query]) {
      expectError(await raw(service.port, requestBytes('GET', target)), 414, 'the URL is too long');
    }
    const fits = `/api/kinds?${'b'.repeat(900)}`;
    const answer = await raw(
      service.port,
      requestBytes('GET', fits, { Authorization: authorization }),
    );
    expect(answer.status).toBe(200);
  });

  it('a head over the limit is 431', async () => {
    // In two pieces: in one uWebSockets.js takes it (docs/ENGINES.md).
    const bytes = requestBytes('GET', '/api/kinds', { X: 'y'.repeat(10_000) });
    const answer = await raw(service.port, [bytes.subarray(0, 9000), bytes.subarray(9000)]);
    expect(answer.status).toBe(431);
    if (isNode(service)) expectError(answer, 431, 'the request headers are too large or too many');
  });

  it('JSON of the greatest depth is taken, one level more is 400; brackets in text do not count', async () => {
    const nested = (depth: number): string => {
      // The body itself and `args` are two levels.
      const inner = '['.repeat(depth - 2) + ']'.repeat(depth - 2);
      return `{"session_id":null,"command":"ping","args":{"a":${inner},"b":"${'[{'.repeat(50)}\\"["}}`;
    };
    const send = (body: string) =>
      raw(
        service.port,
        requestBytes('POST', '/invoke', { ...JSON_TYPE, Authorization: authorization }, body),
      );
    expect((await send(nested(10))).status).toBe(200);
    expectError(await send(nested(11)), 400, 'the body is nested more than 10 levels deep');
  });

  // These wait for the service to close: together, so that they wait once.
  it.concurrent.each([
    ['nothing is sent', []],
    ['a head does not come to its end', ['GET /health HTTP/1.1\r\nHost: a\r\n', 'X: 1\r\n']],
  ])('the connection is closed when %s', async (_, pieces) => {
    const connection = await RawConnection.open(service.port);
    await connection.send(pieces);
    await connection.ended(CLOSED_WITHIN_MS);
    connection.close();
  });

  it.concurrent('a head that comes byte by byte and never ends is closed too', async () => {
    const connection = await RawConnection.open(service.port);
    await connection.send('GET /health HTTP/1.1\r\nHost: a\r\nX: ');
    const drip = setInterval(() => void connection.send('y'), 100);
    await connection.ended(CLOSED_WITHIN_MS);
    clearInterval(drip);
    connection.close();
  });

  it.concurrent('a connection is closed that idles after its answer', async () => {
    const connection = await RawConnection.open(service.port);
    await connection.send(requestBytes('GET', '/health'));
    expect((await connection.response()).body).toBe('ok');
    await connection.ended(CLOSED_WITHIN_MS);
    connection.close();
  });

  it.concurrent('a connection is closed on which a body drips that nobody reads', async () => {
    const connection = await RawConnection.open(service.port);
    await connection.send(requestBytes('GET', '/health', { 'Content-Length': '100000' }));
    expect((await connection.response()).body).toBe('ok');
    const drip = setInterval(() => void connection.send('x'), 100);
    await connection.ended(CLOSED_WITHIN_MS);
    clearInterval(drip);
    connection.close();
  });
});

describe('many at once', () => {
  let service: Service;
  let open: RawConnection[];
  beforeEach(() => {
    open = [];
  });
  afterEach(async () => {
    for (const connection of open) connection.close();
    await stopClean(service);
  });

  const connect = async (localAddress = '127.0.0.1'): Promise<RawConnection> => {
    const connection = await RawConnection.open(service.port, { localAddress });
    open.push(connection);
    return connection;
  };
  /** Connects and asks; a connection that is let in stays open. */
  const ask = async (localAddress?: string) => {
    const connection = await connect(localAddress);
    await connection.send(requestBytes('GET', '/health'));
    return { connection, answer: await connection.response() };
  };
  /** Asks again and again: the service sees a moment later that a connection was closed. */
  const askUntilServed = async (localAddress?: string): Promise<void> => {
    for (;;) {
      const { connection, answer } = await ask(localAddress);
      if (answer.status === 200) return;
      connection.close();
    }
  };

  it('more connections than the limit get 503 and are closed; one that goes makes room', async () => {
    service = await startService({ config: { http: { max_connections: 4 } } });
    const first = await Promise.all([ask(), ask(), ask(), ask()]);
    expect(first.map(({ answer }) => answer.status)).toEqual([200, 200, 200, 200]);
    for (let n = 0; n < 3; n++) {
      const { connection, answer } = await ask();
      expectError(answer, 503, 'too many connections are open');
      await connection.ended();
    }
    // Those that were let in are served on.
    const [kept] = first;
    await kept?.connection.send(requestBytes('GET', '/health'));
    expect((await kept?.connection.response())?.body).toBe('ok');
    first[3]?.connection.close();
    await askUntilServed();
  });

  it.runIf(process.platform === 'linux')(
    'more from one address than the limit get 429, others are served',
    async () => {
      service = await startService({ config: { http: { max_connections_per_address: 2 } } });
      const first = [await ask(), await ask()];
      /** Asks until it is refused: with uWebSockets.js connections are counted once a second. */
      const refused = async (): Promise<Awaited<ReturnType<typeof ask>>> => {
        for (;;) {
          for (const [at, { connection }] of first.entries()) {
            // So that it does not idle. It is closed when the third was there while they were counted.
            await connection.send(requestBytes('GET', '/health'));
            const closes = await connection.response().then(
              ({ headers }) => headers['connection'] === 'close',
              () => true,
            );
            if (closes) first[at] = await ask();
            if (first[at]?.answer.status === 429) return first[at];
          }
          const third = await ask();
          if (third.answer.status !== 200) return third;
          third.connection.close();
        }
      };
      const { connection, answer } = await refused();
      expectError(answer, 429, 'too many connections are open from this address');
      await connection.ended();
      expect((await ask('127.0.0.2')).answer.status).toBe(200);
      for (const { connection: held } of first) held.close();
      await askUntilServed();
    },
  );

  it.runIf(process.platform === 'linux')(
    'who has more connections than the limit before it is noticed loses them with the next answers',
    async () => {
      service = await startService({
        args: frontFlags(2),
        config: { http: { max_connections_per_address: 10 } },
      });
      const token = await service.token();
      // All at once, before they are counted.
      const flood = await Promise.all(Array.from({ length: 60 }, () => ask()));
      let left = flood.flatMap(({ connection, answer }) =>
        answer.status === 200 ? connection : [],
      );
      // node:http lets nobody have more in the first place.
      if (isNode(service)) expect(left.length).toBeLessThanOrEqual(10);
      else expect(left.length).toBeGreaterThan(10);
      const targets = ['/health', '/api-info', '/nothing'];
      for (let turn = 0; left.length > 10; turn++) {
        const asked = await Promise.all(
          left.map(async (connection) => {
            const target = targets[turn % targets.length] as string;
            await connection.send(
              requestBytes('GET', target, { Authorization: `Bearer ${token}` }),
            );
            const answer = await connection.response().catch(() => undefined);
            expect([200, 404, undefined]).toContain(answer?.status);
            if (answer?.headers['connection'] === 'close') await connection.ended();
            return answer && answer.headers['connection'] !== 'close' ? connection : undefined;
          }),
        );
        left = asked.flatMap((connection) => connection ?? []);
        const other = await ask('127.0.0.2');
        expect(other.answer.status).toBe(200);
        other.connection.close();
      }
    },
  );

  it.runIf(process.platform === 'linux')(
    'a connection too many is closed whatever its next answer is: large, or without a body',
    async () => {
      service = await startService({
        args: frontFlags(1),
        config: { kinds: [FIXTURE_KINDS], http: { max_connections_per_address: 3 } },
      });
      // node:http lets nobody have more in the first place.
      if (isNode(service)) return;
      const headers = { Authorization: `Bearer ${await service.token()}` };
      const flood = await Promise.all(Array.from({ length: 40 }, () => ask()));
      const left = flood.flatMap(({ connection, answer }) =>
        answer.status === 200 ? connection : [],
      );
      /** Whether the next of them says that it is to be closed. */
      const next = async (method: string, target: string): Promise<boolean> => {
        const connection = left.pop();
        if (!connection) throw new Error('too few connections');
        await connection.send(requestBytes(method, target, headers));
        const answer = await connection.response();
        if (answer.headers['connection'] !== 'close') {
          left.unshift(connection);
          return false;
        }
        if (target === '/api/kinds') {
          expect(answer.body.length).toBeGreaterThan(5000);
          expect(answer.json()).toHaveProperty('kinds');
        }
        await connection.ended();
        return true;
      };
      await expect.poll(() => next('GET', '/health')).toBe(true);
      expect(left.length).toBeGreaterThan(10);
      for (const [method, target] of [
        ['GET', '/api/kinds'],
        ['OPTIONS', '/health'],
        ['GET', '/nothing'],
      ] as const) {
        expect([method, target, await next(method, target)]).toEqual([method, target, true]);
      }
    },
  );

  it('large bodies that are on their way have a bound together; small ones are always taken', async () => {
    service = await startService({
      config: { http: { max_bodies_bytes: 65_536, body_timeout_ms: 7000 } },
    });
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
    service = await startService({ config: { http: { max_bodies_bytes: 65_536 } } });
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

  it('more requests in flight than the limit get 503, on that route alone', async () => {
    service = await startService({
      config: {
        kinds: [FIXTURE_KINDS],
        invoke: { timeout_ms: 7000 },
        http: { max_requests_in_flight: 2 },
      },
    });
    const token = await service.token();
    expect((await create(service, { id: 'slow', kind: 'faulty' })).status).toBe(201);
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
    service = await startService({
      config: {
        kinds: [FIXTURE_KINDS],
        invoke: { timeout_ms: 7000 },
        http: { max_requests_in_flight: 2 },
      },
    });
    const token = await service.token();
    expect((await create(service, { id: 'slow', kind: 'faulty' })).status).toBe(201);
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
