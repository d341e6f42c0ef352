// interface-seed §1, §4 GET /api-info, §5.5, §5.6: what a restart changes, and what it keeps.

import { readFileSync } from 'node:fs';
import path from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { call, expectError, tryPin } from '../harness/api.js';
import { makeDir, removeDir, type Service, startService, stopClean } from '../harness/service.js';

let base: string;
let service: Service | undefined;
beforeEach(() => {
  base = makeDir();
});
afterEach(async () => {
  await stopClean(service);
  removeDir(base);
});

async function start(): Promise<Service> {
  service = await startService({ dataDir: path.join(base, 'data') });
  return service;
}

it('§4 a token survives a restart: GET /api-info returns the same token', async () => {
  const first = await start();
  const token = await first.token();
  expect(await first.stop()).toBe(0);
  const second = await start();
  const answer = await call(second, 'GET', '/api-info', { token });
  expect(answer.status).toBe(200);
  expect(answer.json).toEqual({ port: second.port, token });
});

it('§5.5 every token that was made survives, also a hard kill right after it was made', async () => {
  const first = await start();
  const answers = await Promise.all(Array.from({ length: 10 }, () => tryPin(first, first.pin)));
  const tokens = answers.map((answer) => (answer.json as { token: string }).token);
  await first.kill();
  const second = await start();
  for (const token of tokens) {
    expect((await call(second, 'GET', '/api-info', { token })).status).toBe(200);
  }
});

it('§5.6 the PIN is regenerated on every start, in the line and in the file; the old one is wrong', async () => {
  const pins = new Set<string>();
  let last: Service | undefined;
  for (let n = 0; n < 3; n++) {
    await last?.stop();
    last = await start();
    expect(last.pin).toMatch(/^\d{6}$/);
    expect(readFileSync(last.pinPath, 'utf8').trimEnd()).toBe(last.pin);
    for (const old of pins) expectError(await tryPin(last, old), 401, 'wrong pin');
    expect((await tryPin(last, last.pin)).status).toBe(200);
    pins.add(last.pin);
  }
  expect(pins.size).toBe(3);
});

it('§3 tokens of another data directory are not accepted', async () => {
  const first = await start();
  const token = await first.token();
  await first.stop();
  const stranger = await startService();
  try {
    expectError(await call(stranger, 'GET', '/api-info', { token }), 401, 'invalid token');
  } finally {
    await stranger.stop();
  }
});
