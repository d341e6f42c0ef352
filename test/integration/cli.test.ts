import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { EXIT } from '../../src/cli/exit-codes.js';
import type { BotSnapshot, NewToken, TokenInfo } from '../../src/client/index.js';
import { expectFailure, runCli, startCli, startOperator } from '../harness/cli.js';
import { freePort } from '../harness/ports.js';

const { service, home, env, drover, done } = await startOperator({
  demo: true,
  config: { pin: { capacity: 1000 } },
});

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
      /no bot has these labels/,
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
    expectFailure(await drover(['bots', 'list', '--label', 'x']), EXIT.usage, /name=value/);
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

describe('wait', () => {
  it('returns at once when the bot already has the status', async () => {
    expect(await done(['wait', 'demo-3', '--status', 'in_world'])).toMatch(
      /^demo-3 in_world after \S+\n$/,
    );
    expect(await done(['wait'])).toMatch(/is up after/);
  });

  it('returns when the bot reaches the status', async () => {
    const args = ['wait', 'demo-3', '--status', 'stopped', '--timeout', '40s'];
    const waiting = startCli(home, args, { env });
    await expect.poll(() => openStreams()).toBeGreaterThan(0);
    await done(['bots', 'stop', 'demo-3']);
    expect(await waiting.ended).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/^demo-3 stopped/),
    });
    await done(['bots', 'start', 'demo-3']);
  });

  it('fails after its timeout, for an unknown bot, and when the bot is deleted', async () => {
    const never = ['wait', 'demo-1', '--status', 'nowhere'];
    const late = await drover([...never, '--timeout', '300ms']);
    expectFailure(late, EXIT.timeout, /demo-1 was not nowhere within 300ms; it is in_world/);
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
    const waiting = startCli(home, ['wait', 'brief', '--status', 'nowhere'], { env });
    await expect.poll(() => openStreams()).toBeGreaterThan(0);
    await done(['bots', 'rm', 'brief']);
    expectFailure(await waiting.ended, EXIT.not_found, /brief was deleted/);
  });

  async function openStreams(): Promise<number> {
    const response = await fetch(`${service.url}/api/pressure`, {
      headers: { authorization: `Bearer ${env['DROVER_TOKEN']}` },
    });
    return ((await response.json()) as { streams: { open: number } }).streams.open;
  }
});
