import { spawn } from 'node:child_process';
import { once } from 'node:events';
import net from 'node:net';
import { expect, it, onTestFinished } from 'vitest';
import { type CurrentRun, runAsBot } from '../../../src/bot-host/current-bot.js';
import { endChildren, LeftOpen, openByKind } from '../../../src/bot-host/open-handles.js';
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

it('what a run has left open is told once, in words; what others have open is not', async () => {
  const [tidy, careless, busy] = ['tidy', 'careless', 'busy'].map(runOf) as [
    CurrentRun,
    CurrentRun,
    CurrentRun,
  ];
  const listen = (): net.Server => net.createServer().listen(0, '127.0.0.1');
  const servers = [careless, careless, busy].map((run) => runAsBot(run, listen));
  const sleeper = runAsBot(careless, () => spawn('sleep', ['600'], { stdio: 'ignore' }));
  const closed = runAsBot(tidy, listen);
  onTestFinished(() => {
    for (const server of servers) server.close();
    sleeper.kill('SIGKILL');
  });
  await Promise.all([closed, ...servers].map((server) => once(server, 'listening')));
  closed.close();
  await once(closed, 'close');
  const told: string[] = [];
  await new Promise<void>((resolve) => {
    const left = new LeftOpen((run, what) => {
      told.push(`${run.id}: ${what}`);
      resolve();
    }, 0);
    for (const run of [tidy, careless]) left.note(run);
  });
  expect(told).toEqual([`careless-1: 2 servers, child process ${sleeper.pid}`]);
});

it('child processes that bots have left are ended, others are not', async () => {
  const sleep = () => spawn('sleep', ['600'], { stdio: 'ignore' });
  const own = sleep();
  const left = runAsBot(runOf('careless'), sleep);
  onTestFinished(() => void own.kill('SIGKILL'));
  const ended = once(left, 'exit');
  endChildren();
  expect(await ended).toEqual([null, 'SIGTERM']);
  expect(own.exitCode ?? own.signalCode).toBeNull();
});
