// A valid request gets its response, however it is cut into segments, and an invalid one is refused: the table of docs/ENGINES.md.

import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { expectError } from '../harness/api.js';
import { RawConnection, requestBytes } from '../harness/http.js';
import { type Service, startService, stopClean } from '../harness/service.js';
import { column, type WireCase, wireCases } from '../harness/wire-cases.js';
import { Cutter, type WireRequest, wireRequests } from '../harness/wire-requests.js';

/** Positions that are tried at the same time, each on its own connection. */
const AT_ONCE = 200;
const NAMES = Object.keys(wireRequests(''));
const CASES = Object.keys(wireCases(''));

let service: Service;
let token: string;
let requests: Record<string, WireRequest>;
let cases: Record<string, WireCase>;
let cutter: Cutter;
beforeAll(async () => {
  service = await startService({
    config: {
      http: { max_connections_per_address: 1000, header_timeout_ms: 60_000, body_timeout_ms: 7000 },
      pin: { capacity: 1000, refill_per_minute: 600 },
    },
  });
  token = await service.token();
  requests = wireRequests(token);
  cases = wireCases(token);
});
afterAll(() => stopClean(service));
beforeAll(async () => {
  cutter = await Cutter.open(service.port);
});
afterAll(() => cutter.close());

describe('a valid request', () => {
  it.each(NAMES)('%s is answered wherever it is cut in two', async (name) => {
    const request = requests[name] as WireRequest;
    const { bytes } = request;
    const wrong: Record<number, number | undefined> = {};
    for (let from = 1; from < bytes.length; from += AT_ONCE) {
      const length = Math.min(AT_ONCE, bytes.length - from);
      const positions = Array.from({ length }, (_, n) => from + n);
      const statuses = await cutter.statuses(
        positions.map((at) => ({ request, pieces: [bytes.subarray(0, at), bytes.subarray(at)] })),
      );
      for (const [n, status] of statuses.entries()) {
        if (status !== request.status) wrong[positions[n] as number] = status;
      }
    }
    expect(wrong).toEqual(column(service) === 'uws 2023' ? cutInFirstLine(bytes) : {});
  });

  it('is answered in as many segments as it has bytes, at most 100', async () => {
    const all = Object.values(requests);
    const statuses = await cutter.statuses(
      all.map((request) => ({ request, pieces: inPieces(request.bytes) })),
    );
    // What is read at once is not cut: on a busy machine the binary of 2023 gets some whole.
    const refused = column(service) === 'uws 2023' ? [505] : [];
    for (const [n, { status }] of all.entries())
      expect([status, ...refused]).toContain(statuses[n]);
  });
});

function inPieces(bytes: Buffer): Buffer[] {
  // A head may take 8 s with uWebSockets.js, a body 7 s, also on a busy machine.
  const size = Math.ceil(bytes.length / 100);
  const starts = Array.from({ length: Math.ceil(bytes.length / size) }, (_, n) => n * size);
  return starts.map((at) => bytes.subarray(at, at + size));
}

/** The binary of 2023 refuses these: from the fifth byte to the end of the line. */
function cutInFirstLine(bytes: Buffer): Record<number, number> {
  const from = 4;
  const length = bytes.indexOf('\r\n') + 2 - from;
  return Object.fromEntries(Array.from({ length }, (_, n) => [from + n, 505]));
}

describe.concurrent('on one connection', () => {
  it.each(CASES)('%s', async (name) => {
    const { pieces, expected } = cases[name] as WireCase;
    const wanted = expected[column(service)];
    const connection = await RawConnection.open(service.port);
    const own = await Cutter.open(service.port);
    try {
      await own.send([{ connection, pieces: pieces.map((piece) => Buffer.from(piece, 'latin1')) }]);
      const statuses: number[] = [];
      for (const status of wanted.statuses) {
        const response = connection.response({ head: status === 100 });
        const answer = wanted.isAtMost ? await response.catch(() => undefined) : await response;
        if (!answer) break;
        statuses.push(answer.status);
        if (status >= 400 && !wanted.isHtml) expectError(answer, status);
      }
      expect(statuses).toEqual(
        wanted.statuses.slice(0, wanted.isAtMost ? statuses.length : undefined),
      );
      if (wanted.stays) {
        await connection.send(requestBytes('GET', '/nope', { Connection: 'close' }));
        expect((await connection.response()).status).toBe(404);
      }
      await connection.ended();
      expect(connection.unread()).toBe('');
    } finally {
      connection.close();
      own.close();
    }
  });
});
