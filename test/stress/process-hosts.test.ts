// Bots that end the process that they run in: the service and the bots in threads notice nothing, and the incident report
// says how the process has ended.

import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { call, expectError } from '../harness/api.js';
import {
  create,
  createNeighbour,
  eventually,
  expectComplete,
  expectUndisturbed,
  incidents,
  invoke,
  lineFrom,
  remove,
  snapshot,
  snapshotFrom,
  statusFrom,
  watch,
} from '../harness/bots.js';
import { groupOf, ISOLATION_KINDS, isolatedProcesses, isThere } from '../harness/isolation.js';
import { type Service, startService, stopClean } from '../harness/service.js';
import type { SseStream } from '../harness/sse.js';

const HOSTS = {
  count: 1,
  max_heap_mb: 96,
  stop_grace_ms: 300,
  max_dedicated: 6,
  isolation_by_kind: { breaker: 'process' },
};

let service: Service;
let stream: SseStream;
let serial = 0;
let id: string;
/** In a thread. Created for each test. */
let neighbour: string;
let from: number;

beforeAll(async () => {
  service = await startService({
    config: {
      kinds: [ISOLATION_KINDS],
      stream: { ring_bytes: 64 * 2 ** 20 },
      hosts: HOSTS,
      // A heap at its limit collects garbage for long.
      watchdog: { hang_ms: 20_000 },
      restart: { backoff_ms: 10, backoff_cap_ms: 200 },
    },
  });
  stream = await watch(service);
});
afterAll(async () => {
  stream?.close();
  if (service) await stopClean(service);
});
beforeEach(async () => {
  id = `bot-${++serial}`;
  neighbour = `neighbour-${serial}`;
  from = stream.frames.length;
  await createNeighbour(service, stream, neighbour);
});
afterEach(async () => {
  await expectUndisturbed(stream, neighbour);
  expectComplete(stream);
  for (const bot of [neighbour, id, `${id}-b`]) await remove(service, bot);
  // So that the next test has its own.
  await eventually(() => isolatedProcesses(service).length === 0, 'the processes are gone');
});

async function start(bot: string, more: object = {}): Promise<void> {
  const answer = await create(service, { id: bot, kind: 'breaker', ...more });
  expect(answer.status, answer.text).toBe(201);
  await statusFrom(stream, from, bot, 'alive');
}

async function command(bot: string, name: string, args: object = {}): Promise<unknown> {
  const answer = await invoke(service, bot, name, args);
  return (answer.json as { result?: unknown }).result;
}

describe('what ends a process is in its incident report', () => {
  it.each([
    [
      'abort()',
      'abort',
      {},
      { code: null, signal: 'SIGABRT' },
      /its process was ended by SIGABRT; the code of bot \S+ ran last there$/,
    ],
    ['process.exit()', 'exit', { code: 7 }, { code: 7, signal: null }, /exited with code 7/],
    ['exit code 0', 'exit', { code: 0 }, { code: 0, signal: null }, /exited with code 0/],
    [
      'a segmentation fault',
      'signal',
      { name: 'SIGSEGV' },
      { code: null, signal: 'SIGSEGV' },
      /was ended by SIGSEGV/,
    ],
    [
      'a signal to itself',
      'signal',
      { name: 'SIGTERM' },
      { code: null, signal: 'SIGTERM' },
      /was ended by SIGTERM/,
    ],
    [
      'the system, out of memory',
      'signal',
      { name: 'SIGKILL' },
      { code: null, signal: 'SIGKILL' },
      /was ended by SIGKILL, perhaps by the system for want of memory/,
    ],
  ])('%s', async (_, name, args, exit, reason) => {
    await start(id);
    await start(`${id}-b`);
    // Both share the host; the code of the other one runs all the time.
    expect((await snapshot(service, id)).host).toBe((await snapshot(service, `${id}-b`)).host);
    await command(id, name, args);
    await snapshotFrom(stream, from, id, (s) => s.status === 'alive' && s.restarts === 1);
    await snapshotFrom(stream, from, `${id}-b`, (s) => s.status === 'alive' && s.restarts === 1);
    const [report] = await incidents(service, id);
    expect(report).toMatchObject({ type: 'host_lost', suspect: id, exit });
    expect(report?.reason).toMatch(reason);
    expect(report?.last_commands.at(-1)).toBe(`${name} on ${id}`);
    expect(report?.bots.sort()).toEqual([id, `${id}-b`]);
    if (name === 'abort') {
      expect(report?.stderr?.[0]).toBe('the last words of the breaker');
    }
    // It has its own host from now on.
    const hosts = await Promise.all([id, `${id}-b`].map((bot) => snapshot(service, bot)));
    expect(hosts[0]?.host).not.toBe(hosts[1]?.host);
  });

  it('a heap beyond its limit', async () => {
    await start(id);
    await command(id, 'heap');
    await snapshotFrom(stream, from, id, (s) => s.status === 'alive' && s.restarts === 1);
    const [report] = await incidents(service, id);
    expect(report).toMatchObject({ type: 'out_of_memory', suspect: id });
  });
});

it('a process that writes to its pipe is ended', async () => {
  await start(id, { dedicated: true });
  await command(id, 'garbage');
  await snapshotFrom(stream, from, id, (s) => s.status === 'alive' && s.restarts === 1);
  const [report] = await incidents(service, id);
  expect(report?.reason).toMatch(
    /it sent what no bot host sends: on channel 4294967295, which is not open/,
  );
});

describe('on which host a bot runs', () => {
  const where = async (bot: string): Promise<{ main: boolean; pid: number }> =>
    (await command(bot, 'where')) as { main: boolean; pid: number };

  it("the bot's own isolation comes before that of its kind", async () => {
    await start(id, { isolation: 'thread' });
    await start(`${id}-b`);
    expect(await where(id)).toMatchObject({ main: false, pid: service.child.pid });
    expect(await where(`${id}-b`)).toMatchObject({ main: true });
    const config = await call(service, 'GET', `/api/bots/${id}/config`);
    expect(config.json).toMatchObject({ isolation: 'thread', host_group: null });
    // Changed, it moves.
    const before = stream.frames.length;
    const change = { isolation: null, host_group: 'ours' };
    const changed = await call(service, 'PATCH', `/api/bots/${id}`, { body: change });
    expect(changed.status, changed.text).toBe(200);
    await statusFrom(stream, before, id, 'alive');
    expect(await where(id)).toMatchObject({ main: true });
  });

  it('bots of a group share a host and its fate, and no other bot is there', async () => {
    await start(id, { host_group: 'ours' });
    await start(`${id}-b`, { host_group: 'ours' });
    const pid = (await where(id)).pid;
    expect((await where(`${id}-b`)).pid).toBe(pid);
    const other = `${id}-other`;
    await start(other);
    expect((await where(other)).pid).not.toBe(pid);
    await command(id, 'abort');
    for (const bot of [id, `${id}-b`]) {
      await snapshotFrom(stream, from, bot, (s) => s.status === 'alive' && s.restarts === 1);
    }
    // They stay together.
    expect((await where(id)).pid).toBe((await where(`${id}-b`)).pid);
    expect((await snapshot(service, other)).restarts).toBe(0);
    await remove(service, other);
  });

  it('a dedicated bot has no group, and groups count for the limit of hosts', async () => {
    const both = { id, kind: 'breaker', dedicated: true, host_group: 'ours' };
    expectError(
      await create(service, both),
      400,
      'dedicated and host_group exclude each other: a dedicated bot shares its host with no other bot',
    );
    const ids = Array.from({ length: HOSTS.max_dedicated }, (_, n) => `${id}-g${n}`);
    for (const [n, bot] of ids.entries()) {
      const body = { id: bot, kind: 'synthetic', host_group: `group-${n}` };
      expect((await create(service, body)).status).toBe(201);
    }
    const oneMore = { id, kind: 'synthetic', host_group: 'one-more' };
    expectError(
      await create(service, oneMore),
      503,
      `limit of dedicated hosts and hosts of groups reached (hosts.max_dedicated is ${HOSTS.max_dedicated})`,
    );
    // A group that is there has room.
    const member = { id, kind: 'synthetic', host_group: 'group-0' };
    expect((await create(service, member)).status).toBe(201);
    for (const bot of ids) await remove(service, bot);
  });

  it('a wrong isolation is refused', async () => {
    const answer = await create(service, { id, kind: 'breaker', isolation: 'container' });
    expect(answer.status).toBe(400);
    expect(answer.text).toMatch(/isolation/);
  });
});

it('what a bot has started ends with its host', async () => {
  await start(id, { dedicated: true });
  const sleeper = (await command(id, 'child')) as number;
  expect(isThere(sleeper)).toBe(true);
  await command(id, 'abort');
  await eventually(() => !isThere(sleeper), 'the child process of the bot is gone');
});

it.each(['idle', 'hanging'])(
  'nothing is left when the service is killed: %s bots',
  async (state) => {
    const other = await startService({ config: { kinds: [ISOLATION_KINDS], hosts: HOSTS } });
    const events = await watch(other);
    expect((await create(other, { id, kind: 'breaker' })).status).toBe(201);
    await statusFrom(events, 0, id, 'alive');
    const [host] = isolatedProcesses(other) as [number];
    const answer = await invoke(other, id, 'child');
    const sleeper = (answer.json as { result: number }).result;
    expect(groupOf(sleeper)).toBe(host);
    if (state === 'hanging') {
      await invoke(other, id, 'spin');
      const [before] = [events.frames.length];
      await lineFrom(events, 0, ({ message }) => message.includes('spin'));
      expect(before).toBeGreaterThan(0);
    }
    events.close();
    await other.kill();
    await eventually(() => !isThere(host) && !isThere(sleeper), 'all of its processes are gone');
  },
);
