// A bot's lines on their way to the broadcaster, over a real port: which are skipped, and that this is reported.

import { MessageChannel, type MessagePort, receiveMessageOnPort } from 'node:worker_threads';
import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { BotLines } from '../../../src/bot-host/bot-lines.js';
import { BotLogger } from '../../../src/bot-host/bot-logger.js';
import { Outbox } from '../../../src/bot-host/outbox.js';
import { type Batch, decodeBatch } from '../../../src/shared/contract/batch.js';
import { LEVELS, type Level } from '../../../src/shared/contract/event-kinds.js';
import type { Item, LogItem } from '../../../src/shared/contract/events.js';
import { InFlight } from '../../../src/shared/memory/in-flight.js';
import { logLine } from '../shared/ring-fixture.js';

const open: MessagePort[] = [];

/** The host's end, and the broadcaster's: it processes batches only on demand. */
function connect(limit: number, hasStreams = () => true) {
  const { port1, port2 } = new MessageChannel();
  open.push(port1);
  const buffer = InFlight.create();
  const inFlight = new InFlight(buffer);
  const outbox = new Outbox(port1, new InFlight(buffer), limit, hasStreams);
  const take = (): Item[][] => {
    const batches: Item[][] = [];
    for (;;) {
      const received = receiveMessageOnPort(port2);
      if (!received) return batches;
      const { bytes } = received.message as Batch;
      const items = decodeBatch(bytes);
      inFlight.subtract(bytes.byteLength);
      batches.push(items);
    }
  };
  return { outbox, inFlight, take };
}

const textOf = (item: Item): string =>
  item.kind === 'log' ? (JSON.parse(item.message_json) as string) : `session ${item.id}`;

beforeEach(() => {
  vi.useFakeTimers({
    toFake: ['setTimeout', 'clearTimeout', 'setImmediate', 'clearImmediate', 'Date', 'performance'],
  });
});
afterEach(() => {
  vi.useRealTimers();
  for (const port of open.splice(0)) port.close();
});

describe('the outbox', () => {
  it('posts at the end of the tick, or when a batch is full, in order', () => {
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 1, max: 200 }), { maxLength: 6 }), (ticks) => {
        const { outbox, inFlight, take } = connect(Number.MAX_SAFE_INTEGER);
        let count = 0;
        for (const items of ticks) {
          const from = count;
          for (let at = 0; at < items; at++) outbox.add(logLine({ message: `${count++}` }));
          // A full batch is posted at once.
          const early = take();
          expect(early.map((batch) => batch.length)).toEqual(early.map(() => 64));
          expect(early.length).toBe(Math.floor(items / 64));
          vi.runAllTimers();
          const got = [...early, ...take()].flat().map(textOf);
          expect(got).toEqual(Array.from({ length: items }, (_, at) => `${from + at}`));
        }
        expect(inFlight.bytes).toBe(0);
      }),
      { numRuns: 40 },
    );
  });

  it.each([
    { streams: true, ms: 5 },
    { streams: false, ms: 100 },
  ])('gathers for $ms ms after a batch when streams are open: $streams', ({ streams, ms }) => {
    const { outbox, take } = connect(1_000_000, () => streams);
    const batches = (): string[][] => take().map((batch) => batch.map(textOf));
    vi.advanceTimersByTime(1000);
    outbox.add(logLine({ message: 'first' }));
    vi.advanceTimersByTime(0);
    expect(batches()).toEqual([['first']]);
    for (let at = 1; at < 4; at++) {
      outbox.add(logLine({ message: `${at}` }));
      vi.advanceTimersByTime(1);
    }
    expect(batches()).toEqual([]);
    vi.advanceTimersByTime(ms);
    expect(batches()).toEqual([['1', '2', '3']]);
    // Again idle.
    vi.advanceTimersByTime(ms);
    outbox.add(logLine({ message: 'next' }));
    vi.advanceTimersByTime(0);
    expect(batches()).toEqual([['next']]);
  });

  it('does not gather what somebody waits for, and posts the lines before it first', () => {
    const { outbox, take } = connect(1_000_000, () => false);
    const awaited: Item[] = [
      logLine({ level: 'warn', message: 'warned' }),
      logLine({ level: 'error', message: 'failed' }),
      logLine({ level: 'state', message: 'moved' }),
      { kind: 'session', id: 'bot-1', patch: { status: 'in_world' } },
    ];
    outbox.add(logLine({ message: 'first' }));
    vi.advanceTimersByTime(0);
    take();
    for (const item of awaited) {
      outbox.add(logLine({ message: 'before' }));
      outbox.add({ kind: 'session', id: 'bot-1', patch: { data: {} } });
      vi.advanceTimersByTime(1);
      expect(take()).toEqual([]);
      outbox.add(item);
      vi.advanceTimersByTime(0);
      expect(take().flat().map(textOf)).toEqual(['before', 'session bot-1', textOf(item)]);
    }
  });

  it('posts its items when it is flushed, and no empty batch', () => {
    const { outbox, take } = connect(1_000_000);
    outbox.flush();
    expect(take()).toEqual([]);
    outbox.add(logLine({ message: 'last words' }));
    outbox.flush();
    expect(take().flat().map(textOf)).toEqual(['last words']);
    vi.runAllTimers();
    expect(take()).toEqual([]);
  });

  it('counts the bytes in flight', () => {
    const { outbox, inFlight, take } = connect(100);
    expect(outbox.hasRoom(false)).toBe(true);
    outbox.add(logLine({ message: 'x'.repeat(500) }));
    expect(inFlight.bytes).toBe(0);
    outbox.flush();
    expect(inFlight.bytes).toBeGreaterThan(500);
    expect(outbox.hasRoom(false)).toBe(false);
    take();
    expect(inFlight.bytes).toBe(0);
    expect(outbox.hasRoom(false)).toBe(true);
  });

  it('reserves half of the room for other bots than one that writes much', () => {
    const { outbox, take } = connect(60_000);
    const flooder = new BotLines(outbox, 'flooder', 1000);
    const neighbour = new BotLines(outbox, 'neighbour', 1000);
    const kind = { level: 'info', scope: 'bot', transport: null, direction: null } as const;
    for (let n = 0; n < 1000; n++) flooder.write(kind, 'f'.repeat(200));
    outbox.flush();
    expect([outbox.hasRoom(true), outbox.hasRoom(false)]).toEqual([false, true]);
    neighbour.write(kind, 'still heard');
    outbox.flush();
    const lines = take().flat().map(textOf);
    expect(lines.at(-1)).toBe('still heard');
    expect(lines.length).toBeGreaterThan(100);
    expect(lines.length).toBeLessThan(260);
  });

  it('continues with a new broadcaster', () => {
    const { outbox, take } = connect(100);
    outbox.add(logLine({ message: 'x'.repeat(500) }));
    outbox.flush();
    const { port1, port2 } = new MessageChannel();
    open.push(port1);
    outbox.attach(port1, new InFlight(InFlight.create()));
    expect(outbox.hasRoom(false)).toBe(true);
    outbox.add(logLine({ message: 'to the new one' }));
    outbox.flush();
    const received = receiveMessageOnPort(port2) as { message: Batch };
    expect(decodeBatch(received.message.bytes).map(textOf)).toEqual(['to the new one']);
    expect(take().flat()).toHaveLength(1);
  });
});

describe('the lines of a bot', () => {
  const kind = (level: Level) => ({ level, scope: 'bot', transport: null, direction: null });

  type Step = { do: 'write'; level: Level } | { do: 'take' } | { do: 'pass'; ms: number };
  const steps: fc.Arbitrary<Step[]> = fc.array(
    fc.oneof(
      {
        weight: 20,
        arbitrary: fc.record({
          do: fc.constant('write' as const),
          level: fc.constantFrom(...LEVELS, 'info' as const, 'info' as const, 'info' as const),
        }),
      },
      { weight: 1, arbitrary: fc.constant({ do: 'take' as const }) },
      {
        weight: 2,
        arbitrary: fc.record({
          do: fc.constant('pass' as const),
          ms: fc.constantFrom(0, 1, 10, 500, 2000),
        }),
      },
    ),
    { maxLength: 300, size: 'max' },
  );

  it('all arrive in order, except those above a limit, which are counted by level', () => {
    let allSkipped = 0;
    fc.assert(
      fc.property(
        steps,
        fc.constantFrom(0, 5, 50, 10_000),
        fc.constantFrom(2000, 20_000),
        (script, perSecond, limit) => {
          const { outbox, take } = connect(limit);
          const lines = new BotLines(outbox, 'bot-1', perSecond);
          const written: Level[] = [];
          const got: LogItem[] = [];
          const receive = () => {
            for (const item of take().flat()) if (item.kind === 'log') got.push(item);
          };
          for (const step of script) {
            if (step.do === 'write') {
              lines.write(kind(step.level), `#${written.length}`);
              written.push(step.level);
            } else if (step.do === 'take') receive();
            else vi.advanceTimersByTime(step.ms);
          }
          receive();
          lines.flush();
          outbox.flush();
          receive();
          vi.runAllTimers();
          receive();

          const skipped = new Map<string, number>();
          const numbers: number[] = [];
          for (const item of got) {
            const text = textOf(item);
            const report = /^(\d+) (\w+) lines were skipped: (.*)$/.exec(text);
            if (report) {
              expect(item).toMatchObject({ level: 'warn', session_id: 'bot-1' });
              const [, count, level = '', reason] = report;
              if (level !== 'info') expect(reason).toBe('rate limit exceeded');
              skipped.set(level, (skipped.get(level) ?? 0) + Number(count));
            } else {
              const number = Number(text.slice(1));
              expect(item.level).toBe(written[number]);
              numbers.push(number);
            }
          }
          expect(numbers).toEqual([...numbers].sort((a, b) => a - b));
          expect(new Set(numbers).size).toBe(numbers.length);
          const missing = written.flatMap((level, at) => (numbers.includes(at) ? [] : [level]));
          for (const level of LEVELS) {
            const count = missing.filter((one) => one === level).length;
            expect(skipped.get(level) ?? 0).toBe(count);
            // Without a rate only the room is limited, and that for info lines alone.
            if (level !== 'info' && perSecond === 0) expect(count).toBe(0);
          }
          allSkipped += missing.length;
        },
      ),
      { numRuns: 100 },
    );
    expect(allSkipped).toBeGreaterThan(0);
  });

  it('report the number of skipped lines within about a second, also for a bot that is silent then', () => {
    const { outbox, take } = connect(1_000_000);
    const lines = new BotLines(outbox, 'bot-1', 10);
    for (let at = 0; at < 25; at++) lines.write(kind('info'), `${at}`);
    vi.advanceTimersByTime(900);
    expect(take().flat()).toHaveLength(10);
    vi.advanceTimersByTime(200);
    expect(take().flat().map(textOf)).toEqual([
      expect.stringMatching(/^15 info lines were skipped/),
    ]);
    vi.advanceTimersByTime(10_000);
    expect(take()).toEqual([]);
  });

  it.each(['warn', 'error', 'state'] as const)(
    'of level %s have a tenth of the rate, and leave the room to the info lines of other bots',
    (level) => {
      const { outbox, take } = connect(20_000);
      const flooder = new BotLines(outbox, 'flooder', 1000);
      const neighbour = new BotLines(outbox, 'neighbour', 1000);
      for (let at = 0; at < 100_000; at++) flooder.write(kind(level), 'flood');
      for (let at = 0; at < 10; at++) neighbour.write(kind('info'), 'still heard');
      vi.advanceTimersByTime(1000);
      outbox.flush();
      const lines = take().flat().map(textOf);
      expect(lines.filter((line) => line === 'flood')).toHaveLength(100);
      expect(lines.filter((line) => line === 'still heard')).toHaveLength(10);
      expect(lines.at(-1)).toBe(`99900 ${level} lines were skipped: rate limit exceeded`);
    },
  );

  it('that are skipped because the host has no room are not called too many', () => {
    const { outbox, take } = connect(400);
    outbox.add(logLine({ message: 'x'.repeat(500) }));
    outbox.flush();
    const lines = new BotLines(outbox, 'bot-1', 1000);
    lines.write(kind('info'), 'one');
    lines.flush();
    outbox.flush();
    expect(take().flat().map(textOf).at(-1)).toBe(
      '1 info lines were skipped: its bot host writes faster than the service publishes',
    );
  });

  it('that are skipped for ten seconds are a flood, once, and again after a pause', () => {
    const { outbox } = connect(1_000_000);
    const floods: string[] = [];
    const lines = new BotLines(outbox, 'bot-1', 10, [], (reason) => floods.push(reason));
    const flood = (seconds: number): void => {
      for (let ms = 0; ms < seconds * 1000; ms += 100) {
        for (let n = 0; n < 10; n++) lines.write(kind('error'), 'x');
        vi.advanceTimersByTime(100);
      }
    };
    flood(9);
    expect(floods).toEqual([]);
    flood(20);
    expect(floods).toEqual([
      expect.stringMatching(/^\d+ error lines were skipped: rate limit exceeded$/),
    ]);
    vi.advanceTimersByTime(5000);
    flood(12);
    expect(floods).toHaveLength(2);
  });

  it('are accepted again at the allowed rate', () => {
    const { outbox, take } = connect(1_000_000);
    const lines = new BotLines(outbox, 'bot-1', 10);
    const passed = (): number => {
      outbox.flush();
      return take()
        .flat()
        .filter((item) => item.kind === 'log' && item.level === 'info').length;
    };
    const burst = () => {
      for (let at = 0; at < 100; at++) lines.write(kind('info'), 'x');
    };
    burst();
    expect(passed()).toBe(10);
    vi.advanceTimersByTime(500);
    burst();
    expect(passed()).toBe(5);
    vi.advanceTimersByTime(60_000);
    burst();
    expect(passed()).toBe(10);
  });

  it('accept messages that are not strings without breaking the batch', () => {
    const { outbox, take } = connect(1_000_000);
    const log = new BotLogger(new BotLines(outbox, 'bot-1', 0), 'bot');
    for (const odd of [undefined, null, 5, { a: 1 }, Symbol('s'), 10n]) {
      log.info(odd);
      log.wire('tcp', 'incoming', odd as unknown as string);
    }
    outbox.flush();
    const shown = ['undefined', 'null', '5', '{ a: 1 }', 'Symbol(s)', '10n'];
    expect(take().flat().map(textOf)).toEqual(shown.flatMap((text) => [text, text]));
  });

  it('carry the correlation id of a wire message, masked, and no other line has the field', () => {
    const { outbox, take } = connect(1_000_000);
    const log = new BotLogger(new BotLines(outbox, 'bot-1', 0, ['hunter2-hunter2']), 'bot');
    log.wire('tcp', 'outgoing', 'ask', { correlationId: '7' });
    log.wire('tcp', 'incoming', 'answer', { correlationId: 'of hunter2-hunter2' });
    log.wire('tcp', 'incoming', 'news');
    log.info('a line');
    for (const wrong of ['', 'x'.repeat(129), 7 as unknown as string]) {
      expect(() => log.wire('tcp', 'incoming', 'x', { correlationId: wrong })).toThrow(
        'correlationId is a text of 1 to 128 characters',
      );
    }
    outbox.flush();
    const items = take().flat() as LogItem[];
    expect(items.map(({ correlation_id }) => correlation_id)).toEqual([
      '7',
      'of ***',
      undefined,
      undefined,
    ]);
    expect(items.map((item) => Object.hasOwn(item, 'correlation_id'))).toEqual([
      true,
      true,
      false,
      false,
    ]);
  });
});
