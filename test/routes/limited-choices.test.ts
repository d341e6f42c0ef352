// What a limited token can choose for its bots, and what it learns of the others: by field and by route, so that a new one of either has
// to be put into these tables.

import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { CreateBotBody, UpdateBotBody } from '../../src/shared/contract/bots.js';
import type { RouteName } from '../../src/shared/contract/routes/table.js';
import { ROUTE_NAMES } from '../../src/shared/routes.js';
import { type Answer, call, expectError } from '../harness/api.js';
import { create, remove } from '../harness/bots.js';
import { type InjectedService, inject } from '../harness/inject.js';
import { makeToken } from '../harness/tokens.js';

const MARK = 'zanzibar';
/** A bot of another team, whose every text has the mark. */
const OTHER = `bot-${MARK}`;
const NOBODY = 'bot-nobody';

let service: InjectedService;
let token: string;
beforeAll(async () => {
  service = await inject({ config: { drills: { enabled: true } } });
  token = (
    await makeToken(service, { scopes: ['read', 'control', 'invoke'], labels: { team: 'a' } })
  ).token;
  // Its labels decide for others.
  await makeToken(service, { name: MARK, labels: { team: MARK, crew: MARK } });
  const other = {
    id: OTHER,
    kind: 'synthetic',
    labels: { team: MARK, note: MARK },
    host_group: MARK,
  };
  expect((await create(service, other)).status).toBe(201);
  await create(service, { id: 'mine', kind: 'synthetic', labels: { team: 'a' } });
  const rule = { name: MARK, query: `bot:${OTHER}`, condition: 'count', window_ms: 60_000 };
  expect((await call(service, 'POST', '/api/rules', { body: rule })).status).toBe(201);
});
afterAll(() => service.close());

const ask = (method: string, path: string, body?: unknown): Promise<Answer> =>
  call(service, method, path, { token, ...(body !== undefined && { body }) });

/** Who else a field concerns, values of it, and what is said to a limited token. */
const FIELDS: Record<string, { values: [unknown, number | RegExp][] }> = {
  // Its own bot alone.
  kind: { values: [['synthetic', 201]] },
  config: { values: [[{ events_per_second: 1 }, 201]] },
  desired: { values: [['stopped', 201]] },
  // A taken id is refused without saying by whom.
  id: { values: [[OTHER, /^the id bot-zanzibar cannot be used$/]] },
  // Which tokens reach it.
  labels: {
    values: [
      [{ team: 'a', note: 'x' }, 201],
      [{ team: MARK }, /^this token is limited to bots with the labels {"team":"a"}$/],
      [{ team: 'a', crew: MARK }, /^the label crew decides which tokens reach a bot; /],
    ],
  },
  // Restarts without a pause keep main busy.
  restart: {
    values: [
      [{ policy: 'always', max_restarts: null, healthy_ms: 0, backoff_cap_ms: 1000 }, 201],
      [{ backoff_ms: 0 }, /^restart.backoff_ms must be at least 1000, /],
      [
        { backoff_ms: 1000, backoff_cap_ms: 999 },
        /^restart.backoff_cap_ms must be at least 1000, /,
      ],
    ],
  },
  // Hosts: more in limited-hosts.test.ts.
  dedicated: { values: [[true, 201]] },
  host_group: {
    values: [
      ['own', 201],
      [MARK, /^host_group zanzibar has bots that this token does not reach: /],
    ],
  },
  isolation: {
    values: [
      ['thread', 201],
      ['process', /^isolation process needs the scope admin: /],
    ],
  },
  quota: { values: [[{ cpu: null }, /^the quota of a bot needs the scope admin$/]] },
  // The nodes of a cluster are everybody's, like shared hosts. There is no cluster here.
  node: { values: [['h1', /^this service is not in a cluster: /]] },
  node_labels: { values: [[{ zone: 'eu' }, /^this service is not in a cluster: /]] },
  failover: { values: [['stay', /^this service is not in a cluster: /]] },
};

/** Of refusals that are not about the token. */
const STATUSES: Record<string, number> = { id: 409, node: 400, node_labels: 400, failover: 400 };

it('the table has every field of a bot', () => {
  expect(Object.keys(CreateBotBody.properties).sort()).toEqual(Object.keys(FIELDS).sort());
  for (const field of Object.keys(UpdateBotBody.properties)) expect(FIELDS).toHaveProperty(field);
});

describe.each(
  Object.entries(FIELDS).flatMap(([field, { values }]) =>
    values.map(([value, answer]) => ({ field, value, answer })),
  ),
)('$field: $value', ({ field, value, answer }) => {
  const base = { id: 'new', kind: 'synthetic', labels: { team: 'a' }, desired: 'stopped' };
  const check = (given: Answer, success: number): void => {
    if (typeof answer === 'number') expect(given.status, given.text).toBe(success);
    else expectError(given, STATUSES[field] ?? 403, answer);
  };

  it('POST /api/bots', async () => {
    check(await ask('POST', '/api/bots', { ...base, [field]: value }), 201);
    await remove(service, 'new');
  });

  if (field in UpdateBotBody.properties) {
    it('PATCH /api/bots/{id}', async () => {
      await create(service, base);
      check(await ask('PATCH', '/api/bots/new', { [field]: value }), 200);
      await remove(service, 'new');
    });
  }
});

/** Bodies that name a bot. */
const BODIES: Partial<Record<RouteName, (id: string) => unknown>> = {
  'POST /api/bots/actions': (id) => ({ action: 'restart', ids: [id] }),
  'PATCH /api/bots/{id}': () => ({ labels: { team: 'a' } }),
  'POST /api/rules': (id) => ({
    name: id,
    query: `bot:${id}`,
    condition: 'count',
    window_ms: 60_000,
  }),
  'PUT /api/rules/{id}': (id) => ({
    name: id,
    query: `bot:${id}`,
    condition: 'count',
    window_ms: 60_000,
  }),
  'POST /invoke': (id) => ({ session_id: [id], command: 'ping' }),
  'POST /api/tokens': (id) => ({ name: 'x', scopes: ['read'], bots: [id] }),
  'POST /api/tokens/link': (id) => ({ name: 'x', scopes: ['read'], bots: [id] }),
};
/** Queries that name a bot, or what only it has. */
const QUERIES: Partial<Record<RouteName, (id: string) => string[]>> = {
  'GET /api/bots': (id) => [
    '',
    `?query=bot:${id}`,
    `?query=${id.slice(4)}`,
    `?query=label:note=${id.slice(4)}`,
    `?sort=id&limit=1&cursor=${id}`,
    `?limit=1&cursor=a`,
  ],
  'GET /api/incidents': (id) => ['', `?bot=${id}`, `?cause=${id}`],
  'GET /api/bots/{id}/history': () => ['?field=status'],
};
/** Without a stream, a page, or the end of the token. */
const OTHERS: readonly RouteName[] = [
  'GET /',
  'GET /assets/{file}',
  'GET /events',
  'GET /docs',
  'GET /openapi.json',
  'DELETE /api/tokens/current',
  // A taken id is refused: above.
  'POST /api/bots',
];

/** Have figures of this moment. */
const VARY: readonly RouteName[] = [
  'GET /api-info',
  'GET /api/hosts',
  'GET /api/pressure',
  'GET /api/tokens/current',
  'POST /auth/ticket',
];

/** What tells one operation from the next. */
const OF_OPERATION = /"id":"0[^"]*",|"(?:began|ended)_ms":\d+,/g;

describe.each(ROUTE_NAMES.filter((name) => !OTHERS.includes(name)))('%s', (name) => {
  const [method = '', path = ''] = name.split(' ');
  const about = async (id: string, n: number): Promise<{ status: number; text: string }> => {
    const target = path.replace(/\{\w+\}/, id) + (QUERIES[name]?.(id)[n] ?? '');
    const { status, text } = await ask(method, target, BODIES[name]?.(id));
    const mark = id.slice('bot-'.length);
    const said = text.replaceAll(id, '<id>').replaceAll(`=${mark}`, '=<mark>');
    return { status, text: said.replace(OF_OPERATION, '') };
  };

  it('says the same of a bot of others as of none', async () => {
    const queries = QUERIES[name]?.(NOBODY) ?? [''];
    for (const n of queries.keys()) {
      const known = await about(OTHER, n);
      if (!VARY.includes(name)) expect(known).toEqual(await about(NOBODY, n));
      expect(known.text).not.toContain(MARK);
    }
  });
});
