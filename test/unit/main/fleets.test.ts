// One fleet is applied at a time, and one bot that cannot be changed keeps no other from its change.

import { expect, it } from 'vitest';
import type { BotRegistry } from '../../../src/main/bots/registry.js';
import { Fleets } from '../../../src/main/fleet/fleets.js';
import { Operations } from '../../../src/main/operations/operations.js';
import type { OperationStore } from '../../../src/main/store/operation-store.js';
import type { CreateBotBody } from '../../../src/shared/contract/bots.js';
import type { PressureReport } from '../../../src/shared/contract/pressure.js';
import type { Rights } from '../../../src/shared/contract/tokens.js';
import { Deferred } from '../../../src/shared/deferred.js';
import { DroverError } from '../../../src/shared/errors.js';
import { partial } from '../../harness/partial.js';

const RIGHTS: Rights = { scopes: ['admin'], reach: null };
const bot = (id: string): CreateBotBody => ({
  id,
  kind: 'k',
  config: {},
  labels: {},
  dedicated: false,
  desired: 'stopped',
});
const input = (fleet: string, ids: string[], dry_run = false) => ({
  fleet,
  body: { bots: ids.map(bot), prune: false, dry_run },
  rights: RIGHTS,
  by: { name: 'test', token: 't' },
});

/** Fleets over a registry without bots, whose creation is `create`. */
function fleetsWith(create: (id: string) => Promise<void>): Fleets {
  return new Fleets({
    registry: partial<BotRegistry>({
      specOf: () => undefined,
      specs: () => [],
      statusOf: () => 'stopped',
      ofGroup: () => [],
      check: () => partial({}),
      create: ({ id }) => create(id),
    }),
    pressure: partial({
      admitStart: () => {},
      report: () => partial<PressureReport>({ bots: { present: 0, limit: 10_000 } }),
    }),
    operations: new Operations({
      store: partial<OperationStore>({ records: () => [], put: async () => {} }),
      incarnationOf: () => '',
      publish: () => {},
      node: null,
    }),
    node: null,
  });
}

it('a second fleet, and a second dry run, are refused while one is applied', async () => {
  const made = new Deferred();
  const fleets = fleetsWith(() => made.promise);
  const first = fleets.apply(input('web', ['a']));
  const refusal = { code: 'conflict', message: 'the fleet web is being applied, try again later' };
  await expect(fleets.apply(input('web', []))).rejects.toMatchObject(refusal);
  await expect(fleets.apply(input('other', ['b'], true))).rejects.toMatchObject(refusal);
  made.resolve();
  expect((await first).steps).toEqual([{ id: 'a', kind: 'k', action: 'create' }]);
  expect((await fleets.apply(input('other', ['b'], true))).steps).toHaveLength(1);
});

it('what fails is in its step, and the others are done; the next one may be applied', async () => {
  const made: string[] = [];
  const fleets = fleetsWith(async (id) => {
    if (id === 'b') throw new DroverError('conflict', 'bot b is busy');
    made.push(id);
  });
  const { steps } = await fleets.apply(input('web', ['a', 'b', 'c']));
  expect(steps.map(({ id, error }) => [id, error])).toEqual([
    ['a', undefined],
    ['b', 'bot b is busy'],
    ['c', undefined],
  ]);
  expect(made).toEqual(['a', 'c']);
  await fleets.apply(input('web', ['d']));
});

it('ten thousand bots are created in slices: other work gets its turn', async () => {
  let open = 0;
  let most = 0;
  const fleets = fleetsWith(async () => {
    open += 1;
    most = Math.max(most, open);
    await new Promise((resolve) => setImmediate(resolve));
    open -= 1;
  });
  const ids = Array.from({ length: 10_000 }, (_, n) => `b-${n}`);
  expect((await fleets.apply(input('web', ids))).steps).toHaveLength(10_000);
  expect(most).toBe(100);
});
