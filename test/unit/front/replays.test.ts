import { afterEach, expect, it, onTestFinished, vi } from 'vitest';
import type { StreamSink } from '../../../src/front/engine/engine.js';
import { Replays } from '../../../src/front/stream/replays.js';
import { Subscriber } from '../../../src/front/stream/subscriber.js';
import type { SubscriberGroup } from '../../../src/front/stream/subscriber-group.js';
import type { ReplayPart, ReplayRequest } from '../../../src/shared/contract/journal-messages.js';

// Runs on where a test has the clock in its hands.
const { setTimeout: later } = globalThis;
const delay = (ms: number): Promise<void> => new Promise((resolve) => later(resolve, ms));

const PIECE = 100;
/** Pieces of one part. */
const PIECES = 8;

const SHARED = new Uint8Array(5 * 1024 * 1024);

/** A journal with frames of one byte each: a part has 8 pieces of 10 frames, fewer at the end. */
class ModelJournal {
  isThere = true;
  readonly requests: number[] = [];
  first = 1;
  end = 1_000_000;
  fails = false;
  padding = 0;
  /** Each part has its own memory of so many bytes. */
  ownBytes = 0;
  /** Requests that came with memory. */
  reused = 0;
  /** How long each request takes, as it says. */
  readMs = 0;

  async replay({ from, memory }: ReplayRequest): Promise<ReplayPart> {
    this.requests.push(from);
    const own = this.ownBytes > 0;
    // As over a port: who still looks at what was in it finds nothing.
    const room = own && memory ? structuredClone(memory, { transfer: [memory] }) : undefined;
    if (room) this.reused += 1;
    await delay(1);
    if (this.fails) throw new Error('gone');
    const { readMs } = this;
    const none = { bytes: new Uint8Array(), pieces: [], firstIsGap: false, readMs };
    if (from >= this.end) return { ...none, first: null, next: from };
    const start = Math.max(from, this.first);
    const count = Math.min(PIECES * 10, this.end - start);
    const pieces = Array.from({ length: Math.ceil(count / 10) }, (_, at) => {
      const end = Math.min((at + 1) * 10, count);
      return { end, next: start + end };
    });
    // The memory that is behind it counts, too.
    const bytes = own
      ? new Uint8Array(room ?? new ArrayBuffer(this.ownBytes))
      : SHARED.subarray(0, count + this.padding);
    return { bytes, pieces, first: start, firstIsGap: false, next: start + count, readMs };
  }
}

interface Client {
  subscriber: Subscriber;
  writes: number[];
  /** The numbers that it has had. */
  seen: number[];
  /** Where its socket takes no more. */
  blocksAt?: number;
}

/** @param writeMs how long a write takes. @param writeBytes the most bytes of one. */
function world(onRing: number, writeMs = 0, writeBytes: (client: Client) => number = () => 0) {
  const journal = new ModelJournal();
  const events: [string, Client, number?][] = [];
  const order: Client[] = [];
  const written: Uint8Array[] = [];
  const live = { streams: 0 };
  const clients = new Map<Subscriber, Client>();
  const of = (subscriber: Subscriber): Client => clients.get(subscriber) as Client;
  const replays = new Replays(journal, PIECE, {
    write(subscriber, bytes) {
      const { writes, seen, blocksAt } = of(subscriber);
      written.push(bytes);
      writes.push(bytes.length);
      for (let at = bytes.length; at > 0; at--) seen.push(subscriber.cursor - at);
      if (subscriber.cursor === blocksAt) subscriber.blockedAt = 1;
      order.push(of(subscriber));
      for (const end = performance.now() + writeMs; performance.now() < end; );
    },
    missing: (subscriber, next) => void events.push(['missing', of(subscriber), next]),
    lost: (subscriber) => void events.push(['lost', of(subscriber)]),
    arrived: (subscriber) => void events.push(['arrived', of(subscriber), subscriber.cursor]),
    live: () => live.streams,
    writeBytes: (subscriber) => writeBytes(of(subscriber)),
    isOnRing: (cursor) => cursor >= onRing,
  });
  onTestFinished(() => {
    for (const subscriber of clients.keys()) replays.remove(subscriber);
  });
  const open = (cursor: number, filter: { key: string; pastKey: string } | null = null): Client => {
    const group = { filter } as unknown as SubscriberGroup;
    const subscriber = new Subscriber({} as StreamSink, group, () => {});
    subscriber.cursor = cursor;
    const client: Client = { subscriber, writes: [], seen: [] };
    clients.set(client.subscriber, client);
    replays.add(client.subscriber);
    return client;
  };
  const until = async (condition: () => boolean): Promise<void> => {
    for (let turns = 0; !condition(); turns++) {
      if (turns > 2000) throw new Error('it does not come to that');
      await delay(1);
    }
  };
  return { journal, replays, events, order, open, until, written, live };
}

it('a crowd at one place is read for once, each gets everything, in turns of one write', async () => {
  const { journal, events, order, open, until } = world(401);
  const clients = Array.from({ length: 50 }, () => open(1));
  await until(() => events.length === 50);
  expect(events.every(([what, , at]) => what === 'arrived' && at === 401)).toBe(true);
  for (const { writes } of clients) expect(writes).toEqual(new Array(40).fill(10));
  expect(journal.requests).toEqual([1, 81, 161, 241, 321]);
  // Never is one more than a write ahead of another.
  const counts = new Map(clients.map((client) => [client, 0]));
  for (const client of order) {
    counts.set(client, (counts.get(client) ?? 0) + 1);
    const all = [...counts.values()];
    expect(Math.max(...all) - Math.min(...all)).toBeLessThanOrEqual(1);
  }
});

it('a stream gets as much in one write as the fan-out would give it', async () => {
  const sizes = [5, 10, 39, 40, 80, 1000];
  const clients: Client[] = [];
  const { events, open, until } = world(401, 0, (client) => sizes[clients.indexOf(client)] ?? 0);
  for (const _ of sizes) clients.push(open(1));
  await until(() => events.length === sizes.length);
  expect(clients.map(({ writes }) => [...new Set(writes)])).toEqual([
    // A piece is the least, and what is left of a part the most.
    [10],
    [10],
    [30, 20],
    [40],
    [80],
    [80],
  ]);
  for (const { seen } of clients)
    expect(seen).toEqual(Array.from({ length: 400 }, (_, at) => 1 + at));
});

it('streams in step get the same array, so that the engine can share what it makes of it', async () => {
  const arrays = new Set<Uint8Array>();
  const { events, open, until, written } = world(161, 0, () => 20);
  for (let client = 0; client < 5; client++) open(1);
  await until(() => events.length === 5);
  for (const bytes of written) arrays.add(bytes);
  expect(written).toHaveLength(5 * 8);
  expect(arrays.size).toBe(8);
});

it('a stream that was blocked while its part was evicted and read again misses nothing', async () => {
  const { journal, replays, open, until } = world(2_000_000);
  // The journal ends within a piece and continues later: the same part then has other pieces.
  journal.end = 45;
  const client = open(1);
  client.blocksAt = 45;
  await until(() => client.subscriber.blockedAt === 1);
  journal.end = 1_000_000;
  // As many other parts as push that one out of memory.
  journal.padding = 1024 * 1024;
  const others = Array.from({ length: 40 }, (_, at) => open(200_000 + 1000 * at));
  await until(() => others.every(({ writes }) => writes.length > 10));
  journal.padding = 0;
  const again = open(1);
  await until(() => again.writes.length > 8);
  client.subscriber.blockedAt = 0;
  replays.resume(client.subscriber);
  await until(() => client.writes.length > 8);
  expect(client.seen).toEqual(client.seen.map((_, at) => 1 + at));
});

it('more places than there is memory for: each comes forward all the same', async () => {
  const { journal, events, open, until } = world(Number.POSITIVE_INFINITY, 0.2);
  journal.padding = 4 * 1024 * 1024;
  const clients = Array.from({ length: 300 }, (_, at) => open(1 + 1000 * at));
  await until(() => clients.every(({ writes }) => writes.length >= 5));
  for (const { seen } of clients) expect(seen).toEqual(seen.map((_, at) => (seen[0] ?? 0) + at));
  expect(events).toEqual([]);
});

it('memory of evicted parts is reused, and of no others', async () => {
  const { journal, open, until } = world(Number.POSITIVE_INFINITY);
  journal.ownBytes = 512 * 1024;
  const first = open(1);
  const second = open(1);
  await until(() => first.writes.length > 8 * 300);
  // A front keeps 32 MiB of parts: from then on each is in memory of one before.
  const fresh = journal.requests.length - journal.reused;
  expect(journal.reused).toBeGreaterThan(150);
  expect(fresh).toBeLessThan(100);
  for (const { writes, seen } of [first, second]) {
    expect(writes.every((bytes) => bytes === 10)).toBe(true);
    expect(seen).toEqual(seen.map((_, at) => 1 + at));
  }
});

it('a blocked stream delays no other, and continues at its cursor', async () => {
  const { replays, events, open, until } = world(201);
  const slow = open(1);
  slow.subscriber.blockedAt = 1;
  const quick = open(1);
  await until(() => events.length === 1);
  expect(events[0]?.[1]).toBe(quick);
  expect(slow.writes).toEqual([]);
  slow.subscriber.blockedAt = 0;
  replays.resume(slow.subscriber);
  await until(() => events.length === 2);
  expect(slow.writes).toEqual(new Array(20).fill(10));
});

it('a hole is declared once, and the stream continues after it when its initial state is sent', async () => {
  const { journal, replays, events, open, until } = world(581);
  journal.first = 501;
  const client = open(1);
  await until(() => events.length === 1);
  expect(events[0]).toEqual(['missing', client, 501]);
  client.subscriber.cursor = 501;
  replays.resume(client.subscriber);
  await until(() => events.length === 2);
  expect(events[1]).toEqual(['arrived', client, 581]);
});

it('where the journal has nothing the fan-out has it back', async () => {
  const { journal, replays, events, open, until } = world(Number.POSITIVE_INFINITY);
  journal.end = 1;
  const client = open(5);
  await until(() => events.length === 1);
  expect(events).toEqual([['lost', client]]);
  expect(replays.size).toBe(0);
});

afterEach(() => {
  vi.useRealTimers();
});

it('while the journal fails, streams keep their position, and continue when it recovers', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'performance'] });
  const { journal, events, open, until } = world(401);
  journal.fails = true;
  const clients = [open(1), open(1), open(161)];
  await until(() => journal.requests.length === 2);
  // It is asked again after a pause, and not before.
  await delay(20);
  expect(journal.requests).toHaveLength(2);
  for (let tries = 0; tries < 100; tries++) {
    const asked = journal.requests.length;
    await vi.advanceTimersByTimeAsync(250);
    await until(() => journal.requests.length === asked + 2);
    await delay(2);
  }
  expect(events).toEqual([]);
  journal.fails = false;
  await vi.advanceTimersByTimeAsync(250);
  await until(() => events.length === 3);
  expect(events.map(([what]) => what)).toEqual(['arrived', 'arrived', 'arrived']);
  for (const { seen } of clients) {
    expect(seen).toEqual(seen.map((_, at) => (seen[0] ?? 0) + at));
    expect(seen.at(-1)).toBe(400);
  }
  expect(clients.map(({ seen }) => seen[0])).toEqual([1, 1, 161]);
});

it('beside live streams a search waits after a long part, a stream of everything does not', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'performance'] });
  for (const filter of [{ key: 'a filter', pastKey: 'a filter' }, null]) {
    const { journal, live, open, until } = world(Number.POSITIVE_INFINITY);
    live.streams = 20;
    journal.readMs = 4;
    open(1, filter);
    // The first part, and the one behind it.
    await until(() => journal.requests.length >= 2);
    await delay(20);
    if (filter) expect(journal.requests).toHaveLength(2);
    else expect(journal.requests.length).toBeGreaterThan(2);
    const asked = journal.requests.length;
    await vi.advanceTimersByTimeAsync(100);
    await until(() => journal.requests.length > asked);
  }
});

it('a journal that cannot answer for a minute is not waited for any more', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'performance'] });
  const { journal, replays, events, open, until } = world(2000);
  journal.fails = true;
  // More than may be asked for at a time.
  const clients = Array.from({ length: 40 }, (_, at) => open(1 + at));
  await until(() => journal.requests.length >= 16);
  await delay(20);
  expect(events).toEqual([]);
  for (let tries = 0; tries < 12; tries++) {
    expect(events).toEqual([]);
    const asked = journal.requests.length;
    await vi.advanceTimersByTimeAsync(5000);
    await until(() => journal.requests.length >= asked + 16);
    await delay(20);
  }
  await until(() => events.length === clients.length);
  expect(events.every(([what]) => what === 'lost')).toBe(true);
  // Who comes now does not wait at all; as soon as it answers again, all do.
  const next = open(1);
  await until(() => events.length === clients.length + 1);
  expect(events.at(-1)).toEqual(['lost', next]);
  journal.fails = false;
  const other = open(1901);
  await until(() => events.length === clients.length + 2);
  expect(events.at(-1)).toEqual(['arrived', other, 2001]);
  journal.fails = true;
  open(1);
  await delay(20);
  expect(events).toHaveLength(clients.length + 2);
  expect(replays.size).toBe(1);
});

it('one that goes while it is read for gets nothing more', async () => {
  const { replays, events, open, until } = world(101);
  const gone = open(1);
  const stays = open(1);
  replays.remove(gone.subscriber);
  await until(() => events.length === 1);
  expect(events[0]?.[1]).toBe(stays);
  expect(gone.writes).toEqual([]);
});
