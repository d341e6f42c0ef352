// Bots that take down their whole host: bots on other hosts continue without a gap, bots on the same host restart, and
// the stream and the incident report say what happened.

import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  act,
  create,
  createNeighbour,
  eventually,
  expectUndisturbed,
  FIXTURE_KINDS,
  type Incident,
  incidents,
  invoke,
  lineFrom,
  list,
  remove,
  snapshot,
  snapshotFrom,
  statusFrom,
  watch,
} from '../harness/bots.js';
import { type Service, startService, stopClean } from '../harness/service.js';
import type { SseStream } from '../harness/sse.js';

const HANG_MS = 1000;

let service: Service;
let stream: SseStream;
let serial = 0;
let culprit: string;
let neighbour: string;
let housemate: string;
let host: number;

/** A service for one group of tests. @param hangMs after which its watchdog replaces a host that hangs. */
function withTwoHosts(hangMs: number): void {
  beforeAll(async () => {
    service = await startService({
      args: ['--bot-hosts', '2'],
      config: {
        kinds: [FIXTURE_KINDS],
        hosts: { max_heap_mb: 64, stop_grace_ms: 500 },
        watchdog: { hang_ms: hangMs },
        restart: { backoff_ms: 20 },
      },
    });
    stream = await watch(service);
  });
  afterAll(async () => {
    stream?.close();
    await stopClean(service);
  });
}

/** The culprit and another bot on one host, a neighbour on the other host. */
async function settle(): Promise<void> {
  serial += 1;
  neighbour = `neighbour-${serial}`;
  culprit = `culprit-${serial}`;
  for (const { id } of await list(service)) await remove(service, id);
  await createNeighbour(service, stream, neighbour);
  const { host: other } = await snapshot(service, neighbour);
  // The previous test's host may not be replaced yet.
  await eventually(async () => {
    const probe = (await create(service, { id: `probe-${serial}`, kind: 'faulty' })).json;
    await remove(service, `probe-${serial}`);
    return (probe as { host: number }).host !== other;
  }, 'the other host');
  await create(service, { id: culprit, kind: 'faulty' });
  host = (await statusFrom(stream, 0, culprit, 'online')).host as number;
  expect(host).not.toBe(other);
  // A new bot goes to the host with the fewest bots: one of the next two joins the culprit.
  const more = [`housemate-${serial}-1`, `housemate-${serial}-2`];
  for (const id of more) {
    await create(service, { id, kind: 'faulty' });
    if ((await statusFrom(stream, 0, id, 'online')).host === host) housemate = id;
  }
  expect(more).toContain(housemate);
}

/** @param isNamed whether the report names the culprit; false: only when it was seen to block its host. */
async function cause(fault: string, type: string, isNamed = true): Promise<Incident> {
  const from = stream.frames.length;
  await invoke(service, culprit, 'cause', { fault });
  const told = await lineFrom(
    stream,
    from,
    ({ scope, message }) => scope === 'drover' && message.startsWith('incident '),
    45_000,
  );
  for (const id of [culprit, housemate]) {
    const risen = await snapshotFrom(
      stream,
      from,
      id,
      ({ status, restarts }) => status === 'online' && restarts === 1,
      30_000,
    );
    const lost = String.raw`^bot host \d+ was lost: incident \S+`;
    const named = isNamed ? ': .' : `(: .* it was blocked for .*bot ${culprit} ran last there)?$`;
    expect(risen.last_error).toMatch(new RegExp(lost + (id === culprit ? named : '$')));
  }
  const [incident] = await incidents(service, culprit);
  if (!incident) throw new Error('no incident');
  expect(told.message).toContain(`${incident.id} (${type})`);
  expect(incident).toMatchObject({ type, host });
  expect(incident.bots).toEqual(expect.arrayContaining([culprit, housemate]));
  expect(incident.bots).not.toContain(neighbour);
  expect(incident.last_commands.at(-1)).toBe(`cause on ${culprit}`);
  expect(incident.heap?.used).toBeGreaterThan(1_000_000);
  expect(incident.heap?.limit).toBe(64 * 2 ** 20);
  expect((await incidents(service)).map(({ id }) => id)).toContain(incident.id);
  expect((await incidents(service, neighbour)).map(({ id }) => id)).not.toContain(incident.id);
  await expectUndisturbed(stream, neighbour);
  return incident;
}

describe('a host that hangs or exits', () => {
  withTwoHosts(HANG_MS);

  it('an endless loop: the incident report names file, function and bot', async () => {
    await settle();
    const incident = await cause('loop', 'hang');
    expect(incident.suspect).toBe(culprit);
    expect(incident.reason).toMatch(/was blocked for \d+ ms/);
    const [frame] = incident.stack as { function: string; url: string; line: number }[];
    expect(frame).toMatchObject({
      function: 'spinForever',
      url: expect.stringMatching(/fixtures\/kinds\/faulty\.mjs$/),
    });
    expect(frame?.line).toBeGreaterThan(1);
    expect(incident.last_lines.join('\n')).toContain('about to loop');
  });

  it('a command that never returns: its caller gets a response, and the stream reports it', async () => {
    await settle();
    const from = stream.frames.length;
    const incident = await cause('spin', 'hang');
    expect(incident.suspect).toBe(culprit);
    const line = await lineFrom(
      stream,
      from,
      (log) => log.scope === 'dispatch' && log.session_id === culprit,
    );
    expect([line.level, line.message]).toEqual([
      'error',
      expect.stringMatching(/^cause failed: bot host \d+ was lost$/),
    ]);
  });

  it('the end of its thread ends its host, not the service', async () => {
    await settle();
    expect((await cause('exit', 'host_lost')).suspect).toBe(culprit);
  });
});

describe('a host that exceeds its memory limit', () => {
  // To the watchdog, a host that only allocates looks like a hang. On a busy machine it reaches the limit slowly.
  withTwoHosts(60_000);

  it.each(['hog', 'hog_map', 'hog_large_array', 'hog_busy_buffers'])(
    'a memory hog that blocks its event loop (%s): its host is lost for that reason',
    async (fault) => {
      await settle();
      const incident = await cause(fault, 'out_of_memory');
      expect(incident.reason).toMatch(/out of memory: .* hosts\.max_heap_mb is 64 MB/);
      // The thread no longer responds, but the report knows what ran last.
      expect(incident.suspect).toBe(culprit);
      expect(incident.reason).toContain(`the code of bot ${culprit} ran last there`);
      expect(incident.last_lines.join('\n')).toContain('about to hoard');
    },
  );

  it.each(['hog_array', 'hog_buffers'])(
    'a memory hog with a running event loop (%s): its host is lost, and no bot is blamed without evidence',
    async (fault) => {
      await settle();
      const incident = await cause(fault, 'out_of_memory', false);
      // On a busy machine the allocation itself blocks the host for long enough to be evidence.
      const isBlocked = incident.reason.includes('it was blocked for');
      expect(incident.reason).toMatch(
        isBlocked
          ? new RegExp(`out of memory: .* the code of bot ${culprit} ran last there`)
          : /out of memory: it used .* hosts\.max_heap_mb is 64 MB.*which bot caused it is not known/,
      );
      expect(incident.suspect).toBe(isBlocked ? culprit : null);
      expect(incident.last_lines.join('\n')).toContain('about to hoard');
    },
  );

  it('garbage does not count as used memory: a bot that produces a lot of it keeps running', async () => {
    await settle();
    const from = stream.frames.length;
    await invoke(service, culprit, 'cause', { fault: 'litter' });
    // The end of either kind, so that a host that was ended shows as that, not as silence.
    const isOver = (s: { status: string; restarts: number }) =>
      s.status === 'tidy' || s.restarts > 0;
    await snapshotFrom(stream, from, culprit, isOver, 60_000);
    expect(await incidents(service, culprit)).toEqual([]);
    expect(await snapshot(service, culprit)).toMatchObject({ host, restarts: 0 });
    await expectUndisturbed(stream, neighbour);
  });
});

describe('two failures at once', () => {
  const start = async (config: object): Promise<[Service, SseStream]> => {
    const service = await startService({
      config: { kinds: [FIXTURE_KINDS], restart: { backoff_ms: 20 }, ...config },
      env: { DROVER_DRILLS_ENABLED: 'true' },
    });
    return [service, await watch(service)];
  };

  it('a host that hangs while the broadcaster is replaced is still detected', async () => {
    const [service, stream] = await start({ hosts: { count: 2 }, watchdog: { hang_ms: HANG_MS } });
    try {
      for (const id of ['one', 'two']) {
        await create(service, { id, kind: 'faulty' });
        await statusFrom(stream, 0, id, 'online');
      }
      const from = stream.frames.length;
      await invoke(service, null, 'drill', { kill: 'host', host: 0, fault: 'hang' });
      await invoke(service, null, 'drill', { kill: 'broadcaster' });
      await lineFrom(
        stream,
        from,
        ({ message }) => message.includes('broadcaster was lost'),
        15_000,
      );
      const stuck = (await snapshot(service, 'one')).host === 0 ? 'one' : 'two';
      await snapshotFrom(
        stream,
        from,
        stuck,
        (s) => s.status === 'online' && s.restarts > 0,
        15_000,
      );
      expect((await incidents(service, stuck))[0]).toMatchObject({ type: 'hang', host: 0 });
    } finally {
      stream.close();
      await stopClean(service);
    }
  });

  it('the service shuts down cleanly while a host hangs', async () => {
    const [service, stream] = await start({ hosts: { count: 1 }, shutdown: { bots_ms: 500 } });
    await create(service, { id: 'stuck', kind: 'faulty' });
    await statusFrom(stream, 0, 'stuck', 'online');
    await invoke(service, null, 'drill', { kill: 'host', host: 0, fault: 'hang' });
    // Its event loop is blocked: it no longer answers commands.
    await eventually(async () => {
      const answered = invoke(service, 'stuck', 'heard').then(() => true);
      // The stop ends those without an answer.
      answered.catch(() => {});
      return !(await Promise.race([answered, delay(300, false)]));
    }, 'the host hangs');
    expect(await service.stop()).toBe(0);
    expect(await stream.ended).toBe(true);
  });

  it('the service shuts down cleanly while a bot that ignores its stop signal is deleted', async () => {
    const [service, stream] = await start({
      hosts: { count: 1, stop_grace_ms: 60_000 },
      shutdown: { bots_ms: 300 },
    });
    await create(service, { id: 'deaf', kind: 'faulty', config: { deaf: true } });
    await statusFrom(stream, 0, 'deaf', 'online');
    const removing = remove(service, 'deaf').catch(() => undefined);
    await statusFrom(stream, 0, 'deaf', 'stopping');
    expect(await service.stop()).toBe(0);
    await removing;
  });

  it('a bot on a host that hangs can be stopped: the watchdog frees it', async () => {
    const [service, stream] = await start({ hosts: { count: 1 }, watchdog: { hang_ms: HANG_MS } });
    try {
      await create(service, { id: 'stuck', kind: 'faulty' });
      await statusFrom(stream, 0, 'stuck', 'online');
      await invoke(service, null, 'drill', { kill: 'host', host: 0, fault: 'hang' });
      expect((await act(service, 'stuck', 'stop')).json).toMatchObject({ status: 'stopped' });
      // It stays stopped once its host is back, and can be started there.
      await eventually(
        async () => (await act(service, 'stuck', 'start')).status === 200,
        'the host is back',
      );
      expect(await statusFrom(stream, stream.frames.length - 1, 'stuck', 'online')).toBeDefined();
    } finally {
      stream.close();
      await stopClean(service);
    }
  });
});

describe('repeated failures', () => {
  let service: Service;
  let stream: SseStream;

  beforeAll(async () => {
    service = await startService({
      config: {
        kinds: [FIXTURE_KINDS],
        hosts: { count: 1 },
        watchdog: { hang_ms: HANG_MS },
        restart: { max_restarts: 2, backoff_ms: 20, backoff_cap_ms: 40 },
      },
      env: { DROVER_DRILLS_ENABLED: 'true' },
    });
    stream = await watch(service);
    for (const [id, restart] of [
      ['always', { policy: 'always' }],
      ['never', { policy: 'never' }],
    ]) {
      await create(service, { id, kind: 'faulty', restart });
      await statusFrom(stream, 0, id as string, 'online');
    }
  });
  afterAll(async () => {
    stream?.close();
    await stopClean(service);
  });

  /** The `restarts` of both, once they run again. */
  async function neighbours(restarts: number): Promise<void> {
    for (const id of ['always', 'never']) {
      await snapshotFrom(
        stream,
        0,
        id,
        (s) => s.status === 'online' && s.restarts === restarts,
        15_000,
      );
      expect(await snapshot(service, id)).toMatchObject({ status: 'online', restarts });
    }
  }

  it('a bot that hangs its host on every start fails alone: its neighbours restart once', async () => {
    const config = { end: 'loop' };
    await create(service, { id: 'culprit', kind: 'mortal', config, restart: { policy: 'always' } });
    const failed = await statusFrom(stream, 0, 'culprit', 'failed', 60_000);
    expect(failed).toMatchObject({ restarts: 2 });
    expect(failed.last_error).toMatch(/^bot host \d+ was lost: .*; restarted 2 times /s);
    await neighbours(1);
    const hangs = await incidents(service, 'culprit');
    expect(hangs.map(({ type, suspect }) => [type, suspect])).toEqual(
      Array(3).fill(['hang', 'culprit']),
    );
    // After the first hang it ran alone on its own host.
    expect(hangs.map(({ bots }) => bots.length)).toEqual([1, 1, 3]);
  });

  it('a host loss without a suspect counts against no bot', async () => {
    for (let loss = 1; loss <= 4; loss++) {
      const { host } = await snapshot(service, 'always');
      await invoke(service, null, 'drill', { kill: 'host', host, fault: 'crash' });
      await neighbours(1 + loss);
    }
  });
});

it('quarantine finds the one bot on a host that leaks memory, and only it fails', async () => {
  const service = await startService({
    config: {
      kinds: [FIXTURE_KINDS],
      hosts: { count: 1, max_heap_mb: 96 },
      restart: { max_restarts: 2, backoff_ms: 20, backoff_cap_ms: 40 },
    },
  });
  const stream = await watch(service);
  try {
    const innocents = ['innocent-1', 'innocent-2', 'innocent-3'];
    for (const id of innocents) {
      const config = { end: 'tick' };
      await create(service, { id, kind: 'mortal', config, restart: { policy: 'never' } });
    }
    const config = { end: 'leak' };
    await create(service, { id: 'leaker', kind: 'mortal', config, restart: { policy: 'always' } });
    const failed = await statusFrom(stream, 0, 'leaker', 'failed', 90_000);
    expect(failed.last_error).toMatch(
      /out of memory: .*; bot leaker was alone there(?:; restarted |$)/,
    );
    let named: Incident[] = [];
    await eventually(async () => {
      named = (await incidents(service)).filter(({ type }) => type === 'out_of_memory');
      return named.length >= 6;
    }, 'the incident report of the last');
    expect(new Set(named.map(({ suspect }) => suspect))).toEqual(new Set([null, 'leaker']));
    // Twice with all bots on one host, then with half of them, then alone.
    expect(named.map(({ bots }) => bots.length).reverse()).toEqual([4, 4, 2, 1, 1, 1]);
    for (const id of innocents) {
      expect(await snapshot(service, id)).toMatchObject({ status: 'alive' });
      expect((await snapshot(service, id)).restarts).toBeLessThanOrEqual(3);
    }
  } finally {
    stream.close();
    await stopClean(service);
  }
});
