// The tutorials of docs/BOTS.md and the bot of README.md, typed as they are, against real servers. Only addresses differ.

import { createHash } from 'node:crypto';
import { once } from 'node:events';
import http from 'node:http';
import net, { type AddressInfo } from 'node:net';
import { expect, it, onTestFinished } from 'vitest';
import { commandsOf, docBlock, Reader } from '../harness/docs.js';
import { expectLooksLike } from '../harness/looks-like.js';
import { freePort } from '../harness/ports.js';

/** A reader with the package, and this kind in my-bots. */
async function readerWith(kind: string): Promise<Reader> {
  const reader = new Reader(await freePort());
  reader.linkPackage();
  reader.write(kind);
  return reader;
}

/** Runs commands, and compares their output with the documented one. @param own replaces addresses. */
async function typeCommands(
  reader: Reader,
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
  const reader = await readerWith(docBlock('docs/BOTS.md', "kind: 'watcher'"));
  const page = http.createServer((_, response) => response.end('here'));
  const port = await listen(page);
  await reader.serve('--no-demo --kinds my-bots');
  const own = (text: string): string => text.replace('8090/health', `${port}/health`);
  await typeCommands(reader, docBlock('docs/BOTS.md', '"kind":"watcher"'), 'watching', own);
});

it('README.md: the bot answers, and connects again', async () => {
  const reader = await readerWith(docBlock('README.md', "kind: 'pong'"));
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
  await reader.serve('--no-demo --kinds my-bots');
  const config = JSON.stringify({ host: '127.0.0.1', port });
  await reader.run(`drover bots create ball --kind pong --config '${config}'`);
  await expect.poll(() => heard.slice(0, 2)).toEqual(['PONG\n', 'PONG\n']);
  await reader.run('drover bots stop ball');
});

it('a WebSocket client hears and speaks', async () => {
  const reader = await readerWith(docBlock('docs/BOTS.md', "kind: 'listener'"));
  if (typeof WebSocket === 'undefined') reader.env['NODE_OPTIONS'] = '--experimental-websocket';
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
  await reader.serve('--no-demo --kinds my-bots');
  const own = (text: string): string => text.replace('7008', String(port));
  await typeCommands(reader, docBlock('docs/BOTS.md', '"kind":"listener"'), 'online', own);
  await expect.poll(() => heard).toEqual(['hello']);
  await reader.run('drover bots stop ws');
  const shown = await reader.run('drover logs --bot ws');
  expect(shown).toMatch(/ws .*welcome/);
  expect(shown).not.toMatch(/error/i);
});
