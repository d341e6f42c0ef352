// GET /api/bots in pages: each bot once, in the order of the ids, also while others come and go.

import { expect, it } from 'vitest';
import { call, expectError } from '../harness/api.js';
import { create, remove } from '../harness/bots.js';
import { ClusterStream } from '../harness/cluster-stream.js';
import { type InjectedService, inject } from '../harness/inject.js';
import { makeToken } from '../harness/tokens.js';

interface Page {
  bots: { id: string }[];
  next?: string | null;
}

async function page(service: InjectedService, query: string): Promise<Page> {
  const { status, json, text } = await call(service, 'GET', `/api/bots${query}`);
  expect(status, text).toBe(200);
  return json as Page;
}

const idsOf = ({ bots }: Page): string[] => bots.map(({ id }) => id);

it('pages have each bot once, in the order of the ids', async () => {
  const service = await inject();
  for (const id of ['c', 'a', 'b-2', 'e', 'b-10', 'd']) {
    const labels = { team: id < 'c' ? 'x' : 'y' };
    await create(service, { id, kind: 'synthetic', labels, desired: 'stopped' });
  }
  expect(await page(service, '?limit=2')).toMatchObject({ next: 'b-10' });
  const seen: string[][] = [];
  let cursor: string | null = '';
  for (let query = '?limit=2'; cursor !== null; query = `?limit=2&cursor=${cursor}`) {
    const { next = null, ...rest } = await page(service, query);
    seen.push(idsOf(rest));
    cursor = next;
  }
  expect(seen).toEqual([
    ['a', 'b-10'],
    ['b-2', 'c'],
    ['d', 'e'],
  ]);
  // The bot of the cursor is gone, one has come before it and one after it.
  await remove(service, 'b-2');
  for (const id of ['aa', 'ca']) {
    await create(service, { id, kind: 'synthetic', desired: 'stopped' });
  }
  const rest = await page(service, '?limit=10&cursor=b-2');
  expect([idsOf(rest), rest.next]).toEqual([['c', 'ca', 'd', 'e'], null]);
  expect(idsOf(await page(service, '?limit=3&status=running'))).toEqual([]);
  expect(await page(service, '?limit=3&cursor=zz')).toEqual({ bots: [], next: null });
  // Without a limit all are there, as they came, without `next`.
  const all = await page(service, '');
  expect(idsOf(all)).toEqual(['c', 'a', 'e', 'b-10', 'd', 'aa', 'ca']);
  expect(all).not.toHaveProperty('next');
});

it('pages in another order have each bot once, within the reach of the token', async () => {
  const service = await inject();
  for (const [id, team] of [
    ['a', 'x'],
    ['b', 'y'],
    ['c', 'x'],
    ['d', undefined],
  ] as const) {
    const labels: Record<string, string> = team === undefined ? {} : { team };
    await create(service, { id, kind: 'synthetic', labels, desired: 'stopped' });
  }
  expect(idsOf(await page(service, '?sort=-label.team'))).toEqual(['b', 'a', 'c', 'd']);
  const first = await page(service, '?sort=-label.team&limit=3');
  expect(idsOf(first)).toEqual(['b', 'a', 'c']);
  const rest = await page(service, `?sort=-label.team&limit=3&cursor=${first.next}`);
  expect([idsOf(rest), rest.next]).toEqual([['d'], null]);
  expect(idsOf(await page(service, '?sort=-label.team&query=-label:team=y'))).toEqual([
    'a',
    'c',
    'd',
  ]);
  const { token } = await makeToken(service, { scopes: ['read'], labels: { team: 'x' } });
  const { json } = await call(service, 'GET', '/api/bots?sort=-id', { token });
  expect(idsOf(json as Page)).toEqual(['c', 'a']);
});

it.each([
  ['?limit=0', /^limit must be a whole number/],
  ['?limit=1001', /^limit must be a whole number/],
  ['?limit=2&limit=3', 'limit is given twice'],
  ['?cursor=a', /^cursor needs limit/],
  ['?sort=gold', /^sort: there is no field "gold"/],
  ['?sort=status&sort=kind', 'sort is given twice'],
  ['?sort=status&limit=2&cursor=a', /^cursor is not one of this order/],
])('%s is refused', async (query, message) => {
  const service = await inject();
  expectError(await call(service, 'GET', `/api/bots${query}`), 400, message);
});

it('20,000 bots: the pages are complete, with a filter too', async () => {
  const service = await inject();
  const cluster = new ClusterStream('c1c1c1c1c1', 1, { bytes: 2 ** 25, slots: 2 ** 16 });
  for (let n = 0; n < 20_000; n++) cluster.bot(`h${n % 3}`, `bot-${n}`);
  await service.attachCluster(cluster);
  const seen = new Set<string>();
  let next: string | null | undefined = '';
  for (let query = '?limit=1000'; next !== null; query = `?limit=1000&cursor=${next}`) {
    const answer = await page(service, query);
    for (const id of idsOf(answer)) seen.add(id);
    next = answer.next ?? null;
  }
  expect(seen.size).toBe(20_000);
  // By their node, then by id: a cursor is a place in that order.
  const numbers = Array.from({ length: 20_000 }, (_, n) => n);
  const [h2, h1] = [2, 1].map((node) =>
    numbers
      .filter((n) => n % 3 === node)
      .map((n) => `bot-${n}`)
      .sort(),
  );
  const inOrder = [...(h2 ?? []), ...(h1 ?? [])];
  const first = await page(service, '?sort=-node&limit=1000&node=h1,h2');
  expect(idsOf(first)).toEqual(inOrder.slice(0, 1000));
  const second = await page(service, `?sort=-node&limit=1000&node=h1,h2&cursor=${first.next}`);
  expect(idsOf(second)).toEqual(inOrder.slice(1000, 2000));
  const ofNode = await page(service, '?limit=100&node=h1');
  expect(idsOf(ofNode).slice(0, 3)).toEqual(['bot-1', 'bot-10', 'bot-100']);
  expect(ofNode.bots).toHaveLength(100);
});
