// What the check of a bucket reads from a real NATS server.

import { expect, it, onTestFinished } from 'vitest';
import { bucketView } from '../../src/cluster/control/bucket-check.js';
import { Kvm } from '../../src/cluster/wire/nats.js';
import { NatsServer } from '../harness/nats.js';

it('counts the values of keys, and finds the last one of each', async () => {
  const server = await NatsServer.start();
  onTestFinished(() => server.stop());
  const nats = await server.connect();
  const kv = await new Kvm(nats).create('b', { history: 5 });
  const view = bucketView(nats, 'b');
  expect(await view.totals()).toEqual({ values: 0, keys: 0 });
  await kv.put('one', '1');
  await kv.put('two.x', '1');
  expect(await view.totals()).toEqual({ values: 2, keys: 2 });
  const last = await kv.put('one', '2');
  expect(await view.totals()).toEqual({ values: 3, keys: 2 });
  expect(await view.counts()).toEqual(
    new Map([
      ['one', 2],
      ['two.x', 1],
    ]),
  );
  expect(await view.last('one')).toBe(last);
  expect(await view.last('none')).toBeNull();
});
