// The commands that need no service: doctor, completion, and starts that they are about. test/stress/bench-command.test.ts
// runs bench.

import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { EXIT } from '../../src/cli/exit-codes.js';
import { loadEngine } from '../../src/front/engine/load.js';
import { expectFailure, runCli, startCli } from '../harness/cli.js';
import type { CliEnd } from '../harness/cli-in-process.js';
import { freePort } from '../harness/ports.js';
import { makeDir, removeDir } from '../harness/service.js';

let home: string;
beforeAll(() => {
  home = makeDir();
});
afterAll(() => removeDir(home));

const drover = (args: string[], env: Record<string, string> = {}): Promise<CliEnd> =>
  runCli(home, args, { env });

/** What doctor finds, by its check. */
const findings = ({ stdout }: CliEnd) =>
  new Map(
    (JSON.parse(stdout) as { check: string; result: string; message: string }[]).map((one) => [
      one.check,
      one,
    ]),
  );
/** What doctor finds about a port. */
const portAt = async (port: number) =>
  findings(await drover(['doctor', '--json', '--host', '127.0.0.1', '--port', String(port)])).get(
    'port',
  );

it('start without a PIN, with the variables of the other commands set: a token waits in the data directory; doctor finds the service', async () => {
  const dir = makeDir();
  onTestFinished(() => removeDir(dir));
  const flags = ['--scope', 'admin', '--data-dir', dir];
  const made = await drover(['tokens', 'create', 'way in', ...flags]);
  expect(made.stderr).toContain(`no service uses ${dir} now`);
  const others = { DROVER_URL: 'http://x', DROVER_TOKEN: 'x', DROVER_PROFILE: 'x' };
  const env = { DROVER_AUTH_PIN: 'false', DROVER_HTTP_HOST: '127.0.0.1', ...others };
  const start = ['start', '--port', '0', '--data-dir', dir, '--no-demo'];
  const service = startCli(home, start, { env });
  await expect.poll(service.stdout, { timeout: 60_000 }).toContain('engine: ');
  expect(service.stdout()).toMatch(/^the PIN is switched off \(auth\.pin\); .*\nlistening on /);
  expect(readdirSync(dir)).not.toContain('pin.txt');
  const [url] = /http:\S+/.exec(service.stdout()) ?? [];
  const info = await fetch(`${url}/api-info`, {
    headers: { Authorization: `Bearer ${made.stdout.trim()}` },
  });
  expect(info.status).toBe(200);
  expect(await portAt(Number(new URL(url ?? '').port))).toMatchObject({
    result: 'ok',
    message: expect.stringContaining('by a Drover service'),
  });
  service.child.kill('SIGTERM');
  expect((await service.ended).code).toBe(0);
});

describe('doctor', () => {
  const CHECKS = [
    'node',
    'configuration',
    'engine',
    'port',
    'data directory',
    'open files',
    'memory',
    'process limits',
    'kinds',
    'cores',
    'clock',
    'profile',
  ];

  it('reports no problem on a healthy machine', async () => {
    const port = String(await freePort());
    const dir = path.join(home, 'data');
    const end = await drover(['doctor', '--data-dir', dir, '--port', port, '--json']);
    const all = findings(end);
    expect([...all.keys()]).toEqual(CHECKS);
    expect([...all.values()].filter(({ result }) => result === 'fail')).toEqual([]);
    expect(all.get('data directory')).toMatchObject({
      result: 'ok',
      message: `${dir} does not exist yet and can be created`,
    });
    expect(readdirSync(home)).not.toContainEqual(expect.stringContaining('doctor'));
    expect(end.code).toBe(0);
    const text = await drover(['doctor', '--data-dir', dir, '--port', port]);
    expect(text.stdout.trim().split('\n')).toHaveLength(CHECKS.length);
    expect(text.stdout).toMatch(/^ok {4}node {12}\d+\.\d+\.\d+$/m);
  });

  it('names what is wrong with a binary of uWebSockets.js that was chosen by name, and has no objection to node:http', async () => {
    const find = async (...engine: string[]) => {
      const port = String(await freePort());
      return findings(await drover(['doctor', '--json', '--port', port, ...engine])).get('engine');
    };
    expect(await find()).toMatchObject({ result: 'ok' });
    const { line, fault } = await loadEngine('uws', 1).catch(() => ({ line: '', fault: '' }));
    const message = line.replace('engine: ', '');
    expect(await find('--engine', 'uws')).toMatchObject(
      line === ''
        ? { result: 'fail' }
        : fault === undefined
          ? { result: 'ok', message }
          : { result: 'warn', message: `${message}; see docs/ENGINES.md` },
    );
  });

  it('reports a port in use, the process that has it, and what to do', async () => {
    const other = createServer((_, response) => response.end('hello')).listen(0, '127.0.0.1');
    onTestFinished(() => void other.close());
    await once(other, 'listening');
    expect(await portAt((other.address() as AddressInfo).port)).toMatchObject({
      result: 'fail',
      message: expect.stringContaining('use another port with --port'),
    });
  });

  it('accepts the flags of start and checks their values', async () => {
    const flagsOf = async (name: string) => {
      const { stdout } = await drover([name, '--help']);
      return [...stdout.matchAll(/^ {2}(?:-\w, )?(--[a-z-]+)/gm)].map(([, flag]) => flag);
    };
    const all = (await flagsOf('start')).filter((flag) => flag !== '--no-demo');
    expect(all).toContain('--kinds');
    expect(await flagsOf('doctor')).toEqual(expect.arrayContaining(all));
    const port = String(await freePort());
    const more = ['--engine', 'node', '--bot-hosts', '256', '--kinds', './nowhere'];
    const found = findings(await drover(['doctor', '--json', '--port', port, ...more]));
    expect(found.get('engine')?.message).toMatch(/^node:http/);
    expect(found.get('cores')?.message).toMatch(/ for 25\d busy threads/);
    expect(found.get('kinds')).toMatchObject({
      result: 'warn',
      message: expect.stringContaining('./nowhere'),
    });
    const none = findings(await drover(['doctor', '--json', '--fronts', '0']));
    expect(none.get('configuration')).toMatchObject({
      result: 'fail',
      message: expect.stringContaining('http.fronts'),
    });
  });

  it('reports NATS servers of a cluster that do not answer, and settings of it that are wrong', async () => {
    const port = String(await freePort());
    const cluster = async (env: Record<string, string>) => {
      const end = await drover(['doctor', '--json', '--port', port], env);
      const found = findings(end);
      expect([...found.keys()]).toEqual(CHECKS.toSpliced(-1, 0, 'cluster'));
      return found.get('cluster');
    };
    const server = `nats://127.0.0.1:${await freePort()}`;
    const servers = { DROVER_CLUSTER_SERVERS: JSON.stringify([server]) };
    expect(await cluster(servers)).toMatchObject({
      result: 'fail',
      message: expect.stringMatching(/the NATS servers cannot be reached/),
    });
    expect(
      await cluster({ ...servers, DROVER_CLUSTER_CREDENTIALS: path.join(home, 'none') }),
    ).toMatchObject({
      result: 'fail',
      message: expect.stringContaining('cluster.credentials'),
    });
  });

  it('reports problems with the data directory, the configuration and the profile', async () => {
    const file = path.join(home, 'file');
    writeFileSync(file, '');
    const port = String(await freePort());
    const noDir = await drover([
      'doctor',
      '--json',
      '--data-dir',
      path.join(file, 'x'),
      '--port',
      port,
    ]);
    expect(noDir.code).toBe(EXIT.not_as_expected);
    expect(findings(noDir).get('data directory')).toMatchObject({
      result: 'fail',
      message: `cannot use ${path.join(file, 'x')}: ${file} is not a directory; set another with --data-dir`,
    });
    for (const dir of [file, path.join(file, 'x')]) {
      expectFailure(
        await drover(['start', '--data-dir', dir, '--port', '0']),
        EXIT.failed,
        /data directory \S+ cannot be used \(\S+file is not a directory\); give another with --data-dir/,
      );
    }
    // Root has the permission, but nobody can create a file in /proc.
    const never = await drover(['doctor', '--json', '--data-dir', '/proc/x', '--port', port]);
    expect(findings(never).get('data directory')).toMatchObject({
      result: 'fail',
      message: expect.stringMatching(/^cannot use \/proc\/x: E[A-Z]+: .*; set another with/),
    });
    const open = makeDir();
    onTestFinished(() => removeDir(open));
    execFileSync('chmod', ['755', open]);
    const shared = await drover(['doctor', '--json', '--data-dir', open, '--port', port]);
    expect(findings(shared).get('data directory')).toMatchObject({
      result: 'warn',
      message: expect.stringContaining(`chmod 700 ${open}`),
    });
    execFileSync('chmod', ['777', open]);
    const written = await drover(['doctor', '--json', '--data-dir', open, '--port', port]);
    const refusal = `all users can write to it; run chmod 700 ${open}, or use a directory in it`;
    expect(findings(written).get('data directory')).toMatchObject({
      result: 'fail',
      message: expect.stringContaining(refusal),
    });
    expectFailure(
      await drover(['start', '--data-dir', open, '--port', '0']),
      EXIT.failed,
      new RegExp(`cannot be used \\(${refusal}\\)`),
    );
    const bots = path.join(home, 'bots.json');
    const bot = { id: 'a', kind: 'irc', config: { password: 'x' } };
    writeFileSync(bots, JSON.stringify({ bots: [bot] }));
    execFileSync('chmod', ['644', bots]);
    const ofBots = ['doctor', '--json', '--config', bots, '--port', port];
    expect(findings(await drover(ofBots)).get('configuration')).toMatchObject({
      result: 'warn',
      message: expect.stringContaining(`all users can read ${bots}`),
    });
    execFileSync('chmod', ['640', bots]);
    expect(findings(await drover(ofBots)).get('configuration')).toMatchObject({ result: 'ok' });
    writeFileSync(file, '{"prot": 1}');
    const config = await drover(['doctor', '--json', '--config', file]);
    expect(findings(config).get('configuration')).toMatchObject({
      result: 'fail',
      message: expect.stringContaining('unknown key prot'),
    });
    const profile = path.join(home, 'profiles-home');
    execFileSync('mkdir', ['-p', path.join(profile, 'drover/profiles')]);
    writeFileSync(path.join(profile, 'drover/profiles/default.json'), '{', { mode: 0o600 });
    const broken = await drover(['doctor', '--json', '--port', port], { XDG_CONFIG_HOME: profile });
    expect(findings(broken).get('profile')).toMatchObject({
      result: 'fail',
      message: expect.stringContaining('run drover login to replace it'),
    });
    // The profile that the other commands would use.
    const other = { XDG_CONFIG_HOME: profile, DROVER_PROFILE: 'other' };
    const named = await drover(['doctor', '--json', '--port', port], other);
    expect(findings(named).get('profile')).toMatchObject({
      result: 'fail',
      message: expect.stringMatching(/no profile \S+other\.json; create it with drover login/),
    });
    expectFailure(await drover(['bots', 'list'], other), EXIT.usage, /no profile \S+other\.json/);
    const text = '{"url":"http://x","token":"y"}';
    writeFileSync(path.join(profile, 'drover/profiles/other.json'), text, { mode: 0o600 });
    const good = await drover(['doctor', '--json', '--port', port, '--profile', 'other'], {
      XDG_CONFIG_HOME: profile,
    });
    expect(findings(good).get('profile')).toMatchObject({
      result: 'ok',
      message: expect.stringMatching(/other\.json, for http:\/\/x$/),
    });
  });
});

describe('completion', () => {
  it('bash: completes commands, subcommands and flags', async () => {
    const { stdout, code } = await drover(['completion', 'bash']);
    expect(code).toBe(0);
    const complete = (...words: string[]): string[] => {
      const script = `${stdout}
COMP_WORDS=(${words.map((word) => JSON.stringify(word)).join(' ')})
COMP_CWORD=${words.length - 1}
_drover
printf '%s\\n' "\${COMPREPLY[@]}"`;
      return execFileSync('bash', ['--norc', '-c', script], { encoding: 'utf8' })
        .trim()
        .split('\n');
    };
    expect(complete('drover', 'lo')).toEqual(['login', 'logout', 'logs']);
    expect(complete('drover', 'bots', 'st')).toEqual(['start', 'stop']);
    expect(complete('drover', 'bots', 'create', 'x', '--k')).toEqual(['--kind']);
    expect(complete('drover', 'completion', '')).toEqual(
      expect.arrayContaining(['bash', 'zsh', 'fish']),
    );
    expect(complete('drover', 'logs', '--bot', 'bots', '--j')).toEqual(['--json']);
    // Where a file is expected, the shell completes file names.
    expect(complete('drover', 'check', '')).toEqual(['']);
    // After a flag that takes a value, only values of that flag are completed.
    expect(complete('drover', 'bots', 'create', '--restart', '')).toEqual([
      'always',
      'on-failure',
      'never',
    ]);
    expect(complete('drover', 'bots', 'create', '--restart', 'n')).toEqual(['never']);
    expect(complete('drover', '--engine', '')).toEqual(['auto', 'uws', 'node']);
    expect(complete('drover', '--config', '')).toEqual(['']);
    expect(complete('drover', 'bots', 'create', '--config', '-')).toEqual(['']);
    expect(complete('drover', 'logs', '-n', '-')).toEqual(['']);
    expect(complete('drover', 'bots', 'create', '--stopped', '--res')).toEqual(['--restart']);
    expect(complete('drover', 'kinds', '')).toEqual([
      ...['list', 'show', 'reload', 'release', 'test', 'new'],
    ]);
    // The default command of a group is list.
    expect(complete('drover', 'incidents', '--l')).toEqual(['--label', '--limit']);
    // The default command is start.
    expect(complete('drover', '--ho')).toEqual(['--host']);
  });

  it('zsh and fish: include every command and flag', async () => {
    const zsh = (await drover(['completion', 'zsh'])).stdout;
    expect(zsh).toMatch(/^#compdef drover\n/);
    expect(zsh).toMatch(
      /"bots create"\) next=\(\) flags=\(.*'--config:the bot'\\''s configuration/,
    );
    expect(zsh).toContain("'--restart') takes=1 next=('always' 'on-failure' 'never') ;;");
    expect(zsh).toContain("'--lines' | '-n') takes=1 next=() ;;");
    const fish = (await drover(['completion', 'fish'])).stdout;
    expect(fish).toContain("-l restart -x -a 'always on-failure never' -d 'when to restart");
    expect(fish).toMatch(
      /complete -c drover -n '__drover_at '\\''bots create'\\''' -l kind -r -d 'kind of the bot'/,
    );
    expect(fish).toMatch(/-f -a invoke -d /);
  });
});

it('prints nothing that controls the terminal, on either output, regardless of what a service or a bot says', async () => {
  const evil = '\u001b]0;title\u0007\u009b2J\u202e\r\ndrover: all is well';
  const server = createServer((request, response) => {
    const own = { kind: 'k', desired: 'running', since_ms: 1, restarts: 0, started_at_ms: null };
    const body = {
      id: 'a',
      status: evil,
      host: null,
      last_error: null,
      labels: {},
      data: {},
      ...own,
    };
    const isGood = request.method === 'POST';
    response.writeHead(isGood ? 200 : 400, { 'Content-Type': 'application/json' });
    response.end(JSON.stringify(isGood ? body : { error: evil }));
  }).listen(0, '127.0.0.1');
  onTestFinished(() => void server.close());
  await once(server, 'listening');
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const at = ['--url', url, '--token', 'a'.repeat(64)];
  const escaped = '\\u001b]0;title\\u0007\\u009b2J\\u202e';
  const refused = await drover(['bots', 'show', 'a', ...at]);
  expect(refused).toMatchObject({
    stdout: '',
    stderr: `drover: ${escaped} drover: all is well\n`,
  });
  const started = await drover(['bots', 'start', 'a', ...at]);
  expect(started).toMatchObject({
    stdout: `a ${escaped}\\u000d\\u000adrover: all is well\n`,
    stderr: '',
  });
});
