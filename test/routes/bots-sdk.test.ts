// What the SDK gives to bots: timers that end with the bot, and network traffic on the stream without secrets.

import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import http from 'node:http';
import net, { type AddressInfo } from 'node:net';
import path from 'node:path';
import tls from 'node:tls';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { expectError } from '../harness/api.js';
import {
  act,
  create,
  eventually,
  FIXTURE_KINDS,
  invoke,
  lineFrom,
  statusFrom,
  watch,
} from '../harness/bots.js';
import { type InjectedService, inject } from '../harness/inject.js';
import { makeDir, removeDir } from '../harness/service.js';
import { type Log, logs } from '../harness/shapes.js';
import type { SseStream } from '../harness/sse.js';

const ID = 'networker';

let dir: string;
let service: InjectedService;
let stream: SseStream;
let web: http.Server;
let echo: net.Server;
let secure: tls.Server;
let ca: string;
const held = new Set<http.ServerResponse>();
const connections = new Set<net.Socket>();
/** Node's own, as of a leak of listeners. */
const warnings: Error[] = [];
const warned = (warning: Error): number => warnings.push(warning);
const portOf = (server: net.Server): number => (server.address() as AddressInfo).port;

beforeAll(async () => {
  process.on('warning', warned);
  dir = makeDir();
  const [keyFile, certFile] = [path.join(dir, 'key.pem'), path.join(dir, 'cert.pem')];
  const request = 'req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2';
  const names = ['-subj', '/CN=localhost', '-addext', 'subjectAltName=DNS:localhost,IP:127.0.0.1'];
  execFileSync('openssl', [...request.split(' '), '-keyout', keyFile, '-out', certFile, ...names], {
    stdio: 'ignore',
  });
  ca = readFileSync(certFile, 'utf8');
  const answerLine = (socket: net.Socket): void => {
    connections.add(socket);
    socket.on('error', () => {}).on('close', () => connections.delete(socket));
    socket.on('data', (data) => socket.write(data));
  };
  web = http.createServer((incoming, response) => {
    if (incoming.url?.startsWith('/hold')) {
      held.add(response);
      response.on('close', () => held.delete(response));
    } else response.writeHead(incoming.method === 'PUT' ? 404 : 200).end('goods');
  });
  echo = net.createServer(answerLine);
  secure = tls.createServer({ key: readFileSync(keyFile), cert: ca }, answerLine);
  secure.on('tlsClientError', () => {});
  for (const server of [web, echo, secure]) {
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
  }
  service = await inject({ config: { kinds: [FIXTURE_KINDS], restart: { backoff_ms: 1 } } });
  stream = await watch(service);
  await create(service, { id: ID, kind: 'networker' });
  await statusFrom(stream, 0, ID, 'online');
});
afterAll(async () => {
  stream?.close();
  await service.close();
  for (const socket of connections) socket.destroy();
  for (const server of [web, echo, secure]) server?.close();
  removeDir(dir);
  process.off('warning', warned);
});

const result = async (command: string, args: object): Promise<unknown> => {
  const answer = await invoke(service, ID, command, args);
  expect(answer.status, answer.text).toBe(200);
  return (answer.json as { result: unknown }).result;
};
const wires = (from: number): Log[] =>
  logs(stream)
    .slice(from)
    .filter((log) => log.transport !== null);
/** The wire lines after `from`, as soon as there are `count`. */
async function wireLines(from: number, count: number): Promise<Log[]> {
  await stream.until(() => wires(from).length >= count);
  return wires(from);
}

describe('network', () => {
  it('fetch logs method, URL and status, without the secrets in the URL', async () => {
    const from = logs(stream).length;
    const shown = `http://***@127.0.0.1:${portOf(web)}/buy?item=1&token=***&api_key=***`;
    const url = `http://127.0.0.1:${portOf(web)}/buy?item=1&token=s3cret&api_key=s3cret#s3cret`;
    expect(await result('fetch', { url })).toEqual({ status: 200, text: 'goods' });
    await result('fetch', { url, method: 'PUT' });
    const line = shown.replace('***@', '');
    expect(
      (await wireLines(from, 4)).map((log) => [
        log.scope,
        log.transport,
        log.direction,
        log.message,
      ]),
    ).toEqual([
      ['shop', 'http', 'outgoing', `GET ${line}`],
      ['shop', 'http', 'incoming', `200 GET ${line}`],
      ['shop', 'http', 'outgoing', `PUT ${line}`],
      ['shop', 'http', 'incoming', `404 PUT ${line}`],
    ]);
    expect(stream.raw).not.toContain('s3cret');
  });

  it('TCP lines are logged as the bot describes them', async () => {
    const from = logs(stream).length;
    const say = 'LOGIN name=bot pass=hidden1';
    expect(await result('lines', { host: '127.0.0.1', port: portOf(echo), say })).toBe(say);
    expect(
      (await wireLines(from, 2)).map((log) => [
        log.scope,
        log.transport,
        log.direction,
        log.message,
      ]),
    ).toEqual([
      ['tcp', 'tcp', 'outgoing', 'LOGIN name=bot pass=***'],
      ['tcp', 'tcp', 'incoming', 'LOGIN name=bot pass=***'],
    ]);
    // Only wire lines: the dispatch line shows the result that the bot returned.
    expect(
      wires(0)
        .map(({ message }) => message)
        .join(),
    ).not.toContain('hidden1');
  });

  it('TCP bytes are logged as the bot describes them', async () => {
    const from = logs(stream).length;
    expect(await result('bytes', { host: '127.0.0.1', port: portOf(echo) })).toEqual([1, 2, 3, 10]);
    expect(
      (await wireLines(from, 2)).map((log) => [log.scope, log.direction, log.message]),
    ).toEqual([
      ['raw', 'outgoing', 'Put n=4'],
      ['raw', 'incoming', 'Got n=4'],
    ]);
  });

  it.each(['127.0.0.1', 'localhost'])(
    'TLS to %s works with its own certificate authority',
    async (host) => {
      const say = 'HELLO over=tls';
      expect(await result('lines', { host, port: portOf(secure), ca, say })).toBe(say);
    },
  );

  it('TLS to an untrusted server fails', async () => {
    const args = { host: 'localhost', port: portOf(secure), tls: true, say: 'x' };
    expectError(await invoke(service, ID, 'lines', args), 500, /self.signed/i);
  });

  it('a line break within a line and a closed port fail the command', async () => {
    const port = portOf(echo);
    const broken = { host: '127.0.0.1', port, say: 'two\nlines' };
    expectError(await invoke(service, ID, 'lines', broken), 500, /line break/);
    const nobody = { host: '127.0.0.1', port: 1, say: 'x' };
    expectError(await invoke(service, ID, 'lines', nobody), 500, /ECONNREFUSED/);
  });
});

it('timers, requests and connections end with the bot', async () => {
  await invoke(service, ID, 'clock');
  await lineFrom(stream, 0, ({ message }) => message === 'third tick');
  await lineFrom(stream, 0, ({ message }) => message === 'after');
  await invoke(service, ID, 'hold', { url: `http://127.0.0.1:${portOf(web)}/hold` });
  const before = connections.size;
  await invoke(service, ID, 'stay', { host: '127.0.0.1', port: portOf(echo) });
  await eventually(() => held.size === 1 && connections.size > before, 'both are open');

  const from = stream.frames.length;
  await act(service, ID, 'restart');
  await statusFrom(stream, from, ID, 'online');
  await eventually(() => held.size === 0 && connections.size === 0, 'all are closed');
  const ticks = await result('ticks', {});
  expect(ticks).toBeGreaterThanOrEqual(3);
  // The successor's timers run now; they must not change the count of the old ones.
  const again = stream.frames.length;
  await invoke(service, ID, 'fetch', { url: `http://127.0.0.1:${portOf(web)}/` });
  await lineFrom(stream, again, ({ direction }) => direction === 'incoming');
  expect(await result('ticks', {})).toBe(ticks);
  expect(logs(stream).map(({ message }) => message)).not.toContain('cancelled');
  expect(logs(stream).map(({ message }) => message)).not.toContain('too early');
});

it.each(['every', 'after'])('an error in %s() fails the bot', async (timer) => {
  const from = stream.frames.length;
  await invoke(service, ID, 'fail_in', { timer });
  expect(await statusFrom(stream, from, ID, 'backoff')).toMatchObject({
    last_error: `thrown in ${timer}`,
  });
  await statusFrom(stream, from, ID, 'online');
});

it('nothing warns', () => {
  expect([...service.warnings, ...warnings]).toEqual([]);
});
