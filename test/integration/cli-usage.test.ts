// The command line as a process, without a service: wrong usage, and other programs that answer.

import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import { createServer as createSecureServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { EXIT, EXIT_MEANING } from '../../src/cli/exit-codes.js';
import { makeCertificate } from '../harness/certificate.js';
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

describe('wrong usage prints one line and exits with 2', () => {
  it.each([
    [['nonsense'], /unknown command "nonsense"; run drover --help/],
    [['start', 'nonsense'], /unknown command "nonsense"/],
    [['--nonsense'], /unknown option '--nonsense'/],
    [['bots', 'lst'], /unknown command 'lst' \(Did you mean list\?\)/],
    [['bots'], /bots needs a subcommand: list, show, .*; run drover bots --help for usage\n/],
    [['tokens'], /tokens needs a subcommand: list, create, link, revoke, help; run drover tokens/],
    [['help', 'nonsense'], /unknown command "nonsense"; run drover --help/],
    [['help', 'bots', 'nonsense'], /unknown command "nonsense"/],
    [['bots', 'help', 'nonsense'], /unknown command "nonsense"/],
    [['bots', 'list', '--nonsense'], /unknown option '--nonsense'/],
    [['bots', 'create', 'x'], /give an id and --kind, or --file/],
    [['bots', 'show'], /missing required argument 'id'/],
    [['bots', 'rm'], /no bots selected; give ids or --label/],
    [['bots', 'list', 'x'], /too many arguments/],
    [['logs', '--level', 'loud'], /Allowed choices are info, warn, error, state\./],
    [['logs', '--event', 'gap'], /Allowed choices are log, session, alert, activity, operation\./],
    [['logs', '-n', 'x'], /It must be a whole number/],
    [['wait', 'x', '--status', 'y', '--timeout', 'soon'], /It must be a duration such as 500ms/],
    [
      ['check', 'x', '--expect', 'luck'],
      /"luck" is not an expectation; use one of: bot <id> <status>/,
    ],
    [['check', 'x', '--live'], /give either a recording or --live/],
    [['check', 'x', '--for', '5s', '--no-errors'], /--for needs --live; a recording/],
    [['check', 'x'], /no expectations; add --expect/],
    [['check', '--live', '--no-errors'], /no time limit; add --for/],
    [['check', 'x', '--rules', '/nowhere'], /--rules \/nowhere: ENOENT/],
    [['record', 'x', '--for', '1s', '--', 'true'], /give either a command or --for/],
    [['record', '-', '--', 'true'], /the command uses standard output; record to a file/],
    [['check', 'x', '--no-gaps', '--junit', '-', '--json', '-'], /only one of --junit and --json/],
    // A timer set for longer than that would fire at once.
    [['bots', 'list', '--timeout', '25d'], /'25d' is invalid\. It must be at most 24d\./],
    [['wait', 'x', '--status', 'y', '--timeout', '9999999999'], /It must be at most 24d\./],
    [['record', 'x', '--for', '30d'], /It must be at most 24d\./],
    [['check', '--live', '--for', '30d', '--no-errors'], /It must be at most 24d\./],
    [['cluster', 'try', '--nodes', '0'], /'0' is invalid\. It must be at least 1\./],
    [['cluster', 'try', '--nodes', 'x'], /It must be a whole number/],
    [
      ['check', '--live', '--expect', 'bot x up within 30d'],
      /within 30d: It must be at most 24d\./,
    ],
    [['login', '--pin', '1', '--token', 'x'], /'--token <token>' cannot be used with .*'--pin/],
    [['login', '--pin', '1', '--pin-file', 'x'], /cannot be used with option '--pin-file/],
    [['login', '--token', 'a b'], /the token is empty or has invalid characters/],
    [['logout', '--token', 'x'], /unknown option '--token'/],
    [['completion', 'tcsh'], /Allowed choices are bash, zsh, fish/],
    [
      ['bots', 'list', '--url', 'nope'],
      /--url: "nope" is not an http or https URL; use for example/,
    ],
  ])('%j', async (args, names) => {
    const env = { DROVER_TOKEN: 'x' };
    expectFailure(await drover(args, env), EXIT.usage, names);
  });

  it('an invalid address in the environment', async () => {
    const env = { DROVER_URL: 'ftp://x', DROVER_TOKEN: 'x' };
    expectFailure(
      await drover(['bots', 'list'], env),
      EXIT.usage,
      /DROVER_URL: "ftp:\/\/x" is not an http/,
    );
  });

  it('help exits with 0 and lists every command', async () => {
    const { code, stdout, stderr } = await drover(['--help']);
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    for (const name of [
      'start',
      'login',
      'logout',
      'bots',
      'logs',
      'invoke',
      'kinds',
      'incidents',
      'rules',
      'top',
      'pressure',
      'tokens',
      'whoami',
      'wait',
      'record',
      'check',
      'doctor',
      'prune',
      'completion',
    ]) {
      expect(stdout).toMatch(new RegExp(`^  ${name}\\b`, 'm'));
    }
    expect(stdout).toMatch(/^ {4}3 {2}no service at the address/m);
    const create = await drover(['bots', 'create', '--help']);
    expect(create).toMatchObject({ code: 0, stderr: '' });
    expect(create.stdout).toMatch(/^Usage: drover bots create /);
    expect(await drover(['help', 'bots', 'create'])).toEqual(create);
    expect(await drover(['bots', 'help', 'create'])).toEqual(create);
    expect(await drover(['help'])).toEqual({ code, stdout, stderr });
    const bots = await drover(['bots', '--help']);
    expect(await drover(['help', 'bots'])).toEqual(bots);
    expect(bots.stdout).toMatch(/^ {2}create /m);
    expect((await drover(['--version'])).stdout).toMatch(/^\d+\.\d+\.\d+\n$/);
  });
});

describe('responses at the address', () => {
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

  it('no service', async () => {
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

  it('an untrusted certificate, a certificate for another name, TLS on one side only', async () => {
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
      /use --url with a host name that the certificate covers/,
    );
    expectFailure(
      await list(`http://localhost:${port}`),
      EXIT.no_service,
      /with TLS the address starts with https:/,
    );
    expectFailure(
      await list(url.replace('http:', 'https:')),
      EXIT.no_service,
      /: wrong version number; the service does not use TLS; its address starts with http:/,
    );
  });

  it('no token', async () => {
    const env = { DROVER_URL: url };
    expectFailure(
      await drover(['bots', 'list'], env),
      EXIT.not_allowed,
      /no token for http:.*; log in with drover login/,
    );
  });

  it('an invalid token, which is not sent', async () => {
    for (const token of ['a b', 'ä', 'a\nb']) {
      const end = await drover(['bots', 'list'], { DROVER_URL: url, DROVER_TOKEN: token });
      expectFailure(end, EXIT.usage, /the token is empty or has invalid characters/);
    }
    // An empty variable counts as unset.
    const empty = { DROVER_URL: url, DROVER_TOKEN: '', DROVER_PROFILE: '' };
    expectFailure(await drover(['bots', 'list'], empty), EXIT.not_allowed, /no token for/);
  });

  it('another program or another version', async () => {
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
  ])('status %i from a proxy or another program', async (status, exitCode) => {
    expectFailure(
      await drover(['bots', 'list'], at(`/${status}`)),
      exitCode,
      new RegExp(`answered ${status}, but not like a Drover service; [^\n]+`),
    );
  });

  it('no response in time', async () => {
    const end = await drover(['login', '--pin', '1', '--timeout', '300ms'], at('/slow'));
    expectFailure(end, EXIT.timeout, /request timed out; set a longer --timeout/);
  });

  it('Ctrl-C', async () => {
    const run = startCli(home, ['login', '--pin', '1'], { env: at('/slow') });
    await once(strange, 'request');
    run.child.kill('SIGINT');
    expect(await run.ended).toEqual({ code: EXIT.interrupted, stdout: '', stderr: '' });
  });
});

it('docs/CLI.md lists every exit code with its meaning, and every command', async () => {
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
