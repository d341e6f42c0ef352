// Every byte of a stream: chunked encoding as in the RFC, the event stream through a parser, and text that breaks
// line-based and UTF-8-based code, read a few bytes at a time.

import { createParser } from 'eventsource-parser';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { call } from '../harness/api.js';
import { ChunkedDecoder } from '../harness/chunked.js';
import { createDemoBot } from '../harness/demo.js';
import { RawStream } from '../harness/raw-stream.js';
import { type Service, startService, stopClean } from '../harness/service.js';
import type { Log, Snapshot } from '../harness/shapes.js';

/** Text that is difficult to encode, each at most 128 UTF-16 code units. */
const HARD: Record<string, string> = {
  newlines: 'a\nb\n\nc\n',
  'carriage returns': 'a\rb\r\nc\r\r',
  nul: 'a\0b\0',
  'line and paragraph separators': 'a\u2028b\u2029c\u0085d',
  'a byte order mark': '\ufeffa\ufeff',
  emoji: '😀👩‍👩‍👧‍👦🏴‍☠️',
  'lone surrogates': 'a\ud83db\ude00c\ud83d',
  'surrogates in the wrong order': '\ude00\ud83d',
  'the last code points': '\u{10ffff}\uffff\ufffe',
  'fields of an event stream': 'x\n\nevent: gap\nid: 1-1\ndata: {}\n\nretry: 1\n\n:\n',
  'chunks and a response head': '0\r\n\r\nHTTP/1.1 200 OK\r\n\r\n5\r\nhello\r\n',
  'quotes and escapes': '"\\"\\u0000\\n\\',
  'all control characters': Array.from({ length: 33 }, (_, n) => String.fromCharCode(n)).join(''),
  'two, three and four bytes': 'éß€‱𝄞𐍈'.repeat(8),
};
/** Labels have neither control characters nor characters that change the direction of text. */
const LABELS = [
  'a byte order mark',
  'emoji',
  'lone surrogates',
  'surrogates in the wrong order',
  'the last code points',
  'two, three and four bytes',
].map((name) => HARD[name] as string);
/** With the flag `u` a surrogate pair matches as one character, so this finds only lone surrogates. */
const LONE_SURROGATE = /\p{Surrogate}/u;
/** Requests with the others are refused. */
const TEXTS = Object.values(HARD).filter((text) => !LONE_SURROGATE.test(text));

let service: Service;
beforeAll(async () => {
  service = await startService({
    demo: true,
    config: {
      demo: { bots: 0 },
      stream: { heartbeat_ms: 100 },
      bots: [
        {
          id: 'hard',
          kind: 'synthetic',
          config: { events_per_second: 0 },
          labels: Object.fromEntries(LABELS.map((text, n) => [`label-${n}`, text])),
        },
      ],
    },
  });
});
afterAll(() => stopClean(service));

interface Event {
  id: string | undefined;
  event: string | undefined;
  data: string;
}

interface Reading {
  stream: RawStream;
  events: Event[];
  comments: string[];
  faults: string[];
  body: () => Buffer;
}

/** Reads a stream with a parser that does not know this service. */
async function read(readBytes: number | undefined, headers = {}): Promise<Reading> {
  const events: Event[] = [];
  const comments: string[] = [];
  const faults: string[] = [];
  const pieces: Buffer[] = [];
  const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });
  const parser = createParser({
    onEvent: ({ id, event, data }) => events.push({ id, event, data }),
    onComment: (comment) => comments.push(comment),
    onError: (error) => faults.push(error.message),
  });
  const stream = await RawStream.open(service.port, {
    token: await service.token(),
    headers,
    onBody: (bytes) => {
      pieces.push(Buffer.from(bytes));
      parser.feed(utf8.decode(bytes, { stream: true }));
    },
    ...(readBytes === undefined ? {} : { readBytes }),
  });
  onTestFinished(() => stream.close());
  return { stream, events, comments, faults, body: () => Buffer.concat(pieces) };
}

const logOf = ({ event, data }: Event): Log | undefined =>
  event === 'log' ? (JSON.parse(data) as Log) : undefined;
const snapshotOf = ({ event, data }: Event): Snapshot | undefined =>
  event === 'session' ? (JSON.parse(data) as { snapshot: Snapshot }).snapshot : undefined;

/** Publishes the text on the stream: the name of an unknown command comes back in a log line. */
async function publishText(text: string): Promise<void> {
  const body = { session_id: null, command: text, args: {} };
  expect((await call(service, 'POST', '/invoke', { body })).status).toBe(404);
}

describe.each([
  ['as it comes', undefined],
  ['512 bytes at a time', 512],
  ['7 bytes at a time', 7],
  ['byte by byte', 1],
])('read %s', (_, readBytes) => {
  it('every text arrives intact, and none of it is parsed as part of the stream', async () => {
    const reading = await read(readBytes);
    const { stream, events } = reading;
    for (const text of TEXTS) await publishText(text);
    const lines = (): string[] =>
      events.flatMap((event) => {
        const log = logOf(event);
        return log?.scope === 'dispatch' ? [log.message] : [];
      });
    await stream.until(() => lines().length >= TEXTS.length);
    for (const [n, line] of lines().entries())
      expect(line.startsWith(`${TEXTS[n]} failed: `)).toBe(true);

    const labels = snapshotOf(events[0] as Event)?.labels ?? {};
    expect(Object.values(labels)).toEqual(LABELS);

    expect(reading.faults).toEqual([]);
    for (const comment of reading.comments) expect(comment).toBe('');
    const body = reading.body();
    expect(body.includes('\r')).toBe(false);
    expect(body.includes('\0')).toBe(false);
    expect(body.includes('\ufeffretry')).toBe(false);
    // A lone surrogate has no UTF-8 encoding: it must arrive as an escape, not as U+FFFD.
    expect(body.includes('\ufffd')).toBe(false);
    // Only the known fields, and one line of data per event.
    for (const block of body.toString('utf8').split('\n\n').slice(0, -1)) {
      expect(block).toMatch(
        /^(retry: \d+\n)?(:\n)*(id: [0-9a-f]+-\d+\n)?event: (log|session|activity)\ndata: \{[^\n]*\}$/,
      );
    }
  });
});

it('slow readers receive the same bytes as a fast one', async () => {
  const first = await read(undefined);
  await first.stream.until(() => first.stream.bodyBytes > 0);
  for (const text of TEXTS) await publishText(text);
  await first.stream.until(
    () => first.events.filter((event) => logOf(event)).length >= TEXTS.length,
  );
  const [before = '', ...ids] = first.events.flatMap(({ id }) => id || []);
  const wanted = framesOf(first.body(), ids.at(-1) as string, before);
  expect(wanted.length).toBeGreaterThan(2000);
  for (const readBytes of [1, 3, 64, 1000]) {
    const slow = await read(readBytes, { 'Last-Event-ID': before });
    await slow.stream.until(() => slow.events.some(({ id }) => id === ids.at(-1)));
    expect(framesOf(slow.body(), ids.at(-1) as string).equals(wanted)).toBe(true);
    slow.stream.close();
  }
});

/** The bytes of the numbered frames up to `lastId`, without what belongs to one stream only: comments, and its start. */
function framesOf(body: Buffer, lastId: string, startId?: string): Buffer {
  const blocks = body
    .toString('latin1')
    .replaceAll(/^(?::|retry).*\n/gm, '')
    .split('\n\n');
  const own = blocks.filter(
    (block) => /^id: \S+\nevent: /.test(block) && !block.startsWith(`id: ${startId}\n`),
  );
  const end = own.findIndex((block) => block.startsWith(`id: ${lastId}\n`));
  return Buffer.from(own.slice(0, end + 1).join('\n\n'), 'latin1');
}

it('text that passes through a bot and its host arrives intact', async () => {
  await createDemoBot(service, 'walker');
  const { stream, events, faults } = await read(7);
  await stream.until(() =>
    events.some((event) => {
      const snapshot = snapshotOf(event);
      return snapshot?.id === 'walker' && snapshot.status === 'in_world';
    }),
  );
  for (const text of TEXTS) {
    const body = { session_id: 'walker', command: 'say', args: { text } };
    const answer = await call(service, 'POST', '/invoke', { body });
    expect({ status: answer.status, json: answer.json }).toEqual({
      status: 200,
      json: { result: { said: text } },
    });
  }
  const said = TEXTS.map((text) => `say -> ${JSON.stringify({ said: text })}`);
  const lines = (): string[] =>
    events.flatMap((event) => {
      const log = logOf(event);
      return log?.scope === 'dispatch' && log.message.startsWith('say ->') ? [log.message] : [];
    });
  await stream.until(() => lines().length >= said.length);
  expect(lines()).toEqual(said);
  expect(faults).toEqual([]);
});

describe('the strict chunk decoder', () => {
  const decode = (...pieces: string[]): string => {
    const parts: Buffer[] = [];
    const decoder = new ChunkedDecoder((bytes) => parts.push(Buffer.from(bytes)));
    for (const piece of pieces) decoder.push(Buffer.from(piece, 'latin1'));
    return `${Buffer.concat(parts).toString('latin1')}${decoder.done ? '.' : ''}`;
  };
  it('accepts what the RFC lets a server send, in pieces of any size', () => {
    const whole = '5\r\nhello\r\n1A\r\nabcdefghijklmnopqrstuvwxyz\r\n0\r\n\r\n';
    expect(decode(whole)).toBe('helloabcdefghijklmnopqrstuvwxyz.');
    expect(decode(...whole)).toBe('helloabcdefghijklmnopqrstuvwxyz.');
    expect(decode('5\r\nhel')).toBe('hel');
  });
  it.each([
    ['no size', '\r\nhello\r\n'],
    ['a size that is not a number', 'x\r\n'],
    ['a size with a space', '5 \r\nhello\r\n'],
    ['leading zeros', '05\r\nhello\r\n'],
    ['an extension', '5;a=b\r\nhello\r\n'],
    ['a bare line feed', '5\nhello\r\n'],
    ['a chunk longer than its size', '5\r\nhello!\r\n'],
    ['a chunk shorter than its size', '6\r\nhello\r\n0\r\n\r\n'],
    ['a bare line feed after a chunk', '5\r\nhello\n'],
    ['a trailer', '0\r\nA: b\r\n\r\n'],
    ['data after the end', '0\r\n\r\n0'],
    ['a size that is too large', 'fffffffff\r\n'],
  ])('refuses %s', (_, bytes) => {
    expect(() => decode(bytes)).toThrow();
    expect(() => decode(...bytes)).toThrow();
  });
});

// It stops the service.
it('a stream ends with its last chunk and nothing after it', async () => {
  const streams = await Promise.all(
    [undefined, 1, 50].map(async (readBytes) =>
      RawStream.open(service.port, {
        token: await service.token(),
        ...(readBytes === undefined ? {} : { readBytes }),
      }),
    ),
  );
  expect(await service.stop()).toBe(0);
  for (const stream of streams) {
    expect(await stream.ended).toBe('complete');
    expect(stream.fault).toBeUndefined();
  }
});
