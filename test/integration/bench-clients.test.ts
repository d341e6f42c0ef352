// The clients in C of the stream benches: what they do not see, no metric shows. Needs Linux and a C compiler.

import { once } from 'node:events';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { afterAll, beforeAll, beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { compile } from '../../bench/harness/compile.js';
import { LoadProcess } from '../../bench/harness/load.js';
import type { Counted } from '../../bench/streams/counting-clients.js';
import { requireTool, skipWithout } from '../harness/needs.js';

const SOURCE = new URL('../../bench/load/counting-clients.c', import.meta.url);
const EPOCH = '0123456789';
const HEARTBEAT = ':\n';
const HEAD = 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n';
const OPENING = 'retry: 2000\n\n';
const WITHIN_MS = 20_000;

const isLinux = process.platform === 'linux';
let program: URL;
beforeAll(() => {
  if (!isLinux) return;
  requireTool('cc', 'gcc libc6-dev');
  program = compile(SOURCE);
});
beforeEach((context) => skipWithout(context, isLinux, 'Linux'));

function frames(from: number, to: number): string {
  const one = (seq: number) => `id: ${EPOCH}-${seq}\nevent: log\ndata: {"message":"${seq} x"}\n\n`;
  return Array.from({ length: to - from }, (_, n) => one(from + n)).join('');
}

function chunked(...payloads: string[]): string {
  return payloads.map((text) => `${Buffer.byteLength(text).toString(16)}\r\n${text}\r\n`).join('');
}

const server = createServer();
const sockets: Socket[] = [];
beforeAll(async () => {
  server.on('connection', (socket) => {
    sockets.push(socket);
    socket.on('error', () => {});
    socket.once('data', () => socket.write(HEAD + chunked(OPENING)));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
});
afterAll(() => server.close());

/** Opens one stream for each wire, sends it in pieces of `size` bytes, and returns the totals when all has been read. */
async function read(wires: readonly string[], size = Number.POSITIVE_INFINITY): Promise<Counted> {
  sockets.length = 0;
  const { port } = server.address() as AddressInfo;
  const args = ['127.0.0.1', String(port), '/events', 'Bearer none', 'id: '];
  const clients = await LoadProcess.start<string, Counted>('clients', program, args);
  onTestFinished(() => clients.stop());
  await clients.run(`open ${wires.length}`, WITHIN_MS);
  await clients.run('mark', WITHIN_MS);
  await Promise.all(sockets.map((socket, n) => send(socket, wires[n] as string, size)));
  return clients.run('report', WITHIN_MS);
}

/** Resolves when the client has closed its end too, behind all bytes or a fault. */
async function send(socket: Socket, wire: string, size: number): Promise<void> {
  const closed = once(socket, 'close');
  socket.setNoDelay();
  for (let at = 0; at < wire.length; at += size) {
    const piece = wire.slice(at, at + size);
    await new Promise((resolve) => socket.write(piece, resolve));
  }
  socket.end();
  await closed;
}

describe('clients in C', () => {
  it.each([1, 7, 1_000_000])('count the same in pieces of %i bytes', async (size) => {
    const one = chunked(frames(1, 4), HEARTBEAT, frames(4, 5), frames(5, 90));
    const other = chunked(frames(1, 90));
    const payload = frames(1, 90).length;
    expect(await read([one, other, one], size)).toMatchObject({
      bytes: 3 * payload,
      least: payload,
      most: payload,
      // One each before the mark.
      chunks: 3 + 4 + 1 + 4,
      gaps: 0,
      fault: '',
    });
  });

  it('accept a frame in several chunks', async () => {
    const bytes = frames(1, 10).length;
    const wires = [1, 2, 50, 51, 53, 100].map((size) => {
      const parts = frames(1, 9).match(new RegExp(`[^]{1,${size}}`, 'g')) ?? [];
      return chunked(...parts, frames(9, 10));
    });
    expect(await read(wires)).toMatchObject({ fault: '', least: bytes, most: bytes });
  });

  it('see which stream has less', async () => {
    const totals = await read([chunked(frames(1, 5)), chunked(frames(1, 4))]);
    expect(totals).toMatchObject({ least: frames(1, 4).length, most: frames(1, 5).length });
  });

  it.each([
    ['a doubled chunk', chunked(frames(1, 3), frames(1, 3)), 'not higher'],
    ['chunks in the wrong order', chunked(frames(5, 7), frames(3, 5)), 'not higher'],
    ['a chunk that begins in a frame', chunked(frames(1, 3).slice(5)), 'not begin with a frame'],
    ['a doubled part', chunked('id: 0-1\nx', '\n\n', '\n\n'), 'not begin with a frame'],
    ['a size that is none', 'zz\r\n', 'not hexadecimal'],
    ['no size', '\r\n', 'without a size'],
    ['a chunk longer than its size', '6\r\nid: \n\nxx\r\n', 'longer than its size'],
  ])('see %s', async (_, wire, fault) => {
    expect((await read([wire])).fault).toContain(fault);
  });

  it('count a declared loss and do not judge what follows it', async () => {
    const gap = `id: ${EPOCH}-9\nevent: gap\ndata: {}\n\n`;
    const wire = chunked(frames(1, 3), gap, 'event: session\ndata: {}\n\n');
    expect(await read([wire])).toMatchObject({ gaps: 1, fault: '' });
  });
});
