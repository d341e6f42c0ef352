// drover/client: each of its calls, and the errors it reports for failed calls.

import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { ApiError, DroverClient, signInUrl } from '../../src/client/index.js';
import { startDemoWorld } from '../../src/kinds/demo-world/server.js';
import { type InjectedService, inject } from '../harness/inject.js';
import { injectedFetch } from '../harness/injected-fetch.js';
import { freePort } from '../harness/ports.js';

/** Requests to it are injected. */
const URL_OF_NONE = 'http://drover.invalid';
const DEMO = fileURLToPath(new URL('../../workers/kinds/demo.ts', import.meta.url));

let world: Awaited<ReturnType<typeof startDemoWorld>>;
let service: InjectedService;
let client: DroverClient;
beforeAll(async () => {
  world = await startDemoWorld();
  service = await inject({
    config: {
      kinds: [DEMO],
      pin: { capacity: 1 },
      bots: [
        ...['demo-1', 'demo-2', 'demo-3'].map((id) => ({
          id,
          kind: 'demo',
          config: { world_url: world.httpUrl },
        })),
        { id: 'calm', kind: 'synthetic' },
      ],
    },
  });
  const stranger = new DroverClient({ url: `${URL_OF_NONE}/`, fetch: injectedFetch(service) });
  client = stranger.withToken(await stranger.exchangePin(service.pin));
});
afterAll(async () => {
  await service?.close();
  await world?.close();
});

/** The error that the call rejects with. */
async function errorOf(call: Promise<unknown>): Promise<ApiError> {
  const thrown = await call.then(
    () => undefined,
    (error: unknown) => error,
  );
  expect(thrown).toBeInstanceOf(ApiError);
  return thrown as ApiError;
}

describe('the calls of the client', () => {
  it('health, and the token and port in api-info', async () => {
    await client.health();
    expect(client.url).toBe(URL_OF_NONE);
    expect(await client.apiInfo()).toEqual({ port: service.port, token: client.token });
    const { ticket, expires_at_ms } = await client.ticket();
    expect(ticket).not.toBe('');
    expect(expires_at_ms).toBeGreaterThan(Date.now());
  });

  it('the life cycle of a bot', async () => {
    const { bots } = client;
    const made = await bots.create({ id: 'a.b', kind: 'synthetic', labels: { team: 'x' } });
    expect(made).toMatchObject({ id: 'a.b', desired: 'running', labels: { team: 'x' } });
    expect(await bots.get('a.b')).toMatchObject({ id: 'a.b', kind: 'synthetic' });
    expect(await bots.stop('a.b')).toMatchObject({ status: 'stopped' });
    expect((await bots.start('a.b')).started_at_ms).not.toBeNull();
    const before = await bots.get('a.b');
    const after = await bots.restart('a.b');
    expect(after.started_at_ms).toBeGreaterThanOrEqual(before.started_at_ms ?? 0);
    await bots.update('a.b', { config: { events_per_second: 3 } });
    expect((await bots.config('a.b')).config).toMatchObject({ events_per_second: 3 });
    const results = await bots.act({ action: 'stop', ids: ['a.b', 'nobody'] });
    expect(results).toEqual({ 'a.b': { status: 'stopped' }, nobody: { error: 'no bot "nobody"' } });
    const stopped = await bots.list({ status: ['stopped', 'failed'], kind: ['synthetic'] });
    expect(stopped.map(({ id }) => id)).toEqual(['a.b']);
    expect((await bots.list()).map(({ id }) => id)).toEqual(
      expect.arrayContaining(['demo-1', 'calm', 'a.b']),
    );
    await bots.delete('a.b');
    expect(await errorOf(bots.get('a.b'))).toMatchObject({
      status: 404,
      message: 'no bot "a.b"',
      isPassing: false,
    });
  });

  it('commands to one bot, to several, and to the service', async () => {
    await expect.poll(async () => (await client.bots.get('demo-1')).status).toBe('in_world');
    expect(await client.invoke('demo-1', 'move', { x: 3, y: 4 })).toEqual({ x: 3, y: 4 });
    expect(await client.invokeMany(['demo-1', 'x'], 'say', { text: 'hi' })).toEqual({
      'demo-1': { result: { said: 'hi' } },
      x: { error: 'no bot "x"' },
    });
    expect(await client.invoke(null, 'ping')).toBe('pong');
    const wrong = await errorOf(client.invoke('demo-1', 'move', { x: 3 }));
    expect(wrong).toMatchObject({ status: 400, message: 'args.y is missing' });
  });

  it('metrics and the OpenAPI document', async () => {
    expect(await client.metrics()).toMatch(/^# HELP drover_/m);
    const stranger = client.withToken(undefined);
    expect(await stranger.openapi()).toMatchObject({ openapi: '3.1.0', info: { title: 'Drover' } });
    expect((await errorOf(stranger.metrics())).status).toBe(401);
  });

  it('kinds, pressure, hosts and incidents', async () => {
    const { kinds } = await client.kinds();
    expect(kinds.map(({ kind }) => kind)).toContain('demo');
    expect(await client.pressure()).toMatchObject({ short: [], bots: { present: 4 } });
    expect(await client.hosts()).toMatchObject({ hosts: [{ host: 0, bots: 4 }], missing: [] });
    expect(await client.incidents({ limit: 5 })).toEqual([]);
    expect(await client.incidents({ bot: 'calm' })).toEqual([]);
    expect((await errorOf(client.incidents({ limit: 0 }))).status).toBe(400);
    expect(await client.incidentGroups()).toMatchObject({ groups: [], forgotten: 0, missing: [] });
    for (const query of [{ cause: 'x' }, { after: 'x' }, { after: 2, before: 1 }]) {
      expect((await errorOf(client.incidentGroups(query))).status).toBe(400);
    }
    expect((await errorOf(client.incidents({ cause: 'x' }))).status).toBe(400);
  });

  it('tokens and sign-out', async () => {
    const { token, ...made } = await client.tokens.create({ name: 'wall', scopes: ['read'] });
    const known = (await client.tokens.list()).find(({ id }) => id === made.id);
    expect(known).toEqual(made);
    const wall = client.withToken(token);
    expect(await errorOf(wall.tokens.list())).toMatchObject({
      status: 403,
      message: 'this needs a token with the scope admin',
    });
    await wall.tokens.revokeCurrent();
    expect(await errorOf(wall.apiInfo())).toMatchObject({ status: 401, message: 'invalid token' });
    const other = await client.tokens.create({ name: 'other', scopes: ['read'] });
    await client.tokens.revoke(other.id);
    expect((await errorOf(client.withToken(other.token).apiInfo())).status).toBe(401);
    expect((await errorOf(client.tokens.revoke(other.id))).status).toBe(404);
  });

  it('sign-in links', async () => {
    const made = await client.tokens.createLink({ name: 'Ada', scopes: ['read'] });
    expect(signInUrl(client.url, made)).toBe(`${client.url}/#sign-in=${made.link}`);
    const stranger = client.withToken(undefined);
    expect(await stranger.checkLink(made.link)).toMatchObject({
      name: 'Ada',
      created_by: 'pin',
      link_expires_at_ms: made.expires_at_ms,
    });
    const { token, ...info } = await stranger.useLink(made.link);
    const own = await client.withToken(token).tokens.current();
    expect(own).toMatchObject({ id: info.id, name: 'Ada', created_by: { how: 'link' } });
    expect(await errorOf(stranger.useLink(made.link))).toMatchObject({ status: 401 });
  });

  it('wrong PINs and the lockout after too many', async () => {
    const wrong = service.pin.replaceAll('1', '2');
    const first = await errorOf(client.exchangePin(wrong));
    expect(first).toMatchObject({ status: 401, message: 'wrong pin', isPassing: false });
    const locked = await errorOf(client.exchangePin(wrong));
    expect(locked).toMatchObject({ status: 429, isPassing: true });
    expect(locked.message).toBe(`locked, retry in ${(locked.retryAfterMs ?? 0) / 1000}s`);
  });
});

describe('responses that are not from the service', () => {
  it('nothing listens', async () => {
    const url = `http://127.0.0.1:${await freePort()}`;
    const error = await errorOf(new DroverClient({ url }).health());
    expect(error).toMatchObject({ status: 0, isPassing: true, retryAfterMs: undefined });
    expect(error.message).toBe(
      `no answer from ${url}: connect ECONNREFUSED ${url.slice('http://'.length)}`,
    );
  });

  it('another program listens', async () => {
    const server = createServer((request, response) => {
      if (request.url?.startsWith('/bad')) response.writeHead(502).end('<html>Bad gateway</html>');
      else if (request.url?.startsWith('/json')) response.end('{}');
      else response.end('<html>hello</html>');
    }).listen(0, '127.0.0.1');
    onTestFinished(() => void server.close());
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    const at = (path: string) => new DroverClient({ url: `http://127.0.0.1:${port}${path}` });
    expect(await errorOf(at('').health())).toMatchObject({ status: 200, isPassing: false });
    const html = await errorOf(at('').bots.list());
    expect(html.message).toMatch(/answered GET \/api\/bots with a body that is not JSON/);
    const json = await errorOf(at('/json/').bots.list());
    expect(json).toMatchObject({ status: 200, isForeign: true });
    expect(json.message).toMatch(
      /answered GET \/api\/bots with a body that no Drover service of this version sends/,
    );
    const bad = await errorOf(at('/bad').bots.list());
    expect(bad).toMatchObject({ status: 502, isPassing: true });
    expect(bad.message).toMatch(/answered 502, but not like a Drover service/);
  });

  it.each([
    ['{}'],
    ['[]'],
    ['null'],
    ['{"bots":[{"id":5}],"tokens":[{"id":1}],"kinds":[3],"failed":[],"incidents":[{}]}'],
    ['{"bots":{},"tokens":"x","kinds":null,"token":5,"port":"80","result":null,"events":[1]}'],
  ])('each call rejects %s from another service', async (answer) => {
    const server = createServer((_, response) => response.end(answer)).listen(0, '127.0.0.1');
    onTestFinished(() => void server.close());
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    const other = new DroverClient({ url: `http://127.0.0.1:${port}`, token: 'x' });
    const { bots, tokens } = other;
    const calls: [string, () => Promise<unknown>][] = [
      ['health', () => other.health()],
      ['exchangePin', () => other.exchangePin('1')],
      ['ticket', () => other.ticket()],
      ['apiInfo', () => other.apiInfo()],
      ['kinds', () => other.kinds()],
      ['pressure', () => other.pressure()],
      ['hosts', () => other.hosts()],
      ['incidents', () => other.incidents()],
      ['incidentGroups', () => other.incidentGroups()],
      ['invokeMany', () => other.invokeMany(['a'], 'b')],
      ['events', () => other.events()],
      ['stats', () => other.stats()],
      ['metrics', () => other.metrics()],
      ['openapi', () => other.openapi()],
      ['download', () => other.download().next()],
      ['bots.list', () => bots.list()],
      ['bots.create', () => bots.create({ id: 'a', kind: 'b' })],
      ['bots.get', () => bots.get('a')],
      ['bots.config', () => bots.config('a')],
      ['bots.update', () => bots.update('a', {})],
      ['bots.start', () => bots.start('a')],
      ['bots.stop', () => bots.stop('a')],
      ['bots.restart', () => bots.restart('a')],
      ['bots.act', () => bots.act({ action: 'stop', ids: ['a'] })],
      ['tokens.list', () => tokens.list()],
      ['tokens.create', () => tokens.create({ name: 'a', scopes: [] })],
      ['tokens.createLink', () => tokens.createLink({ name: 'a', scopes: [] })],
      ['checkLink', () => other.checkLink('a')],
      ['useLink', () => other.useLink('a')],
    ];
    for (const [name, call] of calls) {
      expect(await errorOf(call()), name).toMatchObject({ status: 200, isForeign: true });
    }
  });

  it('the connection is lost in the middle of a response', async () => {
    const server = createServer((_, response) => {
      response.writeHead(200, { 'content-length': '9' }).write('o');
      setTimeout(() => response.destroy(), 50);
    }).listen(0, '127.0.0.1');
    onTestFinished(() => void server.close());
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    const broken = new DroverClient({ url: `http://127.0.0.1:${port}` });
    expect(await errorOf(broken.health())).toMatchObject({ status: 0, isPassing: true });
    expect(await errorOf(broken.bots.list())).toMatchObject({ status: 0, isPassing: true });
  });

  it('the caller aborts the call', async () => {
    const server = createServer(() => {}).listen(0, '127.0.0.1');
    onTestFinished(() => {
      server.closeAllConnections();
      server.close();
    });
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    const controller = new AbortController();
    const silent = new DroverClient({ url: `http://127.0.0.1:${port}` });
    const call = silent.bots.list({ signal: controller.signal });
    const reason = new Error('enough');
    controller.abort(reason);
    await expect(call).rejects.toBe(reason);
  });

  it.each(['', 'localhost:8090', 'ftp://x', 'not a url'])('%j is not a URL', (url) => {
    expect(() => new DroverClient({ url })).toThrow(
      /is not an http or https URL; use for example http:/,
    );
  });
});

it('a package can import drover/client', async () => {
  const server = createServer((_, response) => response.end('ok')).listen(0, '127.0.0.1');
  onTestFinished(() => void server.close());
  await once(server, 'listening');
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const script =
    "import('drover/client').then(async ({ DroverClient }) => { await new DroverClient({ url: process.argv[1] }).health(); console.log('well'); })";
  const cwd = new URL('../..', import.meta.url).pathname;
  const { stdout } = await promisify(execFile)(process.execPath, ['-e', script, url], {
    cwd,
  });
  expect(stdout).toBe('well\n');
});
