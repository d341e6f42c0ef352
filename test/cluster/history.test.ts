// What has left a node's ring of the cluster's stream is read from JetStream, with the same ids.

import { afterEach, beforeEach, expect, it } from 'vitest';
import { Window, type WindowParts } from '../../src/cluster/bus/window.js';
import { jetstreamManager } from '../../src/cluster/wire/nats.js';
import { NameHasher } from '../../src/shared/contract/name-hash.js';
import { parseFilter } from '../../src/shared/stream/filter.js';
import { frameId } from '../../src/shared/stream/frame.js';
import { LabelHistory } from '../../src/shared/stream/label-history.js';
import { NatsServer } from '../harness/nats.js';
import { BusNode } from './bus-fixture.js';

const names = new NameHasher('key');
const ROUNDS = 30;
const LINES = 20;

let server: NatsServer;
let nodes: BusNode[];
let window: Window;

beforeEach(async () => {
  server = await NatsServer.start();
  nodes = ['h1', 'h2', 'h3'].map((name) => new BusNode(name, [server.url]));
  for (const node of nodes) {
    await node.on_();
    node.bus.publish([]);
  }
  for (let round = 0; round < ROUNDS; round++) {
    for (const node of nodes) {
      node.log(...Array.from({ length: LINES }, (_, at) => `${node.node} ${round * LINES + at}`));
    }
    // So that there are many blocks.
    await Promise.all(nodes.map(({ node }) => first().has(`${node} ${round * LINES + LINES - 1}`)));
  }
  window = windowOf(first());
});

afterEach(async () => {
  await Promise.all(nodes.map(({ bus }) => bus.close(0)));
  await server.stop();
});

function first(): BusNode {
  return nodes[0] as BusNode;
}

/** Without journals: what JetStream does not have begins at the next frame. */
const OTHERS: Pick<WindowParts, 'next' | 'behind'> = {
  next: () => 0,
  behind: async (_epoch, _request, before, cut) => cut.part(before, before),
};

function windowOf({ bus }: BusNode): Window {
  const epoch = (): string | undefined => bus.ring?.identity.epoch;
  return new Window({ stream: () => bus.stream, epoch, ...OTHERS });
}

const numberOf = (id: string): number => Number(id.split('-')[1]);

/** Ids of all frames from a number on, part by part. */
async function replay(from: number, filter: string | null, maxBytes = 10_000): Promise<string[]> {
  const ids: string[] = [];
  const end = numberOf(first().seen.at(-1)?.id ?? '') + 1;
  for (let next = from; next < end; ) {
    const part = await window.replay({ from: next, filter, pieceBytes: 2000, maxBytes });
    expect(part.first).toBe(next);
    const text = Buffer.from(part.bytes).toString();
    expect(part.pieces.at(-1)).toEqual({ end: part.bytes.length, next: part.next });
    ids.push(...text.split('\n\n').filter(Boolean).map(frameId));
    next = part.next;
  }
  return ids;
}

function keyOf(name: string, value: string): string {
  return parseFilter([[name, value]], names)?.key ?? '';
}

it('has every frame from any number on, once and in order', async () => {
  const all = first().seen.map(({ id }) => id);
  expect(all).toHaveLength(3 * ROUNDS * LINES);
  expect(await replay(1, null)).toEqual(all);
  for (const from of [2, 20, 21, 777, 1799, 1800]) {
    window = windowOf(first());
    expect(await replay(from, null)).toEqual(all.slice(from - 1));
  }
});

it('filters by node and by session', async () => {
  const { seen } = first();
  const ofNode = seen.filter(({ node }) => node === 'h2').map(({ id }) => id);
  expect(await replay(1, keyOf('node', 'h2'))).toEqual(ofNode);
  const ofBot = seen.filter(({ text }) => text.length === 5).map(({ id }) => id);
  expect(ofBot.length).toBeGreaterThan(0);
  expect(await replay(1, keyOf('session', 'bot-5'))).toEqual(ofBot);
});

it('has no frame for a filter by labels, which nobody knows of the past', async () => {
  const reach = { labels: { team: 'a' }, history: new LabelHistory() };
  const labelled = parseFilter([], names, reach)?.key ?? '';
  const request = { from: 1, filter: labelled, pieceBytes: 2000, maxBytes: 10_000 };
  expect(await window.replay(request)).toMatchObject({ first: null, next: 1 });
});

it('says where the frames begin that JetStream still has', async () => {
  const { seq } = await lastOf(first());
  const manager = await jetstreamManager(await server.connect());
  await manager.streams.purge('drover-drover-events', { seq: Math.floor(seq / 2) });
  const part = await window.replay({ from: 1, filter: null, pieceBytes: 2000, maxBytes: 10_000 });
  expect(part.bytes).toHaveLength(0);
  expect(part.first).toBeGreaterThan(1);
  const all = first().seen.map(({ id }) => id);
  expect(await replay(part.next, null)).toEqual(all.slice(part.next - 1));
});

it('is unavailable while JetStream does not answer, and when the stream is another one', async () => {
  const request = { from: 1, filter: null, pieceBytes: 2000, maxBytes: 10_000 };
  const { bus } = first();
  const facts = (): Promise<never> => Promise.reject(new Error('no answer'));
  const reader = (): never => {
    throw new Error('no answer');
  };
  const epoch = (): string | undefined => bus.ring?.identity.epoch;
  const unreachable = new Window({ stream: () => ({ facts, reader }), epoch, ...OTHERS });
  await expect(unreachable.replay(request)).rejects.toMatchObject({ code: 'unavailable' });
  const other = new Window({ stream: () => bus.stream, epoch: () => 'another', ...OTHERS });
  await expect(other.replay(request)).rejects.toMatchObject({ code: 'unavailable' });
});

async function lastOf({ bus }: BusNode): Promise<{ seq: number }> {
  const facts = await bus.stream?.facts();
  return { seq: facts?.last ?? 0 };
}
