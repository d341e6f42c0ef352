// The tutorials of docs/BOTS.md and the bot of README.md, typed as they are, against real servers. Only addresses differ.

import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { appendFileSync } from 'node:fs';
import http from 'node:http';
import net, { type AddressInfo } from 'node:net';
import path from 'node:path';
import { afterAll, beforeAll, expect, it, onTestFinished } from 'vitest';
import { commandsOf, docBlock, Reader, type Typed } from '../harness/docs.js';
import { expectLooksLike } from '../harness/looks-like.js';
import { freePort } from '../harness/ports.js';

/** Has the package and every kind, and runs one service for all tests. */
let reader: Reader;
let service: Typed;

beforeAll(async () => {
  reader = new Reader(await freePort());
  reader.linkPackage();
  reader.write(docBlock('docs/BOTS.md', "kind: 'watcher'"));
  reader.write(docBlock('README.md', "kind: 'pong'"));
  reader.write(docBlock('docs/BOTS.md', "kind: 'listener'"));
  if (typeof WebSocket === 'undefined') reader.env['NODE_OPTIONS'] = '--experimental-websocket';
  ({ service } = await reader.serve('--no-demo --kinds my-bots'));
});
afterAll(async () => {
  await service?.interrupt();
  reader?.remove();
});

/** Runs commands, and compares their output with the documented one. @param own replaces addresses. */
async function typeCommands(
  block: string,
  status: string,
  own = (text: string): string => text,
): Promise<void> {
  for (const { command, answer } of commandsOf(block)) {
    expectLooksLike(await reader.run(own(command)), answer);
    const [, id] = /"id":"(\w+)"/.exec(command) ?? [];
    if (id !== undefined) await reader.run(`drover wait ${id} --status ${status}`);
  }
}

async function listen(server: net.Server): Promise<number> {
  server.listen(0, '127.0.0.1');
  onTestFinished(() => void server.close());
  await once(server, 'listening');
  return (server.address() as AddressInfo).port;
}

it('a page is watched', async () => {
  const page = http.createServer((_, response) => response.end('here'));
  const port = await listen(page);
  const own = (text: string): string => text.replace('8090/health', `${port}/health`);
  await typeCommands(docBlock('docs/BOTS.md', '"kind":"watcher"'), 'watching', own);
  appendFileSync(path.join(reader.dir, 'my-bots/watcher.mjs'), '// Changed.\n');
  await typeCommands(docBlock('docs/BOTS.md', 'drover kinds reload'), 'watching', own);
});

it('README.md: the bot answers, and connects again', async () => {
  const heard: string[] = [];
  const server = net.createServer((socket) => {
    // It closes the connection after each answer.
    socket
      .on('error', () => {})
      .on('data', (data) => {
        heard.push(String(data));
        socket.end();
      });
    socket.write('PING\n');
  });
  const port = await listen(server);
  const config = JSON.stringify({ host: '127.0.0.1', port });
  await reader.run(`drover bots create ball --kind pong --config '${config}'`);
  await expect.poll(() => heard.slice(0, 2)).toEqual(['PONG\n', 'PONG\n']);
  await reader.run('drover bots stop ball');
});

it('a WebSocket client hears and speaks', async () => {
  const heard: string[] = [];
  const server = http.createServer().on('upgrade', ({ headers }, socket) => {
    const key = `${headers['sec-websocket-key']}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`;
    const accept = createHash('sha1').update(key).digest('base64');
    socket.write(
      `HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: ${accept}\r\n\r\n`,
    );
    // Frames of a few bytes: one with text, unmasked from a server and masked from a client.
    socket.write(Buffer.concat([Buffer.from([0x81, 7]), Buffer.from('welcome')]));
    socket
      .on('error', () => {})
      .on('data', (frame: Buffer) => {
        if (frame[0] !== 0x81) socket.end();
        const mask = frame.subarray(2, 6);
        heard.push(String(frame.subarray(6).map((byte, at) => byte ^ (mask[at % 4] ?? 0))));
      });
  });
  const port = await listen(server);
  const own = (text: string): string => text.replace('7008', String(port));
  await typeCommands(docBlock('docs/BOTS.md', '"kind":"listener"'), 'online', own);
  await expect.poll(() => heard).toEqual(['hello']);
  await reader.run('drover bots stop ws');
  const shown = await reader.run('drover logs --bot ws');
  expect(shown).toMatch(/ws .*welcome/);
  expect(shown).not.toMatch(/error/i);
});
