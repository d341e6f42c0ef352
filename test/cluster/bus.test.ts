import { setTimeout as delay } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { decodeBlock } from '../../src/cluster/bus/block.js';
import type { StreamMessage } from '../../src/cluster/bus/block-reader.js';
import { BlockWriter } from '../../src/cluster/bus/block-writer.js';
import { EventStream } from '../../src/cluster/bus/event-stream.js';
import { Window } from '../../src/cluster/bus/window.js';
import type { LostBot } from '../../src/cluster/wire/bus-messages.js';
import { clusterNames } from '../../src/cluster/wire/names.js';
import { headers, jetstream, jetstreamManager } from '../../src/cluster/wire/nats.js';
import { Signer } from '../../src/cluster/wire/signer.js';
import { KIND_CODE, NO_LEVEL } from '../../src/shared/stream/frame.js';
import { leaderOf, NatsCluster, NatsServer, replicated } from '../harness/nats.js';
import { PATIENCE_MS } from '../harness/patience.js';
import { Relay } from '../harness/relay.js';
import { BusNode, UNSIGNED } from './bus-fixture.js';

let server: NatsServer;
let nodes: BusNode[];

beforeEach(async () => {
  server = await NatsServer.start();
  nodes = [];
});

afterEach(async () => {
  await Promise.all(nodes.map(({ bus }) => bus.close(0)));
  await server.stop();
});

function node(name: string, options?: ConstructorParameters<typeof BusNode>[2]): BusNode {
  const made = new BusNode(name, [server.url], options);
  nodes.push(made);
  return made;
}

async function three(): Promise<[BusNode, BusNode, BusNode]> {
  const all: [BusNode, BusNode, BusNode] = [node('h1'), node('h2'), node('h3')];
  for (const one of all) {
    await one.on_();
    one.bus.publish([]);
  }
  return all;
}

const range = (prefix: string, from: number, to: number): string[] =>
  Array.from({ length: to - from }, (_, at) => `${prefix}${from + at}`);

describe('the stream of a cluster', () => {
  it('has the lines of all nodes, with the same ids on each, in the order of each node', async () => {
    const all = await three();
    for (let round = 0; round < 20; round++) {
      for (const one of all) one.log(...range(`${one.node} `, round * 50, round * 50 + 50));
      await new Promise(setImmediate);
    }
    for (const one of all) for (const other of all) await one.has(`${other.node} 999`);
    const [first, ...others] = all;
    for (const one of others) expect(one.seen).toEqual(first.seen);
    for (const { node: name } of all) {
      expect(first.texts(name)).toEqual(range(`${name} `, 0, 1000));
    }
    const numbers = first.seen.map(({ id }) => Number(id.split('-')[1]));
    expect(numbers).toEqual(range('', 1, 3001).map(Number));
  });

  it('continues after the NATS server was killed, with each line once', async () => {
    const all = await three();
    for (const one of all) one.log(...range('a', 0, 100));
    await all[0].has('a99');
    await server.kill();
    for (const one of all) one.log(...range('b', 0, 100));
    await server.run();
    for (const one of all) one.log(...range('c', 0, 100));
    const wanted = [...range('a', 0, 100), ...range('b', 0, 100), ...range('c', 0, 100)];
    for (const one of all) {
      for (const { node: name } of all) {
        while (one.texts(name).length < 300) await new Promise((next) => one.once('seen', next));
        expect(one.texts(name)).toEqual(wanted);
      }
    }
    expect(all[1].seen).toEqual(all[0].seen);
    expect(all[2].seen).toEqual(all[0].seen);
  });

  it('is numbered alike by a node that joins later, with and without another to ask', async () => {
    const [h1, h2, h3] = await three();
    h1.show('bot', { status: 'in_world', term: 2 });
    h2.log(...range('a', 0, 500));
    await h3.has('a499');
    await h1.has('a499');
    const h4 = node('h4');
    await h4.on_();
    expect(h4.bus.baseline().sessions.map((json) => JSON.parse(json))).toMatchObject([
      { snapshot: { id: 'bot', status: 'in_world' } },
    ]);
    h1.log('later');
    await h4.has('later');
    await h1.has('later');
    expect(h4.seen.at(-1)).toEqual(h1.seen.at(-1));
    // Nobody is there any more.
    await Promise.all(nodes.splice(0).map(({ bus }) => bus.close(1000)));
    const h5 = node('h5');
    await h5.on_();
    h5.bus.publish([]);
    h5.log('last');
    await h5.has('last');
    expect(numberOf(h5)).toBe(numberOf(h4) + 1);
  });

  it('is read up to what it has now, when that is asked for', async () => {
    const [h1, h2] = await three();
    for (let round = 0; round < 5; round++) {
      const lines = range(`${round} `, 0, 1000);
      h1.log(...lines);
      await h1.bus.flush(PATIENCE_MS, false);
      expect(await h2.bus.readAll(PATIENCE_MS)).toBe(true);
      expect(h2.texts('h1').slice(-1000)).toEqual(lines);
    }
  });

  it('refuses the frames of a node that was fenced until it has a lease again', async () => {
    const [h1, h2] = await three();
    h1.show('kept', { status: 'a', term: 1 });
    h1.show('moved-on', { status: 'a', term: 1 });
    h1.log('before');
    await h2.has('before');
    await h2.bus.fence('h1', 'run 1', ['kept', 'moved-on', 'never-seen'].map(lostBot));
    // What it had not published is lost to the others from now on, if there is something.
    expect(h2.texts('h1')).toEqual(['a', 'a', 'before', 'gap', 'lost', 'lost', 'lost']);
    // It is said again, as by another leader, and nothing more is lost.
    await h2.bus.fence('h1', 'run 1', [lostBot('kept')]);
    expect(h2.texts('h1').slice(7)).toEqual(['lost']);
    const fenced = new Promise((done) => h1.once('fenced', done));
    h1.show('kept', { status: 'b' });
    h1.show('moved-on', { status: 'b' });
    h1.log('after');
    await fenced;
    // Everything that h1 has sent was refused.
    h2.log('mark');
    await h2.has('mark');
    expect(h2.texts('h1').slice(8)).toEqual([]);
    h1.bus.publish(['kept']);
    h1.show('kept', { status: 'c' });
    await h2.has('c');
    // The line is of a bot that it has no more, and was declared.
    expect(h2.texts('h1').slice(8)).toEqual(['b', 'c']);
    // Its next run has published nothing.
    await h2.bus.fence('h1', 'run 2', []);
    expect(h2.texts('h1').slice(10)).toEqual(['gap']);
  });

  it('a run that has ended in order has lost nothing, and nobody waits for a stream that is gone', async () => {
    const [h1, h2] = await three();
    h1.log('last');
    await h1.bus.flush(5000, true);
    await h2.bus.fence('h1', h1.incarnation, []);
    await h2.bus.fence('h1', 'its next run', []);
    expect(h2.texts('h1')).toEqual(['last', 'gap']);
    const early = h2.bus.readUpTo(1000, 60_000);
    const { streams } = await jetstreamManager(await server.connect());
    await streams.delete(clusterNames('drover').stream);
    expect(await early).toBe(false);
  });

  it('is `on` again when all that it has missed was read', async () => {
    const relay = await Relay.before(Number(new URL(server.url).port));
    const h1 = node('h1');
    const h2 = new BusNode('h2', [`nats://${new URL(relay.url).host}`]);
    nodes.push(h2);
    await Promise.all([h1.on_(), h2.on_()]);
    h1.bus.publish([]);
    relay.hang();
    relay.disconnect();
    await h2.on_('cut_off');
    // Each of them in its own message.
    for (let line = 0; line < 200; line++) {
      h1.log(`missed ${line}`);
      await h1.has(`missed ${line}`);
    }
    const { seq } = h1.bus;
    const on = new Promise<number>((resolve) => {
      h2.on('status', ({ state }) => state === 'on' && resolve(h2.bus.seq));
    });
    relay.wake();
    expect(await on).toBe(seq);
  });

  it('continues after a message that somebody has deleted before it was read, with the same ids on each node', async () => {
    const relay = await Relay.before(Number(new URL(server.url).port));
    const all = ['h1', 'h2'].map((name) => {
      const made = new BusNode(name, [`nats://${new URL(relay.url).host}`]);
      nodes.push(made);
      return made;
    });
    const [h1, h2] = all as [BusNode, BusNode];
    for (const one of all) {
      await one.on_();
      one.bus.publish([]);
    }
    h1.log('before');
    await Promise.all(all.map((one) => one.has('before')));
    const nats = await server.connect();
    const { streams } = await jetstreamManager(nats);
    const { stream, events } = clusterNames('drover');
    const deleteOf = async (count: number, deleted: readonly number[]): Promise<void> => {
      relay.hang();
      relay.disconnect();
      await Promise.all(all.map((one) => one.on_('cut_off')));
      const { last_seq: last } = (await streams.info(stream)).state;
      for (let n = 0; n < count; n++) await jetstream(nats).publish(events('zz'), '12345');
      for (const n of deleted) await streams.deleteMessage(stream, last + n);
      relay.wake();
    };
    // The next one and a later one; and all that there are.
    for (const [count, deleted] of [
      [5, [1, 3]],
      [2, [1, 2]],
    ] as const) {
      await deleteOf(count, deleted);
      await Promise.all(all.map((one) => one.on_()));
      for (const one of all) one.log(`after ${count} of ${one.node}`);
      for (const one of all)
        for (const other of all) await one.has(`after ${count} of ${other.node}`);
      const last = (one: BusNode) =>
        one.seen.filter(({ text }) => text.startsWith(`after ${count}`));
      expect(last(h2)).toEqual(last(h1));
    }
  });

  it('fences a node without reading again what others have written to its subject', async () => {
    const [h1, h2] = await three();
    h1.show('bot', { status: 'a', term: 1 });
    await h2.has('a');
    const nats = await server.connect();
    const { events } = clusterNames('drover');
    for (let n = 0; n < 300; n++) nats.publish(events('h1'), '12345');
    const { seq } = await jetstream(nats).publish(events('h1'), '12345');
    expect(await h2.bus.readUpTo(seq, 40_000)).toBe(true);
    const asked: string[] = [];
    nats.subscribe('$JS.API.STREAM.MSG.GET.>', { callback: () => void asked.push('get') });
    await nats.flush();
    await h2.bus.fence('h1', h1.incarnation, [lostBot('bot')]);
    await nats.flush();
    expect(h2.texts('h1').slice(-2)).toEqual(['gap', 'lost']);
    // Other nodes read, too.
    expect(asked.length).toBeLessThan(30);
  });

  it('shows the snapshot of the newest term', async () => {
    const [h1, h2, h3] = await three();
    h1.show('bot', { status: 'new', term: 3 });
    await h2.has('new');
    h2.show('bot', { status: 'old', term: 2 });
    h2.log('end');
    for (const one of [h1, h3]) {
      await one.has('end');
      expect(one.seen.map(({ text }) => text)).toEqual(['new', 'new', 'end']);
    }
  });

  it('ends, with the reason, at what a newer node publishes; the older one publishes on and changes nothing of it', async () => {
    const h1 = node('h1');
    await h1.on_();
    h1.bus.publish([]);
    h1.log('before');
    await h1.has('before');
    const states: string[] = [];
    const ended = new Promise<void>((done) => {
      h1.on('status', ({ state }) => {
        states.push(state);
        if (state === 'cut_off') done();
      });
    });
    const names = clusterNames('drover');
    const connection = await server.connect();
    const stream = await EventStream.open(connection, names, h1.config, new Signer(UNSIGNED));
    const { streams } = await jetstreamManager(connection);
    // Who publishes a version raises it first.
    await streams.update(names.stream, { description: 'drover protocol 2' });
    await stream.sink('h9').publish(newerBlock(), 0);
    await ended;
    expect(h1.bus.status.reason).toMatch(/version 2.*update/);
    expect(h1.bus.cutOffReason).toBe(h1.bus.status.reason);
    // What it publishes meanwhile says up to where it has counted: the newer nodes count the rest.
    h1.log('after');
    const own = async (seq: number): Promise<StreamMessage> => {
      for (;;) {
        const found = await stream.nextOf('h1', seq);
        if (found) return found;
      }
    };
    const { frames, head } = decodeBlock((await own(3)).bytes);
    expect(frames.map(({ json }) => JSON.parse(json).message)).toEqual(['after']);
    expect(head.at).toEqual({ seq: 1, total: 1 });
    expect(h1.texts('h1')).toEqual(['before']);
    // It tries again each half second, and does not say that it is `on` before it has read it.
    await delay(1200);
    expect([...new Set(states)]).toEqual(['cut_off']);
    expect(h1.bus.status.reason).toMatch(/version 2.*update/);
    const newer = (await stream.at(2))?.bytes ?? Buffer.of();
    expect(() => decodeBlock(newer)).toThrow('version 2 of the protocol');
    await connection.close();
  });

  it.each([
    ['of a later version that the stream does not have', () => newerBlock()],
    ['of five bytes', () => Buffer.from('12345')],
    ['without bytes', () => new Uint8Array()],
  ])('counts a message %s as one gap, also where it joins later', async (_, message) => {
    const connection = await server.connect();
    const names = clusterNames('drover');
    const [h1, h2] = [node('h1'), node('h2')];
    await Promise.all([h1.on_(), h2.on_()]);
    h1.bus.publish([]);
    h1.log('before');
    await h2.has('before');
    const states: string[] = [];
    for (const one of [h1, h2]) one.on('status', ({ state }) => states.push(state));
    for (const subject of [names.events('h1'), names.events('zz')])
      await jetstream(connection).publish(subject, message());
    h1.log('after');
    await Promise.all([h1.has('after'), h2.has('after')]);
    expect(h1.seen).toEqual(h2.seen);
    expect(h1.seen.map(({ text }) => text)).toEqual(['before', 'gap', 'gap', 'after']);
    expect(states).toEqual([]);
    // Alone: it has to count what is on the stream.
    await Promise.all([h1.bus.close(0), h2.bus.close(0)]);
    const h3 = node('h3');
    await h3.on_();
    h3.bus.publish([]);
    h3.log('new');
    await h3.has('new');
    expect(h3.seen.map(({ id }) => id.split('-')[1])).toEqual(['5']);
    const window = new Window({
      stream: () => h3.bus.stream,
      epoch: () => h3.bus.ring?.identity.epoch,
      next: () => h3.bus.ring?.next ?? 0,
      behind: () => Promise.reject(new Error('nothing is behind the window')),
    });
    let frames = '';
    // A part ends after a time, too.
    for (let from = 1; from < 6; ) {
      const asked = { from, filter: null, pieceBytes: 2000, maxBytes: 10_000 };
      const part = await window.replay(asked);
      frames += Buffer.from(part.bytes).toString();
      from = part.next;
    }
    expect(
      [...frames.matchAll(/^id: .*-(\d+)\nevent: (.*)$/gm)].map((one) => one.slice(1)),
    ).toEqual([
      ['1', 'log'],
      ['2', 'gap'],
      ['3', 'gap'],
      ['4', 'log'],
      ['5', 'log'],
    ]);
    await connection.close();
  });
});

it('with a key, what was not published by a node, or was published before, is a gap', async () => {
  const keyed = (name: string, fill = 1): BusNode =>
    node(name, { signer: { keys: [new Uint8Array(32).fill(fill)], acceptsUnsigned: false } });
  const [h1, h2, other] = [keyed('h1'), keyed('h2'), keyed('h3', 2)];
  await Promise.all([h1.on_(), h2.on_(), other.on_()]);
  h1.bus.publish([]);
  h1.log('one');
  await h2.has('one');
  const connection = await server.connect();
  const names = clusterNames('drover');
  const stream = await EventStream.open(connection, names, h1.config, new Signer(UNSIGNED));
  const signed = await stream.at(1);
  const forged = new BlockWriter();
  forged.add(KIND_CODE.log, NO_LEVEL, null, null, '{"message":"forged"}');
  const rest = { node: 'h1', incarnation: 'i', epoch: 'e', first: 2, next: 3 };
  const bytes = forged.finish({ ...rest, type: 'frames', at: { seq: 1, total: 1 } });
  await jetstream(connection).publish(names.events('h1'), bytes);
  await jetstream(connection).publish(names.events('h1'), signed?.bytes ?? Buffer.of());
  await jetstream(connection).publish(names.events('h2'), signed?.bytes ?? Buffer.of());
  other.bus.publish([]);
  other.log('of another key');
  await other.has('of another key');
  h1.log('two');
  await h2.has('two');
  const shown = h2.seen.map(({ text }) => text);
  expect(shown).toEqual(['one', 'gap', 'gap', 'gap', 'gap', 'two']);
  await h1.has('two');
  expect(h1.seen).toEqual(h2.seen);
  // One that joins alone, and reads each message by itself, counts the same.
  await Promise.all(nodes.map(({ bus }) => bus.close(0)));
  const h4 = keyed('h4');
  await h4.on_();
  expect(h4.bus.ring?.next).toBe(7);
  await connection.close();
});

it('a message with a status of NATS is a gap', async () => {
  const [h1, h2] = [node('h1'), node('h2')];
  await Promise.all([h1.on_(), h2.on_()]);
  h1.bus.publish([]);
  const connection = await server.connect();
  const { events } = clusterNames('drover');
  for (const status of [100, 400, 404, 408, 409, 503])
    await jetstream(connection).publish(events('h1'), 'x', { headers: headers(status, 'forged') });
  h1.log('one');
  for (const one of [h1, h2]) await one.has('one');
  expect(h1.seen.map(({ text }) => text)).toEqual([...Array(6).fill('gap'), 'one']);
  expect(h2.seen).toEqual(h1.seen);
  await connection.close();
});

it('with a key, a block that somebody deletes and publishes again is a gap, also for nodes that did not read it', async () => {
  const signer = { keys: [new Uint8Array(32).fill(1)], acceptsUnsigned: false };
  const [h1, h2] = [node('h1', { signer }), node('h2', { signer })];
  await Promise.all([h1.on_(), h2.on_()]);
  for (const one of [h1, h2]) one.bus.publish([]);
  h2.log('zero');
  await h1.has('zero');
  h1.log('one');
  await Promise.all([h1.has('one'), h2.has('one')]);
  // It has not read what h1 has said; another one tells it what that was.
  const h3 = node('h3', { signer });
  await h3.on_();
  const connection = await server.connect();
  const { stream, events } = clusterNames('drover');
  const { streams } = await jetstreamManager(connection);
  const { data } = (await streams.getMessage(stream, { seq: 2 })) ?? {};
  await streams.deleteMessage(stream, 2);
  await jetstream(connection).publish(events('h1'), data ?? '');
  h2.log('two');
  for (const one of [h1, h2, h3]) await one.has('two');
  expect(h3.seen.map(({ text }) => text)).toEqual(['gap', 'two']);
  expect(h1.seen.map(({ text }) => text)).toEqual(['zero', 'one', 'gap', 'two']);
  expect(h2.seen).toEqual(h1.seen);
  expect(h3.seen).toEqual(h1.seen.slice(2));
  // Who reads it by itself sees that a message is missing where it may have been.
  const opened = await EventStream.open(
    connection,
    clusterNames('drover'),
    h1.config,
    new Signer(signer),
  );
  expect((await opened.reader().at(3))?.head.type).toBe('none');
  expect((await opened.reader().at(4))?.head.type).toBe('frames');
  await connection.close();
});

/** As a release writes it that has another version of the protocol. */
function newerBlock(): Uint8Array {
  const writer = new BlockWriter();
  writer.add(KIND_CODE.log, NO_LEVEL, null, null, '{"message":"newer"}');
  const at = { seq: 1, total: 1 };
  const rest = { node: 'h9', incarnation: 'i', epoch: 'e', first: 1, next: 2 };
  const bytes = Buffer.from(writer.finish({ ...rest, type: 'frames', at }));
  const version = bytes.indexOf('"v":1');
  bytes.write('"v":2', version);
  return bytes;
}

/** What its record says. */
function lostBot(id: string): LostBot {
  return { id, kind: 'k', desired: 'running', labels: {}, node: 'h1', term: 1, failover: 'stay' };
}

function numberOf({ seen }: BusNode): number {
  return Number(seen.at(-1)?.id.split('-')[1]);
}

describe('on three NATS servers', () => {
  let cluster: NatsCluster;
  beforeEach(async () => {
    cluster = await NatsCluster.start(3);
  });
  afterEach(async () => {
    await Promise.all(nodes.splice(0).map(({ bus }) => bus.close(0)));
    await cluster.stop();
  });

  it('a consumer that stalls is seen and replaced, whichever server is killed', {
    timeout: 600_000,
  }, async () => {
    const all = ['h1', 'h2', 'h3'].map((name) => {
      const made = new BusNode(name, cluster.urls);
      nodes.push(made);
      return made;
    });
    for (const one of all) {
      await one.on_();
      one.bus.publish([]);
    }
    const { stream } = clusterNames(all[0]?.config.name ?? '');
    let line = 0;
    for (const server of cluster.servers) {
      await server.kill();
      await leaderOf(cluster.servers, stream);
      // A consumer is made by the leader of all of JetStream.
      await cluster.ready();
      const led = performance.now();
      line += 1;
      for (const one of all) one.log(`line ${line}`);
      for (const one of all) for (const other of all) await one.hasFrom(other.node, `line ${line}`);
      const tookMs = Math.round(performance.now() - led);
      process.stderr.write(`lines were everywhere ${tookMs} ms after JetStream had its leaders\n`);
      for (const one of all) {
        await one.on_();
        expect(one.figures.unpublished).toBe(0);
        expect(one.figures.behind).toBe(0);
      }
      await server.run();
      await replicated(cluster.servers, stream);
    }
    expect(all[1]?.seen).toEqual(all[0]?.seen);
    expect(all[2]?.seen).toEqual(all[0]?.seen);
  });

  it('a node whose consumer is gone is not `on` while lines do not arrive', async () => {
    const one = new BusNode('h1', cluster.urls);
    nodes.push(one);
    await one.on_();
    one.bus.publish([]);
    one.log('before');
    await one.has('before');
    const { stream } = clusterNames(one.config.name);
    // The client waits for two heartbeats, and longer, before it looks for its consumer.
    const manager = await jetstreamManager(await (cluster.servers[0] as NatsServer).connect());
    for await (const { name } of manager.consumers.list(stream))
      await manager.consumers.delete(stream, name);
    const states: string[] = [];
    one.on('status', ({ state, reason }) => states.push(`${state} ${reason}`));
    one.log('after');
    await one.has('after');
    await one.on_();
    expect(states[0]).toBe('cut_off events of the cluster do not arrive from NATS');
  });
});
