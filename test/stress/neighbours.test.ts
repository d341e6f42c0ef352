// Twenty healthy bots beside one that is careless or hostile, all on one host: the right bot is blamed, and the others lose
// nothing, or are restarted once when only that ends the fault.

import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { call } from '../harness/api.js';
import {
  act,
  create,
  createNeighbour,
  eventually,
  expectUndisturbed,
  HELD,
  type Incident,
  incidents,
  lineFrom,
  list,
  POST,
  snapshot,
  snapshotFrom,
  statusFrom,
  watch,
} from '../harness/bots.js';
import { NeighbourCase } from '../harness/neighbour-case.js';
import { getPressure } from '../harness/pressure.js';
import { type Service, startService, stopClean } from '../harness/service.js';
import { logs } from '../harness/shapes.js';
import type { SseStream } from '../harness/sse.js';

const NEIGHBOURS = Array.from({ length: 20 }, (_, n) => `neighbour-${n}`);
const KINDS = fileURLToPath(new URL('../fixtures/neighbours', import.meta.url));

let service: Service;
let stream: SseStream;
/** The test has ended it. */
let hasEnded: boolean;
/** Reports of earlier tests. */
let earlier: Set<string>;
let record: NeighbourCase | undefined;

async function start(): Promise<void> {
  service = await startService({
    args: ['--bot-hosts', '1'],
    config: {
      kinds: [KINDS],
      hosts: { stop_grace_ms: 500 },
      watchdog: { hang_ms: 2000 },
      restart: { backoff_ms: 20 },
    },
  });
  hasEnded = false;
  stream = await watch(service);
  await Promise.all(NEIGHBOURS.map((id) => createNeighbour(service, stream, id, 10)));
}

async function stop(): Promise<void> {
  stream?.close();
  if (!hasEnded) await stopClean(service);
}

async function begin(): Promise<void> {
  earlier = new Set((await incidents(service)).map(({ id }) => id));
  record = NeighbourCase.begin(service, stream, earlier);
}

async function end(): Promise<void> {
  await record?.end(expect.getState().currentTestName ?? '', hasEnded);
}

/** The bot has the name of its fault. */
async function createHostile(fault: string, more: object = {}): Promise<void> {
  const body = { id: fault, kind: 'hostile', config: { fault }, ...more };
  expect((await create(service, body)).status).toBe(201);
  await statusFrom(stream, 0, fault, 'ready');
}

/** Incidents of this test, newest first. */
async function ownIncidents(): Promise<Incident[]> {
  return (await incidents(service)).filter(({ id }) => !earlier.has(id));
}

/** The same, as soon as there are so many: a bot has failed before the report is on the disk. */
async function reported(count: number): Promise<Incident[]> {
  let found: Incident[] = [];
  const isThere = async (): Promise<boolean> => {
    found = await ownIncidents();
    return found.length >= count;
  };
  await eventually(isThere, `${count} incidents`, 60_000);
  return found;
}

/** These end runs of the neighbours, the service, or the kind. */
describe('in its own service', () => {
  beforeEach(async () => {
    await start();
    await begin();
  });
  afterEach(async () => {
    await end();
    await stop();
  });

  describe('a loop that never turns', () => {
    it.each(['microtasks', 'next_tick'])(
      '%s: it is blamed and moved; its neighbours restart once',
      async (fault) => {
        await createHostile(fault, { restart: { max_restarts: 1 } });
        await statusFrom(stream, 0, fault, 'failed', 60_000);
        const found = await reported(2);
        // Once on the shared host, then alone.
        expect(found.map(({ type, suspect }) => `${type} ${suspect}`)).toEqual(
          Array(2).fill(`hang ${fault}`),
        );
        expect(found.map(({ bots }) => bots.length)).toEqual([1, NEIGHBOURS.length + 1]);
        await eventually(async () => {
          const bots = (await list(service)).filter(({ id }) => NEIGHBOURS.includes(id));
          return bots.every(({ status }) => status === 'running');
        }, 'all neighbours run');
        for (const id of NEIGHBOURS) expect((await snapshot(service, id)).restarts).toBe(1);
      },
    );
  });

  it('native code that never returns: its neighbours start elsewhere, and the service ends without its thread', async () => {
    await createHostile('native', { restart: { max_restarts: 0 } });
    await statusFrom(stream, stream.frames.length, 'native', 'failed');
    const [incident] = await reported(1);
    expect(incident).toMatchObject({ type: 'hang', suspect: 'native', stack: null });
    // The thread is still there, and never ends.
    for (const id of NEIGHBOURS) {
      await snapshotFrom(
        stream,
        0,
        id,
        ({ restarts, status }) => restarts === 1 && status !== 'starting',
      );
    }
    const { message } = await lineFrom(
      stream,
      0,
      (log) => log.session_id === NEIGHBOURS[0] && log.message.startsWith('starts while'),
    );
    expect(message).toContain('the thread of bot host 0 does not end');
    expect((await getPressure(service)).report.hosts).toMatchObject([
      { host: 0, bots: NEIGHBOURS.length },
    ]);
    service.child.kill('SIGTERM');
    await once(service.child, 'exit');
    hasEnded = true;
    expect(service.child.signalCode).toBe('SIGKILL');
    expect(service.stderr()).toContain(
      'the thread of bot host 0 (the code of bot native ran last there) does not exit',
    );
  });

  it('code of its module, of no bot, throws twice: its kind is quarantined until it is released, and its neighbours lose nothing', async () => {
    await createHostile('module_timer');
    const { last_error } = await statusFrom(stream, 0, 'module_timer', 'failed', 60_000);
    const reason = 'thrown in a timer of the module';
    expect(last_error).toBe(`the bot kind hostile is quarantined: ${reason}`);
    const found = (await reported(3)).map(({ type, suspect }) => `${type} ${suspect}`);
    expect(found.sort()).toEqual([
      'crash module_timer',
      'crash module_timer',
      'kind_quarantined null',
    ]);
    const { kinds } = (await call(service, 'GET', '/api/kinds')).json as { kinds: object[] };
    expect(kinds).toContainEqual(
      expect.objectContaining({
        kind: 'hostile',
        quarantine: { since_ms: expect.any(Number), reason },
      }),
    );
    const from = stream.frames.length;
    const released = await POST(service, '/api/kinds/hostile/release');
    expect([released.status, released.json]).toEqual([200, { started: 1, missing: [] }]);
    await statusFrom(stream, from, 'module_timer', 'ready');
    await statusFrom(stream, from, 'module_timer', 'backoff');
    await Promise.all(NEIGHBOURS.map((id) => expectUndisturbed(stream, id)));
  });
});

/** No test leaves anything to the next one: that is what they are about. */
describe('in one service', () => {
  beforeAll(start);
  afterAll(stop);
  beforeEach(begin);
  afterEach(end);

  describe('it fails, and its neighbours lose nothing', () => {
    it.each([
      ['clock', /read only property 'now'/],
      ['timers', /read only property 'setTimeout'/],
      ['remove_listeners', /nobody listens/],
      ['process_exit', /has called process\.exit\(1\)/],
      ['close_descriptors', /must not close a file that it has not opened/],
      ['signal_to_self', /has called process\.kill\(\d+, SIGKILL\)/],
    ])('%s', async (fault, error) => {
      await createHostile(fault, { restart: { max_restarts: 0 } });
      const { last_error } = await statusFrom(stream, 0, fault, 'failed');
      expect(last_error).toMatch(error);
      await Promise.all(NEIGHBOURS.map((id) => expectUndisturbed(stream, id)));
      expect((await reported(1)).map(({ type }) => type)).toEqual(['crash']);
    });
  });

  it('long pieces of work: it is named, then moved to its own host, and its neighbours lose nothing', async () => {
    await createHostile('slices');
    const saysWarn = (id: string | null, message: RegExp) =>
      lineFrom(stream, 0, (log) => {
        return log.level === 'warn' && log.session_id === id && message.test(log.message);
      });
    await saysWarn('slices', /^its code held the event loop of its bot host for \d+ ms/);
    await saysWarn(null, /^bot slices held the event loop of bot host 0 for \d+ ms/);
    const { report } = await getPressure(service);
    expect(report.hosts).toEqual([
      { host: 0, bots: NEIGHBOURS.length + 1, delay_ms: expect.any(Number) },
    ]);
    await saysWarn('slices', /; from now on it has its own bot host$/);
    await eventually(async () => (await snapshot(service, 'slices')).host === 1, 'it has moved');
    expect((await getPressure(service)).report.hosts.map(({ host, bots }) => [host, bots])).toEqual(
      [
        [0, NEIGHBOURS.length],
        [1, 1],
      ],
    );
    await Promise.all(NEIGHBOURS.map((id) => expectUndisturbed(stream, id)));
    expect((await act(service, 'slices', 'stop')).status).toBe(200);
  });

  it('two that flood: each is named, and the neighbours lose nothing', async () => {
    // Both at once: a flood is one after ten seconds.
    const floods = { warn_flood: 'warn lines', status_flood: 'statuses' };
    for (const fault of Object.keys(floods)) await createHostile(fault);
    const found = await reported(2);
    for (const [fault, what] of Object.entries(floods)) {
      expect(found.find(({ suspect }) => suspect === fault)).toMatchObject({
        type: 'flood',
        bots: [fault],
        reason: expect.stringMatching(new RegExp(`\\d+ ${what} were skipped: rate limit exceeded`)),
      });
    }
    await Promise.all(NEIGHBOURS.map((id) => expectUndisturbed(stream, id)));
    const others = logs(stream).filter(({ session_id }) => NEIGHBOURS.includes(session_id ?? ''));
    const warnings = others.filter(({ level, message }) => level === 'warn' && !HELD.test(message));
    expect(warnings).toEqual([]);
    for (const fault of Object.keys(floods)) {
      expect((await act(service, fault, 'stop')).status).toBe(200);
    }
  });

  it('what its run leaves is told and ended: a child process, a thread, an interval, connections', async () => {
    await createHostile('litter');
    const left = (what: RegExp) =>
      lineFrom(
        stream,
        0,
        ({ session_id, message }) => session_id === 'litter' && what.test(message),
      );
    const { message } = await left(/^its run has ended and left open: .*child process/);
    expect(message).toMatch(
      /: (?=.*\b1 thread)(?=.*\b1 server)(?=.*\b2 connections).*; it is ended now$/,
    );
    const [, pid] = /child process (\d+)/.exec(message) ?? [];
    await left(/^its run has ended and left open: an interval; it is ended now$/);
    await expect.poll(() => existsSync(`/proc/${pid}`)).toBe(false);
    await Promise.all(NEIGHBOURS.map((id) => expectUndisturbed(stream, id)));
    expect(await ownIncidents()).toEqual([]);
  });

  describe('at its stop, its neighbours lose nothing', () => {
    afterEach(async () => {
      await Promise.all(NEIGHBOURS.map((id) => expectUndisturbed(stream, id)));
      expect(await ownIncidents()).toEqual([]);
    });

    /** @returns the number of frames before the stop. */
    async function stopHostile(fault: string): Promise<number> {
      await createHostile(fault);
      // It has reached the fault when a second bot that was created after it has.
      await createNeighbour(service, stream, `later-${fault}`, 10);
      const from = stream.frames.length;
      expect((await act(service, fault, 'stop')).status).toBe(200);
      return from;
    }

    async function hostileSays(fault: string, from: number, message: RegExp): Promise<void> {
      await lineFrom(stream, from, (log) => log.session_id === fault && message.test(log.message));
    }

    it.each(['abort_listener', 'async_abort_listener'])('%s', async (fault) => {
      await stopHostile(fault);
      expect((await snapshot(service, fault)).status).toBe('stopped');
    });

    it.each(['catch_all', 'catch_all_connect'])(
      '%s: abandoned after its grace time',
      async (fault) => {
        const from = await stopHostile(fault);
        await hostileSays(fault, from, /^did not stop within 500 ms and is abandoned$/);
      },
    );

    it('catch_all_and_log: its lines after the signal are bounded, and the others counted', async () => {
      const from = await stopHostile('catch_all_and_log');
      await hostileSays(
        'catch_all_and_log',
        from,
        /^\d+ lines were skipped: a bot may write 1000 after the signal to stop$/,
      );
      const again = logs(stream).filter(({ message }) => message === 'again');
      expect(again.length).toBeGreaterThan(900);
      expect(again.length).toBeLessThanOrEqual(1000);
    });
  });

  // The last one: it ends the service.
  it('a child process ends with the service', async () => {
    await createHostile('child');
    const { message } = await lineFrom(stream, 0, ({ message: text }) => /^child \d+$/.test(text));
    const isThere = (): boolean => existsSync(`/proc/${message.slice('child '.length)}`);
    expect(isThere()).toBe(true);
    expect(await service.stop()).toBe(0);
    hasEnded = true;
    await expect.poll(isThere).toBe(false);
  });
});
