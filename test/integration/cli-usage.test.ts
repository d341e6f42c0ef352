// The command line as a process, where there is no service: wrong use, other programs, doctor, completions.

import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import { createServer as createSecureServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { EXIT, EXIT_MEANING } from '../../src/cli/exit-codes.js';
import { makeCertificate } from '../harness/certificate.js';
import { type CliEnd, runCli, startCli } from '../harness/cli.js';
import { freePort } from '../harness/ports.js';
import { makeDir, removeDir, startService } from '../harness/service.js';

let home: string;
beforeAll(() => {
  home = makeDir();
});
afterAll(() => removeDir(home));

const drover = (args: string[], env: Record<string, string> = {}): Promise<CliEnd> =>
  runCli(home, args, { env });

function expectFailure({ code, stdout, stderr }: CliEnd, exitCode: number, names: RegExp): void {
  expect(stderr).toMatch(/^drover: [^\n]+\n$/);
  expect(stderr).toMatch(names);
  expect(stdout).toBe('');
  expect(code).toBe(exitCode);
}

describe('wrong use is one line and the exit code 2', () => {
  it.each([
    [['nonsense'], /unknown command "nonsense"; drover --help/],
    [['start', 'nonsense'], /unknown command "nonsense"/],
    [['--nonsense'], /unknown option '--nonsense'/],
    [['bots', 'lst'], /unknown command 'lst' \(Did you mean list\?\)/],
    [['bots', 'list', '--nonsense'], /unknown option '--nonsense'/],
    [['bots', 'create', 'x'], /required option '--kind <kind>' not specified/],
    [['bots', 'show'], /missing required argument 'id'/],
    [['bots', 'rm'], /no bot was named; give ids or --label/],
    [['bots', 'list', 'x'], /too many arguments/],
    [['logs', '--level', 'loud'], /There are: info, warn, error, state\./],
    [['logs', '--kind', 'gap'], /There are: log, session\./],
    [['logs', '-n', 'x'], /It must be a whole number/],
    [['wait', 'x', '--status', 'y', '--timeout', 'soon'], /It must be a time like 500ms/],
    [['check', 'x', '--expect', 'luck'], /"luck" is no expectation; there are: bot <id> <status>/],
    [['check', 'x', '--live'], /give the file of a recording, or --live; not both/],
    [['check', 'x', '--for', '5s', '--no-errors'], /--for is how long --live looks; a recording/],
    [['check', 'x'], /nothing is expected; say what with --expect/],
    [['check', '--live', '--no-errors'], /say how long to look, with --for/],
    [['check', 'x', '--rules', '/nowhere'], /--rules \/nowhere: ENOENT/],
    [['record', 'x', '--for', '1s', '--', 'true'], /give a command or --for, not both/],
    // A timer that is longer than that is over at once.
    [['bots', 'list', '--timeout', '25d'], /'25d' is invalid\. It may be at most 24d\./],
    [['wait', 'x', '--status', 'y', '--timeout', '9999999999'], /It may be at most 24d\./],
    [['record', 'x', '--for', '30d'], /It may be at most 24d\./],
    [['check', '--live', '--for', '30d', '--no-errors'], /It may be at most 24d\./],
    [['bench', '--for', '30d'], /It may be at most 24d\./],
    [['check', '--live', '--expect', 'bot x up within 30d'], /within 30d: It may be at most 24d\./],
    [['completion', 'tcsh'], /Allowed choices are bash, zsh, fish/],
    [['bots', 'list', '--url', 'nope'], /--url: "nope" is no URL of a service; one looks like/],
  ])('%j', async (args, names) => {
    const env = { DROVER_TOKEN: 'x' };
    expectFailure(await drover(args, env), EXIT.usage, names);
  });

  it('an address of the environment that is none', async () => {
    const env = { DROVER_URL: 'ftp://x', DROVER_TOKEN: 'x' };
    expectFailure(
      await drover(['bots', 'list'], env),
      EXIT.usage,
      /DROVER_URL: "ftp:\/\/x" is no URL/,
    );
  });

  it('help is no fault, and has every command', async () => {
    const { code, stdout, stderr } = await drover(['--help']);
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    for (const name of [
      'start',
      'login',
      'logout',
      'bots',
      'logs',
      'invoke',
      'tokens',
      'wait',
      'record',
      'check',
      'bench',
      'doctor',
      'completion',
    ]) {
      expect(stdout).toMatch(new RegExp(`^  ${name}\\b`, 'm'));
    }
    expect((await drover(['bots', 'create', '--help'])).code).toBe(0);
    expect((await drover(['--version'])).stdout).toMatch(/^\d+\.\d+\.\d+\n$/);
  });
});

describe('what answers', () => {
  let strange: Server;
  let url: string;
  beforeAll(async () => {
    strange = createServer((request, response) => {
      if (request.url === '/slow/health') return;
      if (request.url?.startsWith('/old/')) {
        response
          .writeHead(404, { 'content-type': 'application/json' })
          .end('{"error":"not found"}');
      } else if (/^\/\d+\//.test(request.url ?? ''))
        response.writeHead(Number(request.url?.split('/')[1])).end('<h1>Sorry</h1>');
      else response.setHeader('content-type', 'text/html').end('<h1>Hello</h1>');
    }).listen(0, '127.0.0.1');
    await once(strange, 'listening');
    url = `http://127.0.0.1:${(strange.address() as AddressInfo).port}`;
  });
  afterAll(() => {
    strange.closeAllConnections();
    strange.close();
  });

  const at = (path: string) => ({ DROVER_URL: `${url}${path}`, DROVER_TOKEN: 'x' });

  it('nobody', async () => {
    const env = { DROVER_URL: `http://127.0.0.1:${await freePort()}`, DROVER_TOKEN: 'x' };
    for (const args of [
      ['bots', 'list'],
      ['logs', '-f'],
      ['wait', 'x', '--status', 'y'],
      ['login', '--pin', '1'],
    ]) {
      const end = await drover(args, env);
      expectFailure(
        end,
        EXIT.no_service,
        /ECONNREFUSED.*; start one with drover start, or give its address/,
      );
    }
  });

  it('one with a certificate that is not trusted, has another name, or where there is none', async () => {
    const { certPath, certPem, keyPath } = makeCertificate(home, 'own', 1);
    const secure = createSecureServer({ cert: certPem, key: readFileSync(keyPath) }, (_, answer) =>
      answer.end('<h1>Hello</h1>'),
    ).listen(0, '::');
    onTestFinished(() => void secure.close());
    await once(secure, 'listening');
    const { port } = secure.address() as AddressInfo;
    const list = (address: string, more: Record<string, string> = {}) =>
      drover(['bots', 'list', '--url', address], { DROVER_TOKEN: 'x', ...more });
    expectFailure(
      await list(`https://localhost:${port}`),
      EXIT.no_service,
      /self-signed certificate; [^\n]*set NODE_EXTRA_CA_CERTS to the PEM file/,
    );
    const trusted = { NODE_EXTRA_CA_CERTS: certPath };
    expectFailure(
      await list(`https://localhost:${port}`, trusted),
      EXIT.other_version,
      /is it a Drover service/,
    );
    expectFailure(
      await list(`https://127.0.0.2:${port}`, trusted),
      EXIT.no_service,
      /with a name that its certificate has, with --url/,
    );
    expectFailure(
      await list(`http://localhost:${port}`),
      EXIT.no_service,
      /with a certificate it begins with https:/,
    );
    expectFailure(
      await list(url.replace('http:', 'https:')),
      EXIT.no_service,
      /: wrong version number; it has no certificate there; its address begins with http:/,
    );
  });

  it('no token', async () => {
    const env = { DROVER_URL: url };
    expectFailure(
      await drover(['bots', 'list'], env),
      EXIT.not_allowed,
      /there is no token for http:.*; log in with drover login/,
    );
  });

  it('nobody, for a token that is none', async () => {
    for (const token of ['a b', 'ä', 'a\nb']) {
      const end = await drover(['bots', 'list'], { DROVER_URL: url, DROVER_TOKEN: token });
      expectFailure(end, EXIT.usage, /the token is empty or has characters that no token has/);
    }
    // A variable that is empty is none.
    const empty = { DROVER_URL: url, DROVER_TOKEN: '', DROVER_PROFILE: '' };
    expectFailure(await drover(['bots', 'list'], empty), EXIT.not_allowed, /there is no token/);
  });

  it('another program, and another version', async () => {
    for (const args of [
      ['bots', 'list'],
      ['logs', '-f'],
      ['login', '--pin', '1'],
    ]) {
      expectFailure(await drover(args, at('')), EXIT.other_version, /Drover service/);
    }
    expectFailure(
      await drover(['bots', 'list'], at('/old')),
      EXIT.other_version,
      /another version than this command/,
    );
  });

  it.each([
    [401, EXIT.other_version],
    [403, EXIT.other_version],
    [404, EXIT.other_version],
    [500, EXIT.other_version],
    [502, EXIT.no_service],
    [503, EXIT.no_service],
  ])('a proxy or another program, with %i', async (status, exitCode) => {
    expectFailure(
      await drover(['bots', 'list'], at(`/${status}`)),
      exitCode,
      new RegExp(`answered ${status}, and not as a Drover service does; [^\n]+`),
    );
  });

  it('nothing in time', async () => {
    const end = await drover(['login', '--pin', '1', '--timeout', '300ms'], at('/slow'));
    expectFailure(end, EXIT.timeout, /no answer in time; --timeout gives it longer/);
  });

  it('Ctrl-C', async () => {
    const run = startCli(home, ['login', '--pin', '1'], { env: at('/slow') });
    await once(strange, 'request');
    run.child.kill('SIGINT');
    expect(await run.ended).toEqual({ code: EXIT.interrupted, stdout: '', stderr: '' });
  });
});

it('a service starts where the variables of the other commands are set', async () => {
  const service = await startService({
    env: { DROVER_URL: 'http://x', DROVER_TOKEN: 'x', DROVER_PROFILE: 'x' },
  });
  expect(await service.stop()).toBe(0);
});

describe('doctor', () => {
  const findings = ({ stdout }: CliEnd) =>
    new Map(
      (JSON.parse(stdout) as { check: string; result: string; message: string }[]).map((one) => [
        one.check,
        one,
      ]),
    );
  const CHECKS = [
    'node',
    'configuration',
    'engine',
    'port',
    'data directory',
    'open files',
    'memory',
    'cores',
    'clock',
    'profile',
  ];

  it('finds nothing where all is well', async () => {
    const port = String(await freePort());
    const dir = path.join(home, 'data');
    const end = await drover(['doctor', '--data-dir', dir, '--port', port, '--json']);
    const all = findings(end);
    expect([...all.keys()]).toEqual(CHECKS);
    expect([...all.values()].filter(({ result }) => result === 'fail')).toEqual([]);
    expect(all.get('data directory')).toMatchObject({
      result: 'ok',
      message: `${dir} is not there yet, and can be made`,
    });
    expect(end.code).toBe(0);
    const text = await drover(['doctor', '--data-dir', dir, '--port', port]);
    expect(text.stdout.trim().split('\n')).toHaveLength(CHECKS.length);
    expect(text.stdout).toMatch(/^ok {4}node {12}\d+\.\d+\.\d+$/m);
  });

  it('says that the port is taken, by whom, and what to do', async () => {
    const other = createServer((_, response) => response.end('hello')).listen(0, '127.0.0.1');
    onTestFinished(() => void other.close());
    await once(other, 'listening');
    const at = async (port: number) =>
      findings(
        await drover(['doctor', '--json', '--host', '127.0.0.1', '--port', String(port)]),
      ).get('port');
    expect(await at((other.address() as AddressInfo).port)).toMatchObject({
      result: 'fail',
      message: expect.stringContaining('choose another port with --port'),
    });
    const service = await startService();
    onTestFinished(() => void service.stop());
    expect(await at(service.port)).toMatchObject({
      result: 'ok',
      message: expect.stringContaining('by a service that answers'),
    });
  });

  it('says what is wrong with the data directory, the configuration and the profile', async () => {
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
      message: expect.stringContaining('give another with --data-dir'),
    });
    const open = makeDir();
    onTestFinished(() => removeDir(open));
    execFileSync('chmod', ['755', open]);
    const shared = await drover(['doctor', '--json', '--data-dir', open, '--port', port]);
    expect(findings(shared).get('data directory')).toMatchObject({
      result: 'warn',
      message: expect.stringContaining(`chmod 700 ${open}`),
    });
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
      message: expect.stringContaining('make it anew'),
    });
  });
});

it('bench measures a service of its own, and leaves nothing of it', async () => {
  const temporary = path.join(home, 'tmp');
  mkdirSync(temporary);
  const args = ['bench', '--streams', '3', '--rate', '50', '--for', '1s', '--json'];
  // A variable that would make it another service than it is by default, or none.
  const env = { TMPDIR: temporary, DROVER_HTTP_PORT: 'nonsense' };
  const { code, stdout, stderr } = await drover(args, env);
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  const figures = JSON.parse(stdout) as Record<string, number>;
  expect(figures).toMatchObject({
    streams: 3,
    events_per_second: 50,
    delivery_ms: { p50: expect.any(Number), p99: expect.any(Number) },
    request_ms: { p50: expect.any(Number), p99: expect.any(Number) },
  });
  expect(figures['delivered_per_second']).toBeGreaterThan(0);
  expect(figures['requests_per_second']).toBeGreaterThan(0);
  expect(readdirSync(temporary)).toEqual([]);
});

it('bench says that there is no place for its data', async () => {
  const end = await drover(['bench'], { TMPDIR: path.join(home, 'nowhere') });
  expectFailure(end, EXIT.failed, /no place for its data: ENOENT/);
});

describe('completion', () => {
  it('bash: completes commands, their commands, and flags', async () => {
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
    expect(complete('drover', 'b')).toEqual(['bots', 'bench']);
    expect(complete('drover', 'bots', 'st')).toEqual(['start', 'stop']);
    expect(complete('drover', 'bots', 'create', 'x', '--k')).toEqual(['--kind']);
    expect(complete('drover', 'completion', '')).toEqual(
      expect.arrayContaining(['bash', 'zsh', 'fish']),
    );
    expect(complete('drover', 'logs', '--bot', 'bots', '--j')).toEqual(['--json']);
  });

  it('zsh and fish: have every command and flag', async () => {
    const zsh = (await drover(['completion', 'zsh'])).stdout;
    expect(zsh).toMatch(/^#compdef drover\n/);
    expect(zsh).toMatch(/"bots create"\) next=\(.*'--config:the bot'\\''s configuration/);
    const fish = (await drover(['completion', 'fish'])).stdout;
    expect(fish).toMatch(
      /complete -c drover -n '__drover_at '\\''bots create'\\''' -l kind -r -d 'which kind of bot'/,
    );
    expect(fish).toMatch(/-f -a invoke -d /);
  });
});

it('docs/CLI.md has every exit code with its meaning, and every command', async () => {
  const page = readFileSync(new URL('../../docs/CLI.md', import.meta.url), 'utf8');
  const rows = [...page.matchAll(/^\| (\d+) +\| (.+?) +\|$/gm)].map(([, code, text]) => [
    Number(code),
    text,
  ]);
  const table = Object.entries(EXIT).map(([name, code]) => [
    code,
    EXIT_MEANING[name as keyof typeof EXIT],
  ]);
  expect(rows).toEqual(table);
  const { stdout } = await drover(['--help']);
  const names = [...stdout.matchAll(/^ {2}([a-z]+)\b/gm)].map(([, name]) => name ?? '');
  expect(names.length).toBeGreaterThan(10);
  for (const name of names.filter((name) => name !== 'help'))
    expect(page).toContain(`drover ${name}`);
});
