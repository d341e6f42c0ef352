// A node that has its lease again, and the leader that gives its bots away: one of the two has each bot, whichever write comes first.

import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { BotRecords } from '../../src/cluster/control/bot-records.js';
import { ClusterStore } from '../../src/cluster/control/cluster-store.js';
import { LeaderDuties } from '../../src/cluster/control/leader-duties.js';
import type { BotRecord, Member, Members, Sealing } from '../../src/cluster/control/parts.js';
import type { RemovedNodes } from '../../src/cluster/control/removed-nodes.js';
import { Signer } from '../../src/cluster/wire/signer.js';
import type { BotSpec } from '../../src/shared/contract/bots.js';
import { Deferred } from '../../src/shared/deferred.js';
import { DroverError } from '../../src/shared/errors.js';
import { NatsServer } from '../harness/nats.js';
import { partial } from '../harness/partial.js';
import { Disk } from './cluster-node.js';

const PATIENCE = { timeout: 40_000, interval: 20 };
const SPEC = partial<BotSpec>({ id: 'a', kind: 'k', config: {}, labels: {} });
const SEALING: Sealing = {
  failoverOf: () => 'restart',
  seal: ({ term: _, ...spec }) => ({ spec, sealed: null, failover: 'restart' }),
  open: ({ spec }) => spec,
};

let server: NatsServer;
let disk: Disk;
let [ofLeader, ofNode]: BotRecords[] = [];
let store: ClusterStore;
let duties: LeaderDuties;
/** What the leader is told when it asks whether the lease of h1 has ended. */
let asked: Deferred;
let answer: Deferred<boolean>;
let isLive: boolean;

function member(node: string, live: boolean): Member {
  const capacity = { cores: 1, memory_mb: 1024 };
  const rest = { labels: {}, kinds: ['k'], wanted: 'live', capacity };
  return { node, isLive: live, ...rest } as unknown as Member;
}

beforeEach(async () => {
  server = await NatsServer.start();
  disk = new Disk();
  const open = async (): Promise<BotRecords> => {
    const options = { bucket: 'drover-test-bots', replicas: 1, signer: Signer.NONE, say: () => {} };
    const records = new BotRecords(await server.connect(), options);
    await vi.waitFor(() => expect(records.fault).toBeNull(), PATIENCE);
    return records;
  };
  [ofLeader, ofNode] = [await open(), await open()];
  store = new ClusterStore(disk.store, 'h1', SEALING, () => new DroverError('unavailable'));
  store.attach(ofNode as BotRecords);
  store.leaseHeld();
  const record = { v: 1, node: 'h1', term: 1, state: 'placed', ...SEALING.seal(SPEC) };
  await ofNode?.create('a', record as BotRecord);
  await vi.waitFor(() => expect(ofLeader?.get('a')).toBeDefined(), PATIENCE);
  asked = new Deferred();
  answer = new Deferred();
  isLive = false;
  const members = partial<Members>({
    self: 'h2',
    all: () => [member('h1', isLive), member('h2', true)],
    get: (node: string) => member(node, node === 'h2' || isLive),
    onChange: () => () => {},
    ranOut: () => [],
    end: () => {
      asked.resolve();
      return answer.promise;
    },
  });
  const told = { fence: async () => {}, lost: () => {}, say: () => {} };
  const removed = {} as RemovedNodes;
  duties = new LeaderDuties({ members, records: ofLeader as BotRecords, removed, ...told });
});
afterEach(async () => {
  duties.close();
  ofLeader?.close();
  ofNode?.close();
  disk.remove();
  await server.stop();
});

it('the node keeps a bot that it has claimed after the leader has read its record', async () => {
  duties.elected();
  await asked.promise;
  // It has its lease again.
  expect(await store.claim('a', 1, { ...SPEC, term: 1 })).toBe(true);
  await vi.waitFor(() => expect(ofLeader?.get('a')?.reason).toBeNull(), PATIENCE);
  isLive = true;
  const untouched = ofLeader?.entry('a')?.revision;
  answer.resolve(true);
  // Until the leader has looked again.
  const { node } = duties.place({ id: 'b', kind: 'k' });
  await ofNode?.create('b', {
    ...(ofNode.get('a') as BotRecord),
    spec: { ...SPEC, id: 'b' },
    node,
  });
  await vi.waitFor(() => expect(ofLeader?.get('b')).toBeDefined(), PATIENCE);
  expect(ofLeader?.entry('a')?.revision).toBe(untouched);
  expect(ofLeader?.get('a')).toMatchObject({ node: 'h1', term: 1 });
});

it('the node does not get a bot that the leader has given away, whether it knows that or not', async () => {
  duties.elected();
  answer.resolve(true);
  await vi.waitFor(() => expect(ofLeader?.get('a')?.node).toBe('h2'), PATIENCE);
  expect(await store.claim('a', 1, { ...SPEC, term: 1 })).toBe(false);
  expect(ofNode?.get('a')).toMatchObject({ node: 'h2', term: 2, state: 'placing' });
});

it('a node whose record was set back by NATS writes its own term again', async () => {
  expect(await store.claim('a', 1, { ...SPEC, term: 5 })).toBe(true);
  expect(ofNode?.get('a')).toMatchObject({ node: 'h1', term: 5 });
});

it('a claim that was written during a lease that is lost by then is none', async () => {
  const claimed = store.claim('a', 1, { ...SPEC, term: 1 });
  store.leaseLost();
  store.leaseHeld();
  expect(await claimed).toBe(false);
  expect(store.refusal({ ...SPEC, term: 1 })).toMatch(/has no lease/);
  expect(await store.claim('a', 1, { ...SPEC, term: 1 })).toBe(true);
  expect(store.refusal({ ...SPEC, term: 1 })).toBeNull();
});
