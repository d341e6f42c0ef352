// `GET /api/hosts`: which hosts a token sees. What the figures say: test/unit/main/host-figures.test.ts.

import { afterAll, beforeAll, expect, it } from 'vitest';
import { call } from '../harness/api.js';
import { act } from '../harness/bots.js';
import { type InjectedService, inject } from '../harness/inject.js';
import { makeToken } from '../harness/tokens.js';

let service: InjectedService;
beforeAll(async () => {
  const bots = ['a-1', 'a-2', 'b-1'].map((id) => ({
    id,
    kind: 'synthetic',
    labels: { team: id.slice(0, 1) },
  }));
  service = await inject({ config: { bots } });
});
afterAll(() => service.close());

async function hosts(limit?: object): Promise<unknown> {
  const options = limit && {
    token: (await makeToken(service, { scopes: ['read'], ...limit })).token,
  };
  const answer = await call(service, 'GET', '/api/hosts', options);
  expect(answer.status).toBe(200);
  return answer.json;
}

it('lists each host with its bots', async () => {
  expect(await hosts()).toMatchObject({
    hosts: [{ host: 0, node: null, state: 'idle', bots: 3, silent_ms: null, heap: null }],
    missing: [],
  });
});

it('a limited token sees the hosts of its bots, and counts only these', async () => {
  expect(await hosts({ labels: { team: 'a' } })).toMatchObject({ hosts: [{ host: 0, bots: 2 }] });
  expect(await hosts({ bots: ['b-1'] })).toMatchObject({ hosts: [{ host: 0, bots: 1 }] });
  expect(await hosts({ bots: ['nobody'] })).toEqual({ hosts: [], missing: [] });
  await act(service, 'b-1', 'stop');
  expect(await hosts({ bots: ['b-1'] })).toEqual({ hosts: [], missing: [] });
});
