// docker/cluster.compose.yml without Docker: its NATS configuration and the environment of its nodes make a cluster.

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { expect, it, onTestFinished } from 'vitest';
import { parse } from 'yaml';
import { eventually } from '../harness/bots.js';
import { freePort } from '../harness/ports.js';
import { makeDir, removeDir, startService } from '../harness/service.js';
import { nodesOf } from './service.js';

/** NATS 2.9, which Debian has, does not know it; the image's does. */
const NEWER = /^\s*sync_interval: always\n/m;

interface Compose {
  services: Record<
    string,
    { command?: string[]; environment: Record<string, string>; ports?: string[] }
  >;
  configs: { nats: { content: string } };
}

it('the nodes that it describes are one cluster', async () => {
  const dir = makeDir();
  onTestFinished(() => removeDir(dir));
  const text = readFileSync('docker/cluster.compose.yml', 'utf8');
  // As Compose does it: variables with defaults, and $$ for $.
  const filled = text.replaceAll(/\$\{\w+:-([^}]*)\}/g, '$1');
  const { services, configs } = parse(filled, { merge: true }) as Compose;
  const { nats, ...nodes } = services;
  const port = await freePort();
  const content = configs.nats.content.replaceAll('$$', '$');
  expect(content).toMatch(NEWER);
  const file = path.join(dir, 'nats.conf');
  const here = content
    .replace(NEWER, '')
    .replace('0.0.0.0:4222', `127.0.0.1:${port}`)
    .replace('store_dir: /data', `store_dir: ${JSON.stringify(dir)}`);
  writeFileSync(file, here);
  const args = nats?.command?.map((arg) => (arg === '/etc/nats/drover.conf' ? file : arg)) ?? [];
  const server = spawn('nats-server', args, {
    env: { ...process.env, PATH: `${process.env['PATH']}:/usr/sbin`, ...nats?.environment },
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  const ended = once(server, 'exit');
  onTestFinished(async () => {
    server.kill('SIGKILL');
    await ended;
  });
  const said: string[] = [];
  for await (const line of createInterface(server.stderr)) {
    said.push(line);
    if (line.includes('Server is ready')) break;
  }
  expect(said.at(-1), said.join('\n')).toContain('Server is ready');

  const started = await Promise.all(
    Object.entries(nodes).map(([name, { environment }]) => {
      const env = Object.fromEntries(
        Object.entries(environment).map(([variable, value]) => [
          variable,
          value.replace('@nats:4222', `@127.0.0.1:${port}`),
        ]),
      );
      return startService({ dataDir: path.join(dir, name), env });
    }),
  );
  for (const service of started)
    await eventually(async () => {
      const { cluster, state, nodes: seen } = await nodesOf(service);
      const live = seen.map((one) => `${one.node} ${one.state}`).join();
      return cluster === 'drover' && state === 'on' && live === 'h1 live,h2 live,h3 live';
    }, 'three live nodes');
  await Promise.all(started.map((service) => service.stop()));
});
