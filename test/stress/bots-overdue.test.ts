// Runs and threads that outlive their deadline: a bot's successor waits until the bot has really ended.

import { randomUUID } from 'node:crypto';
import { afterEach, expect, it } from 'vitest';
import {
  act,
  create,
  createNeighbour,
  eventually,
  expectSingle,
  expectUndisturbed,
  FIXTURE_KINDS,
  incidents,
  invoke,
  lineFrom,
  remove,
  snapshot,
  snapshotFrom,
  statusesOf,
  statusFrom,
  watch,
} from '../harness/bots.js';
import { type Service, startService, stopClean } from '../harness/service.js';
import { logs, type Snapshot } from '../harness/shapes.js';
import type { SseStream } from '../harness/sse.js';

/** Longer than any test. */
const NEVER = 2 ** 30;

let service: Service | undefined;
let stream: SseStream;
afterEach(async () => {
  stream?.close();
  await stopClean(service);
  service = undefined;
});

async function start(config: { hosts: object; watchdog?: object }): Promise<Service> {
  const { hosts, ...more } = config;
  service = await startService({
    config: {
      kinds: [FIXTURE_KINDS],
      hosts: { count: 1, ...hosts },
      restart: { backoff_ms: 0, max_restarts: 1000 },
      ...more,
    },
    env: { DROVER_DRILLS_ENABLED: 'true' },
  });
  stream = await watch(service);
  return service;
}

/** A bot that holds its lock until its run ends, `stopMs` after the stop request. */
async function createGuarded(
  running: Service,
  id: string,
  stopMs: number,
  from = 0,
): Promise<Snapshot> {
  const body = { id, kind: 'guarded', config: { lock: randomUUID(), stop_ms: stopMs } };
  expect((await create(running, body)).status).toBe(201);
  return statusFrom(stream, from, id, 'online');
}

const onlineAgain = (from: number, id: string, restarts: number): Promise<Snapshot> =>
  snapshotFrom(stream, from, id, (s) => s.status === 'online' && s.restarts === restarts, 30_000);

it('after an uncaught error the successor waits for a run that ends slowly', async () => {
  const running = await start({ hosts: { stop_grace_ms: 30_000 } });
  await createNeighbour(running, stream, 'neighbour');
  const { host } = await createGuarded(running, 'slow', 300);
  for (let fall = 1; fall <= 3; fall++) {
    const from = stream.frames.length;
    await invoke(running, 'slow', 'break', { message: `fall ${fall}` });
    expect(await onlineAgain(from, 'slow', fall)).toMatchObject({ host });
  }
  expectSingle(stream);
  // It ended in time: no host was replaced.
  expect((await incidents(running)).map(({ type }) => type)).toEqual(['crash', 'crash', 'crash']);
  await expectUndisturbed(stream, 'neighbour');
});

it('a run that never ends gets its host replaced once: the others move, and it then runs alone', async () => {
  const running = await start({ hosts: { stop_grace_ms: 500 } });
  await createNeighbour(running, stream, 'neighbour');
  const { host } = await createGuarded(running, 'deaf', NEVER);

  let from = stream.frames.length;
  await invoke(running, 'deaf', 'break', { message: 'a fall' });
  const risen = await onlineAgain(from, 'deaf', 1);
  expect(risen.host).not.toBe(host);
  const own = await lineFrom(stream, from, ({ message }) => message.includes('its own bot host'));
  expect(own).toMatchObject({ session_id: 'deaf', level: 'warn' });
  const [incident] = (await incidents(running, 'deaf')).filter(({ type }) => type === 'overdue');
  expect(incident).toMatchObject({ suspect: 'deaf', host, bots: ['deaf', 'neighbour'] });
  expect(incident?.reason).toMatch(/^bot deaf was stopped and still runs after 500 ms/);
  expect(incident?.heap?.used).toBeGreaterThan(0);

  // The neighbour was stopped and started cleanly: this is not its failure.
  const moved = await snapshotFrom(
    stream,
    from,
    'neighbour',
    (s) => s.status === 'running' && s.restarts === 1,
  );
  expect(moved).toMatchObject({ host, desired: 'running', last_error: null });
  expect(statusesOf(stream, 'neighbour')).toEqual([
    'starting',
    'running',
    'stopping',
    'stopped',
    'starting',
    'running',
  ]);
  expect(logs(stream).filter((l) => l.session_id === 'neighbour' && l.level === 'error')).toEqual(
    [],
  );

  // From now on it delays only itself.
  from = stream.frames.length;
  for (let fall = 2; fall <= 3; fall++) {
    const begun = stream.frames.length;
    await invoke(running, 'deaf', 'break', { message: `fall ${fall}` });
    await onlineAgain(begun, 'deaf', fall);
  }
  expect(statusesOf(stream, 'neighbour', from)).toEqual([]);
  expectSingle(stream);
});

it('a bot that was abandoned on stop never runs twice', async () => {
  const running = await start({ hosts: { stop_grace_ms: 300 } });
  await createNeighbour(running, stream, 'neighbour');
  await createGuarded(running, 'deaf', NEVER);
  expect((await act(running, 'deaf', 'stop')).json).toMatchObject({ status: 'stopped' });
  // Until someone starts it again, it affects no other bot.
  await expectUndisturbed(stream, 'neighbour');
  const from = stream.frames.length;
  expect((await act(running, 'deaf', 'start')).status).toBe(200);
  await statusFrom(stream, from, 'deaf', 'online');
  await snapshotFrom(stream, from, 'neighbour', (s) => s.status === 'running' && s.restarts === 1);
  // The same holds for another bot with its id.
  expect((await remove(running, 'deaf')).status).toBe(204);
  await statusFrom(stream, from, 'deaf', 'deleted');
  await createGuarded(running, 'deaf', 0, stream.frames.length);
  expectSingle(stream);
});

it('a host that has nothing but the run of a deleted bot is replaced', async () => {
  const running = await start({ hosts: { stop_grace_ms: 300 } });
  const { host } = await createGuarded(running, 'deaf', NEVER);
  const from = stream.frames.length;
  expect((await remove(running, 'deaf')).status).toBe(204);
  await eventually(async () => (await incidents(running)).length > 0, 'the incident report');
  expect((await incidents(running))[0]).toMatchObject({
    type: 'overdue',
    suspect: 'deaf',
    host,
    bots: ['deaf'],
    reason: `bot deaf was stopped and still runs after 300 ms; bot host ${host} is replaced`,
  });
  await createGuarded(running, 'next', 0, from);
  expectSingle(stream);
});

it('the successors of a lost host’s bots wait until its thread has ended', async () => {
  const running = await start({ hosts: { stop_grace_ms: 20_000 } });
  const { host } = await createGuarded(running, 'one', 0);
  await createGuarded(running, 'two', 0);
  const from = stream.frames.length;
  // The thread is in native code nearly all the time.
  await invoke(running, 'one', 'block_again', { ms: 2000 });
  await invoke(running, null, 'drill', { kill: 'host', host, fault: 'crash' });
  for (const id of ['one', 'two']) {
    // The loss is reported at once, but the bots restart only when they can.
    const fallen = await statusFrom(stream, from, id, 'backoff');
    // The line does not name a culprit: nobody knows it, and the last sign of life may be another bot's.
    expect(fallen.last_error).toMatch(/^bot host \d+ was lost: incident \S+$/);
    await onlineAgain(from, id, 1);
  }
  expectSingle(stream);
  const [incident] = await incidents(running);
  expect(incident).toMatchObject({ type: 'host_lost', suspect: null });
  expect(incident?.reason).toContain('a drill has crashed this host');
  const told = await lineFrom(stream, from, ({ message }) => / \(bots .*: 2\)/.test(message));
  expect(told).toMatchObject({ session_id: null, scope: 'drover', level: 'error' });
  expect(told.message).toContain('a drill has crashed this host');
});

it('a thread that hangs in native code: its bot is named, and restarts when the thread has ended', async () => {
  const running = await start({ hosts: { stop_grace_ms: 20_000 }, watchdog: { hang_ms: 500 } });
  await createGuarded(running, 'stuck', 0);
  const from = stream.frames.length;
  await invoke(running, 'stuck', 'block', { ms: 6000 });
  const fallen = await statusFrom(stream, from, 'stuck', 'backoff');
  expect(fallen.last_error).toMatch(/was blocked for \d+ ms/);
  await onlineAgain(from, 'stuck', 1);
  expectSingle(stream);
  await eventually(async () => (await incidents(running)).length > 0, 'the incident report');
  expect((await incidents(running))[0]).toMatchObject({
    type: 'hang',
    suspect: 'stuck',
    stack: null,
  });
  expect(await snapshot(running, 'stuck')).toMatchObject({ status: 'online' });
});
