// The commands for bots, tokens and profiles, on one built service.

import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { EXIT } from '../../src/cli/exit-codes.js';
import {
  type BotSnapshot,
  DroverClient,
  type NewToken,
  type TokenInfo,
} from '../../src/client/index.js';
import {
  type CliOptions,
  expectFailure,
  runCli,
  startCli,
  startCliHere,
  startOperator,
} from '../harness/cli.js';
import { freePort } from '../harness/ports.js';
import { makeDir, removeDir } from '../harness/service.js';

const { service, home, env, drover, done } = await startOperator({
  demo: true,
  config: { pin: { capacity: 1000 } },
});
const client = new DroverClient({ url: env['DROVER_URL'] ?? '', token: env['DROVER_TOKEN'] });

describe('bots', () => {
  it('are created, listed, stopped, started and removed', async () => {
    const config = JSON.stringify({ events_per_second: 5 });
    const labels = ['--label', 'team=x,tier=1'];
    expect(
      await done(['bots', 'create', 'one', '--kind', 'synthetic', '--config', config, ...labels]),
    ).toMatch(/^one (starting|running)\n$/);
    const file = path.join(home, 'bot.json');
    writeFileSync(file, config);
    const args = [
      '--kind',
      'synthetic',
      '--config',
      `@${file}`,
      '--label',
      'team=x',
      '--stopped',
      '--json',
    ];
    const two = JSON.parse(await done(['bots', 'create', 'two', ...args])) as BotSnapshot;
    expect(two).toMatchObject({ id: 'two', status: 'stopped', labels: { team: 'x' } });
    const lines = (await done(['bots', 'list', '--label', 'team=x'])).split('\n');
    expect(lines[0]).toMatch(/^ID +KIND +STATUS +FOR +RESTARTS +LABELS +LAST ERROR$/);
    expect(lines.slice(1).map((line) => line.split(/ +/).slice(0, 2))).toEqual([
      ['one', 'synthetic'],
      ['two', 'synthetic'],
      [''],
    ]);
    const listed = await done([
      'bots',
      'list',
      '--json',
      '--kind',
      'synthetic',
      '--status',
      'stopped',
    ]);
    expect((JSON.parse(listed) as BotSnapshot[]).map(({ id }) => id)).toEqual(['two']);
    expect(await done(['bots', 'start', 'two'])).toMatch(/^two (starting|running)\n$/);
    const stopped = (await done(['bots', 'stop', '--label', 'team=x'])).split('\n').sort();
    expect(stopped).toEqual(['', 'one stopped', 'two stopped']);
    const shown = JSON.parse(await done(['bots', 'show', 'one'])) as BotSnapshot;
    expect(shown).toMatchObject({ id: 'one', status: 'stopped', desired: 'stopped' });
    const some = await drover(['bots', 'rm', 'one', 'nobody', 'two']);
    expect(some).toMatchObject({ code: EXIT.failed, stderr: 'drover: nobody: no bot "nobody"\n' });
    expect(some.stdout.split('\n').sort()).toEqual(['', 'one deleted', 'two deleted']);
  });

  it('are created with the given restart policy, or with the default of the service', async () => {
    const create = ['bots', 'create', 'again', '--kind', 'synthetic', '--stopped'];
    const policy = async (): Promise<unknown> => {
      const response = await fetch(`${service.url}/api/bots/again/config`, {
        headers: { authorization: `Bearer ${env['DROVER_TOKEN']}` },
      });
      await done(['bots', 'rm', 'again']);
      return ((await response.json()) as { restart: { policy: string } }).restart.policy;
    };
    await done([...create, '--restart', 'never']);
    expect(await policy()).toBe('never');
    await done(create);
    expect(await policy()).toBe('on-failure');
    expectFailure(
      await drover([...create, '--restart', 'sometimes']),
      EXIT.usage,
      /Allowed choices are always, on-failure, never/,
    );
  });

  it('many bots take several requests', async () => {
    for (let n = 0; n < 60; n++) {
      const { code } = await createQuietly(`many-${n}`);
      expect(code).toBe(201);
    }
    const lines = (await done(['bots', 'rm', '--label', 'many=yes'])).trim().split('\n');
    expect(lines).toHaveLength(60);
  });

  async function createQuietly(id: string): Promise<{ code: number }> {
    const response = await fetch(`${service.url}/api/bots`, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${env['DROVER_TOKEN']}`,
        'content-type': 'application/json',
      },
      body: JSON.stringify({ id, kind: 'synthetic', desired: 'stopped', labels: { many: 'yes' } }),
    });
    return { code: response.status };
  }

  it('unknown bots and invalid arguments', async () => {
    expectFailure(await drover(['bots', 'stop', 'nobody']), EXIT.not_found, /no bot "nobody"/);
    expectFailure(
      await drover(['bots', 'rm', '--label', 'a=b']),
      EXIT.not_found,
      /no bot matches label:a=b;/,
    );
    expectFailure(
      await drover(['bots', 'create', 'demo-1', '--kind', 'demo']),
      EXIT.failed,
      /exists already/,
    );
    expectFailure(
      await drover(['bots', 'create', 'x', '--kind', 'nope']),
      EXIT.usage,
      /unknown kind "nope"/,
    );
    const broken = ['bots', 'create', 'x', '--kind', 'demo', '--config'];
    expectFailure(
      await drover([...broken, '{']),
      EXIT.usage,
      /--config \{: It must be a JSON object/,
    );
    expectFailure(
      await drover([...broken, '@/nowhere']),
      EXIT.usage,
      /--config @\/nowhere: ENOENT/,
    );
    expectFailure(
      await drover(['bots', 'create', 'x', '--kind', 'demo', '--label', 'x']),
      EXIT.usage,
      /name=value/,
    );
  });
});

describe('invoke', () => {
  it('sends arguments as pairs or as JSON, to one bot, to several and to the service', async () => {
    await done(['wait', 'demo-1', '--status', 'in_world']);
    await done(['wait', 'demo-2', '--status', 'in_world,tutorial']);
    await done(['wait', 'demo-2', '--status', 'in_world']);
    expect(JSON.parse(await done(['invoke', 'demo-1', 'say', 'text=hello there']))).toEqual({
      said: 'hello there',
    });
    expect(JSON.parse(await done(['invoke', 'demo-1', 'move', '{"x":3,"y":4}']))).toEqual({
      x: 3,
      y: 4,
    });
    expect(JSON.parse(await done(['invoke', 'demo-1', 'move', 'x=5', 'y=6']))).toEqual({
      x: 5,
      y: 6,
    });
    expect(await done(['invoke', '-', 'ping'])).toBe('"pong"\n');
    // A text argument stays text, even when it is also valid JSON.
    for (const text of ['2026', 'null', '[1]', '{}']) {
      expect(JSON.parse(await done(['invoke', 'demo-1', 'say', `text=${text}`]))).toEqual({
        said: text,
      });
    }
    expect(JSON.parse(await done(['invoke', 'demo-1', 'say', 'text="5"']))).toEqual({ said: '5' });
    expect(await done(['invoke', 'demo-1,demo-2', 'say', 'text=7'])).toContain('"said":"7"');
    const many = await drover(['invoke', 'demo-1,demo-2,x', 'say', 'text=hi']);
    expect(many).toEqual({
      code: EXIT.failed,
      stdout: 'demo-1 {"said":"hi"}\ndemo-2 {"said":"hi"}\n',
      stderr: 'drover: x: no bot "x"\n',
    });
  });

  it('reports errors', async () => {
    expectFailure(
      await drover(['invoke', 'demo-1', 'dance']),
      EXIT.not_found,
      /bots of kind demo have: say, move/,
    );
    expectFailure(await drover(['invoke', 'nobody', 'say']), EXIT.not_found, /no bot "nobody"/);
    expectFailure(
      await drover(['invoke', 'demo-1', 'move', 'x=3']),
      EXIT.usage,
      /args.y is missing/,
    );
    expectFailure(
      await drover(['invoke', 'demo-1', 'move', 'x']),
      EXIT.usage,
      /is not a valid argument; use name=value/,
    );
    expectFailure(
      await drover(['invoke', 'demo-1', 'move', '{x}']),
      EXIT.usage,
      /is not a JSON object/,
    );
    expectFailure(await drover(['invoke', ',', 'move']), EXIT.usage, /no bot given/);
  });
});

describe('tokens', () => {
  it('are created on the machine of the running service, and valid when the command ends', async () => {
    const args = ['--scope', 'admin', '--data-dir', service.dataDir, '--json'];
    const { code, stdout, stderr } = await runCli(home, ['tokens', 'create', 'local', ...args]);
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    const made = JSON.parse(stdout) as NewToken;
    const listed = await done(['tokens', 'list', '--json', '--token', made.token]);
    const own = (JSON.parse(listed) as TokenInfo[]).find(({ current }) => current);
    expect(own).toMatchObject({ id: made.id, name: 'local', scopes: ['admin'], by_pin: false });
  });

  it('are given by a sign-in link, once, and say who they are', async () => {
    const args = ['tokens', 'link', 'Ada', '--scope', 'read,invoke', '--label', 'team=a'];
    const { code, stdout, stderr } = await drover(args);
    expect({ code, stderr }).toMatchObject({
      code: 0,
      stderr: expect.stringMatching(/^drover: the link works once, until 20/),
    });
    const [, url, link = ''] = /^(.+)\/#sign-in=(\S+)\n$/.exec(stdout) ?? [];
    expect(url).toBe(service.url);
    const client = new DroverClient({ url: service.url });
    const { token, id } = await client.useLink(link);
    await expect(client.useLink(link)).rejects.toMatchObject({ status: 401 });
    const own = ['--token', token];
    const text = await done(['whoami', ...own]);
    expect(text).toContain(
      `token:      Ada (${id})\nscopes:     read, invoke\nbots:       team=a\n`,
    );
    expect(text).toMatch(/expires: +20\S+ if it is not used until then\n/);
    expect(text).toMatch(/created: +20\S+ by a sign-in link of token "pin/);
    expect(text).toMatch(/last used: +20\S+ from \S+, 127\.0\.0\.1\n/);
    const json = JSON.parse(await done(['whoami', '--json', ...own]));
    expect(json).toMatchObject({ id, url: service.url, scopes: ['read', 'invoke'] });
    expectFailure(await drover([...args, ...own]), EXIT.not_allowed, /scope admin/);
    await done(['tokens', 'revoke', '--current', ...own]);
  });

  it('are created with scopes, listed without the secret, and revoked', async () => {
    const args = [
      'tokens',
      'create',
      'wall',
      '--scope',
      'read,invoke',
      '--bot',
      'demo-1',
      '--expires',
      '1h',
    ];
    const token = (await done(args)).trim();
    expect(Buffer.from(token, 'base64')).toHaveLength(48);
    const list = await done(['tokens', 'list', '--json']);
    expect(list).not.toContain(token);
    const made = (JSON.parse(list) as TokenInfo[]).find(({ name }) => name === 'wall');
    expect(made).toMatchObject({ scopes: ['read', 'invoke'], bots: ['demo-1'], labels: null });
    expect(Math.abs((made?.expires_at_ms ?? 0) - Date.now() - 3_600_000)).toBeLessThan(60_000);
    expect(await done(['tokens', 'list'])).toContain(made?.id);
    const own = ['--token', token];
    expect(await done(['invoke', 'demo-1', 'say', 'text=x', ...own])).toContain('said');
    expectFailure(
      await drover(['bots', 'stop', 'demo-1', ...own]),
      EXIT.not_allowed,
      /scope control/,
    );
    await done(['tokens', 'revoke', '--current', ...own]);
    expectFailure(
      await drover(['bots', 'list', ...own]),
      EXIT.not_allowed,
      /invalid token; log in with drover login/,
    );
    const other = JSON.parse(
      await done(['tokens', 'create', 'b', '--scope', 'read', '--label', 'a=b', '--json']),
    );
    expect(other).toMatchObject({ name: 'b', labels: { a: 'b' }, token: expect.any(String) });
    const { id } = other as NewToken;
    const revoked = await drover(['tokens', 'revoke', id, 'nothing']);
    expect(revoked).toMatchObject({ code: EXIT.failed, stdout: `${id} revoked\n` });
    expectFailure(await drover(['tokens', 'revoke', id]), EXIT.not_found, /no token/);
    const last = (await done(['tokens', 'create', 'last', '--scope', 'read'])).trim();
    const json = await drover(['tokens', 'revoke', id, '--current', '--json', '--token', last]);
    expect(json.code).toBe(EXIT.failed);
    expect(JSON.parse(json.stdout)).toEqual({
      [id]: { error: expect.stringContaining('scope') },
      current: { status: 'revoked' },
    });
    expectFailure(await drover(['tokens', 'revoke']), EXIT.usage, /no tokens selected/);
    expectFailure(
      await drover(['tokens', 'create', 'c', '--scope', 'all']),
      EXIT.usage,
      /read, control, invoke, admin/,
    );
  });
});

describe('login', () => {
  const alone = { DROVER_TOKEN: '' };
  it('exchanges the PIN for a token in a profile that only its owner can read; logout revokes the token', async () => {
    const own = makeDir();
    try {
      const run = (args: string[], options: CliOptions = {}) => runCli(own, args, options);
      const { url, pin, pinPath } = service;
      const file = path.join(own, 'config/drover/profiles/default.json');
      // A process, for its standard input.
      const login = startCli(own, ['login', '--url', `${url}/`], { input: `${pin}\n` });
      const first = await login.ended;
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

describe('wait', () => {
  it('returns at once when the bot already has the status', async () => {
    expect(await done(['wait', 'demo-3', '--status', 'in_world'])).toMatch(
      /^demo-3 in_world after \S+\n$/,
    );
    expect(await done(['wait'])).toMatch(/is up after/);
  });

  it('returns when the bot reaches the status', async () => {
    const args = ['wait', 'demo-3', '--status', 'stopped', '--timeout', '40s'];
    const waiting = startCliHere(home, args, { env });
    await expect.poll(() => openStreams()).toBeGreaterThan(0);
    await client.bots.stop('demo-3');
    expect(await waiting.ended).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/^demo-3 stopped/),
    });
    await done(['bots', 'start', 'demo-3']);
  });

  it('fails after its timeout, for an unknown bot, and when the bot is deleted', async () => {
    const never = ['wait', 'demo-1', '--status', 'nowhere'];
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    onTestFinished(() => void vi.useRealTimers());
    const late = startCliHere(home, [...never, '--timeout', '3s'], { env });
    await expect.poll(() => openStreams()).toBeGreaterThan(0);
    // The status arrives while the time passes in small steps.
    let isOver = false;
    void late.ended.then(() => {
      isOver = true;
    });
    const isLate = async (): Promise<boolean> => {
      await vi.advanceTimersByTimeAsync(100);
      return isOver;
    };
    await expect.poll(isLate).toBe(true);
    vi.useRealTimers();
    expectFailure(
      await late.ended,
      EXIT.timeout,
      /demo-1 was not nowhere within 3s; it is in_world/,
    );
    expectFailure(
      await drover(['wait', 'nobody', '--status', 'x']),
      EXIT.not_found,
      /no bot "nobody"/,
    );
    expectFailure(
      await drover(['wait', 'demo-1']),
      EXIT.usage,
      /add --status with the status to wait for/,
    );
    const url = `http://127.0.0.1:${await freePort()}`;
    const nobody = await drover(['wait', '--timeout', '300ms'], { env: { DROVER_URL: url } });
    expectFailure(nobody, EXIT.timeout, /no service answered at http:/);
    await done(['bots', 'create', 'brief', '--kind', 'synthetic']);
    const waiting = startCliHere(home, ['wait', 'brief', '--status', 'nowhere'], { env });
    await expect.poll(() => openStreams()).toBeGreaterThan(0);
    await client.bots.delete('brief');
    expectFailure(await waiting.ended, EXIT.not_found, /brief was deleted/);
  });

  async function openStreams(): Promise<number> {
    const response = await fetch(`${service.url}/api/pressure`, {
      headers: { authorization: `Bearer ${env['DROVER_TOKEN']}` },
    });
    return ((await response.json()) as { streams: { open: number } }).streams.open;
  }
});

// Last, because it stops bots that the others use.
it('--json: bot operations, command results and waits', async () => {
  const json = async (args: string[], code = 0): Promise<unknown> => {
    const end = await drover([...args, '--json']);
    expect(end).toMatchObject({ code });
    return JSON.parse(end.stdout) as unknown;
  };
  expect(await json(['wait'])).toEqual({ url: service.url, after_ms: expect.any(Number) });
  expect(await json(['wait', 'demo-1', '--status', 'in_world'])).toMatchObject({
    id: 'demo-1',
    status: 'in_world',
  });
  expect(await json(['invoke', 'demo-1,nobody', 'say', 'text=hello'], EXIT.failed)).toEqual({
    'demo-1': { result: expect.objectContaining({ said: 'hello' }) },
    nobody: { error: expect.stringContaining('nobody') },
  });
  expect(await json(['bots', 'stop', 'demo-1'])).toEqual({ 'demo-1': { status: 'stopped' } });
  expect(await json(['bots', 'stop', 'demo-1', 'nobody', 'demo-2'], EXIT.failed)).toEqual({
    'demo-1': { status: 'stopped' },
    nobody: { error: 'no bot "nobody"' },
    'demo-2': { status: 'stopped' },
  });
  expect(await json(['bots', 'rm', 'demo-1'])).toEqual({ 'demo-1': { status: 'deleted' } });
});
