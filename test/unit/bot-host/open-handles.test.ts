import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer, get, type ServerResponse } from 'node:http';
import net from 'node:net';
import { Worker } from 'node:worker_threads';
import { expect, it, onTestFinished, vi } from 'vitest';
import {
  type CurrentRun,
  runAsBot,
  watchIntervals,
  watchRuns,
} from '../../../src/bot-host/current-bot.js';
import {
  endChildren,
  LeftOpen,
  noteOpeners,
  noteWorker,
  openByKind,
} from '../../../src/bot-host/open-handles.js';
import type { Logger } from '../../../src/bot-sdk/index.js';

noteOpeners();
const log = {} as Logger;
const runOf = (kind: string): CurrentRun => ({
  id: `${kind}-1`,
  kind: { kind },
  number: 1,
  log,
  fail: () => {},
  isGone: false,
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

/** Resolves with what is told when the runs have ended; `LeftOpen` has its second look then too. */
async function toldOf(...runs: CurrentRun[]): Promise<{ told: string[]; left: LeftOpen }> {
  const told: string[] = [];
  const left = await new Promise<LeftOpen>((resolve) => {
    const all = new LeftOpen((run, what) => {
      told.push(`${run.id}: ${what}`);
      setImmediate(() => resolve(all));
    }, 0);
    for (const run of runs) all.note(run);
  });
  return { told, left };
}

it('what a run has left open is told once, in words, and ended; what others have open is not', async () => {
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
  // Node says that a handle is gone in one of the next turns of the loop.
  for (let turn = 0; turn < 3; turn++) await new Promise((resolve) => setImmediate(resolve));
  const ended = [once(sleeper, 'exit'), ...servers.slice(0, 2).map((one) => once(one, 'close'))];
  const { told } = await toldOf(tidy, careless);
  expect(told).toEqual([`careless-1: 2 servers, child process ${sleeper.pid}`]);
  expect((await Promise.all(ended))[0]).toEqual([null, 'SIGTERM']);
  expect([tidy.isGone, careless.isGone, busy.isGone]).toEqual([true, true, false]);
  expect(servers.map(({ listening }) => listening)).toEqual([false, false, true]);
});

it('a child process that ignores SIGTERM is killed, and a thread is ended', async () => {
  const careless = runOf('careless');
  const child = runAsBot(careless, () =>
    spawn('sh', ['-c', 'trap "" TERM; echo ready; exec sleep 600'], {
      stdio: ['ignore', 'pipe', 'ignore'],
    }),
  );
  onTestFinished(() => void child.kill('SIGKILL'));
  await once(child.stdout, 'data');
  child.stdout.destroy();
  process.on('worker', noteWorker);
  onTestFinished(() => void process.off('worker', noteWorker));
  const idle = 'setInterval(() => {}, 60_000)';
  const [own, left] = [
    new Worker(idle, { eval: true }),
    runAsBot(careless, () => new Worker(idle, { eval: true })),
  ];
  onTestFinished(async () => void (await own.terminate()));
  await Promise.all([once(own, 'online'), once(left, 'online')]);
  const ended = [once(child, 'exit'), once(left, 'exit')];
  const { told } = await toldOf(careless);
  expect(told).toEqual([`careless-1: 1 thread, child process ${child.pid}`]);
  expect(await Promise.all(ended)).toEqual([[null, 'SIGKILL'], [1]]);
  expect(own.threadId).toBeGreaterThan(0);
});

it('connections of pools, which bots share, are left alone', async () => {
  const requests: ServerResponse[] = [];
  const server = createServer((_request, response) => void requests.push(response));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as net.AddressInfo;
  const url = `http://127.0.0.1:${port}`;
  onTestFinished(() => void server.closeAllConnections());
  const first = runOf('first');
  const careless = runOf('careless');
  const answers = runAsBot(first, () => [
    fetch(url).then((response) => response.status),
    new Promise((resolve) => get(url, ({ statusCode }) => resolve(statusCode))),
  ]);
  const listen = (): net.Server => net.createServer().listen(0, '127.0.0.1');
  const others = [first, careless].map((run) => runAsBot(run, listen));
  await expect.poll(() => requests.length).toBe(2);
  const { told, left } = await toldOf(first, careless);
  expect(told.sort()).toEqual(['careless-1: 1 server', 'first-1: 1 server']);
  expect(others.map(({ listening }) => listening)).toEqual([false, false]);
  // The second look at them comes before the first one at another.
  const later = runOf('later');
  runAsBot(later, listen);
  left.note(later);
  await expect.poll(() => told.length).toBe(3);
  for (const response of requests) response.end();
  expect(await Promise.all(answers)).toEqual([200, 200]);
  server.close();
});

it('what a run opens when it is gone is ended too, and told three times at most', async () => {
  const gone = runOf('gone');
  const listen = (): net.Server => runAsBot(gone, () => net.createServer().listen(0, '127.0.0.1'));
  listen();
  const { told } = await toldOf(gone);
  for (let n = 0; n < 4; n++) {
    const again = listen();
    await once(again, 'listening');
    await once(again, 'close');
  }
  expect(told).toEqual(Array(3).fill('gone-1: 1 server'));
});

it('a run has its time from its end, also when the look at another one comes before', async () => {
  const [early, late] = [runOf('early'), runOf('late')];
  const listen = (): net.Server => net.createServer().listen(0, '127.0.0.1');
  const [first, second] = [runAsBot(early, listen), runAsBot(late, listen)];
  let now = 1000;
  const clock = vi.spyOn(performance, 'now').mockImplementation(() => now);
  onTestFinished(() => {
    clock.mockRestore();
    second.close();
  });
  const left = new LeftOpen(() => {}, 20);
  left.note(early);
  now = 1019;
  left.note(late);
  now = 1020;
  await once(first, 'close');
  expect([second.listening, late.isGone]).toEqual([true, false]);
  now = 1039;
  await once(second, 'close');
  expect(late.isGone).toBe(true);
});

it('an interval of a run that is gone is ended and told; a timer and those of others stay', async () => {
  const told: string[] = [];
  const left = new LeftOpen((run, what) => void told.push(`${run.id}: ${what}`));
  watchRuns(
    () => {},
    () => {},
  );
  watchIntervals((run, interval) => left.endInterval(run, interval));
  const [gone, other] = [runOf('gone'), runOf('other')];
  const calls = { first: 0, second: 0, other: 0 };
  const count = (name: keyof typeof calls): NodeJS.Timeout =>
    setInterval(() => {
      calls[name] += 1;
    }, 1);
  const intervals = [
    ...runAsBot(gone, () => [count('first'), count('second')]),
    runAsBot(other, () => count('other')),
  ];
  onTestFinished(() => {
    for (const interval of intervals) clearInterval(interval);
  });
  await expect.poll(() => Math.min(calls.first, calls.second, calls.other)).toBeGreaterThan(2);
  gone.isGone = true;
  const before = { ...calls };
  await runAsBot(gone, () => new Promise((resolve) => setTimeout(resolve, 20)));
  const { other: start } = calls;
  await expect.poll(() => calls.other).toBeGreaterThan(start + 10);
  expect(calls.first - before.first).toBeLessThanOrEqual(1);
  expect(calls.second - before.second).toBeLessThanOrEqual(1);
  expect(told).toEqual(Array(2).fill('gone-1: an interval'));
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
