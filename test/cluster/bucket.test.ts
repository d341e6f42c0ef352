// What is written to the buckets by somebody who is no node, over a real NATS server.

import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { Bucket, type Entry } from '../../src/cluster/control/bucket.js';
import { KvWatch } from '../../src/cluster/control/kv-watch.js';
import { NodesBucket } from '../../src/cluster/control/nodes-bucket.js';
import {
  headers,
  jetstreamManager,
  type KV,
  Kvm,
  type NatsConnection,
} from '../../src/cluster/wire/nats.js';
import { Signer } from '../../src/cluster/wire/signer.js';
import { NatsServer } from '../harness/nats.js';
import { TestNodes } from './nodes.js';

interface Value {
  v: number;
  n: number;
}

const keyOf = (fill: number): Signer =>
  new Signer({ keys: [new Uint8Array(32).fill(fill)], acceptsUnsigned: false });
let server: NatsServer;
let watches: KvWatch<Value>[];

beforeEach(async () => {
  server = await NatsServer.start();
  watches = [];
});
afterEach(async () => {
  for (const watch of watches) watch.close();
  await server.stop();
});

async function openUnwatched(signer = keyOf(1)) {
  const nats = await server.connect();
  const bucket = new Bucket<Value>(nats, {
    ...{ name: 'values', replicas: 1, answerMs: 4000, signer },
    knows: (key) => !key.startsWith('_'),
    read(_, text) {
      const value = JSON.parse(text) as Partial<Value>;
      if (typeof value.n !== 'number') throw new Error('it has no number');
      return value as Value;
    },
  });
  await bucket.open();
  return { nats, bucket };
}

/** A bucket as a node has it, and what its watch has told. */
async function open(signer = keyOf(1), turn = (bucket: Bucket<Value>): Bucket<Value> => bucket) {
  const { nats, bucket } = await openUnwatched(signer);
  const told = new Map<string, Entry<Value> | 'vanished'>();
  const watch = new KvWatch(nats, turn(bucket), {
    entry: (key, entry) => void told.set(key, entry),
    vanished: (key) => void told.set(key, 'vanished'),
    loaded: () => {},
    interrupted: () => {},
  });
  watches.push(watch);
  await vi.waitFor(() => expect(watch.isCurrent).toBe(true), 40_000);
  return { nats, bucket, told };
}

/** Private fields are those of the bucket itself. */
const bound = (value: unknown, of: object): unknown =>
  typeof value === 'function' ? value.bind(of) : value;
const raw = async (nats: NatsConnection): Promise<KV> => new Kvm(nats).open('values');
const last = async (kv: KV, key: string): Promise<Uint8Array> =>
  (await kv.get(key))?.value ?? new Uint8Array();

describe('with a key', () => {
  it('values and removals of nodes are told, those of others are faults', async () => {
    const [a, b] = [await open(), await open()];
    const kv = await raw(a.nats);
    const first = await a.bucket.create('x', { v: 1, n: 1 });
    await vi.waitFor(() => expect(b.told.get('x')).toMatchObject({ value: { n: 1 } }), 40_000);
    const second = await b.bucket.put('x', { v: 1, n: 2 }, first);
    await a.bucket.remove('x', second);
    await vi.waitFor(
      () => expect(b.told.get('x')).toMatchObject({ value: null, isRemoved: true, fault: null }),
      40_000,
    );
    await kv.put('x', JSON.stringify({ v: 1, n: 3 }));
    await vi.waitFor(() => expect(a.bucket.faults.get('x')?.reason).toMatch(/not signed/), 40_000);
    await kv.put('y', JSON.stringify({ v: 1, n: 3 }));
    await a.bucket.set('y', { v: 1, n: 4 });
    await kv.delete('y');
    await vi.waitFor(
      () =>
        expect(b.told.get('y')).toMatchObject({
          isRemoved: true,
          fault: { reason: expect.stringMatching(/not signed/) },
        }),
      40_000,
    );
    // It may be made again.
    await b.bucket.create('y', { v: 1, n: 5 });
    await vi.waitFor(() => expect(a.told.get('y')).toMatchObject({ value: { n: 5 } }), 40_000);
    expect([...a.bucket.faults.keys()]).toEqual(['x']);
    // What is no value is removed, and nothing with it.
    expect(await a.bucket.clear('x')).toBe(true);
    expect(await a.bucket.clear('x')).toBe(false);
    await vi.waitFor(() => expect(b.told.get('x')).toBe('vanished'), 40_000);
    expect(b.bucket.faults.size).toBe(0);
    // NATS drops what is in a bucket for too long, and tells nobody.
    await kv.put('z', 'x');
    await vi.waitFor(() => expect(b.bucket.faults.has('z')).toBe(true), 40_000);
    const { streams } = await jetstreamManager(a.nats);
    await streams.purge('KV_values', { filter: '$KV.values.z' });
    expect(await b.bucket.clear('z')).toBe(true);
    await vi.waitFor(() => expect(a.bucket.faults.has('z')).toBe(false), 40_000);
  });

  it('an earlier value, and that of another key, are faults', async () => {
    const [a, b] = [await open(), await open()];
    const kv = await raw(a.nats);
    const first = await a.bucket.create('x', { v: 1, n: 1 });
    const recorded = await last(kv, 'x');
    const second = await a.bucket.put('x', { v: 1, n: 2 }, first);
    await a.bucket.remove('x', second);
    const removal = await last(kv, 'x');
    expect(removal.length).toBeGreaterThan(0);
    await a.bucket.create('x', { v: 1, n: 3 });
    await vi.waitFor(() => expect(b.told.get('x')).toMatchObject({ value: { n: 3 } }), 40_000);
    await kv.put('x', recorded);
    const again = expect.objectContaining({ reason: expect.stringMatching(/an earlier one/) });
    await vi.waitFor(() => expect(b.bucket.faults.get('x')).toEqual(again), 40_000);
    await a.bucket.set('x', { v: 1, n: 4 });
    await kv.put('other', recorded);
    await vi.waitFor(
      () => expect(b.bucket.faults.get('other')?.reason).toMatch(/signature/),
      40_000,
    );
    expect(b.told.get('x')).toMatchObject({ value: { n: 4 } });
  });

  it('a write that NATS has refused is a fault when somebody else stores it', async () => {
    const [a, b] = [await open(), await open()];
    const kv = await raw(a.nats);
    /** What the bucket sends, and is refused. */
    const refused = async (write: () => Promise<unknown>): Promise<Uint8Array> => {
      const sent: Uint8Array[] = [];
      const listener = a.nats.subscribe('$KV.values.x', {
        callback: (_, { data }) => void sent.push(data),
      });
      await a.nats.flush();
      await expect(write()).rejects.toThrow(/wrong last sequence/);
      await a.nats.flush();
      listener.unsubscribe();
      return sent[0] ?? new Uint8Array();
    };
    const fault = expect.objectContaining({ reason: expect.stringMatching(/an earlier one/) });
    const first = await a.bucket.create('x', { v: 1, n: 1 });
    await b.bucket.put('x', { v: 1, n: 2 }, first);
    // The writer has seen the later one, as one that writes what it has read some time before.
    await vi.waitFor(() => expect(a.told.get('x')).toMatchObject({ value: { n: 2 } }), 40_000);
    const late = await refused(() => a.bucket.put('x', { v: 1, n: 3 }, first));
    expect(late.length).toBeGreaterThan(0);
    await kv.put('x', late);
    await vi.waitFor(() => expect(b.bucket.faults.get('x')).toEqual(fault), 40_000);
    await vi.waitFor(() => expect(a.bucket.faults.get('x')).toEqual(fault), 40_000);
    await b.bucket.set('x', { v: 1, n: 4 });
    // Of a key that is there nothing is signed that says the opposite.
    expect(await refused(() => a.bucket.put('x', { v: 1, n: 5 }, 0))).toHaveLength(0);
    await expect(a.bucket.create('x', { v: 1, n: 5 })).rejects.toThrow(/wrong last sequence/);
    const { revision = 0 } = (await a.bucket.get('x')) ?? {};
    await b.bucket.put('x', { v: 1, n: 6 }, revision);
    const marker = headers();
    marker.set('KV-Operation', 'DEL');
    const removal = await refused(() => a.bucket.remove('x', revision));
    a.nats.publish('$KV.values.x', removal, { headers: marker });
    await vi.waitFor(() => expect(b.bucket.faults.get('x')).toEqual(fault), 40_000);
  });

  it('a value whose key was gone meanwhile is one: NATS drops leases that have run out', async () => {
    const [a, b] = [await open(), await open()];
    await a.bucket.create('x', { v: 1, n: 1 });
    await vi.waitFor(() => expect(b.told.get('x')).toMatchObject({ value: { n: 1 } }), 40_000);
    await (await raw(a.nats)).purge('x');
    const { streams } = await jetstreamManager(a.nats);
    await streams.purge('KV_values', { filter: '$KV.values.x' });
    // One that starts then, and has not seen the key.
    const c = await open();
    await c.bucket.put('x', { v: 1, n: 2 }, 0);
    await vi.waitFor(() => expect(b.told.get('x')).toMatchObject({ value: { n: 2 } }), 40_000);
  });

  it('what was stored in a bucket before that was deleted is a fault in the one that is made again', async () => {
    const [a, b] = [await open(), await open()];
    const kv = await raw(a.nats);
    const first = await a.bucket.create('x', { v: 1, n: 1 });
    const value = await last(kv, 'x');
    await a.bucket.remove('x', first);
    const removal = await last(kv, 'x');
    await kv.destroy();
    await vi.waitFor(() => expect(b.told.get('x')).toBe('vanished'), 40_000);
    await a.bucket.set('x', { v: 1, n: 2 });
    await vi.waitFor(() => expect(b.told.get('x')).toMatchObject({ value: { n: 2 } }), 40_000);
    const marker = headers();
    marker.set('KV-Operation', 'DEL');
    const fault = { reason: expect.stringMatching(/its signature is of another/) };
    a.nats.publish('$KV.values.x', removal, { headers: marker });
    await vi.waitFor(
      () => expect(b.told.get('x')).toMatchObject({ isRemoved: true, fault }),
      40_000,
    );
    await kv.put('x', value);
    await vi.waitFor(
      () => expect(b.told.get('x')).toMatchObject({ isRemoved: false, fault }),
      40_000,
    );
  });

  it('a node that has not seen yet that the bucket was made again reads it, and writes to it', async () => {
    const late = await openUnwatched();
    await late.bucket.create('x', { v: 1, n: 1 });
    await (await raw(late.nats)).destroy();
    const a = await open();
    await late.bucket.create('x', { v: 1, n: 2 });
    await vi.waitFor(() => expect(a.told.get('x')).toMatchObject({ value: { n: 2 } }), 40_000);
    await late.bucket.create('y', { v: 1, n: 2 });

    const again = await openUnwatched();
    await (await raw(late.nats)).destroy();
    const b = await open();
    const revision = await b.bucket.create('x', { v: 1, n: 3 });
    expect(await again.bucket.get('x')).toMatchObject({ value: { n: 3 }, fault: null });
    expect(again.bucket.faults.size).toBe(0);
    await late.bucket.remove('x', revision);
    await vi.waitFor(
      () => expect(b.told.get('x')).toMatchObject({ isRemoved: true, fault: null }),
      40_000,
    );
  });

  it('a watch that begins while the bucket is made again begins once more', async () => {
    const first = await openUnwatched();
    const kv = await raw(first.nats);
    let isFirst = true;
    const b = await open(keyOf(1), (bucket) => {
      const status = async (opened: KV) => {
        const found = await opened.status();
        if (!isFirst) return found;
        isFirst = false;
        await kv.destroy();
        await (await openUnwatched()).bucket.create('x', { v: 1, n: 1 });
        return found;
      };
      const turned = { open: async () => ({ status: status.bind(null, await bucket.open()) }) };
      return new Proxy(bucket, {
        get: (of, name) => Reflect.get(turned, name) ?? bound(Reflect.get(of, name, of), of),
      });
    });
    await vi.waitFor(() => expect(b.told.get('x')).toMatchObject({ value: { n: 1 } }), 40_000);
  });
});

it('without a key what is no value is a fault, and the rest is told', async () => {
  const a = await open(Signer.NONE);
  const kv = await raw(a.nats);
  for (const [n, text] of ['', 'x', '{}', '[]', 'null', '{"n":"1"}'].entries())
    await kv.put(`k${n}`, text);
  await kv.put('_later', 'x');
  await kv.put('y', '{"n":1}');
  await vi.waitFor(() => expect(a.told.get('y')).toMatchObject({ value: { n: 1 } }), 40_000);
  expect([...a.bucket.faults.keys()]).toEqual(['k0', 'k1', 'k2', 'k3', 'k4', 'k5']);
  await kv.delete('y');
  await vi.waitFor(
    () => expect(a.told.get('y')).toMatchObject({ isRemoved: true, fault: null }),
    40_000,
  );
});

describe('a lease', () => {
  const nodes = new TestNodes();
  afterEach(() => nodes.close());

  it('has not ended when what was removed at its key was none', async () => {
    const nats = await server.connect();
    const bucket = new NodesBucket({
      ...{ name: 'leases', leaseMs: 60_000, replicas: 1, signer: keyOf(1) },
      connected: async () => nats,
    });
    const lease = bucket.lease('node.h1');
    expect(await lease.read()).toBeNull();
    await (await new Kvm(nats).open('leases')).put('node.h1', '12345');
    expect(await lease.read()).toMatchObject({ value: null, fault: expect.any(String) });
    expect(await bucket.clear('node.h1')).toBe(true);
    expect(await lease.read()).toMatchObject({
      value: null,
      fault: 'what was there was none, and was removed',
    });
    await lease.end((await lease.read())?.revision ?? 0);
    expect((await lease.read())?.fault).toBeUndefined();
  });

  it.each([
    ['what is no lease', (kv: KV) => kv.put('node.h1', '12345')],
    ['a removal by somebody else', (kv: KV) => kv.delete('node.h1')],
  ])('is held on when %s has its key, and nobody else ends it', async (_, disturb) => {
    const options = { servers: [server.url], signer: keyOf(1) };
    const h1 = await nodes.join('h1', options);
    const h2 = await nodes.join('h2', options);
    await vi.waitFor(() => expect(h2.membership.members.get('h1')?.isLive).toBe(true), 40_000);
    const kv = await new Kvm(await server.connect()).open('drover-test-nodes');
    const { revision = 0 } = (await kv.get('node.h1')) ?? {};
    await disturb(kv);
    expect(await h2.membership.members.end('h1')).toBe(false);
    await vi.waitFor(async () => {
      const entry = await kv.get('node.h1');
      expect(entry?.operation).toBe('PUT');
      expect(entry?.revision).toBeGreaterThan(revision + 1);
      expect(entry?.string()).toContain('"incarnation"');
    }, 40_000);
    expect(h1.membership.isHeld).toBe(true);
    expect(h1.log).not.toContain('lost');
    expect(h2.membership.members.get('h1')?.isLive).toBe(true);
  });
});
