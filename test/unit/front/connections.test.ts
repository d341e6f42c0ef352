import { expect, it } from 'vitest';
import { Connections } from '../../../src/front/requests/connections.js';
import { NameHasher } from '../../../src/shared/contract/name-hash.js';
import { Networks } from '../../../src/shared/contract/networks.js';
import { createQuota, Quota } from '../../../src/shared/memory/quota.js';

it('connections of a trusted proxy count in total only', () => {
  const quota = new Quota(createQuota<'perAddress'>({ total: 4, perAddress: 1 }, 1), 0);
  const names = new NameHasher('00'.repeat(16));
  const connections = new Connections(quota, names, new Networks(['10.0.0.1']));
  const statusOf = (address: string): number | undefined => connections.entered(address)?.status;
  expect([statusOf('10.0.0.1'), statusOf('::ffff:10.0.0.1')]).toEqual([undefined, undefined]);
  expect([statusOf('10.0.0.2'), statusOf('10.0.0.2')]).toEqual([undefined, 429]);
  expect([statusOf('10.0.0.1'), statusOf('10.0.0.1')]).toEqual([undefined, 503]);
  for (const address of ['10.0.0.1', '10.0.0.1', '10.0.0.1', '10.0.0.2']) connections.left(address);
  expect(quota.total()).toBe(0);
});
