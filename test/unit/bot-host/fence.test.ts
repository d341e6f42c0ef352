// What a bot cannot send any more when its node has lost its lease.

import { once } from 'node:events';
import { createServer as createHttp } from 'node:http';
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { LeaseFence } from '../../../src/bot-host/fence.js';
import { ChildProgram } from '../../../src/kinds/program/child-program.js';
import {
  createLease,
  LeaseDeadline,
  monotonicMs,
} from '../../../src/shared/memory/lease-deadline.js';
import { start } from './started-run.js';

const LOST = 'this node has lost its lease';

const shared = createLease();
const deadline = new LeaseDeadline(shared);
const fence = new LeaseFence(shared);
let servers: Server[] = [];

beforeEach(() => deadline.renewed(monotonicMs(), Date.now(), 3_600_000));
afterEach(() => {
  for (const server of servers) server.close();
  servers = [];
});

async function listen(server: Server): Promise<number> {
  servers.push(server);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return (server.address() as AddressInfo).port;
}

/** What a server receives on one connection until that ends. */
function received(server: Server): Promise<string> {
  return new Promise((resolve) => {
    server.once('connection', (socket: Socket) => {
      let text = '';
      socket.on('data', (chunk) => {
        text += chunk;
      });
      socket.on('error', () => {});
      socket.once('close', () => resolve(text));
    });
  });
}

function fenced(isFenced = true) {
  return start({}, {}, null, 0, fence.forBot(!isFenced)).bot.context;
}

describe('a connection', () => {
  it('is closed by the first message after the lease was lost, which is not sent', async () => {
    const server = createServer();
    const options = { host: '127.0.0.1', port: await listen(server), describe: () => null };
    const text = received(server);
    const connection = await fenced().connectLines(options);
    await connection.send('before');
    deadline.end();
    await expect(connection.send('after')).rejects.toThrow(LOST);
    expect(await text).toBe('before\n');
    await expect(connection.send('later')).rejects.toThrow(LOST);
  });

  it('is closed the same way when it carries bytes', async () => {
    const server = createServer();
    const options = { host: '127.0.0.1', port: await listen(server) };
    const text = received(server);
    const connection = await fenced().connectTcp(options, () => null);
    await connection.send('before');
    deadline.end();
    await expect(connection.send('after')).rejects.toThrow(LOST);
    expect(await text).toBe('before');
  });

  it('is not opened', async () => {
    const server = createServer();
    let connections = 0;
    server.on('connection', () => connections++);
    const options = { host: '127.0.0.1', port: await listen(server), describe: () => null };
    deadline.end();
    await expect(fenced().connectLines(options)).rejects.toThrow(LOST);
    await expect(fenced().connectTcp(options, () => null)).rejects.toThrow(LOST);
    expect(connections).toBe(0);
  });

  it('of a bot that stays is as before', async () => {
    const server = createServer();
    const options = { host: '127.0.0.1', port: await listen(server), describe: () => null };
    const text = received(server);
    deadline.end();
    const connection = await fenced(false).connectLines(options);
    await connection.send('after');
    connection.close();
    expect(await text).toBe('after\n');
  });

  it('of a bot that does not stay any more is closed', async () => {
    const server = createServer();
    const options = { host: '127.0.0.1', port: await listen(server), describe: () => null };
    const { bot } = start({}, {}, null, 0, fence.forBot(true));
    deadline.end();
    const connection = await bot.context.connectLines(options);
    await connection.send('as before');
    bot.exemptFromLease(false);
    await expect(connection.send('after')).rejects.toThrow(LOST);
  });
});

describe('fetch', () => {
  it('sends nothing', async () => {
    let requests = 0;
    const server = createHttp((_, response) => {
      requests++;
      response.end('ok');
    });
    const url = `http://127.0.0.1:${await listen(server)}/`;
    const context = fenced();
    expect(await (await context.fetch(url)).text()).toBe('ok');
    deadline.end();
    await expect(context.fetch(url)).rejects.toThrow(LOST);
    expect(requests).toBe(1);
  });

  it('stops in the middle of a body', async () => {
    const parts: string[] = [];
    const server = createHttp((request) => {
      request.on('data', (part) => parts.push(String(part)));
      request.on('error', () => {});
    });
    const url = `http://127.0.0.1:${await listen(server)}/`;
    async function* body() {
      yield Buffer.from('first');
      await expect.poll(() => parts).toEqual(['first']);
      deadline.end();
      yield Buffer.from('second');
    }
    const init = { method: 'POST', body: body() as never, duplex: 'half' as const };
    await expect(fenced().fetch(url, init as never)).rejects.toThrow();
    expect(parts).toEqual(['first']);
  });
});

describe('a program', () => {
  const output = {
    stdout: () => {},
    stderr: () => {},
    stdoutEnded: () => {},
    endsLine: true,
    quote: (text: string) => text,
  };
  const command = { command: ['cat'], cwd: '/', env: { PATH: process.env['PATH'] ?? '' } };

  it('is ended by the first line that would be written to it', async () => {
    const context = fenced();
    const program = await ChildProgram.start(command, output, () => fence.check());
    program.write('before\n');
    deadline.end();
    expect(() => program.write('after\n')).toThrow(LOST);
    expect(await program.exited).toMatchObject({ signal: 'SIGKILL' });
    expect(program.fault?.message).toContain(LOST);
    expect(() => context.checkLease()).toThrow(LOST);
  });

  it('is not started', async () => {
    deadline.end();
    await expect(ChildProgram.start(command, output, () => fence.check())).rejects.toThrow(LOST);
  });
});
