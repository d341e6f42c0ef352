// A data directory whose disk is full: what cannot be stored is refused as a whole and with a reason, what runs continues, and
// the service stores changes again as soon as there is room. The disk is a small tmpfs.

import { closeSync, existsSync, openSync } from 'node:fs';
import path from 'node:path';
import { afterEach, expect, it, onTestFinished } from 'vitest';
import { type Answer, call, tryPin } from '../harness/api.js';
import {
  act,
  create,
  eventually,
  FIXTURE_KINDS,
  incidents,
  invoke,
  lineFrom,
  list,
  remove,
  snapshot,
  watch,
} from '../harness/bots.js';
import { skipWithout } from '../harness/needs.js';
import { makeDir, removeDir, type Service, startService, stopClean } from '../harness/service.js';
import { waitForLog } from '../harness/shapes.js';
import { mountSmallDisk } from '../harness/small-disk.js';
import { listTokens, makeToken, revoke } from '../harness/tokens.js';

let service: Service | undefined;
afterEach(async () => {
  await stopClean(service);
  service = undefined;
});

const REASON = /ENOSPC/;
/** Larger than the free pages of the store and the room that it keeps: it needs room on the disk. */
const NOTE = 'n'.repeat(200_000);

function expectRefused(answer: Answer, what: string): void {
  expect([answer.status, what]).toEqual([503, what]);
  expect(answer.json).toEqual({ error: expect.stringMatching(REASON) });
}

it('standard error in a file on a full disk', async (context) => {
  skipWithout(context, existsSync('/dev/full'), '/dev/full, which Linux has');
  const full = openSync('/dev/full', 'w');
  onTestFinished(() => closeSync(full));
  // Reachable by others and without TLS, which is a warning.
  service = await startService({ host: '0.0.0.0', stderr: full });
  expect((await tryPin(service, service.pin)).status).toBe(200);
});

it.for(['uws', 'node'])(
  'every route that stores something (%s)',
  {
    timeout: 120_000,
  },
  async (engine, context) => {
    const home = makeDir();
    onTestFinished(() => removeDir(home));
    const dataDir = path.join(home, 'data');
    const disk = mountSmallDisk(context, dataDir, 4);
    const start = async (): Promise<Service> => {
      const config = {
        kinds: [FIXTURE_KINDS],
        hosts: { count: 1 },
        http: { max_body_bytes: 1_048_576 },
        journal: { max_bytes: 1_048_576 },
        restart: { policy: 'never' },
      };
      service = await startService({ dataDir, args: ['--engine', engine], config });
      return service;
    };
    let of = await start();
    const ids = ['runs', 'breaks', 'changes', 'deleted', 'stopped'];
    for (const id of ids) {
      const desired = id === 'stopped' ? 'stopped' : 'running';
      const kind = id === 'runs' ? 'synthetic' : 'faulty';
      const answer = await create(of, { id, kind, desired });
      expect(answer.status, answer.text).toBe(201);
    }
    const doomed = await makeToken(of, { name: 'doomed' });
    const before = {
      bots: (await list(of)).map(({ id, desired }) => ({ id, desired })),
      tokens: (await listTokens(of)).map(({ id }) => id),
    };
    const stream = await watch(of, '?snapshot=0');
    disk.fill();

    expectRefused(
      await create(of, { id: 'new', kind: 'guarded', config: { lock: home, note: NOTE } }),
      'create',
    );
    const line = await waitForLog(stream, ({ message }) => /cannot be written/.test(message));
    expect(line).toMatchObject({ level: 'error', scope: 'drover' });
    expect(line.message).toMatch(REASON);
    const pressure = await call(of, 'GET', '/api/pressure');
    expect(pressure.status).toBe(503);
    expect(pressure.json).toMatchObject({
      short: ['disk'],
      store: { state: 'failed', reason: expect.stringMatching(REASON) },
    });

    expectRefused(await tryPin(of, of.pin), 'a right PIN');
    const body = { name: 'new', scopes: ['read'] };
    expectRefused(await call(of, 'POST', '/api/tokens', { body }), 'token');
    const change = { labels: { a: '1' } };
    expectRefused(await call(of, 'PATCH', '/api/bots/changes', { body: change }), 'change');
    expectRefused(await act(of, 'runs', 'stop'), 'stop');
    expectRefused(await act(of, 'stopped', 'start'), 'start');
    expectRefused(await act(of, 'stopped', 'restart'), 'restart');
    expectRefused(await remove(of, 'deleted'), 'delete');
    const bulk = await call(of, 'POST', '/api/bots/actions', {
      body: { action: 'stop', ids: ['runs', 'changes'] },
    });
    const error = expect.stringMatching(REASON);
    expect(bulk.json).toMatchObject({ results: { runs: { error }, changes: { error } } });
    const text = ['many-1', 'many-2']
      .map((id) => JSON.stringify({ id, kind: 'guarded', config: { lock: home, note: NOTE } }))
      .join('\n');
    const headers = { 'content-type': 'application/x-ndjson' };
    const lines = { text, headers };
    expectRefused(await call(of, 'POST', '/api/bots', lines), 'create many');
    const from = stream.frames.length;
    await invoke(of, 'breaks', 'cause', { fault: 'timer' });
    const incident = await lineFrom(stream, from, ({ message }) => message.startsWith('incident '));
    expect(incident.message).toMatch(/could not be stored: .*ENOSPC/);
    // Nothing is half done, and what ran still runs.
    expect((await list(of)).map(({ id, desired }) => ({ id, desired }))).toEqual(before.bots);
    expect((await listTokens(of)).map(({ id }) => id)).toEqual(before.tokens);
    for (const id of ['runs', 'changes', 'deleted']) {
      expect((await snapshot(of, id)).host, id).not.toBe(null);
    }
    expect((await snapshot(of, 'changes')).labels).toEqual({});
    await lineFrom(stream, stream.frames.length, ({ session_id }) => session_id === 'runs');
    // A token that is revoked is refused at once, although the disk still has it.
    expectRefused(await revoke(of, doomed.id), 'revoke');
    const refused = await call(of, 'GET', '/api-info', { token: doomed.token });
    expect(refused.status).toBe(401);

    disk.empty();
    await waitForLog(stream, ({ message }) => message.includes('the store is written again'));
    await waitForLog(stream, ({ message }) => /doomed.* was revoked/.test(message));
    await eventually(
      async () => (await call(of, 'GET', '/api/pressure')).status === 200,
      'no pressure',
    );
    expect(
      (await create(of, { id: 'new', kind: 'guarded', config: { lock: home, note: NOTE } })).status,
    ).toBe(201);
    expect((await call(of, 'POST', '/api/bots', lines)).status).toBe(201);
    for (const id of ['many-1', 'many-2']) expect((await remove(of, id)).status).toBe(204);
    expect((await tryPin(of, of.pin)).status).toBe(200);
    expect((await call(of, 'PATCH', '/api/bots/changes', { body: change })).status).toBe(200);
    expect((await act(of, 'runs', 'stop')).status).toBe(200);
    expect((await act(of, 'stopped', 'start')).status).toBe(200);
    expect((await remove(of, 'deleted')).status).toBe(204);
    await act(of, 'breaks', 'start');
    await invoke(of, 'breaks', 'cause', { fault: 'timer' });
    await eventually(async () => (await incidents(of, 'breaks')).length === 1, 'an incident');
    stream.close();
    expect(of.stderr()).not.toMatch(/\n +at /);

    // Also while nothing can be written: at the latest then the times of last use are due.
    disk.fill();
    await stopClean(of);
    disk.empty();
    of = await start();
    expect((await list(of)).map(({ id, desired }) => [id, desired]).toSorted()).toEqual([
      ['breaks', 'running'],
      ['changes', 'running'],
      ['new', 'running'],
      ['runs', 'stopped'],
      ['stopped', 'running'],
    ]);
    const tokens = (await listTokens(of)).map(({ id }) => id);
    expect(tokens).not.toContain(doomed.id);
  },
);
