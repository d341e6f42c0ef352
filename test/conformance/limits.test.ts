// Issue 5 "Limits" of one request: each has a clear answer, and what comes too slowly is closed. Small limits, so that they
// are met soon. The service keeps its files in the default data directory, which has tests here too (docs/INTERFACE.md §1).

import { statSync } from 'node:fs';
import path from 'node:path';
import { afterAll, afterEach, beforeAll, expect, it } from 'vitest';
import { call, expectError } from '../harness/api.js';
import { RawConnection, raw, requestBytes } from '../harness/http.js';
import { makeDir, removeDir, type Service, startService, stopClean } from '../harness/service.js';

const JSON_TYPE = { 'Content-Type': 'application/json' };
/** uWebSockets.js closes what is silent after 8 to 12 s; the rest is for machines that are busy. */
const CLOSED_WITHIN_MS = 30_000;

const isNode = (service: Service): boolean => service.engine === 'node:http';

let home: string;
let service: Service;
let authorization: string;
beforeAll(async () => {
  home = makeDir();
  service = await startService({
    ...(process.platform === 'linux'
      ? { dataDir: null, env: { XDG_DATA_HOME: path.join(home, 'xdg'), HOME: home } }
      : {}),
    config: {
      http: {
        max_url_bytes: 1000,
        max_json_depth: 10,
        max_header_bytes: 8192,
        body_timeout_ms: 300,
        header_timeout_ms: 3000,
        idle_timeout_ms: 3000,
      },
    },
  });
  authorization = `Bearer ${await service.token()}`;
});
afterAll(async () => {
  await stopClean(service);
  removeDir(home);
});

afterEach(async () => {
  // The last test has stopped it.
  if (service.child.exitCode === 0) return;
  expect((await call(service, 'GET', '/health', { token: null })).text).toBe('ok');
});

it('a URL over the limit is 414, with or without a token, also when it is the query', async () => {
  const path = `/${'a'.repeat(1000)}`;
  const query = `/api/kinds?${'b'.repeat(1000)}`;
  for (const target of [path, query]) {
    expectError(await raw(service.port, requestBytes('GET', target)), 414, 'the URL is too long');
  }
  const fits = `/health?${'b'.repeat(900)}`;
  const answer = await raw(
    service.port,
    requestBytes('GET', fits, { Authorization: authorization }),
  );
  expect(answer.status).toBe(200);
});

it('a head over the limit is 431', async () => {
  // Without its end: uWebSockets.js takes a whole one that it reads in one piece (docs/ENGINES.md).
  const bytes = requestBytes('GET', '/api/kinds', { X: 'y'.repeat(10_000) });
  const answer = await raw(service.port, bytes.subarray(0, 9000));
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

it.each([
  ['{"__proto__":1}', 'body.config has the key __proto__, which is not allowed'],
  ['{"name":"\\ud800"}', 'body.config.name has half of a character (\\ud800)'],
])('a body that would be stored as something else is refused: %s', async (config, message) => {
  const answer = await call(service, 'POST', '/api/bots', {
    headers: JSON_TYPE,
    text: `{"id":"exact","kind":"synthetic","desired":"stopped","config":${config}}`,
  });
  expectError(answer, 400, message);
});

it.each(['/auth/pin', '/api/bots', '/invoke'])(
  'a body of POST %s that does not come in time is 408',
  async (path) => {
    const headers = { ...JSON_TYPE, Authorization: authorization, 'Content-Length': '100' };
    const answer = await raw(service.port, requestBytes('POST', path, headers, '{"pin":'));
    expectError(answer, 408, 'the request body did not arrive in time');
  },
);

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

it.runIf(process.platform === 'linux')(
  '§1 "the application\'s data directory" is below $XDG_DATA_HOME when that is set; on loopback nothing listens elsewhere',
  async () => {
    // --host narrows the binding to that address.
    await expect(
      raw(service.port, requestBytes('GET', '/health'), { host: '127.0.0.2' }),
    ).rejects.toThrow('ECONNREFUSED');
    expect(service.pinPath.startsWith(path.join(home, 'xdg', path.sep))).toBe(true);
    expect((statSync(path.dirname(service.pinPath)).mode & 0o777).toString(8)).toBe('700');
  },
);

it('Shutdown: without bots it exits with 0 on SIGINT too, and has warned of nothing', async () => {
  expect(await service.stop('SIGINT')).toBe(0);
  expect(service.stderr()).toBe('');
});
