// Clients that do not read: they cost little, affect no other client, and are closed in the end. Those that resume
// reading in time get everything, or a gap for what they missed. DROVER_TEST_BLOCKED sets the number of clients.

import { readFileSync } from 'node:fs';
import net from 'node:net';
import { afterEach, expect, it, onTestFinished } from 'vitest';
import { call } from '../harness/api.js';
import { Ledger } from '../harness/ledger.js';
import { RawStream } from '../harness/raw-stream.js';
import { type Service, startService, stopClean } from '../harness/service.js';

const BLOCKED = Number(process.env['DROVER_TEST_BLOCKED'] ?? 100);
/** What one blocked client may add to the memory of the process: one 64 KiB write, its socket, and room for noise. */
const BYTES_PER_BLOCKED = 150_000;
const MIB = 2 ** 20;
/** Replay pages for healthy clients that fall behind on a busy machine (front/history/replays.ts), and the journal's backlog. */
const PAST_BYTES = 48 * MIB;
/** More than a second of the load: on a busy machine a healthy reader may fall that far behind. */
const RING_BYTES = 16 * MIB;
const LOOKS = 7;
/** Clients that stop in the same moment. DROVER_TEST_STOPPED sets their number. */
const STOPPED = Number(process.env['DROVER_TEST_STOPPED'] ?? 1000);
/**
 * By how much the memory varies between two samples: the journal's backlog, what is not collected yet, and what malloc leaves
 * when a thousand buffers grow at once.
 */
const NOISE_BYTES = 36 * MIB;
/** Bytes after which a client gets the largest writes. */
const LARGEST_AFTER_BYTES = 10 * MIB;
/** More than the system buffers on both sides of a connection whose reader has stopped. */
const BUFFERS_BYTES = 12 * MIB;

let service: Service | undefined;
afterEach(async () => {
  await stopClean(service);
  service = undefined;
});

/** Starts a service with one bot that writes long lines: the system's buffers must fill before any effect shows. */
async function start(stream: object, perSecond = 2000): Promise<Service> {
  service = await startService({
    config: {
      stream: { ring_bytes: RING_BYTES, ...stream },
      bots: [
        {
          id: 'big',
          kind: 'synthetic',
          config: { events_per_second: perSecond, message_bytes: 8000 },
        },
      ],
    },
  });
  return service;
}

interface Client {
  ledger: Ledger;
  stream: RawStream;
}

interface OpenOptions {
  query?: string;
  readBytes?: number;
  /** Reads nothing after the head. */
  paused?: boolean;
}

async function open({ query = '', readBytes, paused }: OpenOptions = {}): Promise<Client> {
  const { port, token } = service as Service;
  const ledger = new Ledger({ filtered: query !== '' });
  const stream = await RawStream.open(port, {
    token: await token(),
    target: `/events${query}`,
    onBlock: ledger.take,
    ...(readBytes === undefined ? {} : { readBytes }),
  });
  if (paused) stream.pause();
  onTestFinished(() => stream.close());
  return { ledger, stream };
}

function openAll(count: number, options: OpenOptions = {}): Promise<Client[]> {
  return Promise.all(Array.from({ length: count }, () => open(options)));
}

/** Resident memory of the service, in bytes, without the pages of the journal's file, which grow with the events. */
function memory(): number {
  const status = readFileSync(`/proc/${(service as Service).child.pid}/status`, 'utf8');
  return Number(/^RssAnon:\s*(\d+) kB$/m.exec(status)?.[1]) * 1024;
}

/** Median of several memory samples while that many bytes pass: the garbage collector makes single samples vary. */
async function usualMemory(clock: Client, bytes: number): Promise<number> {
  const looks: number[] = [];
  for (let n = 0; n < LOOKS; n++) {
    await bytesPass(clock, bytes / LOOKS);
    looks.push(memory());
  }
  return looks.sort((a, b) => a - b)[(LOOKS - 1) / 2] as number;
}

/** Waits until this client has received that many more bytes: a clock that runs with the load. */
function bytesPass({ stream }: Client, bytes: number): Promise<void> {
  const wanted = stream.bodyBytes + bytes;
  return stream.until(() => stream.bodyBytes >= wanted, 60_000);
}

it('each blocked client costs bounded memory, and healthy ones miss nothing', {
  timeout: 120_000,
}, async () => {
  // A third of the other tests' load: filling the buffers of hundreds of clients is heavy for a small machine.
  await start({ stall_ms: 600_000 }, 700);
  const queries = ['', '', '?session=big', '?level=info'];
  const healthy = await Promise.all(queries.map((query) => open({ query })));
  const clock = healthy[0] as Client;
  // The ring has wrapped, so that all of its pages are resident before the first sample.
  await bytesPass(clock, RING_BYTES);
  const before = await usualMemory(clock, BUFFERS_BYTES);
  const blocked: Client[] = [];
  // A few at a time: filling all their buffers at once would overload the machine.
  while (blocked.length < BLOCKED) {
    blocked.push(...(await openAll(Math.min(10, BLOCKED - blocked.length), { paused: true })));
    await bytesPass(clock, 3 * MIB);
  }
  // The last of them has been lapped too.
  const after = await usualMemory(clock, RING_BYTES + BUFFERS_BYTES);
  expect(after - before).toBeLessThan(BLOCKED * BYTES_PER_BLOCKED + PAST_BYTES);
  for (const { ledger, stream } of healthy) {
    expect(ledger).toMatchObject({ faults: [], gaps: [] });
    expect(stream.isOver).toBe(false);
  }

  // They were really blocked: each missed something, gets the exact count, and continues.
  const sample = blocked.filter((_, n) => n % 5 === 0);
  for (let at = 0; at < sample.length; at += 10) {
    const some = sample.slice(at, at + 10);
    for (const { stream } of some) stream.resume();
    await Promise.all(
      some.map(({ ledger, stream }) => {
        const lost = (): number => ledger.gaps.at(-1)?.to ?? Number.POSITIVE_INFINITY;
        return stream.until(() => (ledger.last ?? 0) > lost());
      }),
    );
    for (const { stream } of some) stream.close();
  }
  for (const { ledger } of sample) {
    expect(ledger.faults).toEqual([]);
    expect(ledger.accounted).toBe((ledger.last ?? 0) - (ledger.first ?? 0));
  }
});

/** A client that reads everything as fast as it can, without looking at it, until it is told to stop. */
class CountingClient {
  bytes = 0;
  #stopped = false;
  readonly #socket: net.Socket;

  constructor(port: number, token: string, buffer: Buffer) {
    const callback = (length: number): boolean => {
      this.bytes += length;
      return !this.#stopped;
    };
    this.#socket = net.connect({ port, host: '127.0.0.1', onread: { buffer, callback } });
    this.#socket.on('error', () => {});
    this.#socket.write(
      `GET /events HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer ${token}\r\n\r\n`,
    );
  }

  stop(): void {
    this.#stopped = true;
  }

  close(): void {
    this.#socket.destroy();
  }
}

it('clients that all stop reading in the same moment, after large writes, leave 80 KB each', {
  timeout: 180_000,
}, async () => {
  await start({ stall_ms: 600_000 }, 700);
  const { port, token } = service as Service;
  const auth = await token();
  const buffer = Buffer.alloc(256 * 1024);
  const clock = await open();
  await bytesPass(clock, RING_BYTES);
  const clients = Array.from({ length: STOPPED }, () => new CountingClient(port, auth, buffer));
  onTestFinished(() => {
    for (const client of clients) client.close();
  });
  // So much that they get the largest writes (src/front/stream/write-sizes.ts).
  const hasLargest = (): boolean => clients.every(({ bytes }) => bytes > LARGEST_AFTER_BYTES);
  while (!hasLargest()) await bytesPass(clock, MIB);
  const before = await usualMemory(clock, BUFFERS_BYTES);
  for (const client of clients) client.stop();
  const blocked = async (): Promise<number> => {
    const { text } = await call(service as Service, 'GET', '/metrics');
    return Number(/^drover_streams_blocked.* (\d+)$/m.exec(text)?.[1]);
  };
  while ((await blocked()) < STOPPED) await bytesPass(clock, MIB);
  const after = await usualMemory(clock, BUFFERS_BYTES);
  expect(after - before).toBeLessThan(STOPPED * 80_000 + NOISE_BYTES);
  expect(clock.ledger).toMatchObject({ faults: [] });
});

it('stream.stall_ms: clients that read nothing for that long are closed, and no others', async () => {
  await start({ stall_ms: 1500 });
  const healthy = await Promise.all([open(), open({ query: '?session=big' })]);
  const stalled = await openAll(20, { paused: true });
  const clock = healthy[0] as Client;
  // Until their buffers are full, then for several times the limit.
  await bytesPass(clock, 5 * BUFFERS_BYTES);
  // The end of a cut connection comes after its buffered data.
  for (const { stream } of stalled) stream.resume();
  expect(await Promise.all(stalled.map(({ stream }) => stream.ended))).toEqual(
    stalled.map(() => 'cut'),
  );
  for (const { ledger } of stalled) expect(ledger.faults).toEqual([]);
  for (const { ledger, stream } of healthy) {
    expect(ledger).toMatchObject({ faults: [], gaps: [] });
    expect(stream.isOver).toBe(false);
  }
  // A closed client can reconnect with its last id, and gets what it missed from the journal.
  const { ledger } = stalled[0] as Client;
  const back = await RawStream.open((service as Service).port, {
    token: await (service as Service).token(),
    headers: { 'Last-Event-ID': ledger.lastEventId },
    onBlock: ledger.take,
  });
  onTestFinished(() => back.close());
  const { frames } = ledger;
  await back.until(() => ledger.frames > frames + 100);
  expect(ledger).toMatchObject({ faults: [], gaps: [] });
});

it('clients that pause get every number in order, or one gap with the exact count', async () => {
  await start({ stall_ms: 30_000 });
  const clock = await open();
  const clients = await openAll(30);
  for (let round = 0; round < 4; round++) {
    // Some briefly, so that they lose nothing, some for longer than the ring lasts.
    for (const [n, { stream }] of clients.entries()) if (n % 3 === round % 3) stream.pause();
    await bytesPass(clock, (round % 2 === 0 ? 0.25 : 2) * RING_BYTES);
    for (const { stream } of clients) stream.resume();
    await bytesPass(clock, RING_BYTES / 4);
  }
  const end = clock.ledger.last ?? 0;
  await Promise.all(
    clients.map(({ ledger, stream }) => stream.until(() => (ledger.last ?? 0) >= end)),
  );
  for (const { ledger } of clients) {
    expect(ledger.faults).toEqual([]);
    expect(ledger.accounted).toBe((ledger.last ?? 0) - (ledger.first ?? 0));
  }
  // The ring is small, so on a busy machine this one may be lapped too. It then gets the exact gap.
  expect(clock.ledger.faults).toEqual([]);
  expect(clock.ledger.accounted).toBe((clock.ledger.last ?? 0) - (clock.ledger.first ?? 0));
});

it('a client that was blocked gets the rest without any further event', async () => {
  // No heartbeat that could flush the rest.
  await start({ stall_ms: 600_000, heartbeat_ms: 45_000, ring_bytes: 64 * MIB });
  const clock = await open();
  // Slow enough afterwards that the very last write does not fit at once.
  const clients = await openAll(8, { paused: true, readBytes: 16_384 });
  await bytesPass(clock, BUFFERS_BYTES);
  // The very last event, with all clients still blocked.
  expect((await call(service as Service, 'DELETE', '/api/bots/big')).status).toBe(204);
  await call(service as Service, 'POST', '/invoke', {
    body: { session_id: null, command: 'ping' },
  });
  let end = -1;
  await expect
    .poll(
      () => {
        const moved = clock.ledger.last !== end;
        end = clock.ledger.last ?? 0;
        return moved;
      },
      { interval: 500 },
    )
    .toBe(false);
  for (const { stream } of clients) stream.resume();
  await Promise.all(
    clients.map(({ ledger, stream }) => stream.until(() => (ledger.last ?? 0) >= end)),
  );
  for (const { ledger } of clients) {
    expect(ledger).toMatchObject({ last: end, faults: [], gaps: [] });
  }
});

it('clients that read slowly are not closed, cost no more than others, and miss nothing undeclared', async () => {
  await start({ stall_ms: 6000 });
  const clock = await open();
  await bytesPass(clock, 1.2 * RING_BYTES);
  const clients = await openAll(20, { readBytes: 2048 });
  await bytesPass(clock, BUFFERS_BYTES);
  const before = await usualMemory(clock, 2 * BUFFERS_BYTES);
  const after = await usualMemory(clock, 3 * BUFFERS_BYTES);
  expect((after - before) / clients.length).toBeLessThan(MIB);
  for (const { ledger, stream } of clients) {
    expect({ over: stream.isOver, faults: ledger.faults }).toEqual({ over: false, faults: [] });
    expect(ledger.accounted).toBe((ledger.last ?? 0) - (ledger.first ?? 0));
  }
  expect(clock.ledger).toMatchObject({ faults: [], gaps: [] });
});
