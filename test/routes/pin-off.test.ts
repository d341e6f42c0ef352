// `auth.pin: false`, and tokens that are created on the machine of the service: the ways in without the PIN.

import { readdirSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { EXIT } from '../../src/cli/exit-codes.js';
import { call, expectError, tryPin } from '../harness/api.js';
import { runCliInProcess } from '../harness/cli-in-process.js';
import { inject } from '../harness/inject.js';
import { makeDir, removeDir } from '../harness/service.js';

const WITHOUT_PIN = { auth: { pin: false } };
const ENV = { env: {}, cwd: '/' };

async function create(dir: string, ...args: string[]): Promise<string> {
  const { code, stdout, stderr } = await runCliInProcess(
    ['tokens', 'create', 'way in', '--data-dir', dir, ...args],
    ENV,
  );
  expect(code, stderr).toBe(0);
  return stdout.trim();
}

describe('auth.pin: false', () => {
  it('switches the PIN off as soon as there is a token, at no cost', async () => {
    const service = await inject({ config: { ...WITHOUT_PIN, pin: { capacity: 1 } } });
    const first = await tryPin(service, service.pin);
    expect(first.status).toBe(200);
    const { token } = first.json as { token: string };
    for (const pin of [service.pin, '000000', service.pin, '000000']) {
      expectError(await tryPin(service, pin), 403, /auth\.pin.*drover tokens create --data-dir/);
    }
    // The last token is gone: otherwise nobody could get in.
    expect((await call(service, 'DELETE', '/api/tokens/current', { token })).status).toBe(204);
    expect((await tryPin(service, service.pin)).status).toBe(200);
  });

  it('creates no PIN at a start with a token', async () => {
    const dir = makeDir();
    const before = await inject({ dir, config: WITHOUT_PIN });
    const token = await before.token();
    await before.close();
    const service = await inject({ dir, config: WITHOUT_PIN });
    expectError(await tryPin(service, service.pin), 403, /auth\.pin/);
    await call(service, 'DELETE', '/api/tokens/current', { token });
    expectError(await tryPin(service, service.pin), 403, /auth\.pin/);
    await service.close();
    removeDir(dir);
  });
});

describe('drover tokens create --data-dir', () => {
  it('creates a token that the next service accepts', async () => {
    const dir = makeDir();
    const token = await create(dir, '--scope', 'admin');
    const service = await inject({ dir, config: WITHOUT_PIN });
    expect((await call(service, 'GET', '/api/tokens', { token })).status).toBe(200);
    expectError(await tryPin(service, service.pin), 403);
    expect(readdirSync(dir).filter((name) => name.startsWith('new-token'))).toEqual([]);
    await service.close();
    removeDir(dir);
  });

  it('creates a token that a running service accepts, while the PIN is locked', async () => {
    const service = await inject({ config: { pin: { capacity: 1, refill_per_minute: 1 } } });
    await tryPin(service, '000000');
    expectError(await tryPin(service, service.pin), 429);
    await expect.poll(() => service.warnings).toContain('wrong PIN from 127.0.0.1');
    const token = await create(service.dir, '--scope', 'read', '--bot', 'a,b', '--expires', '1h');
    const list = () => call(service, 'GET', '/api/bots', { token });
    await expect.poll(async () => (await list()).status, { timeout: 30_000 }).toBe(200);
    const { status } = await call(service, 'POST', '/api/bots', { token, body: {} });
    expect(status).toBe(403);
  });

  it.each([
    [['--scope', 'all'], /must be one of read, control, invoke, admin/],
    [['--scope', 'admin', '--bot', 'a'], /admin cannot be limited/],
    [['--scope', 'read', '--url', 'http://localhost:1'], /cannot be used with/],
  ])('refuses %j', async (args, message) => {
    const dir = makeDir();
    const { code, stderr } = await runCliInProcess(
      ['tokens', 'create', 'x', '--data-dir', dir, ...args],
      ENV,
    );
    expect(stderr).toMatch(message);
    expect(code).toBe(EXIT.usage);
    expect(readdirSync(dir)).toEqual([]);
    removeDir(dir);
  });

  it('refuses a directory that does not exist, and creates nothing', async () => {
    const { code, stderr } = await runCliInProcess(
      ['tokens', 'create', 'x', '--scope', 'read', '--data-dir', '/nowhere/drover'],
      ENV,
    );
    expect(stderr).toMatch(/data directory \/nowhere\/drover: ENOENT.*as its user or as root/);
    expect(code).toBe(EXIT.failed);
  });
});
