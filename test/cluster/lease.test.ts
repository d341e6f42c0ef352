// Leases on a real NATS server: two services with one name, servers that are killed, processes that are frozen.

import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { afterEach, beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { clusterNames } from '../../src/cluster/wire/names.js';
import { jetstreamManager, Kvm } from '../../src/cluster/wire/nats.js';
import { NatsServer } from '../harness/nats.js';
import { type TestNode, TestNodes } from './nodes.js';

const BUCKET = clusterNames('test').nodes;
/** No node may lose this one because the machine is busy. */
const LONG_MS = 12_000;
const SHORT_MS = 2000;
const patient = { timeout: 60_000, interval: 50 };

let server: NatsServer;
let nodes: TestNodes;
let children: ChildProcess[];

beforeEach(async () => {
  server = await NatsServer.start();
  nodes = new TestNodes();
  children = [];
});
afterEach(async () => {
  for (const child of children) child.kill('SIGKILL');
  await nodes.close();
  await server.stop();
});

const join = (name: string, leaseMs = LONG_MS, dir?: string): Promise<TestNode> =>
  nodes.join(name, { servers: [server.url], leaseMs, ...(dir === undefined ? {} : { dir }) });
const states = ({ membership }: TestNode): Record<string, string> =>
  Object.fromEntries(membership.nodes().nodes.map(({ node, state }) => [node, state]));
const seen = (node: TestNode) => expect.poll(() => states(node), patient);

describe('nodes', () => {
  it('see each other, and one of them leads', async () => {
    const a = await join('h1');
    const b = await join('h2');
    await seen(a).toEqual({ h1: 'live', h2: 'live' });
    await seen(b).toEqual({ h1: 'live', h2: 'live' });
    await expect.poll(() => b.membership.nodes().nodes[0]?.is_leader, patient).toBe(true);
    expect(a.log).toContain('elected');
    expect(b.log).not.toContain('elected');
    expect(b.membership.members.leader).toBe('h1');
    expect(b.membership.nodes()).toMatchObject({ cluster: 'test', state: 'on', reason: null });
    expect(b.membership.nodes().nodes[0]).toMatchObject({
      is_self: false,
      labels: { zone: 'h1' },
      address: 'http://h1:8080',
      kinds: ['synthetic'],
    });
  });

  it('give their leases back when they stop: another leads at once', async () => {
    const a = await join('h1');
    const b = await join('h2');
    await seen(b).toEqual({ h1: 'live', h2: 'live' });
    await a.close();
    await seen(b).toEqual({ h1: 'lost', h2: 'live' });
    await expect.poll(() => b.log, patient).toContain('elected');
    expect(await b.membership.members.end('h1')).toBe(true);
  });

  it('tell what was asked of them, also after a restart', async () => {
    const a = await join('h1');
    const dir = nodes.newDir();
    const b = await join('h2', LONG_MS, dir);
    await b.membership.want('cordoned');
    await seen(a).toEqual({ h1: 'live', h2: 'cordoned' });
    await b.close();
    await seen(a).toEqual({ h1: 'live', h2: 'lost' });
    await join('h2', LONG_MS, dir);
    await seen(a).toEqual({ h1: 'live', h2: 'cordoned' });
  });
});

describe('the name of a node', () => {
  it('is refused while another service lives, after waiting for its lease to run out', async () => {
    await join('h1', 3000);
    const second = nodes.make('h1', { servers: [server.url], leaseMs: 3000 });
    await expect(second.membership.start()).rejects.toThrow(
      'the node name "h1" is in use in the cluster "test" by another service (at http://h1:8080); give this one another with cluster.node',
    );
    expect(second.said[0]).toMatch(/is in use .*; waiting up to 4 s for its lease to run out$/);
    expect(second.log).toEqual([]);
  });

  it('is free again when its service was killed long enough ago', async () => {
    const child = await freezable('h1', SHORT_MS);
    child.kill('SIGKILL');
    const second = await join('h1', SHORT_MS);
    expect(second.log[0]).toBe('held');
    expect(second.said[0]).toContain('for its lease to run out');
  });

  it('is taken over at once by the same service, restarted', async () => {
    const dir = nodes.newDir();
    const before = await join('h1', LONG_MS, dir);
    const after = await join('h1', LONG_MS, dir);
    expect(after.said).toEqual([]);
    await expect.poll(() => before.log, patient).toContain('lost');
    expect(before.log).not.toContain('expiring');
    expect(before.said).toContain('cluster test: the lease is lost: another service has taken it');
    // It does not take the lease back.
    await expect.poll(() => before.membership.status.reason, patient).toContain('is in use');
    expect(after.log).not.toContain('lost');
  });
});

describe('a NATS server', () => {
  it('that is killed and comes back costs nobody a lease', async () => {
    const a = await join('h1');
    const b = await join('h2');
    await seen(a).toEqual({ h1: 'live', h2: 'live' });
    await server.kill();
    await expect.poll(() => a.membership.status.state, patient).toBe('cut_off');
    await server.run();
    await expect.poll(() => a.membership.status.state, patient).toBe('on');
    await seen(a).toEqual({ h1: 'live', h2: 'live' });
    await seen(b).toEqual({ h1: 'live', h2: 'live' });
    expect([...a.log, ...b.log].filter((line) => line === 'lost')).toEqual([]);
  });

  it('that stays away makes nodes stop their bots before the deadline, and join again later', async () => {
    const a = await join('h1', SHORT_MS);
    await server.kill();
    await expect.poll(() => a.log, patient).toContain('lost');
    expect(a.log.indexOf('expiring')).toBeLessThan(a.log.indexOf('lost'));
    expect(a.membership.isHeld).toBe(false);
    expect(a.membership.nodes()).toMatchObject({ state: 'cut_off', nodes: [{ state: 'lost' }] });
    expect(a.membership.status.reason).toMatch(/NATS/);
    await server.run();
    await expect.poll(() => a.log.at(-1), patient).toBe('elected');
    expect(a.membership.status).toEqual({ state: 'on', reason: null });
  });

  it('that is frozen costs a node its lease in time, though the connection stays open', async () => {
    const a = await join('h1', SHORT_MS);
    server.suspend();
    const from = performance.now();
    await expect.poll(() => a.log, patient).toContain('expiring');
    // Renewed at most a third of the lease later than that; the rest is patience with a busy machine.
    expect(performance.now() - from).toBeLessThan(10 * SHORT_MS);
    server.resume();
    await expect.poll(() => a.log.at(-1), patient).toBe('elected');
  });

  it('that is not there at the start lets the service start alone, and join later', async () => {
    await server.kill();
    const a = await join('h1');
    expect(a.log).toEqual([]);
    expect(a.membership.nodes()).toMatchObject({
      state: 'joining',
      reason: expect.stringMatching(/^the NATS servers cannot be reached \(connect ECONNREFUSED/),
      nodes: [{ node: 'h1', state: 'lost', is_self: true }],
    });
    await server.run();
    await expect.poll(() => a.log, patient).toContain('held');
  });

  it('whose bucket is deleted gets a new one, and nobody loses a lease', async () => {
    const a = await join('h1');
    const b = await join('h2');
    await seen(a).toEqual({ h1: 'live', h2: 'live' });
    const manager = await jetstreamManager(await server.connect());
    const before = (await manager.streams.info(`KV_${BUCKET}`)).created;
    await manager.streams.delete(`KV_${BUCKET}`);
    const entries = async () => {
      const info = await manager.streams.info(`KV_${BUCKET}`).catch(() => null);
      return info !== null && info.created !== before ? info.state.messages : 0;
    };
    // Both, and the leader's.
    await expect.poll(entries, patient).toBe(3);
    await seen(a).toEqual({ h1: 'live', h2: 'live' });
    expect([...a.log, ...b.log].filter((line) => line === 'lost')).toEqual([]);
  });
});

describe('a bucket that is not for this node', () => {
  /** Closed when it has been refused: it would make a bucket that was deleted. */
  const start = async (leaseMs = LONG_MS): Promise<void> => {
    const node = nodes.make('h9', { servers: [server.url], leaseMs });
    await node.membership.start().finally(() => node.close());
  };

  it('has another lease', async () => {
    await join('h1', LONG_MS);
    await expect(start(5000)).rejects.toThrow(
      `cluster.lease_ms is 5000 here, and ${LONG_MS} in the cluster`,
    );
  });

  it('is of a later version, or of another program', async () => {
    const kvm = new Kvm(await server.connect());
    await kvm.create(BUCKET, { description: 'drover protocol 2', ttl: LONG_MS });
    await expect(start()).rejects.toThrow(
      /^the NATS bucket drover-test-nodes has version 2; Drover/,
    );
    const manager = await jetstreamManager(await server.connect());
    await manager.streams.delete(`KV_${BUCKET}`);
    await kvm.create(BUCKET, { ttl: LONG_MS });
    await expect(start()).rejects.toThrow('was not made by Drover');
  });
});

describe('a leader', () => {
  it('that is killed has a successor, which ends its lease', async () => {
    const child = await freezable('h1', SHORT_MS);
    const b = await join('h2', SHORT_MS);
    await expect.poll(() => b.membership.members.leader, patient).toBe('h1');
    child.kill('SIGKILL');
    await expect.poll(() => b.log, patient).toContain('elected');
    expect(b.membership.members.leader).toBe('h2');
    await expect.poll(() => b.membership.members.end('h1'), patient).toBe(true);
  });
});

it('a leader that is killed is replaced, and its lease ended, also while somebody writes to its keys; not while it answers', async () => {
  const asked: string[] = [];
  let isThere = true;
  const answers = async (node: string): Promise<boolean> => {
    asked.push(node);
    return isThere;
  };
  const child = await freezable('h1', SHORT_MS);
  const b = await nodes.join('h2', { servers: [server.url], leaseMs: SHORT_MS, answers });
  await expect.poll(() => b.membership.members.leader, patient).toBe('h1');
  const nats = await server.connect();
  const writing = setInterval(() => {
    if (nats.isClosed()) return;
    for (const key of ['leader', 'node.h1', 'node.zz']) nats.publish(`$KV.${BUCKET}.${key}`, 'x');
  }, SHORT_MS / 20);
  onTestFinished(() => clearInterval(writing));
  // One that is there writes over it.
  await expect.poll(() => b.membership.members.get('h1')?.isLive, patient).toBe(true);
  child.kill('SIGKILL');
  await expect.poll(() => b.log, patient).toContain('elected');
  const end = () => b.membership.members.end('h1');
  await expect.poll(async () => [await end(), asked.length > 0], patient).toEqual([false, true]);
  isThere = false;
  await expect.poll(end, patient).toBe(true);
  expect(b.membership.members.all().map(({ node }) => node)).toEqual(['h1', 'h2']);
});

describe('a leader whose key', () => {
  const KEY = `$KV.${BUCKET}.leader`;
  const leader = async (): Promise<TestNode> => {
    const a = await join('h1');
    await expect.poll(() => a.log, patient).toContain('elected');
    return a;
  };

  it('is gone steps down and says so, and is elected again', async () => {
    const a = await leader();
    const manager = await jetstreamManager(await server.connect());
    await manager.streams.purge(`KV_${BUCKET}`, { filter: KEY });
    await expect.poll(() => a.log, patient).toEqual(['held', 'elected', 'deposed', 'elected']);
    expect(a.said).toContain(
      'cluster test: this node leads no longer: its key is gone: the NATS servers have lost it, or the bucket was deleted',
    );
  });

  it("is another node's by then steps down and says so", async () => {
    const a = await leader();
    (await server.connect()).publish(KEY, JSON.stringify({ v: 1, node: 'h2', incarnation: 'x' }));
    await expect.poll(() => a.log, patient).toContain('deposed');
    expect(a.said).toContain(
      'cluster test: this node leads no longer: another service has taken it',
    );
  });
});

describe('a node that is frozen', () => {
  it('is lost to the others, which end its lease; it sends nothing when it wakes', async () => {
    const a = await join('h1', SHORT_MS);
    const child = await freezable('h2', SHORT_MS);
    await seen(a).toEqual({ h1: 'live', h2: 'live' });
    expect(await a.membership.members.end('h2')).toBe(false);
    child.kill('SIGSTOP');
    await seen(a).toEqual({ h1: 'live', h2: 'lost' });
    expect(await a.membership.members.end('h2')).toBe(true);
    const messages: string[] = [];
    child.on('message', (message: string) => messages.push(message));
    child.kill('SIGCONT');
    await expect.poll(() => messages, patient).toContain('held');
    // A bot's code ran before any timer of the lease; it was refused.
    expect(messages.slice(0, 2)).toEqual(['refused', 'lost']);
  });

  it('keeps its lease from being ended while it renews, though the one that asks was frozen', async () => {
    const a = await join('h1', SHORT_MS);
    const child = await freezable('h2', SHORT_MS);
    await seen(a).toEqual({ h1: 'live', h2: 'live' });
    // Nothing of this process runs; the other one renews.
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 2 * SHORT_MS);
    expect(a.membership.members.get('h2')?.isLive).toBe(false);
    expect(await a.membership.members.end('h2')).toBe(false);
    await seen(a).toEqual({ h1: 'live', h2: 'live' });
    child.kill('SIGKILL');
  });

  it('of which nobody knows may be ended after this node has looked for a lease', async () => {
    const a = await join('h1', SHORT_MS);
    await seen(a).toEqual({ h1: 'live' });
    expect(await a.membership.members.end('gone')).toBe(false);
    await expect.poll(() => a.membership.members.end('gone'), patient).toBe(true);
  });
});

/** A node in a process. It tries to send all the time, and tells when the fence refuses it, and what its owner is told. */
async function freezable(name: string, leaseMs: number): Promise<ChildProcess> {
  const file = new URL('frozen-node.mjs', import.meta.url).pathname;
  const child = fork(file, [name, server.url, `${leaseMs}`, nodes.newDir()], { execArgv: [] });
  children.push(child);
  await once(child, 'message');
  return child;
}
