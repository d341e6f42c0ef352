import { once } from 'node:events';
import net from 'node:net';
import { expect, it, onTestFinished } from 'vitest';
import { type CurrentRun, runAsBot } from '../../../src/bot-host/current-bot.js';
import { openByKind } from '../../../src/bot-host/open-handles.js';
import type { Logger } from '../../../src/bot-sdk/index.js';

const log = {} as Logger;
const runOf = (kind: string): CurrentRun => ({
  id: `${kind}-1`,
  kind: { kind },
  number: 1,
  log,
  fail: () => {},
});

it('connections count for the kind of the bot that opened them, until they are closed', async () => {
  const accepted: net.Socket[] = [];
  const server = net.createServer((socket) => void accepted.push(socket)).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as net.AddressInfo;
  const connect = (): net.Socket => net.connect(port, '127.0.0.1');
  const own = connect();
  const leaky = runAsBot(runOf('leaky'), () => [connect(), connect(), connect()]);
  const good = runAsBot(runOf('good'), connect);
  onTestFinished(() => {
    for (const socket of [own, good, ...leaky, ...accepted]) socket.destroy();
    server.close();
  });
  await Promise.all([own, good, ...leaky].map((socket) => once(socket, 'connect')));
  expect({ ...openByKind() }).toEqual({ leaky: 3, good: 1 });
  leaky[0]?.destroy();
  good.destroy();
  await Promise.all([leaky[0], good].map((socket) => socket && once(socket, 'close')));
  expect({ ...openByKind() }).toEqual({ leaky: 2 });
});
