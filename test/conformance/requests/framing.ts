// Where a request ends: what two servers could read differently is refused, and what is behind a response that closes the
// connection is never answered (RFC 9112 §6.3, §9.6, §11.2).

import { beforeAll, describe, expect, it } from 'vitest';
import { expectError } from '../../harness/api.js';
import { CHUNKED, CODINGS, chunked, LENGTHS } from '../../harness/framing-cases.js';
import { RawConnection, raw, requestBytes } from '../../harness/http.js';
import type { Service } from '../../harness/service.js';

export function framingTests(given: () => Service): void {
  const MAX_BODY = 65_536;

  let service: Service;
  let token: string;
  /** A request whose response contains the token. */
  let behind: Buffer;
  beforeAll(async () => {
    service = given();
    token = await service.token();
    behind = requestBytes('GET', '/api-info', { Authorization: `Bearer ${token}` });
  });

  /** Sends the pieces and reads until the service ends the connection. */
  async function exchange(...pieces: (string | Buffer)[]): Promise<string> {
    const connection = await RawConnection.open(service.port);
    try {
      await connection.send(pieces);
      await connection.ended();
      return connection.unread();
    } finally {
      connection.close();
    }
  }

  const statuses = (text: string): number[] =>
    [...text.matchAll(/HTTP\/1\.1 (\d{3}) /g)].map(([, status]) => Number(status));

  /**
   * Refused alone, and then closed; with another request behind it in the same segment that one is never answered. The binaries
   * of uWebSockets.js refuse some by themselves, with 400, or 505 when what follows is not a request.
   */
  async function expectLast(request: string | Buffer, allowed: readonly number[]): Promise<void> {
    const bytes = Buffer.from(request as string, 'latin1');
    const alone = statuses(await exchange(bytes));
    expect(alone).toHaveLength(1);
    expect(allowed).toContain(alone[0]);
    const together = await exchange(Buffer.concat([bytes, behind]));
    expect(together).not.toContain(token);
    for (const status of statuses(together)) expect(allowed).toContain(status);
  }

  const POST = 'POST /invoke';
  /** With a fixed response, without a body, with one, and without a handler. */
  const TARGETS = ['GET /health', 'GET /api-info', POST, 'DELETE /api/tokens/x', 'GET /nope'];

  /** A head with these lines, and the body. */
  const request = (target: string, lines: readonly string[], body = ''): string =>
    `${target} HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${token}\r\n` +
    `Content-Type: application/json\r\n${lines.map((line) => `${line}\r\n`).join('')}\r\n${body}`;

  const PING = '{"session_id":null,"command":"ping"}';

  it.each(Object.keys(LENGTHS))('%s is refused', async (name) => {
    const lines = LENGTHS[name] as string[];
    await Promise.all(TARGETS.map((target) => expectLast(request(target, lines, '{}'), [400])));
  });

  it.each(Object.keys(CODINGS))('%s is refused', async (name) => {
    const lines = CODINGS[name] as string[];
    // Without a body as well: then what is behind it would be the first chunk, or the next request.
    const requests = TARGETS.flatMap((target) =>
      [chunked(PING), ''].map((body) => request(target, lines, body)),
    );
    await Promise.all(requests.map((bytes) => expectLast(bytes, [400, 411, 505])));
  });

  it('a body on GET or HEAD is refused when it is chunked', async () => {
    for (const target of ['GET /health', 'GET /events', 'HEAD /api-info']) {
      await expectLast(request(target, [CHUNKED], chunked(PING)), [411]);
    }
  });

  it('a refusal that does not depend on the head ends the connection as well', async () => {
    const tooLong = request(`GET /${'a'.repeat(8192)}`, []);
    await expectLast(tooLong, [414]);
    await expectLast(request(POST, [`Content-Length: ${MAX_BODY + 1}`]), [413]);
    const large = ' '.repeat(MAX_BODY + 1);
    await expectLast(request(POST, [`Content-Length: ${large.length}`], large), [413]);
    await expectLast(request(POST, [CHUNKED], chunked(large)), [413]);
  });

  it('a request is the last one when it says so', async () => {
    for (const target of TARGETS) {
      for (const value of ['close', 'Close', 'keep-alive, close']) {
        const last = Buffer.from(request(target, [`Connection: ${value}`]));
        expect(statuses(await exchange(last))).toHaveLength(1);
        expect(statuses(await exchange(Buffer.concat([last, last]))).length).toBeLessThan(2);
      }
    }
  });

  describe('a chunked body', () => {
    it('is read, with chunks of any size', async () => {
      for (const coding of [CHUNKED, 'transfer-encoding: Chunked']) {
        for (const size of [1, 7, PING.length]) {
          const answer = await raw(service.port, request(POST, [coding], chunked(PING, size)));
          expect([answer.status, answer.body]).toEqual([200, '{"result":"pong"}']);
        }
      }
      const most = PING.padEnd(MAX_BODY, ' ');
      const answer = await raw(service.port, request(POST, [CHUNKED], chunked(most, 5000)));
      expect(answer.status).toBe(200);
      const empty = await raw(service.port, request(POST, [CHUNKED], chunked('')));
      expectError(empty, 400, 'the body is not valid JSON');
    });

    it('is the same wherever it is cut into segments', async () => {
      const bytes = Buffer.from(request(POST, [CHUNKED], chunked(PING, 10)));
      const from = bytes.indexOf('\r\n\r\n');
      const cuts = Array.from({ length: bytes.length - from - 1 }, (_, n) => from + n + 1);
      const answers = await Promise.all(
        cuts.map((at) => raw(service.port, [bytes.subarray(0, at), bytes.subarray(at)])),
      );
      expect(answers.map(({ status }) => status)).toEqual(cuts.map(() => 200));
    });

    it('is accepted where no body is read', async () => {
      const answer = await raw(
        service.port,
        request('DELETE /api/tokens/x', [CHUNKED], chunked('')),
      );
      expect(answer.status).toBe(404);
    });

    it('leaves room for another request on node:http alone', async () => {
      const connection = await RawConnection.open(service.port);
      await connection.send(request(POST, [CHUNKED], chunked(PING)));
      const isKept = service.engine === 'node:http';
      expect((await connection.response()).headers['connection']).toBe(
        isKept ? 'keep-alive' : 'close',
      );
      if (isKept) {
        await connection.send(behind);
        expect((await connection.response()).status).toBe(200);
      } else await connection.ended();
      connection.close();
    });

    it('hides no request, in its chunks or in what is wrong with them', async () => {
      const hidden = behind.toString('latin1');
      const bodies = [
        `${hidden.length.toString(16)}\r\n${hidden}\r\n0\r\n\r\n`,
        `2\r\n{}\r\n0\r\n${hidden}`,
        `2\r\n{}\r\n0\r\nX: y\r\n${hidden}`,
        `2\r\n{}X0\r\n\r\n${hidden}`,
        `0g\r\n\r\n${hidden}`,
        `-1\r\n\r\n${hidden}`,
        `\r\n\r\n${hidden}`,
        `10000000000000002\r\n{}\r\n0\r\n\r\n${hidden}`,
      ];
      const last = 'GET /nope HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n';
      for (const body of bodies) {
        for (const target of [POST, 'DELETE /api/tokens/x']) {
          expect(await exchange(request(target, [CHUNKED], body) + last)).not.toContain(token);
        }
      }
    });
  });

  describe('HTTP/1.0', () => {
    const old = (target: string, lines: readonly string[], body = ''): string =>
      `${target} HTTP/1.0\r\n${lines.map((line) => `${line}\r\n`).join('')}\r\n${body}`;
    const bearer = (): string => `Authorization: Bearer ${token}`;

    it('is served by node:http, as proxies and health checks send it; uWebSockets.js has no HTTP/1.0', async () => {
      const requests = [
        old('GET /health', []),
        old('GET /api-info', [bearer(), 'Host: a', 'Connection: close']),
        old('HEAD /', []),
        old(
          POST,
          [bearer(), 'Content-Type: application/json', `Content-Length: ${PING.length}`],
          PING,
        ),
      ];
      const expected = service.engine === 'node:http' ? 200 : 505;
      for (const bytes of requests) expect(statuses(await exchange(bytes))).toEqual([expected]);
    });

    it('has no codings', async () => {
      const lines = [bearer(), 'Content-Type: application/json', CHUNKED];
      await expectLast(old(POST, lines, chunked(PING)), [411, 505]);
    });

    it('has streams that end with the connection', async () => {
      const open = old('GET /events', [bearer()]);
      if (service.engine !== 'node:http') {
        expect(statuses(await exchange(open))).toEqual([505]);
        return;
      }
      const connection = await RawConnection.open(service.port);
      await connection.send(open);
      await expect.poll(() => connection.unread()).toContain('retry: ');
      const text = connection.unread();
      connection.close();
      expect(text.toLowerCase()).not.toContain('transfer-encoding');
      // The first line of the body is one of the stream, not the size of a chunk.
      expect(text.split('\r\n\r\n')[1]).toMatch(/^(?:event|retry|id|data|:)/);
    });
  });
}
