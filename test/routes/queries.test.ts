// `query` of GET /api/bots and GET /events, with paging and limits of tokens.

import { afterAll, beforeAll, expect, it } from 'vitest';
import { call, expectError } from '../harness/api.js';
import { create } from '../harness/bots.js';
import { type InjectedService, inject } from '../harness/inject.js';
import { makeToken } from '../harness/tokens.js';

let service: InjectedService;
beforeAll(async () => {
  service = await inject();
  for (const [id, team] of [
    ['shop-1', 'a'],
    ['shop-2', 'b'],
    ['shop-10', 'a'],
    ['other', 'a'],
  ] as const) {
    await create(service, { id, kind: 'synthetic', labels: { team }, desired: 'stopped' });
  }
});
afterAll(() => service?.close());

async function list(query: string, more = '', token?: string): Promise<string[]> {
  const options = token === undefined ? {} : { token };
  const path = `/api/bots?query=${encodeURIComponent(query)}${more}`;
  const { status, json, text } = await call(service, 'GET', path, options);
  expect(status, text).toBe(200);
  return (json as { bots: { id: string }[] }).bots.map(({ id }) => id);
}

it.each([
  ['', ['shop-1', 'shop-2', 'shop-10', 'other']],
  ['id:shop-* label:team=a', ['shop-1', 'shop-10']],
  ['-id:shop-*', ['other']],
  ['status:stopped kind:synthetic team=b', 'there is no field "team"'],
  ['"team=b" /^shop-\\d$/', ['shop-2']],
  ['status:failed', []],
  ['since<1h since<2d -since>1h restarts:0 host:*', []],
])('%s', async (query, expected) => {
  if (typeof expected === 'string') {
    const path = `/api/bots?query=${encodeURIComponent(query)}`;
    const { status, json } = await call(service, 'GET', path);
    expect(status).toBe(400);
    expect((json as { error: string }).error).toContain(`query: ${expected}`);
  } else expect(await list(query)).toEqual(expected);
});

it('goes together with pages and other parameters', async () => {
  expect(await list('label:team=a', '&limit=2')).toEqual(['other', 'shop-1']);
  expect(await list('label:team=a', '&limit=2&cursor=shop-1')).toEqual(['shop-10']);
  expect(await list('label:team=a', '&kind=demo')).toEqual([]);
  expect(await list('', '&label=team=a&kind=synthetic')).toEqual(['shop-1', 'shop-10', 'other']);
  expect(await list('-id:other', '&label=team=a,team')).toEqual(['shop-1', 'shop-10']);
  expect(await list('', '&label=team=a,team=b')).toEqual([]);
});

it('a limited token selects among its bots only', async () => {
  const { token: limited } = await makeToken(service, { scopes: ['read'], labels: { team: 'b' } });
  expect(await list('kind:synthetic', '', limited)).toEqual(['shop-2']);
  expect(await list('-kind:demo', '&limit=9', limited)).toEqual(['shop-2']);
  expect(await list('label:team=a', '', limited)).toEqual([]);
});

it.each([
  ['/api/bots?query=level:warn', /^query: level is about lines, not bots; .*\(at character 1\)$/],
  ['/api/bots?query=a&query=b', 'query is given twice'],
  ['/events?query=since%3E5m', /^query: since is for bots, not for lines/],
  ['/events?query=a&query=b', 'query is given twice'],
  ['/events?query=/(/', /^query: regular expression: this \( has no \)/],
])('%s is refused', async (path, message) => {
  expectError(await call(service, 'GET', path), 400, message);
});
