// `network.allow`: what bots reach with the functions of their context.

import { once } from 'node:events';
import http from 'node:http';
import net, { type AddressInfo } from 'node:net';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { create, FIXTURE_KINDS, invoke } from '../harness/bots.js';
import { type InjectedService, inject } from '../harness/inject.js';
import { waitForStatus } from '../harness/shapes.js';
import { streamOf } from '../harness/tokens.js';

const IRC = new URL('../../workers/kinds/irc.ts', import.meta.url).pathname;

let service: InjectedService;
/** Two that are listed, and one that is not. */
let web: http.Server;
let echo: net.Server;
let secret: http.Server;
let reached = 0;
const portOf = (server: net.Server): number => (server.address() as AddressInfo).port;

beforeAll(async () => {
  secret = http.createServer((_, response) => response.end('secret'));
  secret.on('connection', () => {
    reached += 1;
  });
  web = http.createServer((request, response) => {
    if (request.url === '/') response.end('goods');
    else response.writeHead(302, { location: `http://127.0.0.1:${portOf(secret)}/` }).end();
  });
  echo = net.createServer((socket) => socket.pipe(socket));
  for (const server of [secret, web, echo]) {
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
  }
  const allow = [`127.0.0.1:${portOf(web)}`, `127.0.0.1:${portOf(echo)}`];
  service = await inject({ config: { kinds: [FIXTURE_KINDS, IRC], network: { allow } } });
  const stream = await streamOf(service, await service.token());
  await create(service, { id: 'n', kind: 'networker' });
  await waitForStatus(stream, 'n', 'online');
  stream.close();
});
afterAll(async () => {
  await service.close();
  for (const server of [web, echo, secret]) server.close();
  web.closeAllConnections();
});

it('what is listed is reached', async () => {
  const url = `http://127.0.0.1:${portOf(web)}/`;
  expect((await invoke(service, 'n', 'fetch', { url })).json).toEqual({
    result: { status: 200, text: 'goods' },
  });
  const line = { host: '127.0.0.1', port: portOf(echo), say: 'hello' };
  expect((await invoke(service, 'n', 'lines', line)).json).toEqual({ result: 'hello' });
});

it('nothing else is, also not by a redirect or another name', async () => {
  const port = portOf(secret);
  const refused = (host: string): { error: string } => ({
    error: `network.allow does not list ${host}:${port}`,
  });
  const place = { host: '127.0.0.1', port };
  expect((await invoke(service, 'n', 'bytes', place)).json).toEqual(refused('127.0.0.1'));
  expect((await invoke(service, 'n', 'stay', place)).json).toEqual(refused('127.0.0.1'));
  expect((await invoke(service, 'n', 'stay', { ...place, host: 'localhost' })).json).toEqual(
    refused('localhost'),
  );
  for (const [url, host] of [
    [`http://127.0.0.1:${port}/`, '127.0.0.1'],
    [`http://2130706433:${port}/`, '127.0.0.1'],
    [`http://127.0.0.1:${portOf(web)}/away`, '127.0.0.1'],
    [`http://localhost:${port}/`, 'localhost'],
  ] as const) {
    expect((await invoke(service, 'n', 'fetch', { url })).json).toEqual(refused(host));
  }
  expect(reached).toBe(0);
});

it('an irc bot fails at once, with the reason', async () => {
  const port = portOf(secret);
  const stream = await streamOf(service, await service.token());
  const config = { host: '127.0.0.1', port, nick: 'anna', password: 'hunter2-of-anna' };
  await create(service, { id: 'anna', kind: 'irc', config });
  const { last_error } = await waitForStatus(stream, 'anna', 'failed');
  stream.close();
  expect(last_error).toContain(`network.allow does not list 127.0.0.1:${port}`);
  expect(reached).toBe(0);
});
