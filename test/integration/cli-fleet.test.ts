// The commands that act on many bots, and those that say what became of them, on one built service.

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import path from 'node:path';
import { beforeAll, describe, expect, it, onTestFinished, vi } from 'vitest';
import { EXIT } from '../../src/cli/exit-codes.js';
import { type BotConfig, type BotSnapshot, DroverClient } from '../../src/client/index.js';
import { FIXTURE_KINDS } from '../harness/bots.js';
import { CLI, expectFailure, startCliHere, startOperator } from '../harness/cli.js';

const { home, env, drover, done } = await startOperator({
  config: { kinds: [FIXTURE_KINDS, '/nowhere/kinds'], hosts: { count: 1 } },
});
const client = new DroverClient({ url: env['DROVER_URL'] ?? '', token: env['DROVER_TOKEN'] });
const bots = (...flags: string[]) => ['bots', ...flags];
const json = async <T>(args: string[]): Promise<T> =>
  JSON.parse(await done([...args, '--json'])) as T;

/** Three bots of two kinds and two teams: a and b are online, c is stopped. */
beforeAll(async () => {
  await client.bots.create({ id: 'a', kind: 'faulty', labels: { team: 'x' } });
  await client.bots.create({ id: 'b', kind: 'faulty', labels: { team: 'y' } });
  const load = { events_per_second: 0 };
  const rest = { desired: 'stopped' as const, labels: { team: 'x' } };
  await client.bots.create({ id: 'c', kind: 'synthetic', config: load, ...rest });
  await done(['wait', '--kind', 'faulty', '--status', 'online']);
});

describe('selectors', () => {
  const ids = async (...flags: string[]): Promise<string[]> =>
    (await json<BotSnapshot[]>(bots('list', ...flags))).map(({ id }) => id);

  it('select bots by a query, which the service answers', async () => {
    expect(await ids('--query', 'kind:faulty -label:team=y')).toEqual(['a']);
    expect(await ids('--query', 'label:team=x', '--status', 'stopped')).toEqual(['c']);
    expectFailure(
      await drover(bots('stop', '--query', 'kind:synthetic host:*')),
      EXIT.not_found,
      /no bot matches kind:synthetic host:\*; list all bots/,
    );
    expectFailure(
      await drover(bots('list', '--query', 'stauts:failed')),
      EXIT.usage,
      /there is no field "stauts"; did you mean status\?/,
    );
    const lines = await done([
      'logs',
      '-n',
      '1000',
      '--query',
      'label:team=y event:session',
      '--json',
    ]);
    const events = lines
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line));
    expect(events.length).toBeGreaterThan(0);
    for (const { data } of events) expect(data.snapshot.id).toBe('b');
  });

  it('select bots by status, kind and label; a bot matches all that are given', async () => {
    expect(await ids('--kind', 'faulty', '--label', 'team=x')).toEqual(['a']);
    expect(await ids('--status', 'online,stopped', '--label', 'team=x')).toEqual(['a', 'c']);
    expect(await done(bots('stop', '--kind', 'synthetic'))).toBe('c stopped\n');
    expect((await done(bots('stop', 'b', '--status', 'stopped'))).split('\n').sort()).toEqual([
      '',
      'b stopped',
      'c stopped',
    ]);
    await done(bots('start', 'b'));
    await done(['wait', 'b', '--status', 'online']);
    expectFailure(
      await drover(bots('restart', '--kind', 'faulty', '--status', 'lost')),
      EXIT.not_found,
      /no bot matches kind:faulty status:lost; list all bots/,
    );
    expectFailure(
      await drover(bots('rm')),
      EXIT.usage,
      /give ids or --label, --kind, --status, --node or --query/,
    );
  });

  it('of invoke replace the list of bots', async () => {
    const command = ['data', 'which=fine'];
    const some = await drover(['invoke', '--label', 'team=x', ...command]);
    expect(some).toEqual({
      code: EXIT.failed,
      stdout: 'a null\n',
      stderr: 'drover: c: bot c is not running\n',
    });
    const one = await json(['invoke', '--kind', 'faulty', '--label', 'team=x', ...command]);
    expect(one).toEqual({ a: { result: null } });
    expectFailure(await drover(['invoke', 'a']), EXIT.usage, /no command given/);
  });

  it('of wait make it wait for every bot', async () => {
    const waited = await json<Record<string, BotSnapshot>>([
      'wait',
      '--kind',
      'faulty',
      '--status',
      'online',
    ]);
    expect(Object.values(waited).map(({ id, status }) => [id, status])).toEqual([
      ['a', 'online'],
      ['b', 'online'],
    ]);
    expectFailure(
      await drover(['wait', '--label', 'team=z', '--status', 'online']),
      EXIT.not_found,
      /no bot matches label:team=z/,
    );
  });

  it('of logs and record select by what the bots are at the time', async () => {
    const past = (await done(['logs', '--kind', 'faulty', '--level', 'state'])).trim().split('\n');
    expect(new Set(past.map((line) => line.split(/ +/)[2]))).toEqual(new Set(['a', 'b']));
    expectFailure(await drover(['logs', '--kind', 'nope']), EXIT.not_found, /kind:nope/);
    const file = path.join(home, 'team.ndjson');
    const recording = ['record', file, '--label', 'team=new', '--', process.execPath, '-e'];
    // The bot is created while the recorder runs.
    const script = `fetch('${env['DROVER_URL']}/api/bots', { method: 'POST', headers: {
      authorization: 'Bearer ${env['DROVER_TOKEN']}', 'content-type': 'application/json' },
      body: '{"id":"new","kind":"faulty","labels":{"team":"new"}}' })`;
    expect(await drover([...recording, script])).toMatchObject({ code: 0 });
    const checked = await drover([
      'check',
      file,
      '--expect',
      'bot new starting',
      '--expect',
      'at most 0 events of a',
      '--allow-absent',
      '--kind',
      'faulty',
    ]);
    expect(checked, checked.stdout).toMatchObject({
      code: 0,
      stderr: expect.stringContaining('holds only what matches "label:team=new"'),
    });
    const lines = path.join(home, 'lines.ndjson');
    await drover(['record', lines, '--event', 'log', '--for', '1ms']);
    expectFailure(
      await drover(['check', lines, '--kind', 'faulty', '--no-errors']),
      EXIT.usage,
      /lines\.ndjson has no snapshots of bots, by which --status, --kind and --label select/,
    );
    const none = await drover(['check', file, '--kind', 'irc', '--at-least', '1']);
    expect(none.code).toBe(EXIT.not_as_expected);
  });
});

describe('bots update', () => {
  it('changes configuration, labels and restart policy', async () => {
    await client.bots.create({
      id: 'u',
      kind: 'synthetic',
      config: { events_per_second: 0, message_bytes: 50 },
      labels: { old: '1', kept: '2' },
      desired: 'stopped',
    });
    const config = ['--config', '{"message_bytes":null,"events_per_second":1}'];
    expect(await done(bots('update', 'u', ...config))).toBe('u stopped\n');
    const labels = ['--label', 'team=z', '--remove-label', 'old'];
    const policy = ['--restart', 'always', '--max-restarts', '7', '--backoff-cap', '2m'];
    const shown = await json<BotSnapshot>(bots('update', 'u', ...labels, ...policy));
    expect(shown.labels).toEqual({ kept: '2', team: 'z' });
    const now: BotConfig = await client.bots.config('u');
    expect(now).toMatchObject({
      config: { message_bytes: 100, events_per_second: 1 },
      restart: { policy: 'always', max_restarts: 7, backoff_cap_ms: 120_000 },
    });
    expectFailure(
      await drover(bots('update', 'u')),
      EXIT.usage,
      /nothing to change; give --config/,
    );
    expectFailure(
      await drover(bots('update', 'u', '--config', '{"message_bytes":-1}')),
      EXIT.usage,
      /config\.message_bytes/,
    );
    expectFailure(await drover(bots('update', 'no', ...config)), EXIT.not_found, /no bot "no"/);
    await done(bots('rm', 'u'));
  });
});

describe('a bot that has failed', () => {
  it('is reported with the reason when its start fails again, and counts as started when it runs', async () => {
    const config = { end: 'hopeless' };
    for (const id of ['f', 'g']) await client.bots.create({ id, kind: 'mortal', config });
    const isFailed = async () => (await client.bots.list({ status: ['failed'] })).length;
    await expect.poll(isFailed).toBe(2);
    expectFailure(
      await drover(bots('start', 'f')),
      EXIT.failed,
      /^drover: f failed: the password is wrong\n$/,
    );
    const many = await drover(bots('restart', '--status', 'failed', '--json'));
    expect(many.code).toBe(EXIT.failed);
    const error = { error: 'failed: the password is wrong' };
    expect(JSON.parse(many.stdout)).toEqual({ f: error, g: error });
    await client.bots.update('f', { config: { end: 'tick' } });
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    onTestFinished(() => void vi.useRealTimers());
    const good = startCliHere(home, bots('start', 'f'), { env });
    let isOver = false;
    void good.ended.then(() => {
      isOver = true;
    });
    const passes = async (): Promise<boolean> => {
      await vi.advanceTimersByTimeAsync(100);
      return isOver;
    };
    await expect.poll(passes).toBe(true);
    vi.useRealTimers();
    expect(await good.ended).toEqual({ code: 0, stdout: 'f alive\n', stderr: '' });
  });
});

describe('reports', () => {
  it('incidents are listed and shown', async () => {
    const [incident] = await client.incidents({ bot: 'g' });
    const id = incident?.id ?? '';
    const listed = await done(['incidents', '--bot', 'g']);
    expect(listed.split('\n')[0]).toMatch(/^ID +AT +TYPE +SUSPECT +HOST +REPEATS +REASON$/);
    expect(listed).toMatch(
      new RegExp(`^${id} +\\S+Z +crash +g +0 +\\d+ +the password is wrong`, 'm'),
    );
    expect(await json(['incidents', 'list', '--kind', 'synthetic'])).toEqual([]);
    const shown = await done(['incidents', 'show', id]);
    expect(shown).toMatch(/^suspect: {2}g$/m);
    expect(shown).toMatch(/^stack:\n {2}BotError: the password is wrong\n +at .*mortal\.mjs/m);
    expect(shown).toMatch(/^last lines:\n(?: {2}.*\n)*.*my last line/m);
    expect(await json(['incidents', 'show', id])).toEqual(incident);
    expectFailure(
      await drover(['incidents', 'show', 'nope']),
      EXIT.not_found,
      /no incident "nope"; list them with drover incidents/,
    );
  });

  it('incidents are listed by cause, with the bots of one', async () => {
    const [incident] = await client.incidents({ bot: 'g' });
    const cause = incident?.cause ?? '';
    const listed = await done(['incidents', 'groups', '--since', '2h']);
    expect(listed.split('\n')[0]).toMatch(/^CAUSE +COUNT +BOTS +FIRST +LAST +TYPE +MESSAGE$/);
    expect(listed).toMatch(
      new RegExp(`^${cause} +\\d+ +\\d+ +\\S+Z +\\S+Z +crash +the password is wrong \\(`, 'm'),
    );
    // Other bots of this service may have failed in the same way.
    const { groups } = await client.incidentGroups({ cause });
    expect(groups).toMatchObject([{ cause, bots: expect.arrayContaining(['g']) }]);
    const printed = await done(['incidents', 'groups', '--cause', cause]);
    expect(printed).toBe(`${groups[0]?.bots.join('\n')}\n`);
    expect(await json(['incidents', 'groups', '--cause', cause])).toMatchObject({ groups });
    expect(await json(['incidents', '--cause', cause])).toEqual(await client.incidents({ cause }));
    expectFailure(
      await drover(['incidents', 'groups', '--cause', '0000000000000000']),
      EXIT.not_found,
      /no group "0000000000000000"; list them with drover incidents groups/,
    );
  });

  it('rules are added, listed with their states, and removed', async () => {
    expect(await done(['rules', 'add', 'team x', '--query', 'label:team=x', '--on', 'bots'])).toBe(
      'team x added: bots >= 1\n',
    );
    const silent = ['rules', 'add', 'silent', '--query', 'no line has this', '--on', 'absence'];
    expect(await done([...silent, '--window', '1h', '--severity', 'error', '--for', '5m'])).toBe(
      'silent added: absence in 1h for 5m\n',
    );
    const firing = ['rules', 'list', '--firing'];
    await vi.waitFor(async () => expect((await drover(firing)).code).toBe(EXIT.failed), 30_000);
    const listed = await done(['rules']);
    expect(listed.split('\n')[0]).toMatch(/^NAME +STATE +SEVERITY +SINCE +VALUE +FIRES ON +QUERY$/);
    expect(listed).toMatch(/^team x +firing +warn +\S+Z +\d+ +bots >= 1 +label:team=x$/m);
    expect(listed).toMatch(/^silent +ok +error +- +\d+ +absence in 1h for 5m +no line has this$/m);
    expect(await json(['rules', 'list'])).toMatchObject([{ name: 'silent' }, { name: 'team x' }]);
    expectFailure(
      await drover(['rules', 'add', 'x', '--on', 'bots', '--window', '5m']),
      EXIT.usage,
      /--window is not for --on bots; use --for/,
    );
    expectFailure(
      await drover(['rules', 'add', 'x', '--query', 'levl:error']),
      EXIT.usage,
      /query: there is no field "levl"/,
    );
    expectFailure(await drover(['rules', 'rm', 'x']), EXIT.not_found, /there is no rule "x"/);
    expect(await done(['rules', 'rm', 'team x', 'silent'])).toBe(
      'team x removed\nsilent removed\n',
    );
    expect(await json(['rules', 'list'])).toEqual([]);
  });

  it('kinds are listed and shown, with those that do not load', async () => {
    const { code, stdout, stderr } = await drover(['kinds']);
    expect(code).toBe(0);
    expect(stdout).toMatch(/^KIND +VERSION +BOTS +COMMANDS +DESCRIPTION\n/);
    expect(stdout).toMatch(/^demo +[0-9a-f]{8} +\d+ +say,move +\S/m);
    expect(stderr).toBe(
      `drover: /nowhere/kinds does not load: there is no file, directory or package /nowhere/kinds (seen from ${process.cwd()})\n`,
    );
    expect(JSON.parse(await done(['kinds', 'show', 'mortal']))).toMatchObject({
      kind: 'mortal',
      config: { properties: { after_ms: { default: 0 } } },
    });
    expectFailure(
      await drover(['kinds', 'show', 'nope']),
      EXIT.not_found,
      /no kind "nope"; there are: demo, /,
    );
  });

  it('kinds release refuses a kind that is not quarantined', async () => {
    expectFailure(
      await drover(['kinds', 'release', 'mortal']),
      EXIT.failed,
      /mortal is not quarantined/,
    );
    expectFailure(await drover(['kinds', 'release', 'nope']), EXIT.not_found, /nope/);
  });

  it('pressure names each resource with its limit', async () => {
    const text = await done(['pressure']);
    for (const resource of [
      'cpu',
      'memory',
      'streams',
      'queue',
      'files',
      'bots',
      'disk',
      'journal',
      'host 0',
    ]) {
      expect(text).toMatch(new RegExp(`^${resource} +\\S`, 'm'));
    }
    expect(await json(['pressure'])).toMatchObject({ short: [], bots: { limit: 20000 } });
  });
});

describe('top', () => {
  it('prints the table once where there is no terminal', async () => {
    const lines = (await done(['top', '--sort', 'name', '--label', 'team=x']))
      .trimEnd()
      .split('\n');
    expect(lines[0]).toMatch(/^ *CPU +MEMORY +LINES\/S +BYTES\/S +CONN +BOT +KIND +STATUS +HOST$/);
    const rows = lines.slice(1).map((line) => line.trim().split(/ +/).slice(5));
    expect(rows).toContainEqual(['a', 'faulty', 'online', '0']);
    expect(await done(['top', '--limit', '1', '--kind', 'faulty', '--sort', 'name'])).toMatch(
      /^[^\n]+\n[^\n]+ a +faulty[^\n]+\n$/,
    );
    const listed = await json<BotSnapshot[]>(['top', '--sort', 'name', '--limit', '2']);
    expect(listed.map((bot) => Object.keys(bot))).toEqual(
      [1, 2].map(() => ['id', 'kind', 'status', 'host', 'usage', 'over_quota']),
    );
  });

  it('refuses a column that there is not, and a limit that is no number', async () => {
    expectFailure(await drover(['top', '--sort', 'age']), EXIT.usage, /cpu, memory, lines/);
    expectFailure(await drover(['top', '--limit', '0']), EXIT.usage, /at least 1/);
  });

  it('is live on a terminal: keys sort, q ends it, and the screen is as before', async () => {
    const command = `"${process.execPath}" "${CLI}" top --kind faulty`;
    // From Debian's bsdutils: gives the command a terminal.
    const child = spawn('script', ['-qec', command, '/dev/null'], {
      env: { ...env, PATH: process.env['PATH'], HOME: home, TERM: 'xterm' },
    });
    onTestFinished(() => void child.kill('SIGKILL'));
    let screen = '';
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      screen += text;
    });
    await vi.waitFor(() => expect(screen).toContain('bots: '), { timeout: 20_000 });
    expect(screen).toContain('by cpu');
    child.stdin.write('n');
    await vi.waitFor(() => expect(screen).toContain('by name'), { timeout: 20_000 });
    child.stdin.write('q');
    const [code] = await once(child, 'exit');
    expect(code).toBe(0);
    expect(screen.startsWith('\u001b[?1049h\u001b[?25l')).toBe(true);
    expect(screen.endsWith('\u001b[?25h\u001b[?1049l')).toBe(true);
  });
});
