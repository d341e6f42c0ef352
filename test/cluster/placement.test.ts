// Bots of a cluster with a real NATS server: where they are created, what becomes of them when a node is lost or gives them away, and
// that a bot never runs twice. The nodes share this process; their bots are only noted.

import { afterEach, beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import { ClusterStore } from '../../src/cluster/control/cluster-store.js';
import type { BotRecord } from '../../src/cluster/control/parts.js';
import { clusterNames } from '../../src/cluster/wire/names.js';
import { Kvm } from '../../src/cluster/wire/nats.js';
import type { BotSpec } from '../../src/shared/contract/bots.js';
import { DroverError } from '../../src/shared/errors.js';
import { Cut } from '../harness/cut.js';
import { NatsServer } from '../harness/nats.js';
import { ClusterNode, Disk, type NodeOptions, sealingOf, Witness } from './cluster-node.js';

const PATIENCE = { timeout: 40_000, interval: 20 };
let server: NatsServer;
let witness: Witness;
let nodes: ClusterNode[];

beforeEach(async () => {
  server = await NatsServer.start();
  witness = new Witness();
  nodes = [];
});
afterEach(async () => {
  for (const node of nodes) await node.close();
  await server.stop();
  expect(witness.faults).toEqual([]);
});

async function start(name: string, more: Partial<NodeOptions> = {}): Promise<ClusterNode> {
  const node = await ClusterNode.start({ node: name, url: server.url, witness, ...more });
  nodes.push(node);
  return node;
}

function spec(id: string, more: Partial<BotSpec> = {}): BotSpec {
  const restart = {} as BotSpec['restart'];
  const rest = { labels: {}, desired: 'running' as const, dedicated: false, restart };
  return { id, kind: 'k', config: {}, incarnation: `${id}-1`, ...rest, ...more };
}

const until = (check: () => void): Promise<void> => vi.waitFor(check, PATIENCE);

async function leaderOf(all: ClusterNode[]): Promise<ClusterNode> {
  let leader: ClusterNode | undefined;
  await until(() => {
    leader = all.find(({ membership }) => membership.members.isLeader);
    expect(leader).toBeDefined();
    for (const { membership } of all) {
      expect(membership.members.all().filter(({ isLive }) => isLive)).toHaveLength(all.length);
    }
  });
  return leader as ClusterNode;
}

/** As the service does: the leader names the node, which makes the bot. */
async function create(all: ClusterNode[], bot: BotSpec): Promise<string> {
  const leader = await leaderOf(all);
  const { node } = leader.duties.place(bot);
  const target = all.find(({ name }) => name === node);
  const term = target?.store.firstTerm;
  await target?.bots.create({ ...bot, ...(term !== undefined && { term }) });
  return node;
}

const where = (): Record<string, string> => Object.fromEntries([...witness.running].sort());

async function three(): Promise<[ClusterNode, ClusterNode, ClusterNode]> {
  return [await start('h1'), await start('h2'), await start('h3')];
}

describe('a new bot', () => {
  it('goes to the node with most room, the bots of a group to one node', async () => {
    const all = await three();
    for (let n = 0; n < 6; n += 1) await create(all, spec(`b${n}`));
    await until(() => expect(witness.running.size).toBe(6));
    for (const { name } of all) expect(witness.on(name)).toHaveLength(2);
    const group: string[] = [];
    for (let n = 0; n < 3; n += 1) {
      group.push(await create(all, spec(`g${n}`, { host_group: 'crew' })));
    }
    expect(new Set(group).size).toBe(1);
  });

  it('is refused with the reason when no node can have it, and when its id is taken', async () => {
    const all = [await start('h1'), await start('h2', { labels: { zone: 'eu' } })];
    await create(all, spec('a', { node_labels: { zone: 'eu' } }));
    expect(where()).toEqual({ a: 'h2' });
    await expect(create(all, spec('a'))).rejects.toThrow('bot a exists already');
    await expect(create(all, spec('b', { kind: 'other' }))).rejects.toThrow(
      'no node that it may run on has the bot kind other',
    );
    await expect(create(all, spec('b', { node: 'h9' }))).rejects.toThrow(
      'the node h9 is not in the cluster',
    );
  });
});

describe('a node that is killed', () => {
  it('loses its bots to the others, each exactly once, but those that stay', async () => {
    const all = await three();
    const [h1, h2, h3] = all;
    for (let n = 0; n < 200; n += 1) {
      const bot = spec(`b${n}`, { node_labels: {}, failover: n < 3 ? 'stay' : 'restart' });
      await h1.bots.create({ ...bot, term: 1 });
    }
    await h1.bots.create(spec('bound', { config: { secret: 1 }, term: 1 }));
    await until(() => expect(h3.records.size).toBe(201));
    await h1.kill(witness);
    const killedAt = performance.now();
    await until(() => expect(witness.running.size).toBe(197));
    const tookMs = performance.now() - killedAt;
    expect(Math.abs(witness.on('h2').length - witness.on('h3').length)).toBeLessThan(3);
    for (const id of ['b0', 'bound']) {
      expect(h2.records.get(id)).toMatchObject({ node: 'h1', term: 1, state: 'placed' });
    }
    for (const id of witness.on('h2')) {
      expect(h2.records.get(id)).toMatchObject({ node: 'h2', term: 2 });
      expect(h2.bots.specOf(id)).toMatchObject({ term: 2 });
    }
    expect([...h2.fenced, ...h3.fenced]).toEqual(['h1']);
    process.stdout.write(
      `197 bots of a killed node run elsewhere after ${Math.round(tookMs)} ms\n`,
    );
  });

  it('and comes back has those that stayed, and lets the others go', async () => {
    const [h1, h2] = [await start('h1'), await start('h2')];
    await leaderOf([h1, h2]);
    await h1.bots.create(spec('goes', { term: 1 }));
    await h1.bots.create(spec('stays', { failover: 'stay', term: 1 }));
    await until(() => expect(h2.records.size).toBe(2));
    await h1.kill(witness);
    await until(() => expect(where()).toEqual({ goes: 'h2' }));
    const again = await start('h1', { disk: h1.disk });
    await until(() => expect(where()).toEqual({ goes: 'h2', stays: 'h1' }));
    await until(() => expect(again.bots.specs().map(({ id }) => id)).toEqual(['stays']));
    expect([...again.disk.specs.keys()]).toEqual(['stays']);
  });

  it('and led is followed by another leader, which continues', async () => {
    const all = await three();
    const leader = await leaderOf(all);
    await leader.bots.create(spec('a', { term: 1 }));
    const others = all.filter((node) => node !== leader);
    await until(() => expect(others[0]?.records.get('a')).toBeDefined());
    await leader.kill(witness);
    await until(() => expect(witness.running.get('a')).toBeOneOf(others.map(({ name }) => name)));
  });

  it('has bots for which there is no place: they wait, and say why, until there is', async () => {
    const [h1, h2] = [await start('h1', { kinds: ['k', 'rare'] }), await start('h2')];
    await leaderOf([h1, h2]);
    await h1.bots.create(spec('a', { kind: 'rare', term: 1 }));
    await until(() => expect(h2.records.get('a')).toBeDefined());
    await h1.kill(witness);
    const reason = 'no node that it may run on has the bot kind rare';
    await until(() => expect(h2.records.get('a')?.reason).toBe(reason));
    await until(() => expect(h2.lines).toContain(`no place for a: ${reason}`));
    await start('h3', { kinds: ['rare'] });
    await until(() => expect(where()).toEqual({ a: 'h3' }));
    await until(() => expect(h2.records.get('a')?.reason).toBeNull());
  });
});

it('a bot whose secrets its new node cannot read is given to one that can, and waits for it', async () => {
  let saysKey = true;
  const h1 = await start('h1');
  const h2 = await start('h2', { hasKey: false, saysKey: () => saysKey });
  await leaderOf([h1, h2]);
  await h1.bots.create(spec('a', { config: { password: 'p' }, term: 1 }));
  await until(() => expect(h2.records.get('a')).toBeDefined());
  await h1.kill(witness);
  // As an older node, which does not say that it has no key.
  await until(() => expect(h2.lines).toContain('bot a: there is no key; tried again'));
  expect(h2.records.get('a')).toMatchObject({ node: 'h2', state: 'placing' });
  saysKey = false;
  const reason = 'no node that it may run on has the key of its secrets (cluster.secret_key_file)';
  await until(() => expect(h2.records.get('a')?.reason).toBe(reason));
  await start('h3');
  await until(() => expect(where()).toEqual({ a: 'h3' }));
});

describe('a node that is cut off', () => {
  it.each(['silent', 'refused'] as const)(
    '(%s) stops its bots before others start them, and does not have them when it is back',
    async (state) => {
      const cut = await Cut.before(server.port);
      onTestFinished(() => cut.close());
      const h1 = await start('h1', { url: `nats://127.0.0.1:${cut.port}` });
      const h2 = await start('h2');
      await leaderOf([h1, h2]);
      for (let n = 0; n < 20; n += 1) await h1.bots.create(spec(`b${n}`, { term: 1 }));
      await h1.bots.create(spec('stays', { failover: 'stay', term: 1 }));
      await until(() => expect(h2.records.size).toBe(21));
      await cut.set(state);
      await until(() => expect(witness.on('h2')).toHaveLength(20));
      expect(witness.on('h1')).toEqual(['stays']);
      expect(h1.bots.keptBecause('b0')).toContain('its node has lost the cluster');
      await cut.set('open');
      await until(() => expect(h1.bots.specs().map(({ id }) => id)).toEqual(['stays']));
      await until(() => expect(h2.membership.members.get('h1')?.isLive).toBe(true));
      expect(witness.on('h2')).toHaveLength(20);
      expect(witness.on('h1')).toEqual(['stays']);
    },
  );
});

describe('NATS is away', () => {
  it('nodes stop what needs the lease, change what they have, and write it when NATS is back', async () => {
    const [h1, h2] = [await start('h1'), await start('h2')];
    await leaderOf([h1, h2]);
    await h1.bots.create(spec('a', { term: 1 }));
    await h1.bots.create(spec('b', { failover: 'stay', term: 1 }));
    await server.kill();
    await until(() => expect(where()).toEqual({ b: 'h1' }));
    expect(h1.bots.keptBecause('a')).toContain('its node has lost the cluster');
    const refused = { code: 'unavailable' };
    await expect(h1.bots.create(spec('c', { term: 1 }))).rejects.toMatchObject(refused);
    await expect(h1.bots.delete('b')).rejects.toMatchObject(refused);
    // Others think that it can be started elsewhere: it must not become one that runs on here.
    const stays = spec('a', { failover: 'stay', term: 1 });
    await expect(h1.bots.change(stays)).rejects.toMatchObject(refused);
    // Others may start it with what its record has.
    const labelled = spec('a', { term: 1, labels: { x: '1' } });
    await expect(h1.bots.change(labelled)).rejects.toMatchObject(refused);
    await expect(h1.bots.create(spec('d'))).rejects.toMatchObject(refused);
    expect([...h1.disk.specs.keys()].sort()).toEqual(['a', 'b']);
    expect(h1.disk.specs.get('a')?.labels).toEqual({});
    await h1.bots.change(spec('b', { failover: 'stay', term: 1, labels: { x: '1' } }));
    await server.run();
    await until(() => expect(where()).toEqual({ a: 'h1', b: 'h1' }));
    await until(() => expect(h2.records.get('b')?.spec.labels).toEqual({ x: '1' }));
  });

  it('a service that was single, and one with the same id, join', async () => {
    const [d1, d2] = [new Disk(), new Disk()];
    for (const id of ['a', 'both']) d1.specs.set(id, spec(id));
    for (const id of ['b', 'both']) d2.specs.set(id, spec(id, { incarnation: `${id}-of-h2` }));
    const h1 = await start('h1', { disk: d1 });
    await until(() => expect(where()).toEqual({ a: 'h1', both: 'h1' }));
    const h2 = await start('h2', { disk: d2 });
    await until(() => expect(where()).toEqual({ a: 'h1', b: 'h2', both: 'h1' }));
    await until(() =>
      expect(h2.lines).toContainEqual(
        'bot both is kept stopped: the cluster has another bot with its id, on the node h1',
      ),
    );
    expect(d2.specs.get('both')).toMatchObject({ incarnation: 'both-of-h2' });
    const reason = 'not started: the cluster has another bot with its id, on the node h1';
    expect([...h2.store.leftovers]).toEqual([['both', reason]]);
    expect(h2.store.refusal(h2.bots.specOf('both') as BotSpec)).toBe(reason);
    expect(h1.bots.specOf('a')?.term).toBe(h2.records.get('a')?.term);
    // The id is free again.
    await h1.bots.delete('both');
    await until(() => expect(where()).toEqual({ a: 'h1', b: 'h2', both: 'h2' }));
    expect(h2.store.leftovers.size).toBe(0);
  });

  it('a leftover is removed without the bot that the cluster has with its id', async () => {
    const [d1, d2] = [new Disk(), new Disk()];
    d1.specs.set('both', spec('both'));
    d2.specs.set('both', spec('both', { incarnation: 'both-of-h2' }));
    const h1 = await start('h1', { disk: d1 });
    await until(() => expect(where()).toEqual({ both: 'h1' }));
    const h2 = await start('h2', { disk: d2 });
    await until(() => expect(h2.store.leftovers.size).toBe(1));
    await leaderOf([h1, h2]);
    // It is given to the node that has the leftover, and cannot run there.
    await h1.kill(witness);
    await until(() => expect(h2.records.get('both')).toMatchObject({ node: 'h2' }));
    expect(where()).toEqual({});
    await h2.bots.delete('both');
    await until(() => expect(where()).toEqual({ both: 'h2' }));
    expect(d2.specs.get('both')).toMatchObject({ incarnation: 'both-1' });
    expect(h2.store.leftovers.size).toBe(0);
  });

  it('a bot that was elsewhere meanwhile, and is given back, runs there again', async () => {
    const [h1, h2] = [await start('h1'), await start('h2')];
    await leaderOf([h1, h2]);
    await h1.bots.create(spec('a', { node: 'h1', term: 1 }));
    await until(() => expect(where()).toEqual({ a: 'h1' }));
    await h1.kill(witness);
    // What it has of the bot is of an older term.
    await until(() => expect(h2.records.get('a')?.node).toBe('h1'));
    await h2.records.change('a', (record) => ({ ...record, term: 3 }));
    const again = await start('h1', { disk: h1.disk });
    await until(() => expect(where()).toEqual({ a: 'h1' }));
    expect(again.bots.specOf('a')?.term).toBe(3);
  });

  it('a bot that was deleted meanwhile does not come back', async () => {
    const [h1, h2] = [await start('h1'), await start('h2')];
    await leaderOf([h1, h2]);
    await h1.bots.create(spec('a', { failover: 'stay', term: 1 }));
    await until(() => expect(h2.records.get('a')).toBeDefined());
    await h1.kill(witness);
    await h2.records.remove('a', () => true);
    const again = await start('h1', { disk: h1.disk });
    await until(() => expect(again.bots.specs()).toEqual([]));
    expect(again.disk.specs.size).toBe(0);
  });
});

describe('moves', () => {
  it('a node that drains gives its bots away, a group at a time, but those that cannot leave', async () => {
    const all = await three();
    const [h1, h2] = all;
    const leader = await leaderOf(all);
    for (const id of ['g1', 'g2', 'g3']) {
      await h1.bots.create(spec(id, { host_group: 'crew', term: 1 }));
    }
    for (let n = 0; n < 12; n += 1) await h1.bots.create(spec(`b${n}`, { term: 1 }));
    await h1.bots.create(spec('bound', { config: { secret: 1 }, term: 1 }));
    await until(() => expect(leader.records.size).toBe(16));
    /** The most bots, and groups, that were on their way at once. */
    const most = { bots: 0, units: 0 };
    leader.records.onChange(() => {
      const moving = [...leader.records.ids()]
        .flatMap((id) => leader.records.get(id) ?? [])
        .filter(({ state }) => state !== 'placed');
      most.bots = Math.max(most.bots, moving.length);
      const units = new Set(moving.map(({ spec: { host_group } }) => host_group ?? 'single'));
      most.units = Math.max(most.units, units.size);
    });
    await h1.membership.want('draining');
    await until(() => expect(witness.on('h1')).toEqual(['bound']));
    await until(() => expect(witness.running.size).toBe(16));
    expect(most).toEqual({ bots: 10, units: 1 });
    expect(new Set(['g1', 'g2', 'g3'].map((id) => witness.running.get(id))).size).toBe(1);
    await until(() =>
      expect(leader.lines.join('\n')).toContain(
        'cannot give its bots away (1 left), bound: the secrets of bound are on h1 only',
      ),
    );
    expect(h2.records.get('bound')?.state).toBe('placed');
    // Every node says what it waits for.
    const reason = 'the secrets of bound are on h1 only';
    for (const { duties } of all) {
      expect(duties.stuckOn('h1')).toEqual([{ bot: 'bound', reason }]);
    }
    await h1.membership.want('live');
    const [first] = witness.on('h2');
    const before = leader.records.get(first ?? '')?.term;
    expect(before).toBe(2);
  });

  it('a bot whose node is changed moves there; a rebalance fills a new node', async () => {
    const [h1, h2] = [await start('h1'), await start('h2')];
    const leader = await leaderOf([h1, h2]);
    for (let n = 0; n < 6; n += 1) await h1.bots.create(spec(`b${n}`, { term: 1 }));
    await h1.bots.change(spec('b0', { node: 'h2', term: 1 }));
    await until(() => expect(witness.on('h2')).toEqual(['b0']));
    await until(() => expect(leader.records.get('b0')?.state).toBe('placed'));
    expect(leader.duties.rebalance().moves).toBe(2);
    await until(() => expect(witness.on('h2')).toHaveLength(3));
    await until(() => expect(witness.on('h1')).toHaveLength(3));
    expect(() => (leader === h1 ? h2 : h1).duties.rebalance()).toThrow('does not lead');
  });

  it('one bot moves to the node that is named, with its group, and is not pinned to it', async () => {
    const all = await three();
    const [h1] = all;
    const { duties, records } = await leaderOf(all);
    for (const id of ['a', 'b']) await h1.bots.create(spec(id, { term: 1 }));
    for (const id of ['g1', 'g2']) {
      await h1.bots.create(spec(id, { host_group: 'crew', term: 1 }));
    }
    await until(() => expect(records.size).toBe(4));
    expect(await duties.move({ id: 'a', node: 'h3' })).toEqual({ moving: 1 });
    expect(await duties.move({ id: 'g1', node: 'h2' })).toEqual({ moving: 2 });
    await until(() => expect(where()).toEqual({ a: 'h3', b: 'h1', g1: 'h2', g2: 'h2' }));
    await until(() => expect(records.get('a')?.state).toBe('placed'));
    expect(records.get('a')?.spec.node).toBeUndefined();
    expect(await duties.move({ id: 'a', node: 'h3' })).toEqual({ moving: 0 });
  });

  it('one bot does not move where it cannot run, and the reason is said', async () => {
    const h1 = await start('h1');
    const h2 = await start('h2', { labels: { zone: 'b' } });
    const leader = await leaderOf([h1, h2]);
    const { duties } = leader;
    await h1.bots.create(spec('pinned', { node: 'h1', term: 1 }));
    await h1.bots.create(spec('labelled', { node_labels: {}, term: 1 }));
    await h1.bots.create(spec('bound', { config: { secret: 1 }, term: 1 }));
    await h1.bots.create(spec('other', { kind: 'x', term: 1 }));
    await until(() => expect(leader.records.size).toBe(4));
    const refused = (id: string, node = 'h2') =>
      expect(duties.move({ id, node })).rejects.toMatchObject;
    await refused('none')({ code: 'not_found', message: 'no bot "none"' });
    await refused('pinned', 'h9')({ code: 'not_found', message: 'no node "h9"' });
    const to = (id: string, why: string) => `bot ${id} cannot move to h2: ${why}`;
    await refused('pinned')({ code: 'conflict', message: to('pinned', 'it names the node h1') });
    const secrets = 'the secrets of bound are on h1 only';
    await refused('bound')({ code: 'conflict', message: to('bound', secrets) });
    const kind = 'the node h2 has not the bot kind x';
    await refused('other')({ code: 'conflict', message: to('other', kind) });
    await h2.membership.want('cordoned');
    await until(() => expect(leader.membership.members.get('h2')?.wanted).toBe('cordoned'));
    await refused('labelled')({
      code: 'conflict',
      message: to('labelled', 'no node takes bots: all are lost, cordoned or draining'),
    });
  });
});

describe('a node that is removed', () => {
  const remove = (leader: ClusterNode, node: string, bots: 'move' | 'delete' | null = null) =>
    leader.duties.removeNode({ node, bots });

  it('must not run, and its bots are named until something is said of them', async () => {
    const all = await three();
    const [h1, h2, h3] = all;
    const leader = await leaderOf(all);
    const gone = leader === h3 ? h2 : h3;
    const { name } = gone;
    await gone.bots.create(spec('a', { term: 1 }));
    await gone.bots.create(spec('s', { failover: 'stay', node: name, term: 1 }));
    await gone.bots.create(spec('bound', { config: { secret: 1 }, term: 1 }));
    await expect(remove(leader, 'h9')).rejects.toMatchObject({ code: 'not_found' });
    await expect(remove(leader, name)).rejects.toMatchObject({
      code: 'conflict',
      message: `node ${name} runs: drain it and stop it first`,
    });
    await gone.kill(witness);
    await until(() => expect(witness.running.has('a')).toBe(true));
    await expect(remove(leader, name)).rejects.toMatchObject({
      code: 'conflict',
      message: expect.stringMatching(new RegExp(`^node ${name} has 2 bots: (s, bound|bound, s);`)),
    });
    await expect(remove(leader, name, 'move')).rejects.toMatchObject({
      code: 'conflict',
      message: `node ${name} has bots that cannot move: bound: its secrets were on ${name} only`,
    });
    await leader.records.remove('bound', () => true);
    await remove(leader, name, 'move');
    await until(() => expect([...witness.running.keys()].sort()).toEqual(['a', 's']));
    expect(leader.records.get('s')?.spec.node).toBeUndefined();
    for (const node of [h1, h2, h3].filter((one) => one !== gone))
      await until(() => expect(node.membership.members.get(name)).toBeUndefined());

    // With its data, it is told so; with others it is a new node.
    // The model starts bots before it joins, the service afterwards.
    gone.disk.specs.clear();
    await expect(start(name, { disk: gone.disk })).rejects.toThrow(
      `the node ${name} was removed from the cluster test; to join again`,
    );
    const again = await start(name);
    await leaderOf([again, ...all.filter((one) => one !== gone)]);
    await until(() => expect(leader.removed.has(name)).toBe(false));
  });

  it('takes its bots with it, if that is asked for', async () => {
    const [h1, h2] = [await start('h1'), await start('h2')];
    const leader = await leaderOf([h1, h2]);
    const gone = leader === h1 ? h2 : h1;
    await gone.bots.create(spec('s', { failover: 'stay', term: 1 }));
    await gone.kill(witness);
    await until(() => expect(leader.membership.members.get(gone.name)?.isLive).toBe(false));
    await until(() => expect(leader.fenced).toContain(gone.name));
    await remove(leader, gone.name, 'delete');
    expect(leader.records.size).toBe(0);
  });

  it('while it was cut off ends when it is back', async () => {
    const cut = await Cut.before(server.port);
    onTestFinished(() => cut.close());
    const h1 = await start('h1');
    const h2 = await start('h2', { url: `nats://127.0.0.1:${cut.port}` });
    await leaderOf([h1, h2]);
    await h2.bots.create(spec('s', { failover: 'stay', term: 1 }));
    await until(() => expect(h1.records.get('s')).toBeDefined());
    await cut.set('silent');
    await until(() => expect(h1.fenced).toContain('h2'));
    await remove(h1, 'h2', 'delete');
    await cut.set('open');
    await until(() =>
      expect(h2.lines.join('\n')).toContain('the node h2 was removed from the cluster test'),
    );
    expect(h2.membership.isHeld).toBe(false);
  });
});

it('a bot that stays and was given away does not start on the node that it left, while that does not know its record', async () => {
  const h1 = await start('h1');
  await leaderOf([h1]);
  await h1.bots.create(spec('a', { failover: 'stay', term: 1 }));
  h1.duties.deposed();
  const { records } = h1;
  await records.change('a', (record) => ({ ...record, state: 'leaving' }));
  await until(() => expect(records.get('a')?.state).toBe('free'));
  await until(() => expect(h1.bots.specs()).toEqual([]));
  await h1.kill(witness);
  expect(h1.disk.specs.has('a')).toBe(true);
  const store = new ClusterStore(
    h1.disk.store,
    'h1',
    sealingOf(true),
    () => new DroverError('unavailable'),
  );
  for (const bot of store.all())
    expect(store.refusal(bot)).toBe('not started: it was given to another node');

  // No other node has taken it: it is given back to this one.
  const again = await start('h1', { disk: h1.disk });
  await until(() => expect(where()).toEqual({ a: 'h1' }));
  expect(again.store.refusal(again.bots.specOf('a') as BotSpec)).toBeNull();
  expect(h1.disk.given.size).toBe(0);
});

describe('NATS has lost the records', () => {
  async function loseRecords(): Promise<void> {
    const kvm = new Kvm(await server.connect());
    await (await kvm.open(clusterNames('test').bots)).destroy();
  }

  it('a bot that was on its way to another node comes back', async () => {
    const h1 = await start('h1');
    const { records } = await leaderOf([h1]);
    await h1.bots.create(spec('a', { term: 1 }));
    h1.duties.deposed();
    await records.change('a', (record) => ({ ...record, state: 'leaving' }));
    await until(() => expect(records.get('a')?.state).toBe('free'));
    await until(() => expect(h1.bots.specs()).toEqual([]));
    await loseRecords();
    await until(() => expect(where()).toEqual({ a: 'h1' }));
    await until(() => expect(records.get('a')).toMatchObject({ node: 'h1', state: 'placed' }));
  });

  it('a node that is back first waits for the node that has a bot since', async () => {
    const [h1, h2] = [await start('h1'), await start('h2')];
    await leaderOf([h1, h2]);
    await h1.bots.create(spec('a', { term: 1 }));
    await until(() => expect(h2.records.get('a')).toBeDefined());
    await h1.kill(witness);
    await until(() => expect(where()).toEqual({ a: 'h2' }));
    await until(() => expect(h2.store.isClaimed('a')).toBe(true));
    await loseRecords();
    // Its watch has not noticed it: that takes some seconds.
    const again = await start('h1', { disk: h1.disk });
    await until(() => expect(again.records.get('a')).toMatchObject({ node: 'h2', term: 2 }));
    await until(() => expect(again.bots.specs()).toEqual([]));
    expect(where()).toEqual({ a: 'h2' });
  });

  it('a bot whose record another node has made is stopped, also while it cannot be asked back', async () => {
    const [h1, h2] = [await start('h1'), await start('h2')];
    await leaderOf([h1, h2]);
    await h2.bots.create(spec('a', { term: 2 }));
    await until(() => expect(h1.records.get('a')).toBeDefined());
    for (const { duties } of [h1, h2]) duties.deposed();
    const before = h1.records.get('a') as BotRecord;
    const refused = vi.spyOn(h2.records, 'change').mockRejectedValue(new Error('no answer'));
    await h1.records.change('a', () => ({ ...before, node: 'h9', term: 1 }));
    await until(() => expect(refused).toHaveBeenCalled());
    await until(() => expect(witness.on('h2')).toEqual([]));
    refused.mockRestore();
    await until(() => expect(h1.records.get('a')).toMatchObject({ state: 'leaving', to: 'h2' }));
  });

  it('the newest of two copies counts, whichever node is back first', async () => {
    const [h1, h2] = [await start('h1'), await start('h2')];
    await leaderOf([h1, h2]);
    await h1.bots.create(spec('a', { term: 1 }));
    await until(() => expect(h2.records.get('a')).toBeDefined());
    await h1.kill(witness);
    await until(() => expect(where()).toEqual({ a: 'h2' }));
    await h2.bots.change({ ...(h2.bots.specOf('a') as BotSpec), labels: { x: '1' } });
    await h2.kill(witness);
    await loseRecords();
    await start('h1', { disk: h1.disk });
    await until(() => expect(where()).toEqual({ a: 'h1' }));
    const again = await start('h2', { disk: h2.disk });
    await until(() => {
      expect(again.records.get('a')).toMatchObject({
        state: 'placed',
        spec: { labels: { x: '1' } },
      });
      expect(witness.running.size).toBe(1);
    });
    expect(again.records.get('a')?.term).toBe(3);
  });
});
