// The records of bots on a real NATS server: what each node sees, who wins, and what is left after NATS was away.

import { cpSync, readdirSync, rmSync } from 'node:fs';
import path from 'node:path';
import { afterEach, beforeEach, expect, it, onTestFinished, vi } from 'vitest';
import { BotRecords, Records } from '../../src/cluster/control/bot-records.js';
import { ClusterRules, readRuleRecord } from '../../src/cluster/control/cluster-rules.js';
import type { BotRecord } from '../../src/cluster/control/parts.js';
import { RemovedNodes } from '../../src/cluster/control/removed-nodes.js';
import type { RuleRecord } from '../../src/cluster/node-service.js';
import { headers, Kvm, type NatsConnection } from '../../src/cluster/wire/nats.js';
import { Signer } from '../../src/cluster/wire/signer.js';
import { ruleOfBody } from '../../src/main/rules/rule-of-body.js';
import type { RuleStore } from '../../src/main/store/rule-store.js';
import { NatsServer } from '../harness/nats.js';
import { partial } from '../harness/partial.js';
import { makeDir, removeDir } from '../harness/service.js';

const BUCKET = 'drover-test-bots';
let server: NatsServer;
let lines: string[];
let opened: BotRecords[];

beforeEach(async () => {
  server = await NatsServer.start();
  lines = [];
  opened = [];
});
afterEach(async () => {
  for (const records of opened) records.close();
  await server.stop();
});

async function open(connection?: NatsConnection, signer = Signer.NONE): Promise<BotRecords> {
  const say = (_: string, line: string): void => void lines.push(line);
  const nats = connection ?? (await server.connect());
  const records = new BotRecords(nats, { bucket: BUCKET, replicas: 1, signer, say });
  opened.push(records);
  await loaded(records);
  return records;
}
const loaded = (records: BotRecords): Promise<void> =>
  vi.waitFor(() => expect(records.fault).toBeNull(), 40_000);

function record(id: string, node: string, term = 1): BotRecord {
  const spec = { id, kind: 'k', config: {}, labels: {}, desired: 'running', dedicated: false };
  return {
    v: 1,
    spec: spec as unknown as BotRecord['spec'],
    node,
    term,
    state: 'placed',
    failover: 'restart',
    sealed: null,
  };
}

it('shows each node what others have written, also ids with dots', async () => {
  const [a, b] = [await open(), await open()];
  await a.create('irc.libera', record('irc.libera', 'h1'));
  await vi.waitFor(() => expect(b.get('irc.libera')?.node).toBe('h1'), 40_000);
  expect([...b.on('h1')]).toEqual(['irc.libera']);
  const late = await open();
  expect(late.get('irc.libera')?.term).toBe(1);
});

it('gives an id to one of two that create it', async () => {
  const [a, b] = [await open(), await open()];
  const outcomes = await Promise.allSettled([
    a.create('x', record('x', 'h1')),
    b.create('x', record('x', 'h2')),
  ]);
  expect(outcomes.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected']);
  const refused = outcomes.find(({ status }) => status === 'rejected');
  expect(refused).toMatchObject({ reason: { code: 'conflict' } });
});

it('applies each of many changes that are made at the same time', async () => {
  const [a, b] = [await open(), await open()];
  await a.create('x', record('x', 'h1', 1));
  await vi.waitFor(() => expect(b.get('x')).toBeDefined(), 40_000);
  const raise = (records: BotRecords) =>
    records.change('x', (before) => ({ ...before, term: before.term + 1 }));
  await Promise.all([a, b, a, b, a, b].map(raise));
  await vi.waitFor(() => expect([a.get('x')?.term, b.get('x')?.term]).toEqual([7, 7]), 40_000);
});

it('gives a bot a higher term than a deleted one with its id had', async () => {
  const [a, b] = [await open(), await open()];
  const first = a.firstTerm;
  await a.create('x', record('x', 'h1', first));
  await a.change('x', (before) => ({ ...before, term: first + 1 }));
  expect(await a.remove('x', ({ term }) => term === first)).toBe(false);
  expect(await a.remove('x', ({ term }) => term === first + 1)).toBe(true);
  await vi.waitFor(() => expect(b.isDeleted('x')).toBe(true), 40_000);
  expect(b.firstTerm).toBeGreaterThan(first + 1);
  expect(a.firstTerm).toBeGreaterThan(first + 1);
  await b.create('x', record('x', 'h2', b.firstTerm));
  await vi.waitFor(() => expect(a.get('x')?.node).toBe('h2'), 40_000);
  expect(a.isDeleted('x')).toBe(false);
});

it('a bot that was deleted stays so when somebody stores its record again, or a marker', async () => {
  const signer = new Signer({ keys: [new Uint8Array(32).fill(1)], acceptsUnsigned: false });
  const [a, b] = [await open(undefined, signer), await open(undefined, signer)];
  await a.create('x', record('x', 'h1'));
  const kv = await new Kvm(await server.connect()).open(BUCKET);
  const stored = (await kv.get('x'))?.value ?? '';
  await a.remove('x', () => true);
  await vi.waitFor(() => expect(b.isDeleted('x')).toBe(true), 40_000);
  const { value: removal } = (await kv.get('x')) ?? {};
  for (const forge of [() => kv.put('x', stored), () => kv.delete('x')]) {
    const forged = await forge();
    await vi.waitFor(async () => {
      const now = await kv.get('x');
      expect(now?.revision).toBeGreaterThan(forged ?? 0);
      expect(now?.operation).toBe('DEL');
      expect(now?.length).toBe(removal?.length);
    }, 40_000);
  }
  // It knows nothing of what was before.
  const late = await open(undefined, signer);
  expect([late.isDeleted('x'), late.get('x')]).toEqual([true, undefined]);
  expect([a.isDeleted('x'), b.isDeleted('x')]).toEqual([true, true]);
});

it('repairs a record, and clears one, when there are more bad ones than it lists', async () => {
  const [a, b] = [await open(), await open()];
  await a.create('x', record('x', 'h1'));
  const kv = await new Kvm(await server.connect()).open(BUCKET);
  for (let n = 0; n < 2; n += 1) {
    await Promise.all(Array.from({ length: 1000 }, (_, key) => kv.put(`junk-${key}`, `${n}`)));
  }
  await kv.put('x', 'x');
  await kv.put('y', 'x');
  await vi.waitFor(
    () => expect([a.isUnreadable('x'), a.isUnreadable('y')]).toEqual([true, true]),
    40_000,
  );
  expect(a.bucket.faults.has('x')).toBe(false);
  await a.repair('x', record('x', 'h1'));
  expect(a.get('x')?.node).toBe('h1');
  await vi.waitFor(() => expect(b.get('x')?.node).toBe('h1'), 40_000);
  expect(await a.bucket.clear('y')).toBe(true);
  await vi.waitFor(() => expect(b.isUnreadable('y')).toBe(false), 40_000);
  for (const key of ['x', 'none', '_later', 'a b', '>', ''])
    expect(await a.bucket.clear(key)).toBe(false);
  // Each node has said some of them.
  expect(lines.length).toBeLessThanOrEqual(2 * 60);
});

it('does not take what is none for a node that was not removed', async () => {
  const signer = new Signer({ keys: [new Uint8Array(32).fill(1)], acceptsUnsigned: false });
  const bucket = 'drover-test-removed';
  const options = { bucket, replicas: 1, signer, say: () => {} };
  const removed = new RemovedNodes(await server.connect(), options);
  onTestFinished(() => removed.records.close());
  await vi.waitFor(() => expect(removed.records.fault).toBeNull(), 40_000);
  expect(await removed.identity('h1')).toBeUndefined();
  await removed.mark('h1', 'id');
  expect(await removed.identity('h1')).toBe('id');
  const kv = await new Kvm(await server.connect()).open(bucket);
  for (const forge of [() => kv.put('h1', 'x'), () => kv.delete('h1')]) {
    await forge();
    const why = /has for the removed node h1 is none: it is not signed/;
    await expect(removed.identity('h1')).rejects.toThrow(why);
  }
});

it('removes a rule whose record is none, on each node', async () => {
  const made = ruleOfBody('r', { name: 'r', query: '', condition: 'bots', threshold: 1 });
  const disks: Set<string>[] = [];
  const join = async () => {
    const disk = new Set(['r']);
    disks.push(disk);
    const local = {
      all: () => [...disk].map(() => made),
      get: (id: string) => (disk.has(id) ? { rule: made, changedAt: 1 } : undefined),
      put: async () => {},
      remove: async (id: string) => void disk.delete(id),
    };
    const nothing = (): void => {};
    const rules = new ClusterRules({
      ...{ local: partial<RuleStore>(local), notJoined: () => '', say: nothing },
      rules: () => ({ learn: nothing, lack: nothing, speak: nothing, decide: nothing }),
      caughtUp: async () => {},
      silent: () => null,
    });
    const records = new Records<RuleRecord>(await server.connect(), {
      ...{ bucket: 'drover-test-rules', replicas: 1, signer: Signer.NONE, say: nothing },
      ...{ noun: 'rule', read: readRuleRecord },
    });
    onTestFinished(() => rules.close());
    rules.attach(records);
    await vi.waitFor(() => expect(records.get('r')).toBeDefined(), 40_000);
    return { rules, records };
  };
  const [a, b] = [await join(), await join()];
  await (await new Kvm(await server.connect()).open('drover-test-rules')).put('r', 'x');
  for (const { records } of [a, b])
    await vi.waitFor(() => expect(records.isUnreadable('r')).toBe(true), 40_000);
  await a.rules.remove('r');
  await vi.waitFor(() => expect(disks).toEqual([new Set(), new Set()]), 40_000);
  expect([a.records.isDeleted('r'), b.records.isDeleted('r')]).toEqual([true, true]);
});

it('gives it one also in a bucket that was made again, on a node that has seen neither', async () => {
  const a = await open();
  const first = a.firstTerm;
  await a.create('x', record('x', 'h1', first));
  await a.change('x', (before) => ({ ...before, term: before.term + 1 }));
  await (await new Kvm(await server.connect()).open(BUCKET)).destroy();
  await vi.waitFor(() => expect(a.get('x')).toBeUndefined(), 40_000);
  await loaded(a);
  const late = await open();
  expect(late.firstTerm).toBeGreaterThan(first + 1);
  // As its node brings it back.
  await a.create('x', record('x', 'h1', first + 1));
  await a.remove('x', () => true);
  const later = await open();
  expect(later.firstTerm).toBeGreaterThan(first + 1);
});

it('refuses changes while NATS is away, and has all records again when it is back', async () => {
  const [a, b] = [await open(), await open()];
  await a.create('x', record('x', 'h1'));
  await server.kill();
  await vi.waitFor(() => expect(a.fault).not.toBeNull(), 40_000);
  await expect(a.change('x', (before) => before)).rejects.toMatchObject({ code: 'unavailable' });
  expect(a.get('x')?.node).toBe('h1');
  await server.run();
  await Promise.all([loaded(a), loaded(b)]);
  await b.create('y', record('y', 'h2'));
  await vi.waitFor(() => expect(a.get('y')?.node).toBe('h2'), 40_000);
});

it('makes a bucket again that was deleted, and knows that it is empty', async () => {
  const nats = await server.connect();
  const a = await open();
  await a.create('deleted', record('deleted', 'h1'));
  await a.remove('deleted', () => true);
  await a.create('x', record('x', 'h1'));
  const told: string[] = [];
  a.onChange((id) => void told.push(id));
  const bucket = await new Kvm(nats).open(BUCKET);
  await bucket.destroy();
  await vi.waitFor(() => expect(told).toContain('x'), 40_000);
  await loaded(a);
  expect([a.get('x'), a.isDeleted('x')]).toEqual([undefined, false]);
  await a.create('x', record('x', 'h1', 2));
  expect(a.get('x')?.term).toBe(2);
});

/** The server again, with what it had stored in `before`, and so many more writes. */
async function loses(before: string, writes: number): Promise<void> {
  await server.kill();
  const other = await NatsServer.start({ dir: before });
  const bucket = await new Kvm(await other.connect()).open(BUCKET);
  for (let n = 0; n < writes; n++) await bucket.put('other', JSON.stringify(record('other', 'h1')));
  await other.stop();
  for (const name of readdirSync(server.dir))
    rmSync(path.join(server.dir, name), { recursive: true });
  cpSync(before, server.dir, { recursive: true });
  await server.run();
}

it.for([
  [0, 'change'],
  [5, 'change'],
  [5, 'replace'],
] as const)(
  'takes what NATS has when that has lost a change (%s others since, %s)',
  async ([writes, how]) => {
    const before = makeDir();
    onTestFinished(() => removeDir(before));
    const [a, b] = [await open(), await open()];
    await a.create('x', record('x', 'h1', 1));
    await vi.waitFor(() => expect(b.get('x')).toBeDefined(), 40_000);
    await server.kill();
    cpSync(server.dir, before, { recursive: true });
    await server.run();
    await Promise.all([a, b].map(loaded));
    for (const term of [2, 3]) await a.change('x', (now) => ({ ...now, term }));
    await vi.waitFor(() => expect(b.get('x')?.term).toBe(3), 40_000);
    await loses(before, writes);
    const next = { node: 'h2', term: 4 };
    const change = async (): Promise<boolean> => {
      if (how === 'change') return (await a.change('x', (now) => ({ ...now, ...next }))) !== null;
      const entry = a.entry('x');
      return entry !== undefined && (await a.replace('x', entry, { ...entry.record, ...next }));
    };
    const options = { timeout: 40_000, interval: 200 };
    await vi.waitFor(async () => expect(await change()).toBe(true), options);
    await vi.waitFor(() => expect(b.get('x')?.node).toBe('h2'), 40_000);
  },
);

it('takes what was removed because it was no record for a loss, and not for a deletion', async () => {
  const [a, b] = [await open(), await open()];
  await a.create('x', record('x', 'h1', 1));
  const kv = await new Kvm(await server.connect()).open(BUCKET);
  await kv.put('x', 'no record');
  await vi.waitFor(() => expect(a.isUnreadable('x')).toBe(true), 40_000);
  await vi.waitFor(() => expect(b.isUnreadable('x')).toBe(true), 40_000);
  const entry = { record: record('x', 'h1', 1), revision: 1 };
  // Its change finds the mark before its watch tells it.
  a.close();
  expect(await b.bucket.clear('x')).toBe(true);
  expect(await a.replace('x', entry, record('x', 'h1', 2))).toBe(false);
  expect([a.get('x'), a.isDeleted('x'), a.isUnreadable('x')]).toEqual([undefined, false, false]);
});

it('does not touch a bucket, or a record, of a later version', async () => {
  const nats = await server.connect();
  const a = await open();
  const bucket = await new Kvm(nats).open(BUCKET);
  await bucket.put('new', JSON.stringify({ ...record('new', 'h1'), v: 2 }));
  await vi.waitFor(() => expect(a.isUnreadable('new')).toBe(true), 40_000);
  // A key that no bot can have, and a record of the same version with more than is known.
  await bucket.put('_later', JSON.stringify({ v: 1 }));
  await bucket.put('more', JSON.stringify({ ...record('more', 'h1'), more: 1 }));
  await vi.waitFor(() => expect(a.get('more')).toMatchObject({ node: 'h1', more: 1 }), 40_000);
  expect([...a.ids()]).toEqual(['more']);
  expect(a.isUnreadable('_later')).toBe(false);
  expect(lines).toContainEqual(
    expect.stringContaining('it has version 2, this node knows 1: update this node'),
  );
  const other = 'drover-later-bots';
  await new Kvm(nats).create(other, { description: 'drover protocol 2' });
  const say = (_: string, line: string): void => void lines.push(line);
  const b = new BotRecords(await server.connect(), {
    bucket: other,
    replicas: 1,
    signer: Signer.NONE,
    say,
  });
  opened.push(b);
  await vi.waitFor(() => expect(b.fault).toContain('drover-later-bots has version 2'), 40_000);
});

it('takes nothing into its watch that is not from JetStream', async () => {
  const other = await server.connect();
  const inboxes: string[] = [];
  other.subscribe('$JS.API.CONSUMER.CREATE.>', {
    callback: (_, { data }) => {
      const { config } = JSON.parse(Buffer.from(data).toString()) as {
        config?: { deliver_subject?: string };
      };
      if (config?.deliver_subject) inboxes.push(config.deliver_subject);
    },
  });
  await other.flush();
  const records = await open();
  expect(inboxes).toHaveLength(1);
  const [inbox = ''] = inboxes;
  const stalled = headers(100, 'Idle Heartbeat');
  // To publish there throws.
  stalled.set('Nats-Consumer-Stalled', 'no subject');
  other.publish(inbox, '', { headers: stalled });
  // As the first message of a consumer that is far ahead.
  other.publish(inbox, '{}', { reply: 'a.b.c.d.1.9007199254740000.1.0.0' });
  await other.flush();
  await records.create('a', record('a', 'h1'));
  const second = await open();
  await second.change('a', (now) => ({ ...now, node: 'h2' }));
  await vi.waitFor(() => expect(records.get('a')?.node).toBe('h2'), 40_000);
  expect(lines).toEqual([]);
  expect(inboxes).toHaveLength(2);
});
