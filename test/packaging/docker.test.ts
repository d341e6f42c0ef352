// The image, tested without a container runtime: the Dockerfile's steps run in a directory, followed by its health check.

import { execFile } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { promisify } from 'node:util';
import { expect, it, onTestFinished } from 'vitest';
import { parse } from 'yaml';
import { envNames } from '../../src/main/environment/load-config.js';
import { makeCertificate } from '../harness/certificate.js';
import { NPM, Reader, ROOT } from '../harness/docs.js';
import { freePort } from '../harness/ports.js';
import { makeDir, removeDir, startService } from '../harness/service.js';

const run = promisify(execFile);
const CHECK = path.join(ROOT, 'docker/healthcheck.mjs');

const dockerfile = (): string[] =>
  readFileSync(path.join(ROOT, 'Dockerfile'), 'utf8').replaceAll('\\\n', ' ').split('\n');

const check = async (port: number, more: NodeJS.ProcessEnv = {}): Promise<number> => {
  const env = { ...process.env, DROVER_HTTP_PORT: String(port), ...more };
  const result = await run(process.execPath, [CHECK], { env }).catch((error) => error);
  return result.code ?? 0;
};

it('the health check detects whether the service runs', async () => {
  const service = await startService();
  expect(await check(service.port)).toBe(0);
  expect(await service.stop()).toBe(0);
  expect(await check(service.port)).toBe(1);
  expect(await check(await freePort())).toBe(1);
});

it('the health check uses the address and TLS settings of the environment', async () => {
  const elsewhere = await startService({ host: '127.0.0.2' });
  expect(await check(elsewhere.port)).toBe(1);
  expect(await check(elsewhere.port, { DROVER_HTTP_HOST: '127.0.0.2' })).toBe(0);
  expect(await elsewhere.stop()).toBe(0);
  const onAll = await startService({ host: '0.0.0.0' });
  expect(await check(onAll.port, { DROVER_HTTP_HOST: '0.0.0.0' })).toBe(0);
  expect(await onAll.stop()).toBe(0);
  const dir = makeDir();
  onTestFinished(() => removeDir(dir));
  const { certPath: cert, keyPath: key } = makeCertificate(dir, 'tls', 1);
  const withTls = await startService({ env: { DROVER_TLS_CERT: cert, DROVER_TLS_KEY: key } });
  expect(await check(withTls.port)).toBe(1);
  expect(await check(withTls.port, { DROVER_TLS_CERT: cert })).toBe(0);
  expect(await withTls.stop()).toBe(0);
});

it('the Dockerfile builds a service that runs, and its health check passes', async () => {
  const reader = new Reader(await freePort());
  // The image's directories, below this one.
  const root = reader.dir;
  const here = (text: string): string =>
    text.replaceAll(/(?<=^|[\s"'=:])\/(tmp|src|app|data)\b/g, `${root}/$1`);
  await reader.run('mkdir tmp src app data');
  let workdir = '/';
  const stages = dockerfile()
    .join('\n')
    .split(/^FROM .*$/m);
  for (const line of stages[1]?.split('\n') ?? []) {
    const [, word = '', rest = ''] = /^([A-Z]+) (.*)$/.exec(line) ?? [];
    if (word === 'WORKDIR') workdir = rest;
    if (word === 'RUN') await reader.run(`cd ${here(workdir)}; ${here(rest)}`, NPM);
    if (word !== 'COPY') continue;
    const from = rest.split(/\s+/).slice(0, -1).join(' ');
    const files = `git -C '${ROOT}' ls-files -z -- ${from}`;
    await reader.run(`${files} | tar -C '${ROOT}' -c --null -T - | tar -x -C ${here(workdir)}`);
  }
  const last = stages[2]?.split('\n') ?? [];
  const given = (word: string): string =>
    last.find((line) => line.startsWith(word))?.slice(word.length + 1) ?? '';
  const env = {
    ...Object.fromEntries(
      given('ENV')
        .split(' ')
        .map((one) => here(one).split('=')),
    ),
  };
  const command = [given('ENTRYPOINT'), given('CMD')].flatMap((list) => JSON.parse(list));
  const service = reader.type(`exec ${here(command.join(' '))}`, env);
  await service.until(/^listening on /m);
  expect(service.shown()).toContain(` at ${root}/data/pin.txt\n`);
  // The last stage puts it next to the service.
  await reader.run(`cp '${CHECK}' app/healthcheck.mjs`);
  const [, check = ''] = /CMD (\[.*\])$/.exec(given('HEALTHCHECK')) ?? [];
  const healthy = here((JSON.parse(check) as string[]).join(' '));
  await reader.run(healthy, env);
  expect(await service.interrupt(), service.shown()).toBe(0);
  expect(await reader.type(healthy, env).ended).toBe(1);
}, 300_000);

it('the Dockerfile copies existing files, and does not run as root', () => {
  const lines = dockerfile();
  const own = lines.filter((line) => /^COPY (?!--from)/.test(line));
  for (const line of own) {
    for (const name of line.split(/\s+/).slice(1, -1)) {
      expect(existsSync(path.join(ROOT, name)), name).toBe(true);
    }
  }
  expect(own.length).toBeGreaterThan(1);
  const last = lines.slice(lines.findLastIndex((line) => line.startsWith('FROM')));
  const user = last.indexOf('USER node');
  expect(user).toBeGreaterThan(0);
  expect(last.findIndex((line) => line.startsWith('ENTRYPOINT'))).toBeGreaterThan(user);
  expect(last.some((line) => line.startsWith('HEALTHCHECK'))).toBe(true);
  expect(last.slice(user).some((line) => line.startsWith('RUN'))).toBe(false);
});

it('the Compose file of a cluster sets each variable of it that exists, and no other', () => {
  const text = readFileSync(path.join(ROOT, 'docker/cluster.compose.yml'), 'utf8');
  interface Service {
    environment: Record<string, string>;
    ports?: string[];
    volumes: string[];
    configs?: { source: string }[];
  }
  const { services, volumes, configs } = parse(text, { merge: true }) as {
    services: Record<string, Service>;
    volumes: object;
    configs: Record<string, { content: string }>;
  };
  const { nats, ...nodes } = services;
  expect(Object.keys(nodes)).toEqual(['h1', 'h2', 'h3']);
  expect(Object.keys(volumes)).toEqual(['nats', 'h1', 'h2', 'h3']);
  const known = envNames();
  for (const [name, { environment, volumes: mounted }] of Object.entries(nodes)) {
    expect(environment['DROVER_CLUSTER_NODE']).toBe(name);
    expect(mounted).toEqual([`${name}:/data`]);
    for (const variable of Object.keys(environment))
      expect(known.has(variable), variable).toBe(true);
  }
  // Those that need a file are in comments.
  const named = [...text.matchAll(/\b(DROVER_\w+):/g)].map(([, variable]) => variable);
  const wanted = [...known.keys()].filter((variable) => variable.startsWith('DROVER_CLUSTER_'));
  expect([...new Set(named)].sort()).toEqual(wanted.sort());
  expect(nats?.configs?.map(({ source }) => source)).toEqual(Object.keys(configs));
  expect(configs['nats']?.content).toMatch(/jetstream \{[^}]*sync_interval: always/s);
});
