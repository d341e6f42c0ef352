// Bots with a dedicated host thread.

import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, it } from 'vitest';
import {
  act,
  create,
  createNeighbour,
  eventually,
  expectUndisturbed,
  FIXTURE_KINDS,
  incidents,
  invoke,
  remove,
  snapshotFrom,
  statusFrom,
  watch,
} from '../harness/bots.js';
import { type Service, startService, stopClean } from '../harness/service.js';
import type { SseStream } from '../harness/sse.js';

let service: Service;
let stream: SseStream;
beforeAll(async () => {
  service = await startService({
    config: {
      kinds: [FIXTURE_KINDS],
      hosts: { count: 1, max_heap_mb: 64, stop_grace_ms: 300 },
      restart: { backoff_ms: 20 },
    },
  });
  stream = await watch(service);
  await createNeighbour(service, stream, 'neighbour');
});
afterAll(async () => {
  stream?.close();
  await stopClean(service);
});

async function createDedicated(id: string, config: object = {}): Promise<number> {
  await create(service, { id, kind: 'faulty', dedicated: true, config });
  return (await statusFrom(stream, 0, id, 'online')).host as number;
}

it('each dedicated host has its own number, different from the shared hosts', async () => {
  const hosts = [await createDedicated('own-1'), await createDedicated('own-2')];
  expect(new Set([0, ...hosts]).size).toBe(3);
  for (const id of ['own-1', 'own-2']) await remove(service, id);
});

it.each(['hog', 'exit'])(
  'a dedicated host fails alone (%s), and its bot restarts on a new dedicated host',
  async (fault) => {
    const id = `lost-by-${fault}`;
    const host = await createDedicated(id);
    const from = stream.frames.length;
    await invoke(service, id, 'cause', { fault });
    const restarted = await snapshotFrom(
      stream,
      from,
      id,
      ({ status, restarts }) => status === 'online' && restarts === 1,
    );
    expect([0, host]).not.toContain(restarted.host);
    await eventually(async () => (await incidents(service, id)).length > 0, 'the incident report');
    expect((await incidents(service, id))[0]).toMatchObject({
      host,
      bots: [id],
      suspect: id,
      reason: expect.stringContaining(`bot ${id} was alone there`),
    });
    await expectUndisturbed(stream, 'neighbour');
    await remove(service, id);
  },
);

it.each(['stop', 'delete'])(
  '%s ends the dedicated host, even when the bot ignores its abort signal',
  async (how) => {
    const id = `deaf-${how}`;
    // The bot holds its lock until its thread ends: on a shared host its successor could never acquire it.
    const config = { lock: randomUUID(), stop_ms: 2 ** 30 };
    const body = {
      id,
      kind: 'guarded',
      dedicated: true,
      config,
      restart: { max_restarts: 1000, backoff_cap_ms: 50 },
    };
    await create(service, body);
    const first = await statusFrom(stream, 0, id, 'online');
    const from = stream.frames.length;
    if (how === 'stop') {
      await act(service, id, 'stop');
      await act(service, id, 'start');
    } else {
      await remove(service, id);
      await create(service, body);
    }
    const { host } = first;
    await snapshotFrom(
      stream,
      from,
      id,
      (now) => now.status === 'online' && now.host !== null && now.host !== host,
    );
    await remove(service, id);
    await expectUndisturbed(stream, 'neighbour');
  },
);

it('hosts.max_dedicated: one more bot gets 503, and a bot moved to a dedicated host waits for a free one', async () => {
  const bounded = await startService({
    config: {
      kinds: [FIXTURE_KINDS],
      hosts: { count: 1, max_dedicated: 5 },
      restart: { backoff_ms: 20, backoff_cap_ms: 200 },
    },
  });
  const shown = await watch(bounded);
  try {
    const own = (id: string): object => ({ id, kind: 'faulty', dedicated: true });
    const ids = Array.from({ length: 5 }, (_, n) => `own-${n}`);
    // Requested all at once; the hosts start a few at a time.
    const answers = await Promise.all(ids.map((id) => create(bounded, own(id))));
    expect(answers.map(({ status }) => status)).toEqual(Array(5).fill(201));
    for (const id of ids) await statusFrom(shown, 0, id, 'online');
    const full = /^limit of bots with a dedicated host reached \(hosts\.max_dedicated is 5\)$/;
    const refused = await create(bounded, own('surplus'));
    expect(refused.status).toBe(503);
    expect((refused.json as { error: string }).error).toMatch(full);
    // A stopped bot needs no host until it is started.
    expect((await create(bounded, { ...own('surplus'), desired: 'stopped' })).status).toBe(201);
    expect((await act(bounded, 'surplus', 'start')).status).toBe(503);
    // A running bot can be restarted: it already counts.
    expect((await act(bounded, 'own-0', 'restart')).status).toBe(200);
    // A bot that ends its host gets a dedicated host from then on.
    await create(bounded, { id: 'rough', kind: 'faulty' });
    await statusFrom(shown, 0, 'rough', 'online');
    await invoke(bounded, 'rough', 'cause', { fault: 'exit' });
    await snapshotFrom(shown, 0, 'rough', ({ last_error }) => full.test(last_error ?? ''));
    const from = shown.frames.length;
    await remove(bounded, 'own-1');
    await statusFrom(shown, from, 'rough', 'online');
    expect((await act(bounded, 'surplus', 'start')).status).toBe(503);
  } finally {
    shown.close();
    await stopClean(bounded);
  }
});
