// What a token without `admin`, or one that is limited to some bots, can choose of the host of a bot: src/main/access/bot-choices.ts.

import { afterAll, beforeAll, beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { type Answer, call, expectError } from '../harness/api.js';
import { create, list, POST, remove } from '../harness/bots.js';
import { type InjectedService, inject } from '../harness/inject.js';
import { makeDir, removeDir } from '../harness/service.js';
import { makeToken } from '../harness/tokens.js';

const SCOPES = ['read', 'control', 'invoke'];
let service: InjectedService;

const as =
  (token: string) =>
  (method: string, path: string, body?: object): Promise<Answer> =>
    call(service, method, path, { token, ...(body && { body }) });
type Caller = ReturnType<typeof as>;

async function limitedTo(limit: object, scopes = SCOPES): Promise<Caller> {
  return as((await makeToken(service, { scopes, ...limit })).token);
}

/** Of team a, unless the fields say otherwise; not started. */
const bot = (id: string, fields: object = {}) => ({
  id,
  kind: 'synthetic',
  labels: { team: 'a' },
  desired: 'stopped',
  ...fields,
});

async function config(id: string): Promise<Record<string, unknown>> {
  const answer = await call(service, 'GET', `/api/bots/${id}/config`);
  return answer.json as Record<string, unknown>;
}

async function clear(): Promise<void> {
  for (const { id } of await list(service)) await remove(service, id);
}

describe('isolation against the configuration', () => {
  beforeAll(async () => {
    const hosts = { isolation: 'process', isolation_by_kind: { guarded: 'thread' } };
    service = await inject({ config: { hosts } });
  });
  afterAll(() => service.close());

  describe.each([
    ['without the scope admin', {}, { team: 'a' }],
    ['limited to labels', { labels: { team: 'a' } }, { team: 'a' }],
    ['limited to a list of bots', { bots: ['mine', 'kept'] }, {}],
  ])('of a token %s', (_, limit, labels) => {
    let caller: Caller;
    const refused = (says: string) =>
      `isolation ${says} needs the scope admin: here it is process, as the configuration says; leave it out`;
    beforeAll(async () => {
      await clear();
      caller = await limitedTo(limit);
      await create(service, bot('kept', { isolation: 'thread' }));
    });

    it('POST /api/bots', async () => {
      const thread = bot('mine', { labels, isolation: 'thread' });
      expectError(await caller('POST', '/api/bots', thread), 403, refused('thread'));
      // That of the configuration is no choice: the bot follows the configuration when it changes.
      const process = bot('mine', { labels, isolation: 'process' });
      expect((await caller('POST', '/api/bots', process)).status).toBe(201);
    });

    it('PATCH /api/bots/{id}', async () => {
      expectError(
        await caller('PATCH', '/api/bots/mine', { isolation: 'thread' }),
        403,
        refused('thread'),
      );
      for (const same of ['process', null]) {
        expect((await caller('PATCH', '/api/bots/mine', { isolation: same })).status).toBe(200);
      }
      expect(await config('mine')).toMatchObject({ isolation: 'process' });
    });

    it('PATCH of a bot whose isolation an operator has chosen', async () => {
      for (const other of ['process', null]) {
        expectError(
          await caller('PATCH', '/api/bots/kept', { isolation: other }),
          403,
          `isolation ${other} needs the scope admin: here it is thread, as was chosen for this bot; leave it out`,
        );
      }
      const same = { isolation: 'thread', labels: { team: 'a', note: 'x' } };
      expect((await caller('PATCH', '/api/bots/kept', same)).status).toBe(200);
      expect(await config('kept')).toMatchObject({ isolation: 'thread' });
    });
  });

  it('is free for a token with the scope admin', async () => {
    await clear();
    expect((await create(service, bot('x', { isolation: 'thread' }))).status).toBe(201);
    expect(await config('x')).toMatchObject({ isolation: 'thread' });
    const changed = await call(service, 'PATCH', '/api/bots/x', { body: { isolation: null } });
    expect(changed.status).toBe(200);
    expect(await config('x')).toMatchObject({ isolation: 'process' });
  });
});

it('a bot that asked for what the configuration said follows it when that changes', async () => {
  const dir = makeDir();
  onTestFinished(() => removeDir(dir));
  service = await inject({ dir, config: { hosts: { isolation: 'thread' } } });
  const control = await limitedTo({});
  await control('POST', '/api/bots', bot('x', { isolation: 'thread' }));
  expect(await config('x')).toMatchObject({ isolation: 'thread' });
  await service.close();
  service = await inject({ dir, config: { hosts: { isolation: 'process' } } });
  expect(await config('x')).toMatchObject({ isolation: 'process' });
});

describe('host groups', () => {
  let a: Caller;
  let b: Caller;
  let listed: Caller;
  const refused =
    'host_group shared has bots that this token does not reach: choose another name, or ask somebody who reaches them all';
  const inGroup = (id: string, team: string, host_group: string | null = 'shared') =>
    bot(id, { labels: { team }, ...(host_group !== null && { host_group }) });
  beforeAll(async () => {
    service = await inject();
    a = await limitedTo({ labels: { team: 'a' } });
    b = await limitedTo({ labels: { team: 'b' } });
    listed = await limitedTo({ bots: ['a1', 'a2', 'listed'] });
  });
  afterAll(() => service.close());
  beforeEach(clear);

  it('POST /api/bots: the first token has the name, also with stopped bots', async () => {
    expect((await a('POST', '/api/bots', inGroup('a1', 'a'))).status).toBe(201);
    expect((await a('POST', '/api/bots', inGroup('a2', 'a'))).status).toBe(201);
    expectError(await b('POST', '/api/bots', inGroup('b1', 'b')), 403, refused);
    const unlabelled = { ...inGroup('listed', ''), labels: {} };
    expect((await listed('POST', '/api/bots', unlabelled)).status).toBe(201);
    // Now the first has bots beside its own that it does not reach.
    expectError(await a('POST', '/api/bots', inGroup('a3', 'a')), 403, refused);
    expect((await list(service)).map(({ id }) => id)).toEqual(['a1', 'a2', 'listed']);
  });

  it('POST /api/bots: the group counts, not what its host runs in', async () => {
    await create(service, inGroup('b1', 'b'));
    await call(service, 'PATCH', '/api/bots/b1', { body: { isolation: 'process' } });
    expectError(await a('POST', '/api/bots', inGroup('a1', 'a')), 403, refused);
  });

  it('PATCH /api/bots/{id}: a bot is not moved beside those of others', async () => {
    await create(service, inGroup('b1', 'b'));
    await create(service, inGroup('a1', 'a', 'own'));
    const move = (host_group: string | null) => a('PATCH', '/api/bots/a1', { host_group });
    expectError(await move('shared'), 403, refused);
    expect((await move('other')).status).toBe(200);
    expect((await move(null)).status).toBe(200);
    expect(await config('a1')).toMatchObject({ host_group: null });
    // A group without bots is free again.
    await remove(service, 'b1');
    expect((await move('shared')).status).toBe(200);
  });

  it('a bot that is beside others stays there, and is started there', async () => {
    await create(service, inGroup('b1', 'b'));
    await create(service, inGroup('a1', 'a'));
    const same = { host_group: 'shared', labels: { team: 'a', note: 'x' } };
    expect((await a('PATCH', '/api/bots/a1', same)).status).toBe(200);
    expect((await a('POST', '/api/bots/a1/start')).status).toBe(200);
    // A bot that leaves does not come back.
    expect((await a('PATCH', '/api/bots/a1', { host_group: null })).status).toBe(200);
    expectError(await a('PATCH', '/api/bots/a1', { host_group: 'shared' }), 403, refused);
  });

  it('a bot that somebody has taken out of reach counts as one of others', async () => {
    await a('POST', '/api/bots', inGroup('a1', 'a'));
    await call(service, 'PATCH', '/api/bots/a1', { body: { labels: { team: 'b' } } });
    expectError(await a('POST', '/api/bots', inGroup('a2', 'a')), 403, refused);
    expect((await b('POST', '/api/bots', inGroup('b1', 'b'))).status).toBe(201);
  });

  it('of two that join at the same time one comes first', async () => {
    await create(service, inGroup('a1', 'a', null));
    await create(service, inGroup('b1', 'b', null));
    const host_group = 'shared';
    const statuses = await Promise.all([
      a('PATCH', '/api/bots/a1', { host_group }),
      b('PATCH', '/api/bots/b1', { host_group }),
      b('POST', '/api/bots', inGroup('b2', 'b')),
    ]);
    expect(statuses.map(({ status }) => status)).toEqual([200, 403, 403]);
  });

  it('a token that reaches all bots puts any of them together', async () => {
    await create(service, inGroup('b1', 'b'));
    const control = await limitedTo({});
    expect((await control('POST', '/api/bots', inGroup('a1', 'a'))).status).toBe(201);
  });
});

describe('the share of a limited token', () => {
  const MOST = 8;
  let a: Caller;
  let b: Caller;
  const share = /^this token is limited to some bots, which have \d+ of /;
  beforeAll(async () => {
    service = await inject({
      config: { hosts: { max_dedicated: MOST }, pressure: { max_bots: 20 } },
    });
    a = await limitedTo({ labels: { team: 'a' } });
    b = await limitedTo({ labels: { team: 'b' } });
  });
  afterAll(() => service.close());
  beforeEach(clear);

  /** How many a caller can have, and the first refusal. */
  async function most(
    caller: Caller,
    team: string,
    fields: (n: number) => object,
  ): Promise<[number, Answer]> {
    for (let n = 0; ; n++) {
      const body = bot(`${team}${n}`, { labels: { team }, ...fields(n) });
      const answer = await caller('POST', '/api/bots', body);
      if (answer.status !== 201) return [n, answer];
    }
  }
  const dedicated = () => ({ desired: 'running', dedicated: true });
  const grouped = (n: number) => ({ desired: 'running', host_group: `g${n % 5}` });

  it('POST /api/bots: of dedicated hosts, as many as stay free', async () => {
    const [first, refused] = await most(a, 'a', dedicated);
    expect(first).toBe(4);
    expectError(
      refused,
      403,
      'this token is limited to some bots, which have 4 of 8 dedicated hosts and hosts of groups (hosts.max_dedicated) and may not have more than they leave to others: stop one, or let bots share one (host_group)',
    );
    expect((await most(b, 'b', dedicated))[0]).toBe(2);
    expect((await most(await limitedTo({ labels: { team: 'c' } }), 'c', dedicated))[0]).toBe(1);
    // The last one is for those who reach all bots.
    expect((await most(await limitedTo({ labels: { team: 'd' } }), 'd', dedicated))[0]).toBe(0);
    expect((await create(service, bot('op', dedicated()))).status).toBe(201);
    expectError(await create(service, bot('op2', dedicated())), 503, /hosts.max_dedicated is 8/);
  });

  it('POST /api/bots: a group counts once', async () => {
    const [, refused] = await most(a, 'a', grouped);
    expectError(refused, 403, share);
    const groups = (await list(service)).map(({ id }) => id);
    expect(groups).toEqual(['a0', 'a1', 'a2', 'a3']);
    expect(
      (await a('POST', '/api/bots', bot('more', { desired: 'running', host_group: 'g0' }))).status,
    ).toBe(201);
  });

  it('start, restart, PATCH and bulk actions take no more', async () => {
    await most(a, 'a', dedicated);
    for (const id of ['s1', 's2']) await create(service, bot(id, { dedicated: true }));
    await create(service, bot('plain', { desired: 'running' }));
    for (const action of ['start', 'restart']) {
      expectError(await a('POST', `/api/bots/s1/${action}`), 403, share);
    }
    expectError(await a('PATCH', '/api/bots/plain', { host_group: 'own' }), 403, share);
    const many = { action: 'start', ids: ['s1', 's2'] };
    const { results } = (await a('POST', '/api/bots/actions', many)).json as {
      results: Record<string, { error?: string }>;
    };
    expect(Object.values(results).map(({ error }) => error)).toEqual([
      expect.stringMatching(share),
      expect.stringMatching(share),
    ]);
    // What it has it keeps, and who has no limit is not held to it.
    expect((await a('POST', '/api/bots/a0/restart')).status).toBe(200);
    expect((await POST(service, '/api/bots/s1/start')).status).toBe(200);
    // Room again.
    for (const id of ['a0', 'a1', 's1']) await a('POST', `/api/bots/${id}/stop`);
    expect((await a('POST', '/api/bots/s2/start')).status).toBe(200);
  });

  it('tokens with the same limit have one share together', async () => {
    await most(a, 'a', dedicated);
    const another = await limitedTo({ labels: { team: 'a' } });
    expect((await most(another, 'x', () => ({ ...dedicated(), labels: { team: 'a' } })))[0]).toBe(
      0,
    );
  });

  it('POST /api/bots: of all bots, as many as stay free', async () => {
    const [first, refused] = await most(a, 'a', () => ({}));
    expect(first).toBe(10);
    expectError(
      refused,
      403,
      'this token is limited to some bots, which have 10 of 20 places (pressure.max_bots) and may not have more than they leave to others: delete some',
    );
    expect((await most(b, 'b', () => ({})))[0]).toBe(5);
    expect((await create(service, bot('op'))).status).toBe(201);
  });
});
