// Where a bot is to run: only a cluster knows what that means.

import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { call } from '../harness/api.js';
import { create, FIXTURE_KINDS } from '../harness/bots.js';
import { type InjectedService, inject } from '../harness/inject.js';

let service: InjectedService;
beforeAll(async () => {
  service = await inject({ config: { kinds: [FIXTURE_KINDS] } });
  await create(service, {
    id: 'still',
    kind: 'mortal',
    config: { end: 'return' },
    desired: 'stopped',
  });
});
afterAll(() => service.close());

describe('a single service', () => {
  it.each([
    ['node', 'h1'],
    ['node_labels', { zone: 'eu' }],
    ['failover', 'stay'],
  ])('refuses %s', async (field, value) => {
    const error = { error: `this service is not in a cluster: ${field} needs one` };
    const body = { id: 'new', kind: 'mortal', config: { end: 'return' }, [field]: value };
    const created = await call(service, 'POST', '/api/bots', { body });
    expect([created.status, created.json]).toEqual([400, error]);
    const change = { body: { [field]: value } };
    const changed = await call(service, 'PATCH', '/api/bots/still', change);
    expect([changed.status, changed.json]).toEqual([400, error]);
  });

  it('says nothing of them', async () => {
    const { status, json } = await call(service, 'GET', '/api/bots/still/config');
    expect(status).toBe(200);
    for (const field of ['node', 'node_labels', 'failover']) expect(json).not.toHaveProperty(field);
  });
});
