// Tokens on the nodes of a cluster, over a real NATS server: each node with a real registry and store, and fronts that are a set.

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { SecurityEvents } from '../../src/main/access/security-events.js';
import { TicketBook } from '../../src/main/access/tickets.js';
import { TokenRegistry } from '../../src/main/access/token-registry.js';
import { NodeCalls } from '../../src/main/cluster/calls.js';
import { CallsToMembers } from '../../src/main/cluster/node-calls.js';
import type { Member } from '../../src/main/cluster/parts.js';
import type { Controller } from '../../src/main/cluster/served-methods.js';
import { sharedAccess } from '../../src/main/cluster/shared-access.js';
import { TokenSync } from '../../src/main/cluster/token-sync.js';
import { Store } from '../../src/main/store/store.js';
import { TokenStore } from '../../src/main/store/token-store.js';
import { clusterNames } from '../../src/shared/cluster/names.js';
import { Kvm, type NatsConnection } from '../../src/shared/cluster/nats.js';
import { NatsServer } from '../harness/nats.js';

const names = clusterNames('test');
const BODY = { name: 'x', scopes: ['read' as const] };
const LONG = 40_000;
const soon = (check: () => void): Promise<void> => vi.waitFor(check, LONG);

let server: NatsServer;
let running: Node[];
let dirs: Map<string, string>;
/** They outlast the restart of a node: another check of one that was closed takes a process. */
let stores: Map<string, Store>;
/** Names of the nodes whose leases have not run out. */
let live: Set<string>;

beforeEach(async () => {
  server = await NatsServer.start();
  running = [];
  dirs = new Map();
  stores = new Map();
  live = new Set();
});
afterEach(async () => {
  for (const node of running) await node.stop();
  for (const store of stores.values()) await store.close();
  await server.stop();
  for (const dir of dirs.values()) rmSync(dir, { recursive: true, force: true });
});

class Node {
  /** Ids that its fronts accept. */
  readonly accepted = new Set<string>();
  readonly lines: string[] = [];
  readonly registry: TokenRegistry;
  readonly calls: NodeCalls;
  readonly sync: TokenSync;
  readonly access: Pick<Controller, 'createTicket' | 'redeemTicket'>;
  readonly #security: SecurityEvents;
  readonly #others: CallsToMembers;

  private constructor(node: string, store: Store, nats: NatsConnection, keyCheck: string | null) {
    const holders = {
      addToken: async ({ id }: { id: string }) => void this.accepted.add(id),
      removeToken: async (id: string) => void this.accepted.delete(id),
    };
    const say = (_: string, line: string): void => void this.lines.push(line);
    this.#security = new SecurityEvents(
      () => {},
      () => {},
    );
    const options = { pin_idle_days: 1 };
    const tokens = new TokenStore(store);
    this.registry = new TokenRegistry(tokens, () => holders, this.#security, options);
    for (const { id } of this.registry.all()) this.accepted.add(id);
    this.calls = new NodeCalls(nats, { names, node });
    const member = (name: string): Member =>
      ({ node: name, isLive: live.has(name) }) as unknown as Member;
    const members = {
      self: node,
      all: () => [...live].map(member),
      get: member,
      onChange: () => () => {},
    };
    this.#others = new CallsToMembers(this.calls, members);
    this.sync = new TokenSync(nats, {
      bucket: names.tokens,
      replicas: 1,
      keyCheck,
      say,
      node,
      dataDir: dirs.get(node) as string,
      registry: this.registry,
      calls: this.calls,
      others: this.#others,
    });
    const tickets = new TicketBook();
    const local = {
      createTicket: ({ token }: { token: string }) => tickets.create(token),
      redeemTicket: ({ ticket }: { ticket: string }) => ({ token: tickets.redeem(ticket) }),
      revokeToken: () => {},
    };
    const parts = { members, calls: this.calls, others: this.#others, tokens: this.sync };
    this.access = sharedAccess(local, parts);
  }

  static async start(name: string, keyCheck: string | null = null): Promise<Node> {
    const dir = dirs.get(name) ?? mkdtempSync(path.join(tmpdir(), 'drover-test-'));
    dirs.set(name, dir);
    const store = stores.get(name) ?? (await Store.open(path.join(dir, 'store.mdb')));
    stores.set(name, store);
    const nats = await server.connect();
    const node = new Node(name, store, nats, keyCheck);
    running.push(node);
    live.add(name);
    await nats.flush();
    return node;
  }

  async make(): Promise<string> {
    return (await this.registry.create(BODY, 'nobody')).info.id;
  }

  async stop(): Promise<void> {
    running = running.filter((node) => node !== this);
    this.sync.close();
    this.#others.close();
    this.calls.close();
    this.#security.stop();
    await this.registry.stop();
  }
}

const inBucket = async (id: string): Promise<boolean> => {
  const kv = await new Kvm(await server.connect()).open(names.tokens);
  return (await kv.get(id))?.operation === 'PUT';
};

it('a token of one node is accepted on all, also on one that joins later, and is gone when it was revoked on any', async () => {
  const [a, b] = [await Node.start('a'), await Node.start('b')];
  const id = await a.make();
  await soon(() => expect(b.accepted).toContain(id));
  const c = await Node.start('c');
  await soon(() => expect(c.accepted).toContain(id));
  expect(b.registry.list('')).toMatchObject([{ id, name: 'x', scopes: ['read'] }]);
  await b.sync.revoke(id, 'nobody');
  for (const node of [a, b, c]) expect(node.accepted).toEqual(new Set());
  expect(await inBucket(id)).toBe(false);
  await expect(a.sync.revoke(id, 'nobody')).rejects.toMatchObject({ code: 'not_found' });
});

it('tokens that there were before the cluster are those of the cluster, and stay after a restart', async () => {
  const first = await Node.start('a');
  const id = await first.make();
  await first.stop();
  const [a, b] = [await Node.start('a'), await Node.start('b')];
  await soon(() => expect(b.accepted).toContain(id));
  expect(a.accepted).toContain(id);
  // In memory only.
  await b.stop();
  expect((await Node.start('b')).registry.own()).toEqual([]);
});

it('a node that was away does not accept what was revoked meanwhile', async () => {
  const [a, b] = [await Node.start('a'), await Node.start('b')];
  const [own, kept] = [await a.make(), await a.make()];
  await soon(() => expect(b.accepted).toEqual(new Set([own, kept])));
  await a.stop();
  live.delete('a');
  await b.sync.revoke(own, 'nobody');
  const again = await Node.start('a');
  expect(again.accepted).toContain(own);
  await soon(() => expect(again.accepted).toEqual(new Set([kept])));
  expect(again.registry.own().map(({ id }) => id)).toEqual([kept]);
});

it('a live node that does not confirm is named, and the revocation is retried until it has', async () => {
  const [a, b] = [await Node.start('a'), await Node.start('b')];
  const id = await a.make();
  await soon(() => expect(b.accepted).toContain(id));
  // It has its lease, and does not answer.
  live.add('c');
  const refused = {
    code: 'unavailable',
    message: expect.stringContaining('but the node c has not'),
  };
  await expect(a.sync.revoke(id, 'nobody')).rejects.toMatchObject(refused);
  expect(a.accepted).not.toContain(id);
  expect(b.accepted).not.toContain(id);
  await expect(a.sync.revoke(id, 'nobody')).rejects.toMatchObject(refused);
  await Node.start('c');
  await soon(() =>
    expect(a.sync.revoke(id, 'nobody')).rejects.toMatchObject({ code: 'not_found' }),
  );
});

it('what is revoked while NATS is away is revoked here, and everywhere when it is back, also after a restart', async () => {
  const [a, b] = [await Node.start('a'), await Node.start('b')];
  const [one, two] = [await a.make(), await b.make()];
  const both = new Set([one, two]);
  await soon(() => expect([a.accepted, b.accepted]).toEqual([both, both]));
  await server.kill();
  await soon(() => expect(a.sync.fault).not.toBeNull());
  await expect(a.sync.revoke(one, 'nobody')).rejects.toMatchObject({ code: 'unavailable' });
  await expect(a.sync.revoke(two, 'nobody')).rejects.toMatchObject({ code: 'unavailable' });
  expect(a.accepted).toEqual(new Set());
  const made = await b.make();
  await a.stop();
  await server.run();
  const again = await Node.start('a');
  await soon(() => {
    expect(b.accepted).toEqual(new Set([made]));
    expect(again.accepted).toEqual(new Set([made]));
  });
});

it('nothing is lost when the bucket is deleted', async () => {
  const [a, b] = [await Node.start('a'), await Node.start('b')];
  const [one, two] = [await a.make(), await b.make()];
  await soon(() => expect(a.accepted).toEqual(new Set([one, two])));
  const kvm = new Kvm(await server.connect());
  await (await kvm.open(names.tokens)).destroy();
  const c = await Node.start('c');
  await soon(() => expect(c.accepted).toEqual(new Set([one, two])));
  expect(a.accepted).toEqual(new Set([one, two]));
  expect(b.accepted).toEqual(new Set([one, two]));
});

it('a ticket of one node works on another, and once', async () => {
  const [a, b] = [await Node.start('a'), await Node.start('b')];
  const { ticket } = (await a.access.createTicket({ token: 'id' })) as { ticket: string };
  expect(await b.access.redeemTicket({ ticket })).toEqual({ token: 'id' });
  expect(await b.access.redeemTicket({ ticket })).toEqual({ token: null });
  expect(await a.access.redeemTicket({ ticket })).toEqual({ token: null });
  for (const no of ['', 'x', 'x.a.b', 'x.*']) {
    expect(await b.access.redeemTicket({ ticket: no })).toEqual({ token: null });
  }
});

it('a secret key that is not the one of the cluster is named', async () => {
  const a = await Node.start('a', 'one');
  await soon(() => expect(a.sync.fault).toBeNull());
  const b = await Node.start('b', 'two');
  const line = expect.stringContaining('the key of cluster.secret_key_file is not the one');
  await soon(() => expect([...a.lines, ...b.lines]).toContainEqual(line));
  const c = await Node.start('c', null);
  await soon(() => expect(c.sync.fault).toBeNull());
  expect(c.lines).toEqual([]);
});
