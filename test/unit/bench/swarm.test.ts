// Run by vitest. The eyes of the stream benches: what they do not see, no metric shows.

import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { frameOf, type Line, pieces } from '../../../bench/controls/line-source.js';
import { LatencyHistogram } from '../../../bench/harness/latency-histogram.js';
import { parseQueues } from '../../../bench/harness/socket-queues.js';
import { ChunkReader } from '../../../bench/load/chunk-reader.js';
import { StreamCheck } from '../../../bench/load/stream-check.js';

const EPOCH = '0123456789';
const HEARTBEAT = ':\n';

function frame(seq: number, message = `${seq} xx`): string {
  const line: Line = {
    id: `${EPOCH}-${seq}`,
    data: {
      timestamp_ms: 1_000,
      level: 'info',
      scope: 'bot',
      session_id: 'load',
      transport: null,
      direction: null,
      message,
    },
  };
  return frameOf(line);
}

function frames(from: number, to: number): string {
  return Array.from({ length: to - from }, (_, n) => frame(from + n)).join('');
}

function chunked(...payloads: string[]): Buffer {
  const all = payloads.map((text) => `${Buffer.byteLength(text).toString(16)}\r\n${text}\r\n`);
  return Buffer.from(all.join(''));
}

function read(wire: Buffer, sizes: readonly number[] = [wire.length]): ChunkReader {
  const reader = new ChunkReader('id: ');
  reader.strict = true;
  let at = 0;
  for (let n = 0; at < wire.length; n++) {
    const to = Math.min(wire.length, at + (sizes[n % sizes.length] ?? 1));
    reader.read(wire, at, to);
    at = to;
  }
  return reader;
}

describe('the chunk reader', () => {
  it('counts the same however the bytes are cut', () => {
    const wire = chunked(frames(1, 4), HEARTBEAT, frames(4, 5), frames(5, 90));
    const payload = Buffer.byteLength(frames(1, 90));
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 1, max: 300 }), { minLength: 1 }), (sizes) => {
        const reader = read(wire, sizes);
        expect(reader.fault).toBeUndefined();
        expect(reader).toMatchObject({ payload, chunks: 4, heartbeats: 1, gaps: 0 });
        expect(reader.payload + reader.framing + HEARTBEAT.length).toBe(wire.length);
      }),
    );
  });

  it('accepts a frame in several chunks', () => {
    const whole = frames(1, 9);
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 700 }), (size) => {
        const parts = whole.match(new RegExp(`[^]{1,${size}}`, 'g')) ?? [];
        const reader = read(chunked(...parts, frames(9, 10)));
        expect(reader).toMatchObject({ fault: undefined, payload: frames(1, 10).length });
      }),
    );
  });

  it('gives the payload to its sink in order', () => {
    const reader = new ChunkReader('id: ');
    let text = '';
    reader.sink = (bytes, from, to) => {
      text += bytes.toString('utf8', from, to);
    };
    const wire = chunked(frames(1, 3), frames(3, 9));
    for (let at = 0; at < wire.length; at += 7)
      reader.read(wire, at, Math.min(at + 7, wire.length));
    expect(text).toBe(frames(1, 9));
  });

  it.each([
    ['a doubled chunk', chunked(frames(1, 3), frames(1, 3)), 'begins with 1 after 1'],
    ['chunks in the wrong order', chunked(frames(5, 7), frames(3, 5)), 'begins with 3 after 5'],
    ['a chunk that begins in a frame', chunked(frames(1, 3).slice(5)), 'not begin with a frame'],
    ['a doubled part', chunked('id: 0-1\nx', '\n\n', '\n\n'), 'not begin with a frame'],
    ['a size that is none', Buffer.from('zz\r\n'), 'in a chunk size'],
    ['no size', Buffer.from('\r\n'), 'without a size'],
    ['a chunk longer than its size', Buffer.from('6\r\nid: \n\nxx\r\n'), 'in a chunk size'],
  ])('sees %s', (_, wire, fault) => {
    expect(read(wire).fault).toContain(fault);
  });

  it('counts a declared loss and does not judge what follows it', () => {
    const gap = `id: ${EPOCH}-9\nevent: gap\ndata: {}\n\n`;
    const reader = read(chunked(frames(1, 3), gap, 'event: session\ndata: {}\n\n'));
    expect(reader).toMatchObject({ gaps: 1, fault: undefined });
  });
});

describe('the check of a whole stream', () => {
  function check(text: string): StreamCheck {
    const stream = new StreamCheck(new LatencyHistogram());
    for (const byte of Buffer.from(text)) stream.feed(Buffer.of(byte), 1_007);
    return stream;
  }

  it('follows ids and line numbers over a beginning, frames and the end of the load', () => {
    const opening = `retry: 2000\n\nid: ${EPOCH}-0\n\n`;
    const end = frame(9, 'ping').replace('"bot"', '"dispatch"').replace('"load"', 'null');
    const stream = check(opening + frames(1, 9) + HEARTBEAT + end);
    expect(stream).toMatchObject({ frames: 9, ended: true, fault: undefined, lastId: 9 });
  });

  it.each([
    ['a missing frame', frames(1, 3) + frames(4, 6), '-4 after 2'],
    ['a doubled frame', frames(1, 3) + frames(2, 3), '-2 after 2'],
    ['a missing line', frame(1, '1 x') + frame(2, '3 x'), 'line 3 after line 1'],
    ['a load without its first line', frame(1, '2 x'), 'line 2 after line 0'],
    ['a torn frame', frame(1).replace('"level"', '"level'), 'not JSON'],
  ])('sees %s', (_, text, fault) => {
    expect(check(text).fault).toContain(fault);
  });

  it('accepts a loss that is declared where it is, and no other', () => {
    const gap = (from: number, to: number) =>
      `id: ${EPOCH}-${to}\nevent: gap\ndata: {"from":"${EPOCH}-${from}","to":"${EPOCH}-${to}","dropped":${to - from + 1}}\n\n`;
    const declared = check(frames(1, 3) + gap(3, 7) + frames(8, 10));
    expect(declared).toMatchObject({ gaps: 1, lost: 5, fault: undefined });
    expect(check(frames(1, 3) + gap(5, 7)).fault).toContain('a gap');
  });
});

describe('what they are built from', () => {
  it('joins frames into pieces that are whole and not too large', () => {
    const all = Array.from({ length: 50 }, (_, n) => frame(n + 1));
    const joined = pieces(all, 1_000);
    expect(Buffer.concat(joined).toString()).toBe(all.join(''));
    for (const piece of joined) {
      expect(piece.length).toBeLessThanOrEqual(1_000);
      expect(piece.toString().endsWith('\n\n')).toBe(true);
    }
  });

  it('adds histograms up', () => {
    const [one, other, both] = [1, 2, 3].map(() => new LatencyHistogram()) as [
      LatencyHistogram,
      LatencyHistogram,
      LatencyHistogram,
    ];
    for (const ms of [0.5, 3, 3, 150]) one.record(ms);
    for (const ms of [7, 2_000]) other.record(ms);
    for (const { pairs, maxMs } of [one, other].map((h) => ({ pairs: h.pairs(), maxMs: h.maxMs })))
      both.add(pairs, maxMs);
    expect(both.count).toBe(6);
    expect(both.maxMs).toBe(2_000);
    expect(both.percentileMs(50)).toBeCloseTo(3.01, 5);
    both.reset();
    expect(both.count).toBe(0);
  });

  it('reads what the kernel holds for each client, on both sides', () => {
    const table = [
      '  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid',
      '   0: 0100007F:1F9A 00000000:0000 0A 00000000:00000005 00:00000000 00000000     0',
      '   1: 0100007F:1F9A 0100007F:C350 01 00000100:00000000 01:00000000 00000000     0',
      '   2: 0100007F:C350 0100007F:1F9A 01 00000000:00000020 00:00000000 00000000     0',
      '   3: 0100007F:C351 0100007F:1F9B 01 00000000:00000030 00:00000000 00000000     0',
    ].join('\n');
    expect([...parseQueues(table, 0x1f9a)]).toEqual([[0xc350, 0x100 + 0x20]]);
  });
});
