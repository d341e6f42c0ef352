// A service that runs out of file descriptors keeps running, and recovers when some are free again.

import { execFileSync } from 'node:child_process';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { expect, it, onTestFinished } from 'vitest';
import { call } from '../harness/api.js';
import { act, create, lineFrom, statusFrom, watch } from '../harness/bots.js';
import { RawConnection, requestBytes } from '../harness/http.js';
import { requireTool, skipWithout } from '../harness/needs.js';
import { getPressure, streamRefusal } from '../harness/pressure.js';
import { startService, stopClean } from '../harness/service.js';

const NEIGHBOURS = fileURLToPath(new URL('../fixtures/neighbours', import.meta.url));
/** Longer than both intervals of the memory checks, 0.1 s and 1 s. */
const LOOKS_MS = 2500;

it('no file can be opened for a while', async (context) => {
  skipWithout(context, process.platform === 'linux', 'Linux');
  requireTool('prlimit', 'util-linux');
  const service = await startService();
  const { pid } = service.child;
  const softLimit = (files: string): void => {
    execFileSync('prlimit', ['--pid', String(pid), `--nofile=${files}:`]);
  };
  const [, before = ''] =
    /^(\d+)/.exec(
      execFileSync('prlimit', ['--pid', String(pid), '--nofile', '-o', 'SOFT', '--noheadings'])
        .toString()
        .trim(),
    ) ?? [];
  softLimit('3');
  await delay(LOOKS_MS);
  expect(service.child.exitCode).toBe(null);
  softLimit(before);
  const { json } = await call(service, 'GET', '/api/pressure');
  expect(json).toMatchObject({ memory: { used_bytes: expect.any(Number) } });
  expect((await call(service, 'GET', '/metrics')).status).toBe(200);
  expect(await service.stop()).toBe(0);
});

it.for(['uws', 'node'])('more connections than files (%s)', async (engine, context) => {
  skipWithout(context, process.platform !== 'win32', 'a limit of open files');
  const service = await startService({
    openFiles: 512,
    args: ['--engine', engine],
    env: {
      DROVER_HTTP_MAX_CONNECTIONS: '25000',
      // All connections come from one address. Its limit would also close those that were there first.
      DROVER_HTTP_TRUSTED_PROXIES: '["127.0.0.1"]',
    },
  });
  onTestFinished(() => stopClean(service));
  await expect
    .poll(() => service.stderr())
    .toMatch(
      /^drover: warning: only 512 files can be open: http\.max_connections is \d+ instead of 25000, /,
    );
  const stream = await watch(service);
  const kept = await RawConnection.open(service.port);
  const health = async (): Promise<number> => {
    await kept.send(requestBytes('GET', '/health'));
    return (await kept.response()).status;
  };
  expect(await health()).toBe(200);
  // Silent ones, of which nothing is known but that they are there.
  const silent = await Promise.all(
    Array.from({ length: 700 }, () => RawConnection.open(service.port)),
  );
  onTestFinished(() => {
    for (const connection of [...silent, kept]) connection.close();
  });
  // It answers, on new connections too, and has files left to store what it is told.
  const next = await RawConnection.open(service.port);
  await next.send(requestBytes('GET', '/health'));
  expect([200, 503]).toContain((await next.response()).status);
  next.close();
  expect(await health()).toBe(200);
  const body = JSON.stringify({ id: 'b', kind: 'synthetic' });
  const headers = {
    Authorization: `Bearer ${await service.token()}`,
    'Content-Type': 'application/json',
  };
  await kept.send(requestBytes('POST', '/api/bots', headers, body));
  expect((await kept.response()).status).toBe(201);
  await statusFrom(stream, 0, 'b', 'running');
  stream.close();
});

it.for(['uws', 'node'])(
  'a bot takes all files: who that is is told, and the service answers on new connections (%s)',
  async (engine, context) => {
    skipWithout(context, process.platform === 'linux', 'Linux');
    const service = await startService({
      openFiles: 512,
      args: ['--engine', engine],
      config: { kinds: [NEIGHBOURS] },
    });
    onTestFinished(() => stopClean(service));
    const stream = await watch(service);
    await create(service, { id: 'leaky', kind: 'hostile', config: { fault: 'leak' } });
    await lineFrom(
      stream,
      0,
      ({ session_id, message }) => session_id === 'leaky' && /^no more: /.test(message),
    );
    const short = /^\d+ of 512 files are open; bots of the kind hostile have \d+ connections open/;
    await lineFrom(stream, 0, ({ message }) => short.test(message));
    await expect
      .poll(() => service.stderr())
      .toMatch(/^drover: warning: \d+ of 512 files are open; bots of the kind hostile /m);
    // Each on a new connection.
    expect(await getPressure(service)).toMatchObject({
      status: 503,
      report: {
        short: ['files'],
        files: { limit: 512, most: { kind: 'hostile', open: expect.any(Number) } },
      },
    });
    const refused = await create(service, { id: 'b', kind: 'synthetic' });
    expect([refused.status, refused.json]).toEqual([
      503,
      { error: 'too many files are open, try again later' },
    ]);
    expect((await streamRefusal(service)).status).toBe(503);
    expect((await act(service, 'leaky', 'stop')).status).toBe(200);
    await lineFrom(stream, 0, ({ message }) => message.startsWith('files are free again: '));
    expect((await getPressure(service)).status).toBe(200);
    expect((await create(service, { id: 'b', kind: 'synthetic' })).status).toBe(201);
    stream.close();
  },
);
