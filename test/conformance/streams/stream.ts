// docs/INTERFACE.md §4 GET /events and §6: the stream itself, its first bytes, its frames, its clients.

import { beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { call } from '../../harness/api.js';
import type { Service } from '../../harness/service.js';
import { expectSnapshot, logOf, snapshotOf } from '../../harness/shapes.js';
import {
  type Frame,
  get,
  openStream,
  type SseStream,
  type StreamOptions,
} from '../../harness/sse.js';

export function streamTests(given: () => Service): void {
  let service: Service;
  let token: string;
  beforeAll(async () => {
    service = given();
    token = await service.token();
  });

  async function open(options: StreamOptions = { token }, target = '/events'): Promise<SseStream> {
    const stream = await openStream(`${service.url}${target}`, options);
    onTestFinished(() => stream.close());
    return stream;
  }

  const live = (frames: Frame[]): Frame[] => frames.filter((frame) => frame.id !== undefined);
  const liveCount = (count: number, stream: SseStream) => () => live(stream.frames).length >= count;

  /** Sequence number of a live frame's id, `<epoch>-<seq>`. */
  function sequence(frame: Frame | undefined): { epoch: string; seq: number } {
    const match = /^(.+)-(\d+)$/.exec(frame?.id ?? '');
    if (!match?.[1]) throw new Error(`not an id: ${frame?.id}`);
    return { epoch: match[1], seq: Number(match[2]) };
  }

  /** Blocks of the raw stream that are whole, each without its blank line. */
  function blocks(stream: SseStream): string[] {
    return stream.raw.split('\n\n').slice(0, -1);
  }

  it('§4 GET /events answers 200 with a Server-Sent Events stream', async () => {
    const stream = await open();
    expect(stream.response.statusCode).toBe(200);
    expect(stream.response.headers['content-type']).toMatch(/^text\/event-stream(;|$)/);
    // stream.heartbeat_ms, from which clients know when a connection is dead.
    expect(stream.response.headers['drover-heartbeat-ms']).toBe('100');
    expect(stream.response.headers['content-length']).toBeUndefined();
    await stream.until(liveCount(3, stream));
  });

  it('§4 GET /events takes the token in the query string', async () => {
    const stream = await open({}, `/events?token=${encodeURIComponent(token)}`);
    await stream.until(liveCount(3, stream));
  });

  it('§6 each frame is an `event:` line, one `data:` line of JSON and a blank line', async () => {
    const stream = await open();
    await stream.until(liveCount(30, stream));
    const bytes = stream.raw;
    expect(bytes).not.toContain('\r');
    expect(bytes).not.toContain('\uFEFF');
    const seen = { frames: 0, others: 0 };
    for (const block of blocks(stream)) {
      const lines = block.split('\n');
      // What is no frame ends no block, so that no client takes it for a message.
      while (/^(retry: \d+$|:)/.test(lines[0] ?? '')) {
        lines.shift();
        seen.others++;
      }
      if (/^id: /.test(lines[0] ?? '')) expect(lines.shift()).toMatch(/^id: [^\s-]+-\d+$/);
      expect(lines).toHaveLength(2);
      expect(lines[0]).toMatch(/^event: (log|session)$/);
      expect(lines[1]).toMatch(/^data: \{.*\}$/);
      expect(() => JSON.parse(lines[1]?.slice(6) ?? '')).not.toThrow();
      seen.frames++;
    }
    expect(seen.frames).toBeGreaterThanOrEqual(30);
    expect(stream.faults).toEqual([]);
  });

  it('retry, then one session frame per bot, then where it begins, then live', async () => {
    const stream = await open();
    await stream.until(liveCount(5, stream));
    expect(stream.raw).toMatch(/^retry: [1-9]\d*\n/);
    expect(stream.retry).toBeGreaterThan(0);

    const firstLive = stream.frames.findIndex((frame) => frame.id !== undefined);
    const opening = stream.frames.slice(0, firstLive);
    const ids = opening.map((frame) => expectSnapshot(snapshotOf(frame)).id);
    expect(ids.sort()).toEqual(['quiet', 'talker']);
    expect(stream.frames.slice(firstLive).every((frame) => frame.id !== undefined)).toBe(true);

    // The last snapshot says it.
    const { epoch, seq } = sequence(stream.frames[firstLive]);
    expect(stream.position).toBe(`${epoch}-${seq - 1}`);
    expect(blocks(stream)[1]).toMatch(`id: ${stream.position}\nevent: session\n`);
  });

  it('§6 the frames of a stream are numbered without a hole', async () => {
    const stream = await open();
    await stream.until(liveCount(60, stream));
    const [first, ...rest] = live(stream.frames).map(sequence);
    if (!first) throw new Error('no frame');
    expect(rest.map(({ epoch }) => epoch)).toEqual(rest.map(() => first.epoch));
    expect(rest.map(({ seq }) => seq)).toEqual(rest.map((_, index) => first.seq + 1 + index));
  });

  it('§6 two subscribers get the same frames with the same ids', async () => {
    const [one, two] = [await open(), await open()];
    await Promise.all([one, two].map((stream) => stream.until(liveCount(40, stream))));
    const both = live(two.frames).filter((frame) =>
      live(one.frames).some(({ id }) => id === frame.id),
    );
    expect(both.length).toBeGreaterThan(20);
    const from = live(one.frames).findIndex((frame) => frame.id === both[0]?.id);
    expect(live(one.frames).slice(from, from + both.length)).toEqual(both);
  });

  it('§6 with two fronts every subscriber gets the same frames, wherever it landed', async () => {
    const streams = await Promise.all(Array.from({ length: 8 }, () => open()));
    await Promise.all(streams.map((stream) => stream.until(liveCount(60, stream))));
    const maps = streams.map((stream) => new Map(live(stream.frames).map((f) => [f.id, f.data])));
    const [first, ...others] = maps;
    if (!first) throw new Error('no stream');
    for (const other of others) {
      const common = [...first].filter(([id]) => other.has(id));
      expect(common.length).toBeGreaterThan(10);
      for (const [id, data] of common) expect(other.get(id)).toBe(data);
    }
  });

  describe('a browser event-stream client', () => {
    const BROWSER = {
      accept: 'text/event-stream',
      'cache-control': 'no-cache',
      'sec-fetch-mode': 'cors',
    };

    it('§6.3 passes the token as the `token` query parameter and cannot set headers', async () => {
      const stream = await open({ headers: BROWSER }, `/events?token=${encodeURIComponent(token)}`);
      const frame = await stream.waitFor((candidate) => candidate.id !== undefined);
      expect(['log', 'session', 'activity']).toContain(frame.event);
    });

    it('§6.2 reconnects by itself: with Last-Event-ID, and the stream continues after it', async () => {
      const target = `/events?token=${encodeURIComponent(token)}`;
      const before = await open({ headers: BROWSER }, target);
      await before.until(liveCount(10, before));
      before.close();
      await before.ended;
      const last = live(before.frames).at(-1);
      const headers = { ...BROWSER, 'last-event-id': last?.id ?? '' };
      const after = await open({ headers }, target);
      await after.until(liveCount(10, after));
      const numbers = live(after.frames).map((frame) => sequence(frame).seq);
      expect(sequence(live(after.frames)[0]).epoch).toBe(sequence(last).epoch);
      for (const seq of numbers) expect(seq).toBeGreaterThan(sequence(last).seq);
    });

    it('§6.2 a stream that a client reopens starts with the snapshots again', async () => {
      for (let n = 0; n < 3; n++) {
        const stream = await open();
        await stream.waitFor(
          (frame) => frame.id === undefined && snapshotOf(frame)?.id === 'quiet',
        );
        stream.close();
        await stream.ended;
      }
    });
  });

  it('§6.4 the stream is one-way: what a client sends on it is not part of it and harms no one', async () => {
    const stream = await open();
    await stream.until(liveCount(2, stream));
    stream.response.socket.write('hello there\r\n\r\n');
    const other = await open();
    await other.until(liveCount(20, other));
    expect((await call(service, 'GET', '/health', { token: null })).text).toBe('ok');
  });

  it('§8.6 many streams at once are served', async () => {
    const streams = await Promise.all(Array.from({ length: 100 }, () => open()));
    await Promise.all(streams.map((stream) => stream.until(liveCount(5, stream))));
    expect(streams.some((stream) => stream.isOver)).toBe(false);
  });

  it('§8.6 streams that come and go in any order leave the others as they are', async () => {
    const steady = await open();
    for (let round = 0; round < 10; round++) {
      const streams = await Promise.all(Array.from({ length: 8 }, () => open()));
      // Some leave from the front of the line, some from its end, some before their first frame.
      for (const index of [0, 7, 3, 1]) streams[index]?.close();
      const left = streams.filter((_, index) => ![0, 7, 3, 1].includes(index));
      await Promise.all(left.map((stream) => stream.until(liveCount(2, stream))));
      for (const stream of left.reverse()) stream.close();
    }
    const before = steady.frames.length;
    await steady.until(() => steady.frames.length > before + 20);
    const numbers = live(steady.frames).map((frame) => sequence(frame).seq);
    expect(numbers).toEqual(numbers.map((_, index) => (numbers[0] ?? 0) + index));
    const late = await open();
    await late.until(liveCount(5, late));
  });

  it('§6 a refused stream is a JSON error and no stream', async () => {
    const response = await get(`${service.url}/events?token=wrong`, {
      accept: 'text/event-stream',
    });
    expect(response.statusCode).toBe(401);
    expect(response.headers['content-type']).toMatch(/^application\/json\b/);
    response.destroy();
  });

  it('§6 a synthetic bot emits log lines of the size that its config names', async () => {
    const stream = await open();
    await stream.until(
      () => stream.frames.filter((frame) => logOf(frame)?.session_id === 'talker').length >= 10,
    );
    const sizes = stream.frames
      .map(logOf)
      .filter((log) => log?.session_id === 'talker' && log.level === 'info')
      .map((log) => Buffer.byteLength(log?.message ?? ''));
    expect(new Set(sizes)).toEqual(new Set([80]));
  });
}
