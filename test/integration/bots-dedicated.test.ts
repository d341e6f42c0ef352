// Bots with a host thread of their own.

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

it('each has a number of its own, apart from the shared hosts', async () => {
  const hosts = [await createDedicated('own-1'), await createDedicated('own-2')];
  expect(new Set([0, ...hosts]).size).toBe(3);
  for (const id of ['own-1', 'own-2']) await remove(service, id);
});

it.each(['hog', 'exit'])(
  'is lost alone (%s), and comes back on a host of its own',
  async (fault) => {
    const id = `lost-by-${fault}`;
    const host = await createDedicated(id);
    const from = stream.frames.length;
    await invoke(service, id, 'cause', { fault });
    const risen = await snapshotFrom(
      stream,
      from,
      id,
      ({ status, restarts }) => status === 'online' && restarts === 1,
    );
    expect([0, host]).not.toContain(risen.host);
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
  'its host ends with it on %s, also when it ignores its signal',
  async (how) => {
    const id = `deaf-${how}`;
    // It holds its lock until its thread ends: on a shared host its successor would never get it.
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

it('as many as there may be: one more gets 503, and one that is to be apart waits for a place', async () => {
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
    // All at once: they start a few at a time.
    const answers = await Promise.all(ids.map((id) => create(bounded, own(id))));
    expect(answers.map(({ status }) => status)).toEqual(Array(5).fill(201));
    for (const id of ids) await statusFrom(shown, 0, id, 'online');
    const full = /^limit of bots with a dedicated host reached \(hosts\.max_dedicated is 5\)$/;
    const refused = await create(bounded, own('surplus'));
    expect(refused.status).toBe(503);
    expect((refused.json as { error: string }).error).toMatch(full);
    // One that is not to run needs no host, until it is to.
    expect((await create(bounded, { ...own('surplus'), desired: 'stopped' })).status).toBe(201);
    expect((await act(bounded, 'surplus', 'start')).status).toBe(503);
    // One that runs can be restarted.
    expect((await act(bounded, 'own-0', 'restart')).status).toBe(200);
    // One that ends its host is to have its own from then on.
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
