// docs/PROXIES.md: the configurations of the page, unchanged except for ports and the places of certificates, in front of a
// service. The clients use another loopback address than the proxy.

import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { accessLines } from '../harness/access-lines.js';
import { type Certificate, makeCertificate } from '../harness/certificate.js';
import { type DaemonOptions, startDaemon } from '../harness/daemon.js';
import { docBlock } from '../harness/docs.js';
import { requireTool } from '../harness/needs.js';
import { freePort } from '../harness/ports.js';
import { makeDir, removeDir, type Service, startService, stopClean } from '../harness/service.js';

const run = promisify(execFile);
const CLIENT = '127.0.0.2';
const NAME = 'bots.example';

let dir: string;
let certificate: Certificate;
let service: Service;
beforeAll(async () => {
  requireTool('curl', 'curl');
  dir = makeDir();
  certificate = makeCertificate(dir, NAME, 1);
  const both = certificate.certPem + readFileSync(certificate.keyPath, 'utf8');
  writeFileSync(path.join(dir, 'both.pem'), both);
  const documented = JSON.parse(docBlock('docs/PROXIES.md', '"trusted_proxies"')) as object;
  service = await startService({
    config: {
      ...documented,
      log: { access: 'all' },
      journal: { enabled: false },
      stream: { heartbeat_ms: 100 },
    },
  });
});
afterAll(async () => {
  await stopClean(service);
  removeDir(dir);
});

/** The block, for this service and this port. */
function adapted(block: string, port: number): string {
  return block
    .replaceAll('127.0.0.1:8090', `127.0.0.1:${service.port}`)
    .replace('.port = "8090"', `.port = "${service.port}"`)
    .replace(/(listen |bind :|\*:)443/, `$1${port}`)
    .replace(/^bots\.example \{/m, `https://${NAME}:${port} {`)
    .replaceAll('/etc/ssl/certs/bots.example.pem', certificate.certPath)
    .replaceAll('/etc/ssl/private/bots.example.key', certificate.keyPath)
    .replaceAll('/etc/ssl/private/bots.example.pem', path.join(dir, 'both.pem'));
}

interface Proxy {
  /** It has TLS and HTTP/2. */
  isTls: boolean;
  /** It asks for /health. */
  checks: boolean;
  daemon: (port: number) => DaemonOptions;
}

const PROXIES: Record<string, Proxy> = {
  nginx: {
    isTls: true,
    checks: false,
    daemon: (port) => {
      const server = adapted(docBlock('docs/PROXIES.md', 'conf.d/drover.conf'), port);
      const location = docBlock('docs/PROXIES.md', 'location /drover/ {');
      const kept = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'];
      const temporary = kept.map((name) => `${name}_temp_path @DIR@/${name};`).join('\n');
      return {
        command: 'nginx',
        package: 'nginx',
        args: (home) => ['-p', home, '-c', `${home}/nginx.conf`],
        files: {
          'nginx.conf': `daemon off; ${isRoot ? 'user root;' : ''} pid @DIR@/pid; error_log stderr notice;
events {}
http { access_log off; ${temporary}
${server.replace(/\}\n$/, () => `${location}}\n`)}
}`,
        },
        ready: /start worker process/,
      };
    },
  },
  haproxy: {
    isTls: true,
    checks: true,
    daemon: (port) => ({
      command: 'haproxy',
      package: 'haproxy',
      args: (home) => ['-db', '-f', `${home}/haproxy.cfg`],
      files: { 'haproxy.cfg': adapted(docBlock('docs/PROXIES.md', 'haproxy.cfg'), port) },
      ready: /^/,
    }),
  },
  caddy: {
    isTls: true,
    checks: true,
    daemon: (port) => ({
      command: 'caddy',
      package: 'caddy',
      args: (home) => ['run', '--adapter', 'caddyfile', '--config', `${home}/Caddyfile`],
      files: {
        Caddyfile: `{
admin off
auto_https disable_redirects
storage file_system @DIR@/storage
}
${adapted(docBlock('docs/PROXIES.md', 'caddy/Caddyfile'), port)}`,
      },
      ready: /serving initial configuration/,
    }),
  },
  apache2: {
    isTls: true,
    checks: false,
    daemon: (port) => ({
      command: 'apache2',
      package: 'apache2',
      args: (home) => ['-DFOREGROUND', '-d', home, '-f', `${home}/apache2.conf`],
      files: {
        'apache2.conf': `${APACHE_MODULES.map(loadModule).join('\n')}
${isRoot ? 'User www-data\nGroup www-data' : ''}
ServerName localhost
DefaultRuntimeDir @DIR@
PidFile @DIR@/pid
ErrorLog @DIR@/error.log
Listen ${port}
${adapted(docBlock('docs/PROXIES.md', 'sites-available/bots.conf'), port)}`,
      },
      ready: /^/,
    }),
  },
  varnishd: {
    isTls: false,
    checks: true,
    daemon: (port) => ({
      command: 'varnishd',
      package: 'varnish',
      args: (home) => [
        ...['-F', '-j', 'none', '-n', `${home}/varnish`, '-f', `${home}/default.vcl`],
        ...['-a', `127.0.0.1:${port}`, '-s', 'default,16m', '-p', 'backend_idle_timeout=5'],
      ],
      files: { 'default.vcl': adapted(docBlock('docs/PROXIES.md', 'varnish/default.vcl'), port) },
      ready: /Child launched OK|Child \(\d+\) Started/i,
    }),
  },
};

const isRoot = process.getuid?.() === 0;
const APACHE_MODULES = [
  ...['mpm_event', 'authz_core', 'headers', 'socache_shmcb'],
  ...['ssl', 'http2', 'proxy', 'proxy_http'],
];
const loadModule = (name: string): string =>
  `LoadModule ${name}_module /usr/lib/apache2/modules/mod_${name}.so`;

interface Front {
  origin: string;
  /** Flags of curl. */
  flags: string[];
  curl: (target: string, ...more: string[]) => Promise<string>;
}

/** Starts the proxy and waits until it forwards requests. */
async function startProxy({ daemon, isTls }: Proxy): Promise<Front> {
  const port = await freePort();
  const started = await startDaemon(daemon(port));
  onTestFinished(() => started.stop());
  const origin = `${isTls ? 'https' : 'http'}://${NAME}:${port}`;
  const resolve = ['--resolve', `${NAME}:${port}:127.0.0.1`];
  const flags = ['-sSk', '--max-time', '30', ...resolve, '--interface', CLIENT];
  const curl = async (target: string, ...more: string[]): Promise<string> =>
    (await run('curl', [...flags, ...more, `${origin}${target}`])).stdout;
  await expect
    .poll(() => curl('/health').catch((thrown: Error) => `${thrown.message} ${started.output()}`))
    .toBe('ok');
  return { origin, flags, curl };
}

/** The line of the access log about a target. */
async function lineOf(target: string): Promise<string> {
  const find = (): string => accessLines(service).findLast((line) => line.includes(target)) ?? '';
  await expect.poll(find).not.toBe('');
  return find();
}

describe.each(Object.entries(PROXIES))('docs/PROXIES.md: %s', (name, proxy) => {
  it('forwards pages, calls, streams and the address of the client', async () => {
    requireTool(name, proxy.daemon(1).package);
    const { origin, flags, curl } = await startProxy(proxy);
    const { isTls, checks } = proxy;
    expect(await curl('/', '-o', '/dev/null', '-w', '%{http_code} %{http_version}')).toBe(
      isTls ? '200 2' : '200 1.1',
    );

    // The page's own origin, which the service knows by the header Host.
    const json = ['-H', `Origin: ${origin}`, '-H', 'Content-Type: application/json'];
    const pin = JSON.stringify({ pin: service.pin });
    const exchanged = await curl('/auth/pin', ...json, '-d', pin);
    const { token } = JSON.parse(exchanged) as { token: string };
    expect(token, exchanged).toMatch(/^[\w+/=]{64}$/);
    const chunked = ['--http1.1', '-H', 'Transfer-Encoding: chunked'];
    expect(await curl('/auth/pin', ...json, ...chunked, '-d', pin)).toContain('"token"');

    // A stream arrives as it is written: only comments follow its beginning.
    const query = `/events?token=${encodeURIComponent(token)}&scope=${name}`;
    const stream = spawn('curl', [...flags, '-N', `${origin}${query}`]);
    onTestFinished(() => void stream.kill());
    let text = '';
    for await (const part of stream.stdout) {
      text += String(part);
      if ((text.match(/^:/gm) ?? []).length >= 3) break;
    }
    expect(text).toMatch(/^retry: /);

    const scheme = isTls ? 'https' : 'http';
    const forged = ['X-Forwarded-For: 9.9.9.9', 'Forwarded: for=9.9.9.9', 'X-Real-IP: 9.9.9.9'];
    const headers = [...forged, `Authorization: Bearer ${token}`].flatMap((one) => ['-H', one]);
    expect(await curl(`/api-info?through=${name}`, ...headers)).toContain('"port"');
    const line = await lineOf(`/api-info?through=${name}`);
    expect(line).toMatch(new RegExp(`Z ${CLIENT} \\S{36} GET .* 200 \\S+ ${scheme}$`));
    expect(await lineOf(`&scope=${name}`)).toContain(`Z ${CLIENT} `);
    if (checks) {
      const isCheck = (one: string): boolean => / 127\.0\.0\.1 - \w+ \/health 200 /.test(one);
      const before = accessLines(service).filter(isCheck).length;
      await expect.poll(() => accessLines(service).filter(isCheck).length).toBeGreaterThan(before);
      expect(await curl('/health')).toBe('ok');
    }
  });
});

it('docs/PROXIES.md: under a path of nginx, and the commands to check it', async () => {
  const { nginx } = PROXIES;
  const { origin, curl } = await startProxy(nginx as Proxy);
  const redirect = await curl('/drover', '-o', '/dev/null', '-w', '%{http_code} %{redirect_url}');
  expect(redirect).toBe(`301 ${origin}/drover/`);
  const page = await curl('/drover/');
  const [, script = ''] = /src="\.\/([^"]+)"/.exec(page) ?? [];
  expect(await curl(`/drover/${script}`, '-o', '/dev/null', '-w', '%{http_code}')).toBe('200');
  expect(await curl('/drover/health')).toBe('ok');

  const home = path.join(dir, 'home');
  mkdirSync(home);
  const port = new URL(origin).port;
  writeFileSync(path.join(home, '.curlrc'), `insecure\nresolve = "${NAME}:${port}:127.0.0.1"\n`);
  const commands = docBlock('docs/PROXIES.md', 'curl -sS https://bots.example/health');
  const env = { ...process.env, HOME: home, CURL_HOME: home, TOKEN: await service.token() };
  const child = spawn('bash', ['-c', commands.replaceAll(`https://${NAME}`, origin)], { env });
  let shown = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    shown += text;
  });
  await once(child, 'close');
  expect(shown).toMatch(/^okretry: \d+\n$/);
});
