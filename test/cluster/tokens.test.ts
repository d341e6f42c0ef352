// Tokens on the nodes of a cluster, over a real NATS server: each node with a real registry and store, and fronts that are a set.

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, expect, it, onTestFinished, vi } from 'vitest';
import { CallsToMembers } from '../../src/cluster/control/node-calls.js';
import { NodeIdentity } from '../../src/cluster/control/node-identity.js';
import type { Member } from '../../src/cluster/control/parts.js';
import type { Input } from '../../src/cluster/control/served-methods.js';
import { sharedAccess } from '../../src/cluster/control/shared-access.js';
import { NOT_SHARED_YET, TokenSync } from '../../src/cluster/control/token-sync.js';
import type { SharedToken } from '../../src/cluster/control/tokens-bucket.js';
import { checkCall } from '../../src/cluster/wire/call-messages.js';
import { NodeCalls } from '../../src/cluster/wire/calls.js';
import { clusterNames } from '../../src/cluster/wire/names.js';
import { jetstreamManager, Kvm, type NatsConnection } from '../../src/cluster/wire/nats.js';
import { Signer } from '../../src/cluster/wire/signer.js';
import { SecurityEvents } from '../../src/main/access/security-events.js';
import { SignInLinks } from '../../src/main/access/sign-in-links.js';
import { TicketBook } from '../../src/main/access/tickets.js';
import { TokenRegistry } from '../../src/main/access/token-registry.js';
import { Store } from '../../src/main/store/store.js';
import { TokenStore } from '../../src/main/store/token-store.js';
import { NatsServer } from '../harness/nats.js';
import { partial } from '../harness/partial.js';

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
  readonly access: ReturnType<typeof sharedAccess>;
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
    const options = { sign_in_days: 2, sharing: NOT_SHARED_YET };
    const tokens = new TokenStore(store);
    this.registry = new TokenRegistry(tokens, holders, this.#security, options);
    for (const { id } of this.registry.all()) this.accepted.add(id);
    this.calls = new NodeCalls(nats, {
      ...{ context: 'call', subject: names.calls, node },
      ...{ signer: Signer.NONE, check: checkCall },
    });
    const member = (name: string): Member =>
      partial<Member>({ node: name, isLive: live.has(name) });
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
      signer: Signer.NONE,
      knowsKey: (check) => check === keyCheck,
      say,
      node,
      identity: new NodeIdentity(dirs.get(node) as string).id,
      dataDir: dirs.get(node) as string,
      registry: this.registry,
      calls: this.calls,
      others: this.#others,
    });
    const tickets = new TicketBook();
    const links = new SignInLinks(this.registry, this.#security);
    const local = {
      createTicket: ({ token }: { token: string }) => tickets.create(token),
      redeemTicket: ({ ticket }: { ticket: string }) => ({ token: tickets.redeem(ticket) }),
      revokeToken: () => {},
      createLink: ({ body, by }: Input<'createLink'>) => links.create(body, by),
      checkLink: ({ link }: Input<'checkLink'>) => links.check(link),
      takeLink: ({ link }: Input<'takeLink'>) => links.take(link),
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

it('every live node accepts a token when its creation is answered', async () => {
  const all = [await Node.start('a'), await Node.start('b'), await Node.start('c')];
  for (let n = 0; n < 100; n += 1) {
    const id = await all[n % 3]?.make();
    for (const { accepted } of all) expect(accepted).toContain(id);
  }
  // It has its lease, and does not answer: it learns the token from the bucket.
  live.add('gone');
  const id = await all[0]?.make();
  for (const { accepted } of all) expect(accepted).toContain(id);
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

/** As after another machine has its name, or the disk was lost. */
async function loseDisk(name: string): Promise<void> {
  const dir = dirs.get(name) as string;
  dirs.delete(name);
  await stores.get(name)?.close();
  stores.delete(name);
  rmSync(dir, { recursive: true, force: true });
}

it('a node with the name of an earlier one leaves the tokens of that one valid everywhere', async () => {
  const [a, b] = [await Node.start('a'), await Node.start('b')];
  const id = await a.make();
  await soon(() => expect(b.accepted).toContain(id));
  await a.stop();
  await loseDisk('a');
  const again = await Node.start('a');
  await soon(() => expect(again.accepted).toContain(id));
  expect(b.accepted).toContain(id);
  // It is not its own: it is in memory only.
  expect(again.registry.own()).toEqual([]);
  await again.sync.revoke(id, 'nobody');
  expect([again.accepted, b.accepted]).toEqual([new Set(), new Set()]);
  expect(await inBucket(id)).toBe(false);
});

it('a node says that the tokens on its disk are its own, and revokes those that are not there any more', async () => {
  const a = await Node.start('a');
  const [id, lost] = [await a.make(), await a.make()];
  await a.stop();
  // As an earlier release has stored it.
  const kv = await new Kvm(await server.connect()).open(names.tokens);
  const stored = (await kv.get(id))?.json<SharedToken>();
  await kv.put(id, JSON.stringify({ ...stored, node_id: undefined }));
  await new TokenStore(stores.get('a') as Store).remove(lost);
  await Node.start('a');
  expect(stored?.node_id).toBeTypeOf('string');
  const present = async () => (await kv.get(id))?.json<SharedToken>().node_id;
  await vi.waitFor(async () => expect(await present()).toBe(stored?.node_id), LONG);
  await vi.waitFor(async () => expect(await inBucket(lost)).toBe(false), LONG);
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
  await expect(b.make()).rejects.toMatchObject({ code: 'unavailable' });
  // Who signs in has to see why.
  await b.registry.createForPin({ address: '192.0.2.1', client: null });
  const made = b.registry.own().find(({ id }) => id !== two)?.id;
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

it('a revoked token whose record somebody stores again is revoked again, also by a node that starts', async () => {
  const [a, b] = [await Node.start('a'), await Node.start('b')];
  const id = await a.make();
  await soon(() => expect(b.accepted).toContain(id));
  const kv = await new Kvm(await server.connect()).open(names.tokens);
  const record = (await kv.get(id))?.value ?? '';
  await b.sync.revoke(id, 'nobody');
  for (const stored of [record, 'junk']) {
    await kv.put(id, stored);
    await vi.waitFor(async () => expect(await inBucket(id)).toBe(false), LONG);
  }
  for (const node of [a, b]) {
    expect(node.accepted).not.toContain(id);
    await node.stop();
  }
  await kv.put(id, record);
  // It has not made it.
  const again = await Node.start('b');
  await vi.waitFor(async () => expect(await inBucket(id)).toBe(false), LONG);
  expect(again.accepted).not.toContain(id);
});

it('tokens that are not in the bucket any more, and that nobody has removed, are published again', async () => {
  const [a, b] = [await Node.start('a'), await Node.start('b')];
  const [own, orphan] = [await b.make(), await a.make()];
  const both = new Set([own, orphan]);
  await soon(() => expect([a.accepted, b.accepted]).toEqual([both, both]));
  await a.stop();
  live.delete('a');
  const nats = await server.connect();
  await (await jetstreamManager(nats)).streams.purge(`KV_${names.tokens}`);
  // The watch begins again.
  await server.kill();
  await server.run();
  for (const id of both) await vi.waitFor(async () => expect(await inBucket(id)).toBe(true), LONG);
  expect(b.accepted).toEqual(both);
  const c = await Node.start('c');
  await soon(() => expect(c.accepted).toEqual(both));
  const again = await Node.start('a');
  await soon(() => expect(again.accepted).toEqual(both));
  expect(again.registry.own().map(({ id }) => id)).toEqual([orphan]);
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

it('a sign-in link of one node works on another, and once; not when the token that made it is revoked', async () => {
  const [a, b] = [await Node.start('a'), await Node.start('b')];
  const by = await a.make();
  const make = async (): Promise<string> =>
    ((await a.access.createLink({ body: BODY, by })) as { link: string }).link;
  const [link, other] = [await make(), await make()];
  const check = async (node: Node, code: string) => node.access.checkLink({ link: code });
  const take = async (node: Node, code: string) => node.access.takeLink({ link: code });
  expect(await check(b, link)).toMatchObject({ ...BODY, created_by: 'x' });
  expect(await take(b, link)).toEqual({ body: BODY, maker: { id: by, name: 'x' } });
  const refused = { code: 'invalid_link' };
  for (const node of [a, b]) await expect(take(node, link)).rejects.toMatchObject(refused);
  for (const no of ['', 'x', 'x.a', 'x.*']) {
    await expect(check(b, no)).rejects.toMatchObject(refused);
  }
  await b.sync.revoke(by, 'nobody');
  await expect(take(b, other)).rejects.toMatchObject(refused);
});

it('a use of a sign-in on any node extends it on all, also on one that was away, with few writes; what was revoked stays so', async () => {
  // Timers of NATS are real.
  vi.useFakeTimers({ toFake: ['Date', 'setInterval', 'clearInterval'] });
  onTestFinished(() => void vi.useRealTimers());
  const hour = 3_600_000;
  const begin = Date.now();
  const [a, b] = [await Node.start('a'), await Node.start('b')];
  for (const address of ['192.0.2.1', '192.0.2.2', '192.0.2.3']) {
    await a.registry.createForPin({ address, client: null });
  }
  const ids = a.registry.list('').map(({ id }) => id);
  const [used, idle, revoked] = ids as [string, string, string];
  await soon(() => expect(b.accepted).toEqual(new Set(ids)));
  const bucket = async () => (await new Kvm(await server.connect()).open(names.tokens)).get(used);
  const from = { address: '192.0.2.7', client: 'curl' };
  const use = (id: string, at_ms: number) => b.registry.used({ [id]: { at_ms, from } });
  await a.stop();
  live.delete('a');

  // Soon after it was made: not worth a write.
  use(used, begin + 11 * hour);
  vi.advanceTimersByTime(60_000);
  expect((await bucket())?.json<SharedToken>().use).toBeNull();
  use(used, begin + 47 * hour);
  use(revoked, begin + 47 * hour);
  await b.sync.revoke(revoked, 'nobody');
  vi.advanceTimersByTime(60_000);
  const expected = { use: { at_ms: begin + 47 * hour, from } };
  await vi.waitFor(async () => expect((await bucket())?.json()).toMatchObject(expected), LONG);
  expect(await inBucket(revoked)).toBe(false);

  // Its own node did not see the use, and starts when it would have expired.
  vi.setSystemTime(begin + 60 * hour);
  const again = await Node.start('a');
  again.registry.start();
  await soon(() => expect(again.accepted).toEqual(new Set([used])));
  const [info] = again.registry.list('');
  expect(info).toMatchObject({ expires_at_ms: begin + 95 * hour, last_used_from: from });
  await soon(() => expect(b.accepted).toEqual(new Set([used])));
  expect(await inBucket(idle)).toBe(false);
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
