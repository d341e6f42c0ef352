// Behind trusted proxies the client is the one that they name: in lines, limits and the access log.

import { expect, it } from 'vitest';
import { type InjectedService, inject } from '../harness/inject.js';
import { logs } from '../harness/shapes.js';
import { streamOf } from '../harness/tokens.js';

const PROXY = '10.0.0.1';

const start = (trusted: string[], http: object = {}): Promise<InjectedService> =>
  inject({ config: { http: { trusted_proxies: trusted, ...http }, log: { access: 'all' } } });

interface Sent {
  address?: string;
  body?: string;
}

/** A request for a client, through the proxy unless an address is given. @returns the status. */
async function send(
  service: InjectedService,
  method: string,
  target: string,
  client: string,
  { address = PROXY, body = '' }: Sent = {},
): Promise<number> {
  const { statusCode } = await service.inject({
    method,
    target,
    address,
    body,
    headers: {
      authorization: `Bearer ${await service.token()}`,
      'content-type': 'application/json',
      'x-forwarded-for': client,
      'x-forwarded-proto': 'https',
    },
  });
  return statusCode;
}

it('a wrong PIN, a new token and the access log name the client', async () => {
  const service = await start([PROXY]);
  const stream = await streamOf(service, await service.token(), '?scope=auth');
  const wrong = JSON.stringify({ pin: 'wrong' });
  const right = JSON.stringify({ pin: service.pin });
  expect(await send(service, 'POST', '/auth/pin', '203.0.113.7', { body: wrong })).toBe(401);
  expect(await send(service, 'POST', '/auth/pin', '203.0.113.7', { body: right })).toBe(200);
  const direct = { address: '203.0.113.1', body: wrong };
  expect(await send(service, 'POST', '/auth/pin', '203.0.113.7', direct)).toBe(401);
  await stream.until(() => logs(stream).filter(({ level }) => level === 'warn').length === 2);
  stream.close();
  const messages = logs(stream).map(({ message }) => message);
  expect(messages.slice(-3)).toEqual([
    'wrong PIN from 203.0.113.7',
    expect.stringMatching(/was created with the PIN from 203\.0\.113\.7$/),
    'wrong PIN from 203.0.113.1',
  ]);
  await service.flush();
  expect(service.log).toMatch(/Z 203\.0\.113\.7 - POST \/auth\/pin 401 [\d.]+ms https\n/);
  expect(service.log).toMatch(/Z 203\.0\.113\.1 - POST \/auth\/pin 401 [\d.]+ms http\n/);
});

it('the limit of streams per address is that of each client', async () => {
  const limits = { max_connections_per_address: 1 };
  const service = await start([PROXY], limits);
  expect(await send(service, 'GET', '/events', '203.0.113.7')).toBe(200);
  expect(await send(service, 'GET', '/events', '203.0.113.7')).toBe(429);
  expect(await send(service, 'GET', '/events', '203.0.113.8')).toBe(200);
  // The same network of 64 bits.
  expect(await send(service, 'GET', '/events', '2001:db8::1')).toBe(200);
  expect(await send(service, 'GET', '/events', '[2001:db8::2]:80')).toBe(429);
  const other = await start([], limits);
  expect(await send(other, 'GET', '/events', '203.0.113.7')).toBe(200);
  expect(await send(other, 'GET', '/events', '203.0.113.8')).toBe(429);
});
