// docs/INTERFACE.md §4 "Other operations", /api/bots: list, snapshot, create, delete.

import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { type Answer, call, expectError } from '../harness/api.js';
import { FIXTURE_KINDS } from '../harness/bots.js';
import { type InjectedService, inject } from '../harness/inject.js';
import {
  expectSnapshot,
  type Snapshot,
  snapshots,
  waitForLog,
  waitForStatus,
} from '../harness/shapes.js';
import type { SseStream } from '../harness/sse.js';
import { makeToken, streamOf } from '../harness/tokens.js';

const SLOW_TALKER = { events_per_second: 1, message_bytes: 40 };
const FIRST = ['first-1', 'first-2', 'first-3'];

let service: InjectedService;
let stream: SseStream;
let serial = 0;
let id: string;

beforeAll(async () => {
  service = await inject({
    config: { kinds: [FIXTURE_KINDS], bots: FIRST.map((first) => ({ id: first, kind: 'faulty' })) },
  });
  stream = await streamOf(service, await service.token());
  for (const first of FIRST) await waitForStatus(stream, first, 'online');
});
afterAll(async () => {
  stream?.close();
  await service.close();
});
beforeEach(() => {
  id = `bot-${++serial}`;
});

const create = (body: unknown): Promise<Answer> => call(service, 'POST', '/api/bots', { body });
const remove = (bot: string): Promise<Answer> => call(service, 'DELETE', `/api/bots/${bot}`);

async function list(query = ''): Promise<Snapshot[]> {
  const answer = await call(service, 'GET', `/api/bots${query}`);
  expect(answer.status).toBe(200);
  return (answer.json as { bots: Snapshot[] }).bots;
}

const ids = async (query = ''): Promise<string[]> =>
  (await list(query)).map((bot) => bot.id).sort();

describe('GET /api/bots', () => {
  it('§4 answers with `bots` alone, a list of BotSnapshots, as JSON', async () => {
    const answer = await call(service, 'GET', '/api/bots');
    expect(answer.status).toBe(200);
    expect(answer.headers.get('content-type')).toMatch(/^application\/json\b/);
    expect(Object.keys(answer.json as object)).toEqual(['bots']);
    const { bots } = answer.json as { bots: unknown[] };
    expect(bots.length).toBeGreaterThanOrEqual(3);
    for (const bot of bots) expectSnapshot(bot);
  });

  it('?kind= and ?status= filter, alone and together', async () => {
    await create({ id, kind: 'synthetic', config: SLOW_TALKER });
    expect(await ids('?kind=faulty')).toEqual(FIRST);
    expect(await ids('?kind=synthetic')).toContain(id);
    expect(await ids('?kind=synthetic')).not.toContain('first-1');
    expect(await ids('?status=online')).toEqual(expect.arrayContaining(FIRST));
    expect(await ids('?status=failed')).toEqual([]);
    expect(await ids('?kind=faulty&status=online')).toEqual(FIRST);
    expect(await ids('?kind=synthetic&status=backoff')).toEqual([]);
    expect(await ids('?kind=no_such_kind')).toEqual([]);
    await remove(id);
  });

  it('without bots the list is empty', async () => {
    const bare = await inject();
    expect((await call(bare, 'GET', '/api/bots')).json).toEqual({ bots: [] });
  });
});

describe('GET /api/bots/{id}', () => {
  it('§2.6 answers with the BotSnapshot itself', async () => {
    const answer = await call(service, 'GET', '/api/bots/first-1');
    expect(answer.status).toBe(200);
    expect(expectSnapshot(answer.json)).toMatchObject({
      id: 'first-1',
      kind: 'faulty',
      status: 'online',
    });
  });

  it('a bot that is not there is 404', async () => {
    for (const missing of [
      'nobody',
      'FIRST-1',
      'first-1%00',
      '..%2Ffirst-1',
      '__proto__',
      'constructor',
    ]) {
      expectError(await call(service, 'GET', `/api/bots/${missing}`), 404);
    }
  });
});

it('a path that is no percent-encoding is an error of the table', async () => {
  for (const broken of ['%', '%ff', '%zz', 'first-1%']) {
    expectError(await call(service, 'GET', `/api/bots/${broken}`), 400);
  }
});

describe('POST /api/bots', () => {
  it('creates a bot: 201 with its BotSnapshot, then it is in the list and on the stream', async () => {
    const answer = await create({
      id,
      kind: 'synthetic',
      config: SLOW_TALKER,
      labels: { team: 'blue' },
    });
    expect(answer.status).toBe(201);
    const labels = { team: 'blue' };
    expect(expectSnapshot(answer.json)).toMatchObject({
      id,
      kind: 'synthetic',
      desired: 'running',
      labels,
    });
    expect(await ids()).toContain(id);
    await waitForLog(stream, (log) => log.session_id === id);
    const seen = snapshots(stream, id);
    expect(seen[0]?.status).toBe('starting');
    for (const snapshot of seen) expect(snapshot.labels).toEqual(labels);
    await remove(id);
  });

  it('labels may be left out', async () => {
    const answer = await create({ id, kind: 'synthetic', config: SLOW_TALKER });
    expect(expectSnapshot(answer.json).labels).toEqual({});
    await remove(id);
  });

  it('an id that is there is 409, and the bot stays as it is', async () => {
    expectError(await create({ id: 'first-1', kind: 'synthetic', config: SLOW_TALKER }), 409);
    expect((await call(service, 'GET', '/api/bots/first-1')).json).toMatchObject({
      kind: 'faulty',
    });
  });

  it('of many at once with one id exactly one is 201', async () => {
    const body = { id, kind: 'synthetic', config: SLOW_TALKER };
    const statuses = (await Promise.all(Array.from({ length: 10 }, () => create(body)))).map(
      (a) => a.status,
    );
    expect(statuses.sort()).toEqual([201, ...Array.from({ length: 9 }, () => 409)]);
    await remove(id);
  });

  it('an unknown kind is 400', async () => {
    for (const kind of [
      'no_such_kind',
      '',
      '../main',
      '__proto__',
      'constructor',
      7,
      null,
      ['faulty'],
    ]) {
      expectError(await create({ id, kind }), 400);
    }
    expect(await ids()).not.toContain(id);
  });

  it('a config that the kind does not take is 400', async () => {
    const bad = [
      { events_per_second: 'fast', message_bytes: 40 },
      { events_per_second: -1, message_bytes: 40 },
      { events_per_second: 1.5, message_bytes: 40 },
      { events_per_second: 1, message_bytes: -1 },
      { events_per_second: null, message_bytes: 40 },
      { ...SLOW_TALKER, no_such_key: 1 },
      [],
      'x',
      7,
    ];
    for (const config of bad) expectError(await create({ id, kind: 'synthetic', config }), 400);
    expect(await ids()).not.toContain(id);
  });

  it('a bad id is 400', async () => {
    const bad = [
      '',
      ' ',
      'a b',
      'a/b',
      '../x',
      'a\nb',
      'a\0b',
      'é\u2028',
      'x'.repeat(2000),
      7,
      null,
      [],
      {},
    ];
    for (const one of bad) {
      expectError(await create({ id: one, kind: 'synthetic', config: SLOW_TALKER }), 400);
    }
  });

  it('a body without id or kind, with wrong labels or of another type is 400', async () => {
    const config = SLOW_TALKER;
    const bad = [
      {},
      { id },
      { kind: 'synthetic', config },
      { id, kind: 'synthetic', config, labels: 'blue' },
      { id, kind: 'synthetic', config, labels: { team: 7 } },
      { id, kind: 'synthetic', config, labels: ['blue'] },
      [],
      null,
      'bot',
      7,
    ];
    for (const body of bad) expectError(await create(body), 400);
    expect(await ids()).not.toContain(id);
  });
});

describe('DELETE /api/bots/{id}', () => {
  it('is 204 without a body; the stream tells `deleted`, the list forgets the bot', async () => {
    await create({ id, kind: 'synthetic', config: { events_per_second: 100, message_bytes: 40 } });
    await waitForLog(stream, (log) => log.session_id === id);
    const answer = await remove(id);
    expect([answer.status, answer.text]).toEqual([204, '']);
    expect(answer.headers.get('content-length') ?? '0').toBe('0');
    await waitForStatus(stream, id, 'deleted');
    expect(snapshots(stream, id).filter((s) => s.status === 'deleted')).toHaveLength(1);
    expectError(await call(service, 'GET', `/api/bots/${id}`), 404);
    expect(await ids()).not.toContain(id);
  });

  it('a bot that is not there is 404, also the second time', async () => {
    expectError(await remove('nobody'), 404);
    await create({ id, kind: 'synthetic', config: SLOW_TALKER });
    expect((await remove(id)).status).toBe(204);
    expectError(await remove(id), 404);
  });

  it('the id is free again', async () => {
    for (let n = 0; n < 3; n++) {
      const answer = await create({ id, kind: 'synthetic', config: SLOW_TALKER });
      expect(answer.status).toBe(201);
      expect((await remove(id)).status).toBe(204);
    }
  });

  it('a new stream opens without the deleted bot', async () => {
    await create({ id, kind: 'synthetic', config: SLOW_TALKER });
    await remove(id);
    await waitForStatus(stream, id, 'deleted');
    const fresh = await streamOf(service, await service.token());
    await call(service, 'POST', '/invoke', {
      body: { session_id: null, command: 'ping', args: {} },
    });
    await fresh.waitFor((frame) => frame.id !== undefined);
    fresh.close();
    const opening = fresh.frames.filter((frame) => frame.id === undefined);
    expect(opening.length).toBeGreaterThanOrEqual(3);
    expect(opening.map((frame) => frame.data).join()).not.toContain(`"${id}"`);
  });
});

it('the values of labels have no control characters, and none that change the direction of text', async () => {
  const words = /must have no control characters, and none that change the direction of text/;
  await create({ id, kind: 'synthetic', desired: 'stopped' });
  for (const sign of ['\u001b[2J', '\n', '\u009b', '\u202e', '\u2066', '\u2028', '\u200f']) {
    const labels = { team: `a${sign}b` };
    const refused = await create({ id: `${id}-x`, kind: 'synthetic', labels });
    expectError(refused, 400, words);
    expectError(await call(service, 'PATCH', `/api/bots/${id}`, { body: { labels } }), 400, words);
  }
  const labels = { team: 'größe 😀 عربي/x' };
  const changed = await call(service, 'PATCH', `/api/bots/${id}`, { body: { labels } });
  expect(changed.json).toMatchObject({ labels });
});

describe('the quota of a bot', () => {
  const quotaOf = async (bot: string): Promise<unknown> =>
    ((await call(service, 'GET', `/api/bots/${bot}/config`)).json as { quota: unknown }).quota;

  it('is stored and shown; PATCH replaces it', async () => {
    const quota = { cpu: 0.5, connections: { soft: 10 }, memory_mb: null };
    const answer = await create({ id, kind: 'synthetic', config: SLOW_TALKER, quota });
    expect(answer.status).toBe(201);
    expect(await quotaOf(id)).toEqual(quota);
    const change = { body: { quota: { cpu: { soft: 0.2, hard: 0.4 } } } };
    expect((await call(service, 'PATCH', `/api/bots/${id}`, change)).status).toBe(200);
    expect(await quotaOf(id)).toEqual(change.body.quota);
    await call(service, 'PATCH', `/api/bots/${id}`, { body: { quota: {} } });
    expect(await quotaOf(id)).toEqual({});
    expect(await quotaOf('first-1')).toEqual({});
  });

  it.each([
    ['an unknown name', { speed: 1 }, /quota.speed/],
    ['a word', { cpu: 'lots' }, /quota.cpu must be number or object or null/],
    ['less than nothing', { connections: -1 }, /quota.connections/],
    ['an unknown limit', { cpu: { medium: 1 } }, /quota.cpu/],
    ['neither soft nor hard', { cpu: {} }, /quota.cpu/],
    [
      'soft above hard',
      { cpu: { soft: 2, hard: 1 } },
      /quota.cpu: soft \(2\) must not be above hard \(1\)/,
    ],
  ])('%s is 400', async (_, quota, words) => {
    expectError(await create({ id, kind: 'synthetic', config: SLOW_TALKER, quota }), 400, words);
    const patch = await call(service, 'PATCH', '/api/bots/first-1', { body: { quota } });
    expectError(patch, 400, words);
  });

  it('needs the scope admin', async () => {
    const { token } = await makeToken(service, { scopes: ['control'] });
    const body = { id, kind: 'synthetic', config: SLOW_TALKER };
    const refused = /the quota of a bot needs the scope admin/;
    const withQuota = { ...body, quota: { cpu: null } };
    expectError(await call(service, 'POST', '/api/bots', { token, body: withQuota }), 403, refused);
    expect((await call(service, 'POST', '/api/bots', { token, body })).status).toBe(201);
    const change = { token, body: { quota: {} } };
    expectError(await call(service, 'PATCH', `/api/bots/${id}`, change), 403, refused);
  });
});
