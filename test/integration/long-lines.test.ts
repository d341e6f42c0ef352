// Lines of any length, from a bot's logger to the bytes on its subscribers' sockets, with the real classes and a real
// MessageChannel: no bot can be made from outside to write a line of 1 MB.

import { MessageChannel } from 'node:worker_threads';
import { createParser } from 'eventsource-parser';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { BotLines } from '../../src/bot-host/bot-lines.js';
import { BotLogger } from '../../src/bot-host/bot-logger.js';
import { Outbox } from '../../src/bot-host/outbox.js';
import { Broadcaster } from '../../src/broadcaster/broadcaster.js';
import { SnapshotMirror } from '../../src/front/bots/snapshot-mirror.js';
import type { StreamSink } from '../../src/front/engine/engine.js';
import { Fanout } from '../../src/front/stream/fanout.js';
import { SnapshotFrames } from '../../src/front/stream/initial-state.js';
import { type Batch, decodeBatch } from '../../src/shared/contract/batch.js';
import { FRONT_CELLS } from '../../src/shared/contract/metric-layout.js';
import { NameHasher } from '../../src/shared/contract/name-hash.js';
import { Counters } from '../../src/shared/memory/counters.js';
import { InFlight } from '../../src/shared/memory/in-flight.js';
import { createRing, MAX_FRAME_BYTES, slotsFor } from '../../src/shared/memory/layout.js';
import { RingReader } from '../../src/shared/memory/ring-reader.js';
import type { Log } from '../harness/shapes.js';

const EPOCH = '0123456789';
const MIB = 2 ** 20;
const IN_FLIGHT_LIMIT = 8 * MIB;
/** With the flag `u` a surrogate pair matches as one character, so this finds only lone surrogates. */
const LONE_SURROGATE = /\p{Surrogate}/u;
/** The limit that API.md documents for `message`. */
const MAX_MESSAGE = 8192;

/** The path of a line through all stages, in one thread. */
class Pipe {
  readonly log: BotLogger;
  readonly inFlight = new InFlight(InFlight.create());
  readonly messages: Log[] = [];
  readonly ids: string[] = [];
  readonly faults: string[] = [];
  readonly writes: number[] = [];
  largestBatch = 0;
  readonly #outbox: Outbox;
  readonly #channel = new MessageChannel();
  readonly #fanout: Fanout;

  constructor(ringBytes: number) {
    const ring = createRing({ bytes: ringBytes, slots: slotsFor(ringBytes), fronts: 1 }, 1);
    const broadcaster = new Broadcaster({ ring, epoch: EPOCH, hashKey: '00' }, () =>
      this.#fanout.wake(),
    );
    const reader = new RingReader(ring, 0);
    const mirror = new SnapshotMirror(reader, new NameHasher('00'), async () => {
      const { next, sessions } = broadcaster.baseline();
      mirror.reset(next, sessions);
    });
    this.#fanout = new Fanout({
      reader,
      epoch: EPOCH,
      writes: { sizes: [MAX_FRAME_BYTES], maxHeldBytes: 2 ** 26, shared: false },
      snapshots: new SnapshotFrames(mirror, MAX_FRAME_BYTES),
      journal: { isThere: false, replay: () => Promise.reject(new Error('there is no journal')) },
      heartbeatMs: 60_000,
      stallMs: 60_000,
      counters: Counters.alone(FRONT_CELLS.http),
    });
    this.#fanout.add(this.#sink(), {
      filter: null,
      opening: 'retry: 1\n',
      lastEventId: `${EPOCH}-0`,
      snapshots: false,
      isOwn: false,
      removed: () => {},
    });
    this.#channel.port2.on('message', (batch: Batch) => {
      this.largestBatch = Math.max(this.largestBatch, batch.bytes.byteLength);
      broadcaster.publish(decodeBatch(batch.bytes));
      this.inFlight.subtract(batch.bytes.byteLength);
    });
    this.#outbox = new Outbox(this.#channel.port1, this.inFlight, IN_FLIGHT_LIMIT, () => true);
    this.log = new BotLogger(new BotLines(this.#outbox, 'bot-1', 0), 'bot');
  }

  /** Resolves when `count` lines have arrived at the other end. */
  async have(count: number): Promise<void> {
    const options = { timeout: 15_000, interval: 2 };
    await expect.poll(() => this.messages.length, options).toBeGreaterThanOrEqual(count);
  }

  close(): void {
    this.#outbox.close();
    this.#channel.port2.close();
    this.#fanout.stop();
  }

  #sink(): StreamSink {
    const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });
    const parser = createParser({
      onEvent: ({ id, event, data }) => {
        this.ids.push(id ?? '');
        if (event === 'log') this.messages.push(JSON.parse(data) as Log);
        else this.faults.push(`${event} ${data}`);
      },
      onError: ({ message }) => this.faults.push(message),
    });
    return {
      write: (bytes) => {
        this.writes.push(bytes.length);
        parser.feed(utf8.decode(bytes, { stream: true }));
        return true;
      },
      end: () => this.faults.push('ended'),
      close: () => this.faults.push('closed'),
    };
  }
}

let pipe: Pipe;
beforeEach(() => {
  pipe = new Pipe(4 * MIB);
});
afterEach(() => pipe.close());

/** A truncated message is the beginning of the text, then a mark with the original length. */
function expectCut(message: string, text: string): void {
  expect(message.length).toBeLessThanOrEqual(MAX_MESSAGE);
  const mark = message.search(/… \[cut, \d+ characters\]$/);
  expect(mark).toBeGreaterThan(MAX_MESSAGE - 64);
  expect(message.endsWith(`… [cut, ${text.length} characters]`)).toBe(true);
  expect(text.startsWith(message.slice(0, mark))).toBe(true);
}

it.each<[string, string]>([
  ['ASCII', 'x'],
  ['newlines', '\n'],
  ['NUL', '\0'],
  ['U+2028', '\u2028'],
  ['emoji', '😀'],
  ['lone high surrogates', '\ud83d'],
  ['lone low surrogates', '\ude00'],
  ['quotes', '"'],
  ['three bytes each', '€'],
  ['a mixture', 'a\r\n\0\u2028😀\ud83d"é'],
])('a line of 1 MB of %s is truncated with a visible mark', async (_, unit) => {
  const text = unit.repeat(Math.ceil(MIB / unit.length));
  pipe.log.info('before');
  pipe.log.info(text);
  pipe.log.error(text);
  pipe.log.info('after');
  await pipe.have(4);
  const [before, info, error, after] = pipe.messages;
  expect([before?.message, after?.message]).toEqual(['before', 'after']);
  expectCut(info?.message ?? '', text);
  expectCut(error?.message ?? '', text);
  expect([info?.level, error?.level]).toEqual(['info', 'error']);
  expect(pipe.faults).toEqual([]);
  expect(pipe.ids).toEqual([1, 2, 3, 4].map((seq) => `${EPOCH}-${seq}`));
});

it('truncation does not split a surrogate pair', async () => {
  // In one of the two texts the limit falls in the middle of an emoji.
  const texts = ['😀'.repeat(MIB), `a${'😀'.repeat(MIB)}`];
  for (const text of texts) pipe.log.info(text);
  await pipe.have(2);
  for (const { message } of pipe.messages) expect(message).not.toMatch(LONE_SURROGATE);
});

it('a line within the limit is unchanged', async () => {
  const lengths = [0, 1, 2, 8190, 8191, 8192, 8193, 8194, 16_384];
  for (const length of lengths) pipe.log.info('y'.repeat(length));
  await pipe.have(lengths.length);
  for (const [n, { message }] of pipe.messages.entries()) {
    const length = lengths[n] as number;
    if (length <= MAX_MESSAGE) expect(message).toBe('y'.repeat(length));
    else expectCut(message, 'y'.repeat(length));
  }
});

it('lines are truncated before they are sent: batches stay small, and no write is too large', async () => {
  pipe.close();
  // Large enough for all lines: they are all published before the first flush.
  pipe = new Pipe(32 * MIB);
  const text = '\0'.repeat(MIB);
  for (let n = 0; n < 200; n++) pipe.log.error(`${n} ${text}`);
  await pipe.have(200);
  expect(pipe.messages.map(({ message }) => Number.parseInt(message, 10))).toEqual(
    Array.from({ length: 200 }, (_, n) => n),
  );
  // At most 64 lines of 8,192 characters, six bytes each.
  expect(pipe.largestBatch).toBeLessThan(64 * MAX_FRAME_BYTES);
  expect(Math.max(...pipe.writes)).toBeLessThanOrEqual(MAX_FRAME_BYTES);
  expect(pipe.inFlight.bytes).toBe(0);
  expect(pipe.faults).toEqual([]);
});

it('difficult texts around the limit arrive intact or truncated, in order', async () => {
  const unit = 'a\r\n\0\u2028😀é€"\\';
  const texts = Array.from({ length: 40 }, (_, n) =>
    `${n} ${unit.repeat(1000)}`.slice(0, MAX_MESSAGE - 20 + n),
  );
  for (const text of texts) pipe.log.warn(text);
  await pipe.have(texts.length);
  for (const [n, { message }] of pipe.messages.entries()) {
    const text = texts[n] as string;
    if (text.length <= MAX_MESSAGE) expect(message).toBe(text);
    else expectCut(message, text);
  }
  expect(pipe.faults).toEqual([]);
});
