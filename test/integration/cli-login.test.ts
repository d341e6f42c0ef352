// drover login and logout as processes, and the profiles that they save.

import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { EXIT } from '../../src/cli/exit-codes.js';
import { type CliOptions, expectFailure, runCli, startOperator } from '../harness/cli.js';
import { freePort } from '../harness/ports.js';
import { makeDir, removeDir } from '../harness/service.js';

const { service, home, env, drover, done } = await startOperator({
  demo: true,
  config: { pin: { capacity: 1000 } },
});

describe('login', () => {
  const alone = { DROVER_TOKEN: '' };
  it('exchanges the PIN for a token in a profile that only its owner can read; logout revokes the token', async () => {
    const own = makeDir();
    try {
      const run = (args: string[], options: CliOptions = {}) => runCli(own, args, options);
      const { url, pin, pinPath } = service;
      const file = path.join(own, 'config/drover/profiles/default.json');
      const first = await run(['login', '--url', `${url}/`], { input: `${pin}\n` });
      expect(first).toEqual({
        code: 0,
        stdout: `logged in to ${url}; the token is saved in ${file}\n`,
        stderr: '',
      });
      expect(statSync(file).mode & 0o777).toBe(0o600);
      const { token } = JSON.parse(readFileSync(file, 'utf8')) as { token: string };
      expect(token).not.toBe(env['DROVER_TOKEN']);
      expect((await run(['bots', 'list'])).stdout).toContain('demo-1');
      // A token is sent only to the service that issued it.
      const elsewhere = await run([
        'bots',
        'list',
        '--url',
        `http://127.0.0.1:${await freePort()}`,
      ]);
      expectFailure(elsewhere, EXIT.not_allowed, /no token for http:/);
      const second = await run(['login', '--pin-file', pinPath]);
      expect(second).toMatchObject({ code: 0, stderr: '' });
      // The second login revoked the first token.
      expectFailure(
        await drover(['bots', 'list', '--token', token]),
        EXIT.not_allowed,
        /invalid token/,
      );
      expect((await run(['login', '--pin', pin, '--profile', 'second', '--url', url])).code).toBe(
        0,
      );
      expect((await run(['bots', 'list', '--profile', 'second'])).code).toBe(0);
      expect((await run(['bots', 'list'], { env: { DROVER_PROFILE: 'second' } })).code).toBe(0);
      expect((await run(['logout', '--profile', 'second'])).stdout).toBe(`logged out of ${url}\n`);
      const gone = JSON.parse(readFileSync(file, 'utf8')) as { token: string };
      expect((await run(['logout'])).code).toBe(0);
      expect(existsSync(file)).toBe(false);
      const after = await drover(['bots', 'list', '--token', gone.token]);
      expectFailure(after, EXIT.not_allowed, /invalid token/);
      expectFailure(await run(['logout']), EXIT.usage, /not logged in: no profile/);
    } finally {
      removeDir(own);
    }
  });

  it('does not revoke a token given with --token, and warns when it cannot revoke the previous one', async () => {
    const own = makeDir();
    try {
      const { url, pin } = service;
      const run = (args: string[]) => runCli(own, ['login', ...args]);
      const shared = (await done(['tokens', 'create', 'shared', '--scope', 'read'])).trim();
      expect((await run(['--url', url, '--token', shared])).code).toBe(0);
      expect(await run(['--url', url, '--pin', pin])).toMatchObject({ code: 0, stderr: '' });
      await done(['bots', 'list', '--token', shared]);
      const file = path.join(own, 'config/drover/profiles/default.json');
      const gone = `http://127.0.0.1:${await freePort()}`;
      writeFileSync(file, JSON.stringify({ url: gone, token: 'x', own: true }));
      expect(await run(['--url', url, '--pin', pin])).toMatchObject({
        code: 0,
        stderr: expect.stringMatching(
          /^drover: cannot revoke the previous token of this profile at \S+: no answer from [^\n]+\n$/,
        ),
      });
    } finally {
      removeDir(own);
    }
  });

  it('rejects a wrong PIN, a missing PIN and a missing PIN file', async () => {
    const wrong = service.pin === '000000' ? '000001' : '000000';
    const login = (args: string[], input?: string) =>
      drover(['login', ...args], { env: alone, ...(input === undefined ? {} : { input }) });
    expectFailure(
      await login(['--pin', wrong]),
      EXIT.not_allowed,
      /wrong pin; the service prints its PIN/,
    );
    expectFailure(await login([], ''), EXIT.usage, /no PIN given/);
    expectFailure(await login(['--pin-file', '/nowhere']), EXIT.usage, /cannot read the PIN file/);
    expect(existsSync(path.join(home, 'config/drover'))).toBe(false);
  });

  it('does not send an invalid PIN, and rejects an invalid token', async () => {
    const login = (args: string[], input = '') => drover(['login', ...args], { env: alone, input });
    const file = path.join(home, 'pin.txt');
    writeFileSync(file, '12345x\n');
    for (const end of [
      await login(['--pin', 'abc']),
      await login(['--pin', '1234567']),
      await login(['--pin-file', file]),
      await login([], 'drover\n'),
    ]) {
      expectFailure(end, EXIT.usage, /a PIN has six digits; the service prints its PIN/);
    }
    expectFailure(await login([], '\n'), EXIT.usage, /no PIN given/);
    expectFailure(
      await login(['--token', 'bad']),
      EXIT.not_allowed,
      /http:\S+ does not accept this token; omit --token to log in with the PIN/,
    );
  });

  it('reports an invalid profile, and login replaces it', async () => {
    const own = makeDir();
    try {
      const url = service.url;
      const run = (args: string[]) => runCli(own, args);
      await run(['login', '--url', url, '--pin', service.pin]);
      const file = path.join(own, 'config/drover/profiles/default.json');
      execFileSync('chmod', ['644', file]);
      expectFailure(
        await run(['bots', 'list']),
        EXIT.usage,
        /other users can read the token in it; run chmod 600 \//,
      );
      execFileSync('chmod', ['600', file]);
      for (const text of [
        '',
        '{',
        '{}',
        '[]',
        'null',
        '{"url":"x","token":"y"}',
        '{"url":"http://a","token":""}',
      ]) {
        writeFileSync(file, text);
        expectFailure(
          await run(['bots', 'list']),
          EXIT.usage,
          /is damaged; run drover login to replace it/,
        );
      }
      expect((await run(['login', '--url', url, '--pin', service.pin])).code).toBe(0);
      expect((await run(['bots', 'list'])).code).toBe(0);
      expectFailure(
        await run(['bots', 'list', '--profile', 'x']),
        EXIT.usage,
        /no profile \S+x\.json; create it with/,
      );
      expectFailure(
        await run(['bots', 'list', '--profile', '../x']),
        EXIT.usage,
        /"..\/x" is not a valid profile name/,
      );
    } finally {
      removeDir(own);
    }
  });
});
