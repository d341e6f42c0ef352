// What an operator reads when NATS does not do what the configuration wants.

import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { NatsLink, type NatsStatus } from '../../src/cluster/wire/connect.js';
import { jetstreamManager } from '../../src/cluster/wire/nats.js';
import type { NatsConfig } from '../../src/cluster/wire/nats-options.js';
import { reasonOf } from '../../src/cluster/wire/reasons.js';
import { makeCertificate } from '../harness/certificate.js';
import { type NatsOptions, NatsServer } from '../harness/nats.js';
import { freePort } from '../harness/ports.js';

const patient = { timeout: 60_000, interval: 50 };
const NO_TLS = { ca: null, cert: null, key: null };
let servers: NatsServer[];
let links: NatsLink[];
let dir: string;

beforeEach(() => {
  servers = [];
  links = [];
  dir = mkdtempSync(join(tmpdir(), 'drover-connect-'));
});
afterEach(async () => {
  for (const link of links) await link.close();
  for (const server of servers) await server.stop();
  rmSync(dir, { recursive: true, force: true });
});

async function serve(options?: NatsOptions): Promise<NatsServer> {
  const server = await NatsServer.start(options);
  servers.push(server);
  return server;
}

function link(config: Partial<NatsConfig>) {
  const told: NatsStatus[] = [];
  const said: string[] = [];
  const made = new NatsLink({
    config: { name: 'test', servers: [], credentials: null, tls: NO_TLS, ...config },
    name: 'test',
    onChange: (status) => told.push(status),
    say: (line) => said.push(line),
  });
  links.push(made);
  return { link: made, told, said };
}

async function reason(config: Partial<NatsConfig>): Promise<string | null> {
  const { link: made, told } = link(config);
  await expect.poll(() => told.length, patient).toBeGreaterThan(0);
  expect(made.status.isConnected).toBe(false);
  return made.status.reason;
}

it('servers that cannot be reached', async () => {
  const port = await freePort();
  expect(await reason({ servers: [`nats://127.0.0.1:${port}`] })).toBe(
    `the NATS servers cannot be reached (connect ECONNREFUSED 127.0.0.1:${port})`,
  );
});

it('wrong credentials, which are tried again: they may be put right', async () => {
  const server = await serve({ login: { user: 'drover', password: 'a@b:c' } });
  const at = `127.0.0.1:${server.port}`;
  const refused = 'NATS refused the credentials (authorization violation)';
  expect(await reason({ servers: [`nats://drover:wrong@${at}`] })).toBe(refused);
  expect(await reason({ servers: [at] })).toBe(refused);
  await link({ servers: [`nats://drover:a%40b%3Ac@${at}`] }).link.connected();
});

it('a token of the servers, and a wrong one', async () => {
  const server = await serve({ login: { token: 'secret' } });
  const at = `127.0.0.1:${server.port}`;
  expect(await reason({ servers: [`nats://another@${at}`] })).toContain('refused the credentials');
  await link({ servers: [`nats://secret@${at}`] }).link.connected();
});

it('TLS that the server does not have, or with a certificate that is not trusted', async () => {
  const plain = await serve();
  expect(await reason({ servers: [`tls://127.0.0.1:${plain.port}`] })).toBe(
    "no TLS connection to the NATS servers (server does not support 'tls')",
  );
  const { certPath, keyPath } = makeCertificate(dir, 'nats', 1);
  const server = await serve({ tls: { certPath, keyPath } });
  expect(await reason({ servers: [`tls://127.0.0.1:${server.port}`] })).toMatch(
    /^no TLS connection to the NATS servers \(.*certificate/,
  );
  const trusted = { ...NO_TLS, ca: certPath };
  // By name and by address: the certificate is for both.
  for (const host of ['127.0.0.1', 'localhost']) {
    const servers = [`tls://${host}:${server.port}`];
    await link({ servers, tls: trusted }).link.connected();
  }
});

it('JetStream that is not enabled', async () => {
  const server = await serve({ jetstream: false });
  const nats = await link({ servers: [server.url] }).link.connected();
  const thrown = await jetstreamManager(nats).catch((error: unknown) => error);
  expect(reasonOf(thrown)).toBe(
    'JetStream is not enabled on the NATS server: start it with -js, or enable it for this account',
  );
});

it('a server that ends and comes back', async () => {
  const server = await serve();
  const { link: made } = link({ servers: [server.url] });
  const connection = await made.connected();
  await server.kill();
  await expect
    .poll(() => made.status.reason, patient)
    .toMatch(/^the connection to the NATS server/);
  await server.run();
  await expect.poll(() => made.status, patient).toEqual({ isConnected: true, reason: null });
  // The same one.
  await connection.flush();
});

it('files and addresses that are wrong end the start', () => {
  const file = join(dir, 'nats.creds');
  const servers = ['nats://127.0.0.1:4222'];
  expect(() => link({ servers, credentials: file })).toThrow(
    `the file of cluster.credentials cannot be read (ENOENT: no such file or directory, open '${file}')`,
  );
  writeFileSync(file, 'no credentials');
  expect(() => link({ servers, credentials: file })).toThrow(
    `${file} (cluster.credentials) is not a NATS credentials file`,
  );
  const tls = { ...NO_TLS, ca: join(dir, 'ca.pem') };
  expect(() => link({ servers, tls })).toThrow('the file of cluster.tls.ca cannot be read (ENOENT');
  expect(() => link({ servers: ['http://u:secret@h:1'] })).toThrow(
    /^an address in cluster.servers is not understood; write nats:(?!.*secret)/,
  );
  expect(() => link({ servers: ['nats://a:b@h1', 'nats://a:c@h2'] })).toThrow(
    'the addresses in cluster.servers have different users or passwords',
  );
});

it('a reader of messages that throws is named once, and ends neither itself nor another one', async () => {
  const server = await serve();
  const { link: made, said } = link({ servers: [server.url] });
  const nats = await made.connected();
  const read: string[] = [];
  nats.subscribe('bad', {
    callback: (_, message) => {
      read.push(message.string());
      throw new Error('no such thing');
    },
  });
  nats.subscribe('good', { callback: (_, message) => void read.push(message.string()) });
  for (const text of ['1', '2']) {
    nats.publish('bad', text);
    nats.publish('good', text);
  }
  await nats.flush();
  expect(read).toEqual(['1', '1', '2', '2']);
  expect(said).toEqual(['a message to bad of NATS could not be handled: no such thing']);
});

it('a clock that is set back does not keep it from connecting again', async () => {
  const server = await serve();
  const { link: made } = link({ servers: [server.url] });
  await made.connected();
  const { now } = Date;
  const clock = vi.spyOn(Date, 'now').mockImplementation(() => now() + 3_600_000);
  await server.kill();
  // An attempt by that clock.
  const stranger = createServer((socket) => socket.destroy()).listen(server.port, '127.0.0.1');
  await once(stranger, 'connection');
  clock.mockRestore();
  stranger.close();
  await once(stranger, 'close');
  await server.run();
  await expect.poll(() => made.status.isConnected, patient).toBe(true);
});
