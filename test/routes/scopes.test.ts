// Decision "tokens": scopes and limits hold on every route of the table, so also on one that is added to it.

import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { SCOPES } from '../../src/shared/contract/tokens.js';
import { ROUTES as RULES } from '../../src/shared/routes.js';
import { type Answer, call, expectError } from '../harness/api.js';
import { create, list, snapshot } from '../harness/bots.js';
import { type InjectedService, inject } from '../harness/inject.js';
import { makeToken, type Token } from '../harness/tokens.js';

const ROUTES = Object.entries(RULES).map(([name, { access }]) => {
  const [method = '', path = ''] = name.split(' ');
  return { name, method, path, access };
});

/** There is none here. */
const NEEDS_JOURNAL = new Set([
  'GET /api/events',
  'GET /api/activity',
  'GET /api/states',
  'GET /api/stats',
  'GET /api/bots/{id}/history',
]);

/** What a route cannot be called without. */
const QUERIES: Record<string, string> = { 'GET /api/bots/{id}/history': '?field=status' };

const RULE = { name: 'errors', query: 'level:error', condition: 'count', window_ms: 60_000 };

/** A body that each route takes; what it asks for need not be possible. */
const BODIES: Record<string, unknown> = {
  'POST /auth/pin': { pin: 'wrong' },
  'POST /auth/link': { link: 'none' },
  'POST /auth/link/check': { link: 'none' },
  'POST /api/bots': { id: 'mine', kind: 'synthetic' },
  'POST /api/bots/actions': { action: 'start', ids: ['mine'] },
  'PATCH /api/bots/{id}': { labels: {} },
  'POST /api/bots/{id}/move': { node: 'h2' },
  'POST /api/fleet/{name}': { bots: [] },
  'POST /api/rollouts': { ids: ['mine'], config: { message_bytes: 81 } },
  'POST /api/tokens': { name: 'another', scopes: ['read'] },
  'POST /api/tokens/link': { name: 'another', scopes: ['read'] },
  'POST /api/rules': RULE,
  'PUT /api/rules/{id}': RULE,
  'POST /invoke': { session_id: null, command: 'ping' },
};

let service: InjectedService;
/** A token for each scope, with nothing else. */
const tokens = new Map<string, string>();
beforeAll(async () => {
  service = await inject({
    config: {
      pin: { capacity: 1000 },
      drills: { enabled: true },
      bots: ['mine', 'other'].map((id) => ({ id, kind: 'synthetic', labels: { owner: id } })),
    },
  });
  for (const scope of SCOPES) {
    tokens.set(scope, await anotherWith(scope));
  }
});
afterAll(() => service.close());

/** The route after which the token that it was called with is gone. */
const ENDS_ITS_TOKEN = 'DELETE /api/tokens/current';

async function anotherWith(scope: string): Promise<string> {
  return (await makeToken(service, { name: scope, scopes: [scope] })).token;
}

/** Sends a request; of a stream only the head is read. */
async function ask(
  route: (typeof ROUTES)[number],
  token: string | null,
  id = 'mine',
  body = BODIES[route.name],
): Promise<Pick<Answer, 'status' | 'json' | 'headers'>> {
  const path =
    route.path.replace('{id}', id).replace('{name}', 'web') + (QUERIES[route.name] ?? '');
  if (route.path !== '/events') return call(service, route.method, path, { token, body });
  const headers: Record<string, string> =
    token === null ? {} : { authorization: `Bearer ${token}` };
  const response = await service.open('/events', headers);
  const status = response.statusCode ?? 0;
  let json: unknown;
  if (status !== 200) {
    json = JSON.parse(Buffer.concat(await response.toArray()).toString());
  }
  response.destroy();
  return { status, json, headers: new Headers(response.headers as Record<string, string>) };
}

describe.each(ROUTES)('$name', (route) => {
  const { access } = route;
  const open = access === 'nothing';

  it(`needs ${access}`, async () => {
    const without = await ask(route, null);
    if (open) expect(without.status).not.toBe(403);
    else expectError(without, 401, 'missing token');
    for (const [scope, kept] of tokens) {
      const token = route.name === ENDS_ITS_TOKEN ? await anotherWith(scope) : kept;
      const answer = await ask(route, token);
      if (open || access === 'any token' || access === scope || scope === 'admin') {
        // What it asks for may conflict with what the others have asked for, or need a journal, but it was let in.
        expect(
          [200, 201, 204, 401, 404, 409, ...(NEEDS_JOURNAL.has(route.name) ? [503] : [])],
          `${scope}: ${JSON.stringify(answer.json)}`,
        ).toContain(answer.status);
        if (!open) expect(answer.status).not.toBe(401);
      } else {
        expectError(answer, 403, `this needs a token with the scope ${access}`);
      }
    }
  });
});

it('docs/API.md has every route of the table with its access, and no other', () => {
  const text = readFileSync(new URL('../../docs/API.md', import.meta.url), 'utf8');
  const rows = [
    ...text.matchAll(/^\| \[?`((?:GET|POST|PUT|PATCH|DELETE) [^`]+)`[^|]*\| ([^|]+?) +\|/gm),
  ];
  const documented = rows.map(([, name, access]) => `${name} ${access}`).sort();
  const table = ROUTES.map(({ name, access }) => `${name} ${access}`).sort();
  expect(documented).toEqual(table);
});

describe.each([
  ['a list of bots', { bots: ['mine', 'not-there'] }],
  ['labels', { labels: { owner: 'mine' } }],
])('a token that is limited to %s', (_, limit) => {
  const scopes = ['read', 'control', 'invoke'];
  let token: string;
  beforeAll(async () => {
    for (const id of ['mine', 'other']) {
      await create(service, { id, kind: 'synthetic', labels: { owner: id } });
      const labels = { owner: id };
      await call(service, 'PATCH', `/api/bots/${id}`, { body: { labels } });
    }
    token = (await makeToken(service, { scopes, ...limit })).token;
  });

  it.each(ROUTES.filter(({ path }) => path.startsWith('/api/bots/{id}')))(
    '$name: a bot that it does not reach is not there, and nothing happens to it',
    async (route) => {
      const before = await snapshot(service, 'other');
      expectError(await ask(route, token, 'other'), 404, 'no bot "other"');
      const { data: _data, ...after } = await snapshot(service, 'other');
      expect(after).toEqual({ ...before, data: undefined });
    },
  );

  it('has only its bots in the list, with any filter', async () => {
    for (const query of ['', '?kind=synthetic', '?status=running,stopped,starting']) {
      const answer = await call(service, 'GET', `/api/bots${query}`, { token });
      const ids = (answer.json as { bots: { id: string }[] }).bots.map(({ id }) => id);
      expect(ids.filter((id) => id !== 'mine')).toEqual([]);
    }
    const all = await call(service, 'GET', '/api/bots', { token });
    expect((all.json as { bots: unknown[] }).bots).toHaveLength(1);
  });

  it('acts on its own bots alone, by ids and by labels', async () => {
    const restart = (body: object) =>
      call(service, 'POST', '/api/bots/actions', { token, body: { action: 'restart', ...body } });
    const before = await snapshot(service, 'other');
    const byIds = await restart({ ids: ['mine', 'other', 'nowhere'] });
    expect(byIds.json).toMatchObject({
      results: {
        mine: { status: expect.any(String) },
        other: { error: 'no bot "other"' },
        nowhere: { error: 'no bot "nowhere"' },
      },
    });
    const none = await restart({ labels: { owner: 'other' } });
    expect((none.json as { results: object }).results).toEqual({});
    const byLabels = await restart({ labels: { owner: 'mine' } });
    expect(Object.keys((byLabels.json as { results: object }).results)).toEqual(['mine']);
    expect((await snapshot(service, 'other')).started_at_ms).toBe(before.started_at_ms);
  });

  it('sends commands to its own bots alone, and none to the service', async () => {
    const send = (session_id: unknown, command = 'nothing') =>
      call(service, 'POST', '/invoke', { token, body: { session_id, command } });
    expectError(await send('other'), 404, 'no bot "other"');
    expectError(await send('mine'), 404, /no command/);
    const many = (await send(['other', 'mine', 'nowhere'])).json as {
      results: Record<string, { error: string }>;
    };
    expect(Object.keys(many.results)).toEqual(['other', 'mine', 'nowhere']);
    expect(many.results['other']).toEqual({ error: 'no bot "other"' });
    expect(many.results['nowhere']).toEqual({ error: 'no bot "nowhere"' });
    expect(many.results['mine']?.error).toMatch(/no command/);
    expectError(await send(null, 'status'), 403, /limited to/);
  });

  it('makes no bot that it would not reach, and puts none out of its reach', async () => {
    const body = { id: 'stranger', kind: 'synthetic', labels: { owner: 'other' } };
    expectError(await call(service, 'POST', '/api/bots', { token, body }), 403, /limited to/);
    expect((await list(service)).map(({ id }) => id)).not.toContain('stranger');
    if ('labels' in limit) {
      const change = { body: { labels: { owner: 'other' } }, token };
      expectError(await call(service, 'PATCH', '/api/bots/mine', change), 403, /limited to/);
    }
    expect((await snapshot(service, 'mine')).labels).toEqual({ owner: 'mine' });
  });

  it('gets the same error for an id that is taken, by any bot', async () => {
    for (const id of 'bots' in limit ? ['mine'] : ['mine', 'other']) {
      const body = { id, kind: 'synthetic', labels: { owner: 'mine' } };
      const refused = await call(service, 'POST', '/api/bots', { token, body });
      expectError(refused, 409, `the id ${id} cannot be used`);
    }
  });

  it('makes one that it reaches', async () => {
    const id = 'bots' in limit ? 'not-there' : 'fresh';
    const body = { id, kind: 'synthetic', labels: { owner: 'mine' } };
    const made = await call(service, 'POST', '/api/bots', { token, body });
    expect(made.status, made.text).toBe(201);
    expect((await call(service, 'DELETE', `/api/bots/${id}`, { token })).status).toBe(204);
  });
});

describe('labels that decide which tokens reach a bot', () => {
  const scopes = ['read', 'control'];
  const change = (id: string, labels: object, token?: string) =>
    call(service, 'PATCH', `/api/bots/${id}`, { body: { labels }, ...(token && { token }) });
  const refused =
    'the label squad decides which tokens reach a bot; a limited token cannot set or change it';

  beforeAll(async () => {
    // The other team.
    await makeToken(service, { scopes, labels: { squad: 'red' } });
    await create(service, { id: 'shared', kind: 'synthetic', labels: { crew: 'a', squad: 'red' } });
  });

  it.each([
    ['labels', { labels: { crew: 'a' } }],
    ['a list of bots', { bots: ['shared', 'planted', 'own'] }],
  ])('are not set, changed or removed by a token that is limited to %s', async (_, limit) => {
    const { token } = await makeToken(service, { scopes, ...limit });
    const own = 'labels' in limit ? { crew: 'a' } : {};
    for (const labels of [{ ...own, crew: 'a', squad: 'blue' }, { crew: 'a' }]) {
      expectError(await change('shared', labels, token), 403, refused);
    }
    const planted = { id: 'planted', kind: 'synthetic', labels: { ...own, squad: 'red' } };
    expectError(await call(service, 'POST', '/api/bots', { token, body: planted }), 403, refused);
    expect((await snapshot(service, 'shared')).labels).toEqual({ crew: 'a', squad: 'red' });
    // Other labels are free.
    const mine = {
      id: 'own',
      kind: 'synthetic',
      labels: { ...own, note: 'x' },
      desired: 'stopped',
    };
    expect((await call(service, 'POST', '/api/bots', { token, body: mine })).status).toBe(201);
    expectError(await change('own', { ...own, squad: 'red' }, token), 403, refused);
    expect((await change('own', { ...own, note: 'y', constructor: 'z' }, token)).status).toBe(200);
    await call(service, 'DELETE', '/api/bots/own');
  });

  it('are changed by a token without a limit', async () => {
    expect((await change('shared', { crew: 'b', squad: 'blue' })).status).toBe(200);
  });
});

it('labels count as they are now: a bot that loses them is not there any more', async () => {
  await create(service, { id: 'moving', kind: 'synthetic', labels: { side: 'left' } });
  const { token } = await makeToken(service, { labels: { side: 'left' } });
  const seen = () => call(service, 'GET', '/api/bots/moving', { token });
  expect((await seen()).status).toBe(200);
  await call(service, 'PATCH', '/api/bots/moving', { body: { labels: { side: 'right' } } });
  expectError(await seen(), 404);
  await call(service, 'PATCH', '/api/bots/moving', { body: { labels: { side: 'left', a: 'b' } } });
  expect((await seen()).status).toBe(200);
});

it('a drill needs the scope admin', async () => {
  const body = { session_id: null, command: 'drill', args: { kill: 'nobody' } };
  const as = (scope: string) =>
    call(service, 'POST', '/invoke', { token: tokens.get(scope) ?? null, body });
  expectError(await as('invoke'), 403, 'the command drill needs the scope admin');
  expectError(await as('admin'), 400);
});

it('no token can make itself more than it is', async () => {
  const scopes = ['read', 'control', 'invoke'];
  const { token } = await makeToken(service, { scopes });
  const body = { name: 'mighty', scopes: ['admin'] };
  expectError(await call(service, 'POST', '/api/tokens', { token, body }), 403);
  const limited = { name: 'mighty', scopes: ['admin'], bots: ['mine'] };
  expectError(await call(service, 'POST', '/api/tokens', { body: limited }), 400);
  const all = (await call(service, 'GET', '/api/tokens')).json as { tokens: Token[] };
  expect(all.tokens.map(({ name }) => name)).not.toContain('mighty');
});
