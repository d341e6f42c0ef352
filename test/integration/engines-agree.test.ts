// Issue 5 "Two engines, one front": both engines answer the same requests equally in status, relevant headers and body.
// docs/ENGINES.md lists the requests that are left out because the uWebSockets.js binary answers them itself.

import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { loadEngine } from '../../src/front/engine/load.js';
import { canSharePort } from '../../src/front/engine/node/node.js';
import { call } from '../harness/api.js';
import { raw, requestBytes } from '../harness/http.js';
import { skipWithout } from '../harness/needs.js';
import {
  makeDir,
  removeDir,
  type Service,
  startService,
  stopClean,
  TEST_ENGINE,
} from '../harness/service.js';
import {
  expectRefusal,
  failingIn,
  loadConfig,
  refusedConfigIn,
  startOwn,
} from '../harness/starts.js';

/** Headers that belong to the connection or the moment, or that name the server. */
const OWN = ['date', 'connection', 'keep-alive', 'uwebsockets'];
const JSON_TYPE = { 'Content-Type': 'application/json' };

interface Side {
  service: Service;
  token: string;
}

let sides: Side[];
let ranUws: boolean;
beforeAll(async () => {
  sides = await Promise.all(
    [TEST_ENGINE, 'node'].map(async (engine) => {
      const service = await startService({
        // Without a flag: the configuration decides.
        env: { DROVER_ENGINE: null },
        config: {
          engine,
          http: { max_body_bytes: 2000, max_url_bytes: 500, body_timeout_ms: 300 },
          pin: { capacity: 3, refill_per_minute: 1 },
          bots: [{ id: 'only', kind: 'synthetic', config: { events_per_second: 0 } }],
        },
      });
      return { service, token: await service.token() };
    }),
  );
  ranUws = sides[0]?.service.engine === 'uWebSockets.js';
});
afterAll(async () => {
  for (const { service } of sides ?? []) await stopClean(service);
});

type Make = (side: Side) => Buffer;
const bearer = ({ token }: Side): Record<string, string> => ({ Authorization: `Bearer ${token}` });
const get =
  (target: string, headers: Record<string, string> = {}, method = 'GET'): Make =>
  (side) =>
    requestBytes(method, target, { ...bearer(side), ...headers });
const post =
  (target: string, body: string, headers: Record<string, string> = JSON_TYPE): Make =>
  (side) =>
    requestBytes('POST', target, { ...bearer(side), ...headers }, body);

const REQUESTS: [string, Make][] = [
  ...['/health', '/health?x', '/api-info', '/api/kinds', '/api/bots/only/config', '/nope'].map(
    (target): [string, Make] => [`GET ${target}`, get(target)],
  ),
  ...['/api/bots/no-such', '/api/bots/%zz', '/api/bots/%00', '/api/bots/..', '//health'].map(
    (target): [string, Make] => [`GET ${target}`, get(target)],
  ),
  ...['/api/incidents?limit=0', '/api/incidents'].map((target): [string, Make] => [
    `GET ${target}`,
    get(target),
  ]),
  ...['/health', '/api-info', '/api/bots', '/events', '/invoke', '/nope'].flatMap(
    (target): [string, Make][] =>
      ['HEAD', 'OPTIONS', 'PUT', 'DELETE'].map((method) => [
        `${method} ${target}`,
        get(target, {}, method),
      ]),
  ),
  ['no token', () => requestBytes('GET', '/api-info')],
  ['a wrong token', () => requestBytes('GET', '/api-info', { Authorization: 'Bearer x' })],
  ['another scheme', () => requestBytes('GET', '/api-info', { Authorization: 'Basic x' })],
  ['a token with bytes over 127', get('/api-info', { Authorization: 'Bearer \xff\xfe' })],
  ['two tokens, the first is good', (side) => twice(side.token, 'x')],
  ['two tokens, the first is wrong', (side) => twice('x', side.token)],
  ['a token in the query', ({ token }) => requestBytes('GET', `/api-info?token=${token}`)],
  ['a body on GET', (side) => requestBytes('GET', '/api-info', bearer(side), 'hello')],
  ['a long URL', get(`/${'a'.repeat(600)}`)],
  ['a long query on a route with a fixed response', get(`/health?${'a'.repeat(600)}`)],
  ['an upgrade', get('/api-info', { Connection: 'Upgrade', Upgrade: 'websocket' })],
  ['an expectation', get('/api-info', { Expect: 'teapot' })],
  ['a chunked body on GET', get('/api-info', { 'Transfer-Encoding': 'chunked' })],
  ['another coding', post('/invoke', '0\r\n\r\n', { ...JSON_TYPE, 'Transfer-Encoding': 'gzip' })],
  ['ping', post('/invoke', '{"session_id":null,"command":"ping"}')],
  ['an unknown command', post('/invoke', '{"session_id":null,"command":"x"}')],
  ['no JSON', post('/invoke', '{')],
  ['an empty body', post('/invoke', '')],
  ['no body', get('/invoke', JSON_TYPE, 'POST')],
  ['another type', post('/invoke', '{}', { 'Content-Type': 'text/plain' })],
  ['too large', post('/invoke', 'x'.repeat(2001))],
  ['too deep', post('/invoke', '['.repeat(100))],
  [
    'two lengths',
    post('/invoke', '{}', { ...JSON_TYPE, 'content-length': '2', 'Content-Length': '3' }),
  ],
  ['a body that never arrives', post('/invoke', '{', { ...JSON_TYPE, 'Content-Length': '9' })],
  ['a wrong PIN', post('/auth/pin', '{"pin":"wrong"}')],
  ['a second wrong PIN', post('/auth/pin', '{"pin":"wrong"}')],
  ['a third wrong PIN', post('/auth/pin', '{"pin":"wrong"}')],
  ['a PIN too many', post('/auth/pin', '{"pin":"wrong"}')],
  ['stop', post('/api/bots/only/stop', '')],
  ['stopped bots', get('/api/bots?status=running')],
  ['an existing bot', post('/api/bots', '{"id":"only","kind":"synthetic"}')],
  ['actions', post('/api/bots/actions', '{"action":"stop","ids":["only","no-such"]}')],
  ['delete', get('/api/bots/only', {}, 'DELETE')],
  ['delete again', get('/api/bots/only', {}, 'DELETE')],
  ['an empty list', get('/api/bots')],
];

/** What tells one operation from the next. */
const OF_OPERATION = /"operation":\{.*\}/;

function twice(first: string, second: string): Buffer {
  const lines = [first, second].map((token) => `Authorization: Bearer ${token}\r\n`).join('');
  return Buffer.from(`GET /api-info HTTP/1.1\r\nHost: a\r\n${lines}\r\n`, 'latin1');
}

/** The line about the engine, which follows the PIN and the address. */
const engineLine = (service: Service): string => service.stdout().split('\n')[2] ?? '';

/** The response as a client sees it, without what differs between the sides: port, token, time. */
async function answerOf(side: Side, make: Make): Promise<object> {
  const bytes = make(side);
  const { port } = side.service;
  const head = bytes.subarray(0, 5).toString() === 'HEAD ';
  const { status, reason, headers, body } = await raw(port, bytes, { head });
  const kept = Object.entries(headers).filter(([name]) => !OWN.includes(name));
  const closes = (headers['connection'] ?? '').toLowerCase() === 'close';
  const text = body
    .replaceAll(side.token, '<token>')
    .replaceAll(String(port), '<port>')
    .replaceAll(/"(since_ms|started_at_ms|timestamp_ms)":\d+/g, '"$1":0');
  const lengthIsExact = text === body;
  return {
    status,
    reason,
    closes,
    headers: Object.fromEntries(
      kept
        .filter(([name]) => name !== 'content-length' || lengthIsExact)
        .map(([name, value]) => [name, name === 'retry-after' ? 'n' : value])
        .sort(),
    ),
    body: text.replace(/retry in \d+s/, 'retry in <n>s').replace(OF_OPERATION, ''),
  };
}

describe('the engines agree on', () => {
  it.each(REQUESTS)('%s', async (_, make) => {
    const [first, second] = await Promise.all(sides.map((side) => answerOf(side, make)));
    expect(second).toEqual(first);
  });

  it('two different engines ran', (context) => {
    skipWithout(
      context,
      ranUws,
      'a binary of uWebSockets.js that loads; both sides were node:http',
    );
    const lines = sides.map(({ service }) => engineLine(service));
    expect(lines[0]).toContain('uWebSockets.js');
    expect(lines[1]).toContain('node:http');
  });
});

describe('the engine', () => {
  const AS_CONFIGURED = 'engine: node:http, as configured';
  const { versions } = process;

  let base: string;
  beforeAll(() => {
    base = makeDir();
  });
  afterAll(() => removeDir(base));

  it('is auto by default: uWebSockets.js where its binary passes the self-test, otherwise node:http with the reason', async () => {
    const service = await startOwn({ env: { DROVER_ENGINE: null } });
    const faults = (line: string): string | undefined =>
      / binary (?:of .+? here )?(.+)$/.exec(line)?.[1];
    if (ranUws) {
      // What is wrong with the binary is the same when it is chosen by name.
      const byName = engineLine((sides[0] as Side).service);
      const isRight = byName === 'engine: uWebSockets.js, as configured';
      const line = engineLine(service);
      if (isRight) expect(line).toBe('engine: uWebSockets.js, its binary passes the self-test');
      else {
        expect(line).toMatch(/^engine: node:http, the binary of uWebSockets\.js here \w/);
        expect(faults(byName)).toBe(faults(line));
      }
    } else {
      expect(engineLine(service)).toMatch(
        /^engine: node:http, no binary of uWebSockets\.js loads on .+ with Node v.+ \(.+\)$/,
      );
    }
    expect((await loadEngine('auto', 1)).line).toBe(engineLine(service));
    // Whichever it is: a valid request gets its response where it is cut, and no header hides others.
    const cut = ['GET /hea', 'lth HTTP/1.1\r\nHost: a\r\n\r\n'];
    expect((await raw(service.port, cut)).status).toBe(200);
    const nameless = 'GET /health HTTP/1.1\r\nHost: a\r\n: x\r\n\r\n';
    expect((await raw(service.port, nameless)).status).toBe(400);
  });

  it('is node:http when set by flag, environment or configuration; several fronts share the port where Node can, and are refused elsewhere', async () => {
    expect(engineLine((sides[1] as Side).service)).toBe(AS_CONFIGURED);
    expect((await loadConfig(undefined, { DROVER_ENGINE: 'node' }, {})).engine).toBe('node');
    const args = ['--engine', 'node', '--fronts', '2'];
    const env = { DROVER_ENGINE: null };
    if (canSharePort(versions.node)) {
      const several = await startOwn({ args, env });
      expect(engineLine(several)).toBe(AS_CONFIGURED);
      expect((await call(several, 'GET', '/health', { token: null })).text).toBe('ok');
    } else {
      expectRefusal(await failingIn(base)(args, undefined, env), 'start with --fronts 1');
    }
  });

  it('is by default uWebSockets.js for several fronts where node:http cannot share their port, and says so', async () => {
    const { line, fault } = await loadEngine('auto', 2);
    if (!ranUws) expect(line).toMatch(/^engine: node:http, no binary/);
    else if (canSharePort(versions.node)) expect(line).toMatch(/^engine: node:http, the binary/);
    else {
      expect(line).toMatch(/^engine: uWebSockets\.js, as node:http of Node .+, but its binary /);
      expect(fault).toBeDefined();
    }
  });

  it('is uWebSockets.js by name where its binary loads, and is refused with the reason elsewhere', async () => {
    expect((await loadConfig(undefined, {}, { engine: 'uws' })).engine).toBe('uws');
    const loaded = loadEngine('uws', 1);
    if (ranUws) expect((await loaded).line).toMatch(/^engine: uWebSockets\.js, as configured/);
    else await expect(loaded).rejects.toThrow('start with --engine node');
  });

  it('is refused when it is unknown', async () => {
    // 2: wrong usage (docs/CLI.md).
    expectRefusal(await refusedConfigIn(base)(['--engine', 'nginx']), 'auto, uws, node', 2);
  });
});
