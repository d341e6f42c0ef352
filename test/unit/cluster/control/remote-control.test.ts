import { expect, test } from 'vitest';
import type { Controller } from '../../../../src/cluster/cluster.js';
import { CallsToMembers } from '../../../../src/cluster/control/node-calls.js';
import type { Member, PlacementInput } from '../../../../src/cluster/control/parts.js';
import {
  clusterController,
  type RemoteParts,
} from '../../../../src/cluster/control/remote-control.js';
import type { CallMethods } from '../../../../src/cluster/wire/call-server.js';
import type { Calls } from '../../../../src/cluster/wire/calls.js';
import { NodeUnreachable } from '../../../../src/cluster/wire/calls.js';
import type { Rights } from '../../../../src/shared/contract/tokens.js';
import { DroverError } from '../../../../src/shared/errors.js';
import { noBot } from '../../../../src/shared/no-bot.js';
import { partial } from '../../../harness/partial.js';

const ADMIN: Rights = { scopes: ['admin'], reach: null };
type Placed = Record<string, { node: string; kind?: string; labels?: Record<string, string> }>;

/** Nodes in one process: what each was asked to do itself is in `asked`. */
class World {
  readonly asked: { node: string; method: string; input: unknown }[] = [];
  readonly sent: { node: string; method: string; input: string }[] = [];
  readonly lost = new Set<string>();
  readonly incarnations = new Map<string, string>();
  readonly withoutKey = new Set<string>();
  readonly #served = new Map<string, CallMethods>();
  readonly #placed: Placed;
  readonly #listeners = new Set<() => void>();

  constructor(placed: Placed = {}) {
    this.#placed = placed;
  }

  lose(node: string): void {
    this.lost.add(node);
    this.#changed();
  }

  restart(node: string): void {
    this.incarnations.set(node, 'another');
    this.#changed();
  }

  #changed(): void {
    for (const listener of this.#listeners) listener();
  }

  node(self: string, methods: Record<string, (input: never) => unknown> = {}): Controller {
    const local = new Proxy({} as Record<string, (input: never) => unknown>, {
      ownKeys: () => Object.keys(methods),
      get: (_, method: string) => (input: never) => {
        this.asked.push({ node: self, method, input });
        return methods[method]?.(input) ?? null;
      },
    });
    return clusterController(partial<Controller>(local), this.#parts(self));
  }

  serve(node: string, methods: CallMethods): void {
    this.#served.set(node, { ...this.#served.get(node), ...methods });
  }

  #parts(self: string): RemoteParts {
    const calls: Calls = {
      call: async (node, method, input) => {
        this.sent.push({ node, method, input: JSON.stringify(input) });
        const serves = this.#served.get(node)?.[method];
        if (!serves) throw new NodeUnreachable(node, 'nothing answers to its name');
        return serves(structuredClone(input) as never, new AbortController().signal);
      },
      serve: (methods) => this.serve(self, methods),
    };
    const member = (node: string): Member =>
      partial<Member>({
        node,
        isLive: !this.lost.has(node),
        incarnation: this.incarnations.get(node) ?? 'first',
      });
    const members = {
      self,
      leader: 'a',
      all: () => ['a', 'b', 'c'].map(member),
      get: member,
      onChange: (listener: () => void) => {
        this.#listeners.add(listener);
        return () => this.#listeners.delete(listener);
      },
    };
    return {
      members,
      others: new CallsToMembers(calls, members),
      tokens: { revoke: async () => {} },
      incidents: { fault: null, besides: () => [] },
      records: {
        fault: null,
        ids: () => Object.keys(this.#placed),
        get: (id) => {
          const found = this.#placed[id];
          return (
            found &&
            ({ node: found.node, spec: { kind: found.kind, labels: found.labels ?? {} } } as never)
          );
        },
      },
      calls,
      secrets: {
        hasSecrets: (_, config) => 'password' in config,
        encrypt: (binding, text) => Buffer.from(binding + text).toString('hex'),
        decrypt: (binding, sealed, what) => {
          if (this.withoutKey.has(self))
            throw new DroverError('unavailable', `${what} are encrypted`);
          return Buffer.from(sealed, 'hex').toString().slice(binding.length);
        },
      },
      snapshotOf: async (id) => ({ id, from: self }) as never,
      invokeMs: 1000,
    };
  }
}

test('what is about one bot is done by its node, and answered with its snapshot there', async () => {
  const world = new World({ x: { node: 'b' }, y: { node: 'a' } });
  const [a] = [world.node('a'), world.node('b')];
  const input = { id: 'x', action: 'restart' as const, rights: ADMIN };
  expect(await a.actOnBot(input)).toEqual({ id: 'x', from: 'b' });
  expect(await a.actOnBot({ ...input, id: 'y' })).toBeNull();
  expect(await a.actOnBot({ ...input, id: 'unknown' })).toBeNull();
  expect(world.asked.map(({ node, input }) => [node, (input as { id: string }).id])).toEqual([
    ['b', 'x'],
    ['a', 'y'],
    ['a', 'unknown'],
  ]);
});

test('an error of another node is as one of this node', async () => {
  const world = new World({ x: { node: 'b' } });
  const refuse = (): never => {
    throw new DroverError('conflict', 'another operation is under way');
  };
  const [a] = [world.node('a'), world.node('b', { endBot: refuse })];
  await expect(a.endBot({ id: 'x', action: 'stop', rights: ADMIN })).rejects.toMatchObject({
    code: 'conflict',
    message: 'another operation is under way',
  });
});

test.each([
  ['is lost', 'its lease has run out', (world: World) => world.lose('b'), true],
  ['has started again', 'it has started again', (world: World) => world.restart('b'), false],
  ['cannot be asked', 'this node is cut off from NATS', (world: World) => world.lose('a'), true],
])(
  'a node that %s is an error at once, also for a call that waits for it',
  async (_, why, happens, isLasting) => {
    const world = new World({ x: { node: 'b' } });
    const a = world.node('a');
    world.serve('b', { botConfig: () => new Promise(() => {}) });
    const waits = Promise.resolve(a.botConfig({ id: 'x', rights: ADMIN }));
    waits.catch(() => {});
    await Promise.resolve();
    happens(world);
    const message = `node b cannot be reached: ${why}`;
    const refused = { code: 'unavailable', message, retryAfterS: 1 };
    await expect(waits).rejects.toMatchObject(refused);
    if (isLasting) {
      await expect(a.botConfig({ id: 'x', rights: ADMIN })).rejects.toMatchObject(refused);
    }
  },
);

test('a bot whose node does not have it yet is on its way, not unknown', async () => {
  const placed: Placed = { x: { node: 'b' } };
  const world = new World(placed);
  const missing = ({ id }: { id: string }): never => {
    throw new DroverError('not_found', `no bot "${id}"`);
  };
  const a = world.node('a', { botConfig: missing });
  world.node('b', { botConfig: missing });
  const ask = async (id: string) => await a.botConfig({ id, rights: ADMIN });
  const onItsWay = { code: 'unavailable', retryAfterS: 1 };
  await expect(ask('x')).rejects.toMatchObject(onItsWay);
  world.serve('b', {
    botConfig: (input: { id: string }) => {
      placed['x'] = { node: 'c' };
      return missing(input);
    },
  });
  world.node('c', { botConfig: missing });
  await expect(ask('x')).rejects.toMatchObject(onItsWay);
  await expect(ask('unknown')).rejects.toMatchObject({ code: 'not_found' });
  // What else is not found is the answer of the bot.
  const noCommand = new DroverError('not_found', 'no command "x"');
  world.serve('c', { botConfig: () => Promise.reject(noCommand) });
  await expect(ask('x')).rejects.toMatchObject({ code: 'not_found' });
});

test('a bot that the caller does not reach is not looked for elsewhere', async () => {
  const world = new World({ x: { node: 'b', labels: { team: 'one' } } });
  const a = world.node('a');
  const rights: Rights = { scopes: ['control'], reach: { labels: { team: 'two' } } };
  await a.botConfig({ id: 'x', rights });
  expect(world.asked).toMatchObject([{ node: 'a', method: 'botConfig' }]);
  expect(world.sent).toEqual([]);
});

const viewer = { name: 'Ada', token: 't', reach: null };
const notHere = ({ id }: { id: string }): never => {
  throw new DroverError('not_found', `no operation "${id}"`);
};

test('an operation is asked of this node, and then of the one that works on it', async () => {
  const world = new World({});
  const a = world.node('a', {
    operation: ({ id }: { id: string }) => (id === 'here' ? { id, node: 'a' } : notHere({ id })),
    changeOperation: notHere,
  });
  world.node('b', {
    operation: ({ id }: { id: string }) => (id === 'there' ? { id, node: 'b' } : notHere({ id })),
    changeOperation: () => {
      throw new DroverError('conflict', 'it has ended');
    },
  });
  world.node('c', { operation: notHere, changeOperation: notHere });
  const get = async (id: string) => await a.operation({ id, wait_ms: 0, viewer });
  expect(await get('here')).toMatchObject({ node: 'a' });
  expect(world.sent).toEqual([]);
  expect(await get('there')).toMatchObject({ node: 'b' });
  await expect(get('nowhere')).rejects.toMatchObject({ code: 'not_found' });
  const cancel = { id: 'there', change: 'cancel' as const, viewer };
  await expect(a.changeOperation(cancel)).rejects.toMatchObject({ message: 'it has ended' });
  // It may have been the one that does not answer.
  world.serve('c', { operation: () => Promise.reject(new DroverError('unavailable')) });
  await expect(get('nowhere')).rejects.toMatchObject({
    code: 'unavailable',
    message: 'no operation "nowhere" on the nodes that answer; node c does not answer',
  });
});

test('the operations of all nodes are one list, newest first, and a node that does not answer is named', async () => {
  const world = new World({});
  const list = (...times: number[]) => ({
    operations: times.map((began_ms) => ({ id: `o${began_ms}`, began_ms })),
  });
  const a = world.node('a', { operations: () => list(3, 1) });
  world.node('b', { operations: () => list(4, 2) });
  world.node('c', {
    operations: () => {
      throw new DroverError('unavailable');
    },
  });
  const merged = await a.operations({ limit: 3, viewer });
  expect(merged).toMatchObject({ ...list(4, 3, 2), missing: ['c'] });
});

test('a command for many bots is one call a node, and its results are in order', async () => {
  const world = new World({ x: { node: 'b' }, y: { node: 'a' }, z: { node: 'c' } });
  const invoke = ({ call }: { call: { session_id: string[] } }) => ({
    results: Object.fromEntries(call.session_id.map((id) => [id, { result: id }])),
  });
  const [a] = [world.node('a', { invoke }), world.node('b', { invoke })];
  const call = { session_id: ['z', 'x', 'y', 'none'], command: 'say', args: {} };
  expect(await a.invoke({ call, rights: ADMIN })).toEqual({
    results: {
      z: { error: 'node c cannot be reached: nothing answers to its name' },
      x: { result: 'x' },
      y: { result: 'y' },
      none: { result: 'none' },
    },
  });
});

test('where commands go: the own bots as main says, others to their nodes, and one on its way has to be waited for', async () => {
  const world = new World({ x: { node: 'b' }, y: { node: 'a' }, z: { node: 'a' } });
  const commandTargets = ({ bots }: { bots: string[] }) =>
    bots.map((id) => (id === 'y' ? { host: 1, permit: 2 } : { error: noBot(id).toPlain() }));
  const [a] = [world.node('a', { commandTargets })];
  const input = { bots: ['x', 'y', 'z', 'none'], command: 'say', rights: ADMIN };
  expect(await a.commandTargets(input)).toMatchObject([
    { isElsewhere: true },
    { host: 1, permit: 2 },
    { error: { code: 'unavailable', message: 'bot z is on its way to node a, or from it' } },
    { error: { code: 'not_found', message: 'no bot "none"' } },
  ]);
});

const BOT = { id: 'new', kind: 'irc', config: { password: 'hunter2' }, labels: {} };
const create = (more: object = {}) =>
  ({ bot: { ...BOT, dedicated: false, desired: 'running', ...more }, rights: ADMIN }) as never;

test('a new bot is created where the leader says, and its configuration is encrypted on its way', async () => {
  const world = new World();
  const [a] = [world.node('a'), world.node('b')];
  const wishes: unknown[] = [];
  world.serve('a', {
    place: (wish) => {
      wishes.push(wish);
      return { node: 'b' };
    },
  });
  expect(await a.createBot(create({ node_labels: { zone: 'eu' } }))).toMatchObject({ from: 'b' });
  expect(wishes).toEqual([
    { id: 'new', kind: 'irc', node_labels: { zone: 'eu' }, needs_key: true },
  ]);
  expect(world.asked).toMatchObject([
    { node: 'b', method: 'createBot', input: { bot: { config: { password: 'hunter2' } } } },
  ]);
  expect(JSON.stringify(world.sent)).not.toContain('hunter2');
});

test('a bot without secrets is created and changed also where there is no key', async () => {
  const world = new World({ x: { node: 'b', kind: 'irc' } });
  const [a] = [world.node('a'), world.node('b')];
  world.withoutKey.add('b');
  world.serve('a', { place: () => ({ node: 'b' }) });
  await a.createBot(create({ config: { nick: 'n' } }));
  await a.updateBot({ id: 'x', change: { config: { nick: 'm' } }, rights: ADMIN });
  expect(world.asked.map(({ method }) => method)).toEqual(['createBot', 'updateBot']);
  expect(world.sent[0]).toMatchObject({ method: 'place', input: '{"id":"new","kind":"irc"}' });
});

test('a new bot whose id there is already is refused by the node that has it', async () => {
  const world = new World({ new: { node: 'b' } });
  const refuse = (): never => {
    throw new DroverError('conflict', 'bot new exists already');
  };
  const [a] = [world.node('a'), world.node('b', { createBot: refuse })];
  await expect(a.createBot(create())).rejects.toThrow('exists already');
  expect(world.sent.map(({ method }) => method)).toEqual(['createBot']);
});

test('incidents and kinds are those of all nodes that answer', async () => {
  const world = new World();
  const cause = '0123456789abcdef';
  const last_lines_at_ms = [5];
  const plain = { at_ms: 2, type: 'crash', reason: 'it broke', suspect: 'c', stack: null };
  const incident = (id: string): object =>
    // That of y is of an earlier version.
    id === 'x' ? { ...plain, id, at_ms: 1, cause, last_lines_at_ms } : { ...plain, id };
  const version = (name: string, bots: number) => ({
    ...{ version: name, package: null, is_current: name !== 'v', bots },
  });
  const list = (kind: string, quarantine: object | null) => ({
    incidents: ({ of }: { of?: unknown }) => ({ incidents: of ? [] : [incident(kind)] }),
    kinds: () => ({
      kinds: [
        { kind: 'both', quarantine, changed: false, versions: [version(kind, 2), version('v', 1)] },
        { kind, quarantine: null, changed: false, versions: [] },
      ],
      failed: [],
    }),
    releaseKind: () => ({ started: 2, missing: [] }),
  });
  const held = { since_ms: 1, reason: 'broke its host' };
  const [a] = [world.node('a', list('x', null)), world.node('b', list('y', held))];
  const found = { cause: expect.stringMatching(/^[0-9a-f]{16}$/), last_lines_at_ms: [], node: 'b' };
  expect(await a.incidents({ bot: null, limit: 10, rights: ADMIN })).toEqual({
    incidents: [
      { ...plain, id: 'y', ...found },
      { ...plain, id: 'x', at_ms: 1, cause, last_lines_at_ms, node: 'a' },
    ],
    missing: ['c'],
  });
  expect(await a.incidents({ bot: null, cause, limit: 10, rights: ADMIN })).toMatchObject({
    incidents: [{ id: 'x' }],
  });
  expect(await a.incidents({ bot: null, limit: 1, rights: ADMIN })).toMatchObject({
    incidents: [{ id: 'y' }],
  });
  expect(await a.kinds({ rights: ADMIN })).toMatchObject({
    kinds: [
      {
        kind: 'both',
        quarantine: held,
        versions: [version('x', 2), version('y', 2), version('v', 2)],
      },
      { kind: 'x' },
      { kind: 'y' },
    ],
  });
  expect(await a.releaseKind({ kind: 'both', rights: ADMIN })).toMatchObject({ started: 4 });
});

test('a reload reads the files of every node, and names those that have changed nothing', async () => {
  const world = new World();
  const reloaded = (version: string) => ({
    reloadKinds: () => ({ kinds: [{ kind: 'k', version }], failed: [] }),
  });
  const refused = (): never => {
    throw new DroverError('conflict', 'the bot kind k is not reloaded: syntax');
  };
  const [a, , c] = [
    world.node('a', reloaded('1')),
    world.node('b', reloaded('2')),
    world.node('c', { reloadKinds: refused }),
  ];
  const input = { kind: 'k', rights: ADMIN };
  expect(await a.reloadKinds(input)).toMatchObject({
    kinds: [{ version: '1' }],
    nodes: {
      b: { versions: { k: '2' } },
      c: { error: 'the bot kind k is not reloaded: syntax' },
    },
  });
  await expect(c.reloadKinds(input)).rejects.toThrow('syntax');
});

test('the release of a kind names the nodes that it did not reach', async () => {
  const world = new World();
  const releaseKind = (): object => ({ started: 2, missing: [] });
  const conflict = (): never => {
    throw new DroverError('conflict', 'the bot kind k is not quarantined');
  };
  const lost = (): never => {
    throw new DroverError('unavailable', 'node c does not answer');
  };
  const [a, b] = [
    world.node('a', { releaseKind }),
    world.node('b', { releaseKind: conflict }),
    world.node('c', { releaseKind: lost }),
  ];
  const input = { kind: 'k', rights: ADMIN };
  expect(await a.releaseKind(input)).toEqual({ started: 2, missing: ['c'] });
  expect(await b.releaseKind(input)).toEqual({ started: 2, missing: ['c'] });
  world.node('a', { releaseKind: conflict });
  await expect(b.releaseKind(input)).rejects.toThrow(
    'the bot kind k is not quarantined; no answer from node c',
  );
});

test('groups of incidents are added up, and nodes of an earlier version are named as missing', async () => {
  const world = new World();
  const group = { cause: '0123456789abcdef', last_at_ms: 2, first_at_ms: 1, count: 2, bots: ['c'] };
  const whole = { ...group, bot_count: 1, fallen: 0, latest: null, counts: [1, 1] };
  const answer = { groups: [whole], from_ms: 0, step_ms: 60_000, forgotten: 0, missing: [] };
  const incidentGroups = () => answer;
  const [a] = [
    world.node('a', { incidentGroups }),
    world.node('b', { incidentGroups }),
    world.node('c'),
  ];
  const query = { cause: null, after: 0, before: 120_000, limit: 10, rights: ADMIN };
  expect(await a.incidentGroups(query)).toEqual({
    ...answer,
    groups: [{ ...whole, count: 4, bot_count: 2, counts: [2, 2], nodes: ['a', 'b'] }],
    missing: ['c'],
  });
});

test('a node that cannot read the secrets of a new bot is named: the caller asked another', async () => {
  const world = new World();
  world.withoutKey.add('b');
  world.serve('a', { place: () => ({ node: 'b' }) });
  const [a] = [world.node('a'), world.node('b')];
  await expect(a.createBot(create({ node: 'b' }))).rejects.toThrow(
    'node b: the secrets of bot new are encrypted',
  );
});

test('hosts are those of all nodes that answer, each with its node, and the others are named', async () => {
  const world = new World();
  const hosts = (...numbers: number[]) => ({
    hosts: () => ({ hosts: numbers.map((host) => ({ host, node: null, bots: 1 })), missing: [] }),
  });
  const [b] = [world.node('b', hosts(0)), world.node('a', hosts(0, 1))];
  expect(await b.hosts({ rights: ADMIN })).toEqual({
    hosts: [
      { host: 0, node: 'a', bots: 1 },
      { host: 1, node: 'a', bots: 1 },
      { host: 0, node: 'b', bots: 1 },
    ],
    missing: ['c'],
  });
});

test('what a node has left is deleted there, not the bot of the cluster with its id', async () => {
  const world = new World({ both: { node: 'a' } });
  const a = world.node('a');
  world.node('b');
  const input = { id: 'both', action: 'delete' as const, rights: ADMIN };
  await a.endBot({ ...input, node: 'b' });
  await a.endBot({ ...input, node: 'self' });
  expect(world.asked).toEqual([
    { node: 'b', method: 'endBot', input },
    { node: 'a', method: 'endBot', input },
  ]);
});

test('a new bot goes to another node when the one that was chosen does not answer', async () => {
  const wishes: PlacementInput[] = [];
  const place = (wish: PlacementInput) => {
    wishes.push(wish);
    return { node: wish.except ? 'c' : 'b' };
  };
  const world = new World();
  const a = world.node('a');
  world.serve('a', { place });
  world.node('c');
  expect(await a.createBot(create({}))).toEqual({ id: 'new', from: 'c' });
  expect(wishes.map(({ except }) => except)).toEqual([undefined, ['b']]);
  // A leader that gives the same again is of another version, or does not answer: then the caller is told.
  world.serve('a', { place: () => ({ node: 'b' }) });
  await expect(a.createBot(create({}))).rejects.toThrow('node b cannot be reached');
  await expect(a.createBot(create({ node: 'b' }))).rejects.toThrow('node b cannot be reached');
  // Without a leader that answers it is made here.
  world.lose('a');
  const c = world.node('c', { createBot: () => null });
  expect(await c.createBot(create({}))).toBeNull();
  await expect(c.createBot(create({ host_group: 'g' }))).rejects.toThrow(
    'node a cannot be reached',
  );
});

test('a new bot that a node has made without an answer is made nowhere else', async () => {
  const placed: Placed = {};
  const world = new World(placed);
  const a = world.node('a');
  world.serve('a', { place: () => ({ node: 'b' }) });
  world.serve('b', {
    createBot: () => {
      placed['new'] = { node: 'b' };
      throw new NodeUnreachable('b', 'it does not answer in time');
    },
  });
  await expect(a.createBot(create({}))).rejects.toThrow('it does not answer in time');
  expect(world.sent.map(({ method }) => method)).toEqual(['place', 'createBot']);
});
