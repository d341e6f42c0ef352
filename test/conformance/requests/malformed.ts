// docs/INTERFACE.md §7: malformed, mistyped, oversized and split requests.

import { afterEach, beforeAll, describe, expect, it } from 'vitest';
import { call, expectError, tryPin } from '../../harness/api.js';
import { RawConnection, type RawResponse, raw, requestBytes } from '../../harness/http.js';
import type { Service } from '../../harness/service.js';

export function malformedTests(given: () => Service): void {
  const MAX_BODY = 65_536;
  const JSON_TYPE = { 'Content-Type': 'application/json' };

  let service: Service;
  let token: string;
  beforeAll(async () => {
    service = given();
    token = await service.token();
  });

  // After every test the next valid request is served, by the same process.
  afterEach(async () => {
    expect(service.child.exitCode).toBeNull();
    expect((await call(service, 'GET', '/health', { token: null })).text).toBe('ok');
    expect((await tryPin(service, service.pin)).status).toBe(200);
    expect((await call(service, 'GET', '/api-info', { token })).status).toBe(200);
  });

  interface Post {
    path?: string;
    headers?: Record<string, string>;
  }

  /** The bytes of a POST with a token, JSON unless the headers say else. */
  function post(
    body: string | Buffer,
    { path = '/auth/pin', headers = JSON_TYPE }: Post = {},
  ): Buffer {
    return requestBytes('POST', path, { Authorization: `Bearer ${token}`, ...headers }, body);
  }

  const send = (bytes: Buffer): Promise<RawResponse> => raw(service.port, bytes);
  const goodBody = (): string => JSON.stringify({ pin: service.pin });
  const POSTS = ['/auth/pin', '/api/bots', '/invoke'];

  describe.each(POSTS)('POST %s', (path) => {
    it('what is no JSON is 400', async () => {
      const texts = [
        '{',
        '{"pin":',
        '{"pin":"1}',
        "{'pin':'1'}",
        '{"pin":"1"}}',
        'pin=1',
        '{"a":1,}',
        'NaN',
        '\0',
      ];
      for (const text of texts) expectError(await send(post(text, { path })), 400);
    });

    it('an empty body is 400', async () => {
      expectError(await send(post('', { path })), 400);
      expectError(await send(post(' \r\n', { path })), 400);
    });

    it('JSON of another type than an object is 400', async () => {
      for (const text of ['null', 'true', '7', '"text"', '[]', '[{}]', '[[[]]]']) {
        expectError(await send(post(text, { path })), 400);
      }
    });

    it('deep nesting is 400', async () => {
      // As deep as a body may be long.
      const depth = path === '/auth/pin' ? 1500 : 30_000;
      const nested = '['.repeat(depth) + ']'.repeat(depth);
      expectError(await send(post(nested, { path })), 400);
      expectError(await send(post('['.repeat(2 * depth), { path })), 400);
      expectError(
        await send(post(`${'{"a":'.repeat(depth / 3)}1${'}'.repeat(depth / 3)}`, { path })),
        400,
      );
      const key = path === '/auth/pin' ? 'pin' : path === '/invoke' ? 'command' : 'id';
      expectError(await send(post(`{"${key}":${nested}}`, { path })), 400);
    });

    it('invalid UTF-8 is 400', async () => {
      for (const bytes of [
        [0xff, 0xfe],
        [0xc3, 0x28],
        [0xed, 0xa0, 0x80],
        [0xf0, 0x9f],
      ]) {
        const body = Buffer.concat([
          Buffer.from('{"pin":"'),
          Buffer.from(bytes),
          Buffer.from('"}'),
        ]);
        expectError(await send(post(body, { path })), 400);
      }
    });

    it('`__proto__` as a key is data and gives nothing', async () => {
      const inner = JSON.stringify({
        pin: service.pin,
        id: 'p',
        kind: 'synthetic',
        session_id: null,
        command: 'ping',
      });
      expectError(await send(post(`{"__proto__":${inner}}`, { path })), 400);
      expectError(await send(post(`{"constructor":{"prototype":${inner}}}`, { path })), 400);
    });

    it('anything but application/json is 415', async () => {
      const types = [
        'text/plain',
        'application/x-www-form-urlencoded',
        'multipart/form-data; boundary=x',
        'json',
      ];
      for (const type of [...types, 'application/jsonx', 'application/json-seq', 'text/json', '']) {
        const answer = await send(post(goodBody(), { path, headers: { 'Content-Type': type } }));
        expectError(answer, 415, 'the body must be sent as Content-Type: application/json');
      }
    });

    it('no content type is 415', async () => {
      expectError(await send(post(goodBody(), { path, headers: {} })), 415);
    });

    it('a Transfer-Encoding other than chunked is refused with 411', async () => {
      const chunked = `${goodBody().length.toString(16)}\r\n${goodBody()}\r\n0\r\n\r\n`;
      for (const coding of ['gzip, chunked', 'x-chunked', 'identity']) {
        const headers = { ...JSON_TYPE, 'Transfer-Encoding': coding };
        expectError(await send(post(chunked, { path, headers })), 411);
      }
    });

    it('a body over the limit is 413, announced or arrived', async () => {
      expectError(
        await send(post(' '.repeat(MAX_BODY + 1), { path })),
        413,
        'the request body is too large',
      );
      expectError(await send(post('x'.repeat(3 * MAX_BODY), { path })), 413);
    });
  });

  describe('POST /auth/pin with a good body', () => {
    it('parameters and case of the type do not matter', async () => {
      for (const type of [
        'application/json; charset=utf-8',
        'application/json;charset=UTF-8',
        'Application/JSON',
      ]) {
        expect((await send(post(goodBody(), { headers: { 'Content-Type': type } }))).status).toBe(
          200,
        );
      }
    });

    it('a body of exactly the limit is taken', async () => {
      expect((await send(post(goodBody().padEnd(4096, ' ')))).status).toBe(200);
      const ping = JSON.stringify({ session_id: null, command: 'ping' }).padEnd(MAX_BODY, ' ');
      expect((await send(post(ping, { path: '/invoke' }))).status).toBe(200);
    });

    it('§2.1 escapes in the JSON mean what they mean', async () => {
      const escaped = [...service.pin].map((digit) => `\\u003${digit}`).join('');
      expect((await send(post(`{"\\u0070in":"${escaped}"}`))).status).toBe(200);
    });

    it('split anywhere in its headers or its body it is the same request', async () => {
      const bytes = post(goodBody());
      const headEnd = bytes.indexOf('\r\n\r\n');
      const firstLine = bytes.indexOf('\r\n');
      const at = (text: string, offset = 0): number => bytes.indexOf(text) + offset;
      const positions = [
        firstLine + 2,
        at('Host', 2),
        at('Authorization', 5),
        at(token, 20),
        at('Content-Type', 12),
        at('application/json', 7),
        at('Content-Length', 15),
        headEnd,
        headEnd + 1,
        headEnd + 2,
        headEnd + 3,
        headEnd + 4,
        headEnd + 5,
        at(service.pin, 3),
        bytes.length - 1,
      ];
      for (const position of positions) {
        const pieces = [bytes.subarray(0, position), bytes.subarray(position)];
        const answer = await raw(service.port, pieces);
        expect([position, answer.status]).toEqual([position, 200]);
      }
    });

    it('byte by byte it is the same request', async () => {
      const bytes = post(goodBody());
      const bodyStart = bytes.indexOf('\r\n\r\n') + 4;
      const pieces = [
        bytes.subarray(0, bodyStart),
        ...[...bytes.subarray(bodyStart)].map((byte) => Buffer.from([byte])),
      ];
      expect((await raw(service.port, pieces)).status).toBe(200);
    });

    it('a multi-byte character may be split too', async () => {
      const bytes = post('{"pin":"🐑"}');
      const inside = bytes.indexOf(Buffer.from('🐑')) + 2;
      const answer = await raw(service.port, [bytes.subarray(0, inside), bytes.subarray(inside)]);
      expectError(answer, 401, 'wrong pin');
    });
  });

  describe('on one connection', () => {
    it('a good request after a refused one is served', async () => {
      for (const body of ['{', '[]', '{"pin":7}', '{"pin":"wrong"}']) {
        const connection = await RawConnection.open(service.port);
        try {
          await connection.send(post(body));
          expect((await connection.response()).status).toBeGreaterThanOrEqual(400);
          await connection.send(post(goodBody()));
          expect((await connection.response()).status).toBe(200);
        } finally {
          connection.close();
        }
      }
    });

    it('pipelined requests are answered each and in order', async () => {
      const authorization = { Authorization: `Bearer ${token}` };
      const targets = ['/health', '/nope', '/api-info', '/events/', '/health'];
      const connection = await RawConnection.open(service.port);
      try {
        await connection.send(
          Buffer.concat(targets.map((target) => requestBytes('GET', target, authorization))),
        );
        const statuses: number[] = [];
        for (const _ of targets) statuses.push((await connection.response()).status);
        expect(statuses).toEqual([200, 404, 200, 404, 200]);
      } finally {
        connection.close();
      }
    });

    it('behind a POST a pipelined request is answered in order, or the connection ended', async () => {
      // uWebSockets ends a connection on which a request comes while the one before is still worked on.
      const connection = await RawConnection.open(service.port);
      try {
        await connection.send(Buffer.concat([post(goodBody()), requestBytes('GET', '/nope')]));
        const first = await connection.response().catch(() => undefined);
        if (first) {
          expect(first.status).toBe(200);
          expect((await connection.response()).status).toBe(404);
        } else expect(connection.unread()).toBe('');
      } finally {
        connection.close();
      }
    });
  });

  describe('clients that leave', () => {
    it('in the middle of a body', async () => {
      for (const path of POSTS) {
        const connection = await RawConnection.open(service.port);
        const headers = { ...JSON_TYPE, 'Content-Length': '1000' };
        await connection.send(post('{"pin":', { path, headers }));
        connection.close();
      }
    });

    it('before the answer', async () => {
      const sent = Array.from({ length: 50 }, async (_, n) => {
        const connection = await RawConnection.open(service.port);
        const body = JSON.stringify({ session_id: null, command: 'ping', args: {} });
        await connection.send(n % 2 ? post(body, { path: '/invoke' }) : post(goodBody()));
        connection.close();
      });
      await Promise.all(sent);
    });

    it('right after opening a stream', async () => {
      const stream = requestBytes('GET', '/events', { Authorization: `Bearer ${token}` });
      for (let n = 0; n < 20; n++) {
        const connection = await RawConnection.open(service.port);
        await connection.send(stream);
        connection.close();
      }
    });
  });

  it('what is no HTTP does no harm', async () => {
    const junk = [
      '\r\n\r\n',
      'GARBAGE\r\n\r\n',
      '\0\x01\x02\r\n\r\n',
      'GET\r\n\r\n',
      '\x16\x03\x01\x02\x00\x01\x00\x01',
    ];
    for (const bytes of junk) {
      const connection = await RawConnection.open(service.port);
      await connection.send(Buffer.from(bytes, 'latin1'));
      connection.close();
    }
  });

  it('every field of every answer is snake_case', async () => {
    await call(service, 'POST', '/api/bots', {
      body: { id: 'case', kind: 'synthetic', config: { events_per_second: 1, message_bytes: 10 } },
    });
    const answers = [
      await call(service, 'GET', '/api-info'),
      await call(service, 'GET', '/api/bots'),
      await call(service, 'GET', '/nope'),
      await tryPin(service, service.pin),
    ];
    for (const { json } of answers) {
      const names = JSON.stringify(json).match(/"[^"]*"(?=:)/g) ?? [];
      for (const name of names) expect(name).toMatch(/^"[a-z][a-z0-9_]*"$/);
    }
  });
}
