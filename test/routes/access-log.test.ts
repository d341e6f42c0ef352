// Decision "log": the lines of the access log, without a secret in it.

import { expect, it } from 'vitest';
import { call, tryPin } from '../harness/api.js';
import { type InjectedService, inject } from '../harness/inject.js';
import { streamOn } from '../harness/sse.js';
import { makeTicket } from '../harness/tokens.js';

const start = (access: string): Promise<InjectedService> =>
  inject({ config: { log: { access } }, fronts: 2 });

const LINE =
  /^(\d{4}-\d\d-\d\dT[\d:.]+Z) ([\d.:a-f]+) (-|[0-9a-f-]{36}) ([A-Z]+) (\S+) (\d{3}) \d+\.\dms https?$/;
const lines = (service: InjectedService): string[] =>
  service.log.split('\n').filter((line) => LINE.test(line));
const targets = (service: InjectedService): string[] =>
  lines(service).map((line) => {
    const [, , , , method, target, status] = LINE.exec(line) ?? [];
    return `${method} ${target} ${status}`;
  });

/** Requests that hold secrets wherever one can be put. */
async function stir(service: InjectedService): Promise<string[]> {
  const token = await service.token();
  const ticket = await makeTicket(service);
  const encoded = encodeURIComponent(token);
  await call(service, 'GET', '/api/bots?status=running');
  await call(service, 'GET', `/api-info?token=${encoded}`, { token: null });
  await call(service, 'GET', `/api-info?%74oken=${token}`, { token: null });
  await call(service, 'GET', `/nowhere/${service.pin}?pin=${service.pin}`, { token: null });
  await call(service, 'GET', `/events?bearer=${encoded}`, { token: null });
  const stream = await streamOn(service, `/events?ticket=${ticket}`);
  stream.close();
  await tryPin(service, 'not the PIN');
  await call(service, 'GET', '/health', { token: null });
  await call(service, 'GET', '/last', { token: null });
  await service.flush();
  return [token, encoded, ticket];
}

it('all: a line for each request, with its token by id, and no secret anywhere', async () => {
  const service = await start('all');
  const secrets = await stir(service);
  expect(targets(service)).toEqual(
    expect.arrayContaining([
      'POST /auth/pin 200',
      'POST /auth/ticket 200',
      'GET /api/bots?status=running 200',
      'GET /api-info?token=*** 200',
      'GET /api-info?token=*** 200',
      'GET /nowhere/***?pin=*** 404',
      'GET /events?bearer=*** 401',
      'GET /events?ticket=*** 200',
      'POST /auth/pin 401',
      'GET /health 200',
      'GET /last 404',
    ]),
  );
  const { tokens } = (await call(service, 'GET', '/api/tokens')).json as {
    tokens: { id: string }[];
  };
  const id = tokens[0]?.id as string;
  for (const target of ['GET /api/bots', 'GET /api-info?token', 'GET /events?ticket']) {
    expect(lines(service).find((line) => line.includes(target))).toContain(` ${id} ${target}`);
  }
  expect(lines(service).find((line) => line.includes('/health'))).toContain(' 127.0.0.1 - GET ');
  for (const secret of [...secrets, service.pin]) expect(service.log).not.toContain(secret);
});

it('errors: a line for each request that failed', async () => {
  const service = await start('errors');
  await stir(service);
  expect([...new Set(targets(service))].sort()).toEqual([
    'GET /events?bearer=*** 401',
    'GET /last 404',
    'GET /nowhere/***?pin=*** 404',
    'POST /auth/pin 401',
  ]);
});

it('off: none, and that is the default', async () => {
  const service = await inject();
  await call(service, 'GET', '/nowhere');
  await call(service, 'GET', '/api/bots');
  await service.flush();
  expect(service.log).toBe('');
});

it('a client cannot write its own lines', async () => {
  const service = await start('all');
  await call(service, 'GET', '/a%0AGET\x1b[31m\x07/b');
  await call(service, 'GET', '/last');
  await service.flush();
  expect(targets(service).join('\n')).toContain('GET /last');
  expect(service.log.replaceAll('\n', '')).not.toMatch(/\p{Cc}/u);
});
