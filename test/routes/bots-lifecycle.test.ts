// Operations on bots: one at a time, repeated, concurrent, and on many bots at once.

import { randomUUID } from 'node:crypto';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { call, expectError } from '../harness/api.js';
import {
  act,
  create,
  eventually,
  expectSingle,
  FIXTURE_KINDS,
  invoke,
  list,
  POST,
  remove,
  snapshot,
  snapshotFrom,
  statusesOf,
  statusFrom,
  watch,
} from '../harness/bots.js';
import { type InjectedService, inject } from '../harness/inject.js';
import { expectSnapshot, type Snapshot } from '../harness/shapes.js';
import type { SseStream } from '../harness/sse.js';
import { makeToken } from '../harness/tokens.js';

const lock = randomUUID();
let service: InjectedService;
let stream: SseStream;
let serial = 0;
let id: string;

beforeAll(async () => {
  service = await inject({
    config: {
      kinds: [FIXTURE_KINDS],
      hosts: { stop_grace_ms: 2000 },
      // Long enough that a bot in backoff stays there for the rest of the test.
      restart: { backoff_ms: 60_000 },
    },
  });
  stream = await watch(service);
});
afterAll(async () => {
  stream?.close();
  await service.close();
});
beforeEach(() => {
  id = `bot-${++serial}`;
});
afterEach(() => expectSingle(stream));

const guarded = (more: object = {}, config: object = {}): object => ({
  id,
  kind: 'guarded',
  config: { lock, ...config },
  ...more,
});
/** Its last snapshot when it comes up: it publishes its status, then its data. */
const online = (from = 0): Promise<Snapshot> =>
  snapshotFrom(
    stream,
    from,
    id,
    ({ status, data }) => status === 'online' && data['note'] !== undefined,
  );
const patch = (body: unknown, bot = id) => call(service, 'PATCH', `/api/bots/${bot}`, { body });
const times = <T>(count: number, what: (n: number) => T): T[] =>
  Array.from({ length: count }, (_, n) => what(n));

async function createOnline(config: object = {}, more: object = {}): Promise<Snapshot> {
  const answer = await create(service, guarded(more, config));
  expect(answer.status, answer.text).toBe(201);
  return online();
}

describe('single operations', () => {
  it('a bot can be created stopped, started, stopped, restarted and deleted', async () => {
    const created = await create(service, guarded({ desired: 'stopped' }));
    expect(created.status).toBe(201);
    expect(expectSnapshot(created.json)).toMatchObject({
      status: 'stopped',
      desired: 'stopped',
      started_at_ms: null,
      host: null,
      restarts: 0,
    });

    const started = await act(service, id, 'start');
    expect(started.status).toBe(200);
    expect(expectSnapshot(started.json)).toMatchObject({ id, desired: 'running' });
    const first = await online();
    expect(first).toMatchObject({ host: expect.any(Number), data: {} });
    expect(first.started_at_ms).toBeLessThanOrEqual(Date.now());

    let from = stream.frames.length;
    const restarted = await act(service, id, 'restart');
    expect([restarted.status, (restarted.json as Snapshot).desired]).toEqual([200, 'running']);
    const second = await online(from);
    // An operator's restart does not count as a restart by the policy.
    expect(second.restarts).toBe(0);
    expect(second.started_at_ms).toBeGreaterThanOrEqual(first.started_at_ms as number);
    expect(statusesOf(stream, id, from)).toEqual(['stopping', 'stopped', 'starting', 'online']);

    from = stream.frames.length;
    const stopped = await act(service, id, 'stop');
    expect(expectSnapshot(stopped.json)).toMatchObject({
      status: 'stopped',
      desired: 'stopped',
      started_at_ms: null,
      host: null,
    });
    await statusFrom(stream, from, id, 'stopped');
    expect(statusesOf(stream, id, from).slice(-2)).toEqual(['stopping', 'stopped']);

    expect((await remove(service, id)).status).toBe(204);
    expectError(await act(service, id, 'start'), 404);
  });

  it('repeated operations return the same result', async () => {
    const first = await createOnline();
    const from = stream.frames.length;
    for (const _ of times(3, () => 0)) {
      expect((await act(service, id, 'start')).json).toMatchObject({
        status: 'online',
        started_at_ms: first.started_at_ms,
      });
    }
    await act(service, id, 'stop');
    for (const _ of times(3, () => 0)) {
      expect((await act(service, id, 'stop')).json).toMatchObject({ status: 'stopped' });
    }
    await statusFrom(stream, from, id, 'stopped');
    expect(statusesOf(stream, id, from).slice(-2)).toEqual(['stopping', 'stopped']);
    expect(statusesOf(stream, id, from)).not.toContain('starting');
  });

  it('a stopped bot can be restarted, and an unknown bot is 404', async () => {
    await create(service, guarded({ desired: 'stopped' }));
    const answer = await act(service, id, 'restart');
    expect(answer.json).toMatchObject({ desired: 'running' });
    await online();
    for (const action of ['start', 'stop', 'restart']) {
      expectError(await act(service, 'nobody', action), 404);
    }
  });

  it('every operation is refused with the wrong method', async () => {
    expectError(await call(service, 'GET', '/api/bots/x/start'), 405);
    expectError(await call(service, 'PUT', '/api/bots/x', { body: {} }), 405);
  });
});

describe('PATCH', () => {
  it('a changed config restarts a running bot with that config', async () => {
    const before = await createOnline();
    const from = stream.frames.length;
    const answer = await patch({ config: { note: 'two' } });
    expect(answer.status, answer.text).toBe(200);
    const after = await snapshotFrom(stream, from, id, ({ data }) => data['note'] === 'two');
    expect(after.started_at_ms).toBeGreaterThanOrEqual(before.started_at_ms as number);
    expect(statusesOf(stream, id, from)).toContain('starting');
    expect((await invoke(service, id, 'note')).json).toEqual({ result: 'two' });
  });

  it('an unchanged config and new labels do not restart it', async () => {
    const before = await createOnline({ note: 'one' });
    const from = stream.frames.length;
    const answer = await patch({ config: { note: 'one' }, labels: { team: 'red' } });
    expect(answer.json).toMatchObject({
      labels: { team: 'red' },
      status: 'online',
      started_at_ms: before.started_at_ms,
    });
    await snapshotFrom(stream, from, id, ({ labels }) => labels['team'] === 'red');
    expect(statusesOf(stream, id, from)).toEqual(['online']);
  });

  it('a stopped bot stays stopped, and starts with the new config', async () => {
    await create(service, guarded({ desired: 'stopped' }));
    expect((await patch({ config: { note: 'later' } })).json).toMatchObject({ status: 'stopped' });
    await act(service, id, 'start');
    await online();
    expect((await invoke(service, id, 'note')).json).toEqual({ result: 'later' });
  });

  it('null removes a key; keys that are not named stay', async () => {
    await createOnline({ note: 'kept?', start_ms: 1 });
    const from = stream.frames.length;
    await patch({ config: { note: null } });
    await online(from);
    expect((await call(service, 'GET', `/api/bots/${id}/config`)).json).toMatchObject({
      config: { note: 'none', start_ms: 1 },
    });
  });

  it('the restart policy changes without a restart', async () => {
    await createOnline();
    const from = stream.frames.length;
    await patch({ restart: { policy: 'never' } });
    expect(statusesOf(stream, id, from)).not.toContain('starting');
    expect((await call(service, 'GET', `/api/bots/${id}/config`)).json).toMatchObject({
      restart: { policy: 'never', backoff_ms: 60_000 },
    });
    await invoke(service, id, 'break', { message: 'on purpose' });
    expect(await statusFrom(stream, from, id, 'failed')).toMatchObject({
      last_error: 'on purpose',
    });
  });

  it('invalid input is 400 and changes nothing', async () => {
    const before = await createOnline({ note: 'same' });
    const bad = [
      {},
      { config: { note: 7 } },
      { config: { lock: null } },
      { config: { unknown: 1 } },
      { config: [] },
      { labels: { team: 7 } },
      { restart: { policy: 'sometimes' } },
      { restart: { max_restarts: -1 } },
      { id: 'other' },
      { kind: 'synthetic' },
      { desired: 'stopped' },
      null,
    ];
    for (const body of bad) expectError(await patch(body), 400);
    expectError(await patch({ labels: {} }, 'nobody'), 404);
    expect(await snapshot(service, id)).toMatchObject({
      status: 'online',
      started_at_ms: before.started_at_ms,
    });
    // As JSON.parse creates it: an own property.
    const hostile = await call(service, 'PATCH', `/api/bots/${id}`, {
      headers: { 'content-type': 'application/json' },
      text: '{"config":{"__proto__":{"note":"inherited"}}}',
    });
    expectError(hostile, 400);
    expect((await invoke(service, id, 'note')).json).toEqual({ result: 'same' });
  });
});

it('a change is an activity that says who made it and what it changed, without secrets', async () => {
  const password = `hunter2-${serial}-hunter2`;
  await call(service, 'POST', '/api/bots', { body: guarded({ labels: { team: 'a' } }) });
  const { token } = await makeToken(service, { name: 'Ada', scopes: ['admin'] });
  const body = {
    config: { note: 'new', password },
    labels: { team: 'b' },
    restart: { max_restarts: 7 },
  };
  await call(service, 'PATCH', `/api/bots/${id}`, { token, body });
  const frame = await stream.waitFor(
    ({ event, data }) => event === 'activity' && data.includes('bot.update') && data.includes(id),
  );
  expect(JSON.parse(frame.data)).toMatchObject({
    activity: 'bot.update',
    actor: 'Ada',
    session_id: id,
    outcome: 'done',
    detail: {
      change: {
        config: { note: { from: 'none', to: 'new' } },
        labels: { team: { from: 'a', to: 'b' } },
        restart: { max_restarts: { from: expect.any(Number), to: 7 } },
        secrets: ['password'],
      },
    },
  });
  expect(stream.raw).not.toContain(password);
});

describe('secrets', () => {
  /** The config that the bot has. The bot returns it reversed, because secrets are masked in results. */
  async function ownConfig(): Promise<unknown> {
    const { result } = (await invoke(service, id, 'config')).json as { result: string };
    return JSON.parse([...result].reverse().join(''));
  }

  it('can be set and used, and are never shown', async () => {
    const password = `hunter2-${serial}`;
    await createOnline({ password, proxy: { host: 'h', secret: `deep-${serial}` } });
    const shown = await call(service, 'GET', `/api/bots/${id}/config`);
    expect(shown.json).toEqual({
      config: { lock, note: 'none', start_ms: 0, stop_ms: 0, proxy: { host: 'h' } },
      secrets: ['password', 'proxy.secret'],
      dedicated: false,
      quota: {},
      isolation: 'thread',
      host_group: null,
      fleet: null,
      restart: expect.objectContaining({ policy: 'on-failure' }),
    });
    // A change to another key keeps them.
    const from = stream.frames.length;
    await patch({ config: { note: 'new', proxy: { host: 'i' } } });
    await online(from);
    expect((await call(service, 'GET', `/api/bots/${id}/config`)).text).not.toContain('deep-');
    expect(stream.raw).not.toContain(password);
    expect(stream.raw).not.toContain(`deep-${serial}`);
    expect(await ownConfig()).toMatchObject({ password });
  });

  it('work in lists, unions and records; a change that omits them keeps them', async () => {
    const secret = (name: string): string => `${name}-of-${serial}`;
    const config = {
      accounts: [
        { name: 'anna', password: secret('annas') },
        { name: 'bert', password: secret('berts') },
      ],
      keys: [secret('first'), secret('second')],
      login: { by: 'token', token: secret('login') },
      pin: secret('pin'),
      headers: { authorization: secret('header') },
    };
    await createOnline(config);
    const configOf = async (): Promise<Record<string, unknown>> => {
      const { json, text } = await call(service, 'GET', `/api/bots/${id}/config`);
      expect(text).not.toContain(`-of-${serial}`);
      return (json as { config: Record<string, unknown> }).config;
    };
    const shown = await configOf();
    const [anna, bert] = [
      { name: 'anna', port: 1 },
      { name: 'bert', port: 1 },
    ];
    expect(shown).toMatchObject({
      accounts: [anna, bert],
      keys: [],
      login: { by: 'token' },
      headers: {},
    });
    expect(shown).not.toHaveProperty('pin');

    // The shown config sent back with another key changed, then with the list reordered and a new entry.
    const carl = { name: 'carl', password: secret('carls') };
    for (const accounts of [shown['accounts'], [bert, carl, anna]]) {
      const from = stream.frames.length;
      const answer = await patch({
        config: { ...shown, accounts, note: `${stream.frames.length}` },
      });
      expect(answer.status, answer.text).toBe(200);
      expect(answer.text).not.toContain(`-of-${serial}`);
      await online(from);
      await configOf();
    }
    // When an entry has changed, the service cannot tell whose secret it had.
    const dora = { ...anna, name: 'dora' };
    expectError(await patch({ config: { accounts: [dora] } }), 400, /password is missing/);
    expect(stream.raw).not.toContain(`-of-${serial}`);

    expect(await ownConfig()).toMatchObject({
      accounts: [
        { name: 'bert', password: secret('berts') },
        { name: 'carl', password: secret('carls') },
        { name: 'anna', password: secret('annas') },
      ],
      keys: config.keys,
      login: config.login,
      pin: config.pin,
      headers: config.headers,
    });

    // Switches to the other member of the union, without the keys that only the first has.
    const from = stream.frames.length;
    await patch({ config: { login: { by: 'nothing', token: null }, keys: null } });
    await online(from);
    expect(await configOf()).toMatchObject({ login: { by: 'nothing' } });
    expect(JSON.stringify(await ownConfig())).not.toContain(secret('login'));
  });

  it('an invalid secret is not repeated in the error', async () => {
    const answer = await create(service, guarded({}, { password: ['swordfish'] }));
    expectError(answer, 400);
    expect(answer.text).not.toContain('swordfish');
  });
});

describe('concurrent operations', () => {
  it.each(['start', 'stop', 'restart'])('20 concurrent requests to %s act once', async (action) => {
    if (action === 'start')
      await create(service, guarded({ desired: 'stopped' }, { start_ms: 50 }));
    else await createOnline({ stop_ms: 50 });
    const from = stream.frames.length;
    const answers = await Promise.all(times(20, () => act(service, id, action)));
    expect(answers.map(({ status }) => status)).toEqual(times(20, () => 200));
    if (action === 'stop') await statusFrom(stream, from, id, 'stopped');
    else await online(from);
    expect(statusesOf(stream, id, from).filter((status) => status === 'starting')).toHaveLength(
      action === 'stop' ? 0 : 1,
    );
  });

  it('mixed operations return 200, or 409 with the reason; one bot runs at the end', async () => {
    await createOnline({ start_ms: 5, stop_ms: 5 });
    const statuses = new Set<number>();
    for (let round = 0; round < 10; round++) {
      const answers = await Promise.all(
        times(30, (n) =>
          n % 5 === 4
            ? patch({ config: { note: `${round}-${n}` } })
            : act(service, id, ['start', 'stop', 'restart', 'start'][n % 5] as string),
        ),
      );
      for (const answer of answers) {
        statuses.add(answer.status);
        if (answer.status !== 200) {
          expectError(
            answer,
            409,
            /is busy with another operation \((start|stop|restart|update)\), try again when it has ended$/,
          );
        }
      }
      // At least one request of each round succeeds.
      expect(answers.some(({ status }) => status === 200)).toBe(true);
    }
    expect(statuses).toEqual(new Set([200, 409]));
    await eventually(async () => (await act(service, id, 'restart')).status === 200, 'a restart');
    await eventually(async () => (await snapshot(service, id)).status === 'online', 'online');
    await act(service, id, 'stop');
    expect((await snapshot(service, id)).status).toBe('stopped');
  });

  it('a bot cannot be started twice while it is created', async () => {
    for (let n = 0; n < 10; n++) {
      id = `bot-${++serial}`;
      const from = stream.frames.length;
      let over = false;
      // Sent before, during and after the creation.
      const others = times(6, async (m) => {
        const seen: number[] = [];
        while (!over) seen.push((await act(service, id, m < 4 ? 'start' : 'restart')).status);
        return seen;
      });
      expect((await create(service, guarded())).status).toBe(201);
      over = true;
      for (const status of (await Promise.all(others)).flat()) {
        expect([200, 404, 409]).toContain(status);
      }
      await eventually(async () => (await snapshot(service, id)).status === 'online', 'online');
      expectSingle(stream);
      expect(statusesOf(stream, id, from)).not.toContain('backoff');
      await remove(service, id);
    }
  });

  it('a bot deleted while it is created is gone completely or not at all', async () => {
    for (let n = 0; n < 10; n++) {
      id = `bot-${++serial}`;
      const [created, removed] = await Promise.all([
        create(service, guarded()),
        remove(service, id),
      ]);
      expect(created.status).toBe(201);
      expect([204, 404, 409]).toContain(removed.status);
      const there = (await list(service)).some((bot) => bot.id === id);
      expect(there).toBe(removed.status !== 204);
      expect((await remove(service, id)).status).toBe(there ? 204 : 404);
    }
  });

  it('a bot can be deleted while it starts, and its id is free at once', async () => {
    await create(service, guarded({}, { start_ms: 30_000 }));
    expect((await remove(service, id)).status).toBe(204);
    expect((await create(service, guarded())).status).toBe(201);
    await online();
  });

  it('20 concurrent deletes: the bot is deleted once, and each request reports it gone', async () => {
    await createOnline({ stop_ms: 20 });
    const answers = await Promise.all(times(20, () => remove(service, id)));
    for (const { status } of answers) expect([204, 404]).toContain(status);
    expect(answers[0]?.status).toBe(204);
    expect((await list(service)).some((bot) => bot.id === id)).toBe(false);
    await statusFrom(stream, 0, id, 'deleted');
    // A second one would come before the answer to this.
    await create(service, guarded({ desired: 'stopped' }));
    await statusFrom(stream, 0, id, 'stopped');
    expect(statusesOf(stream, id).filter((status) => status === 'deleted')).toHaveLength(1);
  });
});

describe('in backoff', () => {
  beforeEach(async () => {
    await createOnline();
    await invoke(service, id, 'break', { message: 'fell over' });
    const shown = await statusFrom(stream, 0, id, 'backoff');
    expect(shown).toMatchObject({ last_error: 'fell over', desired: 'running', host: null });
  });

  it('stop ends the backoff', async () => {
    expect((await act(service, id, 'stop')).json).toMatchObject({
      status: 'stopped',
      desired: 'stopped',
    });
  });

  it('start does not wait, and does not count as a restart', async () => {
    const from = stream.frames.length;
    await act(service, id, 'start');
    expect(await online(from)).toMatchObject({ restarts: 0 });
  });

  it('neither restart nor a new config waits', async () => {
    let from = stream.frames.length;
    await act(service, id, 'restart');
    await online(from);
    await invoke(service, id, 'break', { message: 'again' });
    await statusFrom(stream, from, id, 'backoff');
    from = stream.frames.length;
    await patch({ config: { note: 'better' } });
    await online(from);
  });

  it('delete cancels the pending restart', async () => {
    expect((await remove(service, id)).status).toBe(204);
    expect((await list(service)).some((bot) => bot.id === id)).toBe(false);
  });

  it('a command is 409', async () => {
    expectError(await invoke(service, id, 'note'), 409, `bot ${id} is not running`);
  });
});

describe('POST /api/bots/actions', () => {
  const actions = (body: unknown) => POST(service, '/api/bots/actions', body);

  const resultsOf = async (body: object): Promise<object> =>
    ((await actions(body)).json as { results: object }).results;

  it('selects bots by id, by label, or both, and returns a result for each', async () => {
    const team = `team-${serial}`;
    const members = times(3, (n) => `${team}-${n}`);
    for (const [n, member] of members.entries()) {
      const labels = { team, odd: String(n % 2) };
      await create(service, { ...guarded({ labels, desired: 'stopped' }), id: member });
    }
    const started = await actions({ action: 'start', labels: { team } });
    expect(started.status).toBe(200);
    expect(Object.keys((started.json as { results: object }).results).sort()).toEqual(members);
    for (const member of members) await statusFrom(stream, 0, member, 'online');
    // Starting them again changes nothing and returns their status.
    expect(await resultsOf({ action: 'start', labels: { team } })).toEqual(
      Object.fromEntries(members.map((member) => [member, { status: 'online' }])),
    );

    expect(await resultsOf({ action: 'stop', ids: [members[0], 'nobody'] })).toEqual({
      [members[0] as string]: { status: 'stopped' },
      nobody: { error: expect.stringMatching('no bot "nobody"') },
    });
    expect(await resultsOf({ action: 'stop', ids: members, labels: { team, odd: '1' } })).toEqual({
      [members[1] as string]: { status: 'stopped' },
    });
    expect(await snapshot(service, members[2] as string)).toMatchObject({ status: 'online' });
    expect(await resultsOf({ action: 'stop', labels: { team: 'no such' } })).toEqual({});
    expect(await resultsOf({ action: 'delete', labels: { team } })).toEqual(
      Object.fromEntries(members.map((member) => [member, { status: 'deleted' }])),
    );
    expect((await list(service)).filter(({ labels }) => labels['team'] === team)).toEqual([]);
  });

  it('invalid input is 400', async () => {
    const bad = [
      {},
      { action: 'start' },
      { action: 'explode', ids: ['a'] },
      { action: 'start', ids: [] },
      { action: 'start', ids: 'a' },
      { action: 'start', ids: [7] },
      { action: 'start', labels: ['a'] },
      { action: 'start', ids: ['a'], more: 1 },
    ];
    for (const body of bad) expectError(await actions(body), 400);
  });

  it('the same bot in several concurrent lists stays one bot', async () => {
    await createOnline();
    const answers = await Promise.all(
      times(10, () => actions({ action: 'restart', ids: [id, id] })),
    );
    for (const { json } of answers) {
      const { results } = json as { results: Record<string, { status?: string; error?: string }> };
      expect(Object.keys(results)).toEqual([id]);
    }
    await eventually(async () => (await snapshot(service, id)).status === 'online', 'online');
  });
});

it('GET /api/kinds returns the JSON Schemas of all kinds', async () => {
  const { kinds, failed } = (await call(service, 'GET', '/api/kinds')).json as {
    kinds: { kind: string; description: string; config: object; commands: object }[];
    failed: unknown[];
  };
  expect(failed).toEqual([]);
  expect(kinds.map(({ kind }) => kind)).toEqual(
    expect.arrayContaining(['synthetic', 'guarded', 'faulty', 'mortal']),
  );
  const own = kinds.find(({ kind }) => kind === 'guarded');
  expect(own).toMatchObject({ quarantine: null });
  expect(own).toMatchObject({
    description: 'Reports a second instance of itself.',
    config: {
      type: 'object',
      required: expect.arrayContaining(['lock']),
      properties: { note: { type: 'string', default: 'none' }, password: { writeOnly: true } },
    },
    commands: { break: { description: '', args: { type: 'object', required: ['message'] } } },
  });
});

it('POST /api/kinds/{kind}/release refuses what is not quarantined or not known', async () => {
  expectError(await POST(service, '/api/kinds/guarded/release'), 409);
  const unknown = await POST(service, '/api/kinds/a%2Fb/release');
  expectError(unknown, 404);
  expect(unknown.json).toEqual({ error: 'no bot kind "a/b"' });
});
