// Decision "log": the access log on standard output, without a secret in it.

import type { Readable } from 'node:stream';
import { expect, it, onTestFinished } from 'vitest';
import { call, tryPin } from '../harness/api.js';
import { RawConnection, raw, requestBytes } from '../harness/http.js';
import { frontFlags, type Service, startService, stopClean } from '../harness/service.js';
import { openStream } from '../harness/sse.js';
import { makeTicket } from '../harness/tokens.js';

async function start(access: string): Promise<Service> {
  const service = await startService({ config: { log: { access } }, args: frontFlags(2) });
  onTestFinished(() => stopClean(service));
  return service;
}

const LINE =
  /^(\d{4}-\d\d-\d\dT[\d:.]+Z) ([\d.:a-f]+) (-|[0-9a-f-]{36}) ([A-Z]+) (\S+) (\d{3}) \d+\.\dms$/;
const lines = (service: Service): string[] =>
  service
    .stdout()
    .split('\n')
    .filter((line) => LINE.test(line));
const targets = (service: Service): string[] =>
  lines(service).map((line) => {
    const [, , , , method, target, status] = LINE.exec(line) ?? [];
    return `${method} ${target} ${status}`;
  });

/** Requests that hold secrets wherever one can be put. */
async function stir(service: Service): Promise<string[]> {
  const token = await service.token();
  const ticket = await makeTicket(service);
  const encoded = encodeURIComponent(token);
  await call(service, 'GET', '/api/bots?status=running');
  await call(service, 'GET', `/api-info?token=${encoded}`, { token: null });
  await raw(service.port, requestBytes('GET', `/api-info?%74oken=${token}`));
  await raw(service.port, requestBytes('GET', `/nowhere/${service.pin}?pin=${service.pin}`));
  await raw(service.port, requestBytes('GET', `/events?bearer=${encoded}`));
  const stream = await openStream(`${service.url}/events?ticket=${ticket}`);
  stream.close();
  await tryPin(service, 'not the PIN');
  await call(service, 'GET', '/health', { token: null });
  await call(service, 'GET', '/last', { token: null });
  await expect.poll(() => targets(service).join('\n')).toMatch(/GET \/last 404/);
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
  // Its own line at the start is where the PIN may stand.
  const log = service.stdout().replace(/^PIN=.*\n/, '');
  for (const secret of [...secrets, service.pin]) expect(log).not.toContain(secret);
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
  const service = await startService();
  await call(service, 'GET', '/nowhere');
  await call(service, 'GET', '/api/bots');
  await stopClean(service);
  expect(lines(service)).toEqual([]);
  expect(service.stdout()).not.toContain('nowhere');
});

it('a client cannot write lines of its own', async () => {
  const service = await start('all');
  const sent = '/a%0AGET\x1b[31m\x07/b';
  await raw(service.port, requestBytes('GET', sent)).catch(() => undefined);
  await call(service, 'GET', '/last');
  await expect.poll(() => targets(service).join('\n')).toContain('GET /last');
  expect(service.stdout().replaceAll('\n', '')).not.toMatch(/\p{Cc}/u);
});

it('what is logged when the service ends is not lost', async () => {
  const service = await startService({ config: { log: { access: 'all' } } });
  for (let n = 0; n < 50; n++) await call(service, 'GET', `/nowhere/${n}`, { token: null });
  await stopClean(service);
  expect(targets(service).filter((line) => line.includes('/nowhere/'))).toHaveLength(50);
});

it('lines that nobody reads are left out above a bound, and counted when somebody reads again', async () => {
  const service = await start('all');
  const output = service.child.stdout as Readable;
  output.pause();
  const path = `/${'a.'.repeat(240)}`;
  const request = requestBytes('GET', path).toString();
  const connection = await RawConnection.open(service.port);
  const BATCH = 20;
  for (let sent = 0; sent < 15_000; sent += BATCH) {
    await connection.send(Buffer.from(request.repeat(BATCH)));
    for (let n = 0; n < BATCH; n++) await connection.response();
  }
  connection.close();
  output.resume();
  await expect.poll(() => service.stdout()).toMatch(/Z [1-9]\d* lines are left out: nobody read/);
  // On node:http it does not come so far.
  await raw(service.port, requestBytes('LONGERTHANSIXTEENLETTERS', '/method'));
  await call(service, 'GET', '/last');
  await expect.poll(() => targets(service).join('\n')).toContain('GET /last');
  expect(service.stdout()).not.toContain('LONGERTHANSIXTEENL');
});

it('the service goes on when nobody reads its output any more', async () => {
  const service = await start('all');
  await call(service, 'GET', '/api/bots');
  await expect.poll(() => targets(service)).toContain('GET /api/bots 200');
  service.child.stdout?.destroy();
  for (let n = 0; n < 20; n++) {
    expect((await call(service, 'GET', `/nowhere/${n}`)).status).toBe(404);
    // Each written by itself, so that a broken pipe is met more than once.
    await new Promise((resolve) => setTimeout(resolve, 60));
  }
  expect((await call(service, 'GET', '/api/bots')).status).toBe(200);
});
