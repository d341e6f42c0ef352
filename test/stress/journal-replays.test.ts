// Streams that resume across restarts: from far behind the ring, many at once, slowly, and from ids past retention.

import { readFileSync, statSync } from 'node:fs';
import path from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { call } from '../harness/api.js';
import { act, eventually, watch } from '../harness/bots.js';
import { epochOf, journalOf, keptBy, pastDownload, pastPage, seqOf } from '../harness/history.js';
import { Ledger } from '../harness/ledger.js';
import { RawStream } from '../harness/raw-stream.js';
import { makeDir, removeDir, type Service, startService, stopClean } from '../harness/service.js';
import { streamOf } from '../harness/tokens.js';

const synthetic = (id: string, rate: number, labels: Record<string, string> = {}) => ({
  id,
  kind: 'synthetic',
  config: { events_per_second: rate, message_bytes: 80 },
  labels,
});

const rssOf = (status: string): number => 1024 * Number(/^VmRSS:\s*(\d+) kB$/m.exec(status)?.[1]);

/** Resumes from an id, reads until `until` occurs, and checks the ids with a ledger. */
async function readOn(
  service: Service,
  lastEventId: string,
  until: number,
  query = '',
): Promise<{ ledger: Ledger; ids: number[] }> {
  const ids: number[] = [];
  const ledger = new Ledger({ filtered: query !== '', onFrame: (seq) => ids.push(seq) });
  ledger.epoch = epochOf(lastEventId);
  ledger.last = seqOf(lastEventId);
  const token = encodeURIComponent(await service.token());
  const stream = await RawStream.open(service.port, {
    target: `/events?token=${token}${query}`,
    headers: { 'Last-Event-ID': lastEventId },
    onBlock: ledger.take,
  });
  await stream.until(() => (ledger.last ?? 0) >= until, 60_000);
  stream.close();
  return { ledger, ids };
}

describe('a stream that resumes', () => {
  let home: string;
  let service: Service;
  beforeAll(() => {
    home = makeDir();
  });
  afterEach(() => stopClean(service));
  afterAll(() => removeDir(home));

  it('after a clean restart: the same epoch, and every id once, without a gap', async () => {
    const dataDir = path.join(home, 'clean');
    service = await startService({ dataDir, config: { bots: [synthetic('a', 500)] } });
    const first = await watch(service);
    await first.until(() => first.frames.length > 300);
    const id =
      first.frames.findLast((frame) => frame.id !== undefined && frame.id !== '')?.id ?? '';
    await stopClean(service);
    // Up to the very last line.
    expect(await first.ended).toBe(true);
    const end = first.frames.at(-1)?.id ?? '';
    service = await startService({ dataDir, config: { bots: [synthetic('a', 500)] } });
    const { events } = await pastPage(service, '?limit=1');
    expect(epochOf(events[0]?.id ?? '')).toBe(epochOf(id));
    for (const from of [id, end, first.frames.find((frame) => frame.id)?.id ?? '']) {
      const { ledger } = await readOn(service, from, seqOf(end) + 200);
      expect({ faults: ledger.faults, gaps: ledger.gaps }).toEqual({ faults: [], gaps: [] });
    }
  });

  it('beyond a small ring, under load, many at once: every id once and in order', {
    timeout: 120_000,
  }, async () => {
    service = await startService({
      dataDir: path.join(home, 'small-ring'),
      config: {
        // For seconds of events: on a busy machine the journal itself must not lose any.
        stream: { ring_bytes: 2_097_152 },
        bots: [synthetic('a', 1500), synthetic('b', 500)],
      },
    });
    await eventually(
      async () => (await keptBy(service)) > 12_000,
      'more events than the ring has',
      60_000,
    );
    const { events } = await pastPage(service, '?order=oldest&limit=3');
    const { newest } = await journalOf(service);
    const until = seqOf(newest ?? '') + 500;
    const from = events[2]?.id ?? '';
    const whole = Array.from({ length: 25 }, () => readOn(service, from, until));
    const ofB = Array.from({ length: 5 }, () => readOn(service, from, until, '&session=b'));
    const results = await Promise.all(whole);
    for (const { ledger, ids } of results) {
      expect({ faults: ledger.faults, gaps: ledger.gaps }).toEqual({ faults: [], gaps: [] });
      expect(ids[0]).toBe(seqOf(from) + 1);
      expect(ids.length).toBe((ledger.last ?? 0) - seqOf(from));
    }
    const filtered = await Promise.all(ofB);
    const longest = Math.max(...filtered.map(({ ids }) => ids.length));
    let wanted: number[] = [];
    await eventually(async () => {
      const events = await pastDownload(service, `&session=b&after=${from}`);
      wanted = events.map(({ id }) => seqOf(id));
      return wanted.length >= longest;
    }, 'the journal has all that was streamed');
    for (const { ledger, ids } of filtered) {
      expect({ faults: ledger.faults, gaps: ledger.gaps }).toEqual({ faults: [], gaps: [] });
      expect(ids).toEqual(wanted.slice(0, ids.length));
    }
  });

  it('live streams continue while others replay', {
    timeout: 120_000,
  }, async () => {
    service = await startService({
      dataDir: path.join(home, 'live'),
      config: { stream: { ring_bytes: 2_097_152 }, bots: [synthetic('a', 3000)] },
    });
    const token = encodeURIComponent(await service.token());
    const ledger = new Ledger();
    const live = await RawStream.open(service.port, {
      target: `/events?token=${token}`,
      onBlock: ledger.take,
    });
    await eventually(async () => (await keptBy(service)) > 12_000, 'enough events', 60_000);
    const { events } = await pastPage(service, '?order=oldest&limit=1');
    const until = (ledger.last ?? 0) + 3000;
    await Promise.all(
      Array.from({ length: 10 }, () => readOn(service, events[0]?.id ?? '', until)),
    );
    await live.until(() => (ledger.last ?? 0) >= until);
    expect({ faults: ledger.faults, gaps: ledger.gaps }).toEqual({ faults: [], gaps: [] });
    live.close();
  });

  it('a stream that pauses while it replays continues at the same position', async () => {
    service = await startService({
      dataDir: path.join(home, 'slow'),
      config: {
        stream: { ring_bytes: 2_097_152 },
        bots: [
          { ...synthetic('a', 2000), config: { events_per_second: 2000, message_bytes: 2000 } },
        ],
      },
    });
    await eventually(async () => (await keptBy(service)) > 6000, 'enough events', 60_000);
    // The journal's file is mapped. The system can reclaim that memory, so it is no reason to refuse requests.
    if (process.platform === 'linux') {
      const status = readFileSync(`/proc/${service.child.pid}/status`, 'latin1');
      const mapped = 1024 * Number(/^RssFile:\s*(\d+) kB$/m.exec(status)?.[1]);
      const { memory } = (await call(service, 'GET', '/api/pressure')).json as {
        memory: { used_bytes: number };
      };
      expect(mapped).toBeGreaterThan(20_000_000);
      expect(memory.used_bytes).toBeLessThan(rssOf(status) - mapped / 2);
    }
    const { events } = await pastPage(service, '?order=oldest&limit=1');
    const from = events[0]?.id ?? '';
    const ledger = new Ledger();
    ledger.epoch = epochOf(from);
    ledger.last = seqOf(from);
    const stream = await RawStream.open(service.port, {
      target: `/events?token=${encodeURIComponent(await service.token())}`,
      headers: { 'Last-Event-ID': from },
      onBlock: ledger.take,
    });
    stream.pause();
    await new Promise((resolve) => setTimeout(resolve, 2000));
    const until = seqOf((await journalOf(service)).newest ?? '');
    stream.resume();
    await stream.until(() => (ledger.last ?? 0) >= until, 60_000);
    expect({ faults: ledger.faults, gaps: ledger.gaps }).toEqual({ faults: [], gaps: [] });
    stream.close();
  });

  it('expired events are one gap, followed by the snapshots and all events that remain', {
    timeout: 120_000,
  }, async () => {
    service = await startService({
      dataDir: path.join(home, 'forgotten'),
      config: {
        stream: { ring_bytes: 4_194_304 },
        journal: { max_bytes: 1_048_576 },
        bots: [synthetic('a', 20_000)],
      },
    });
    const { events } = await pastPage(service, '?order=oldest&limit=1');
    const from = events[0]?.id ?? '';
    await eventually(
      async () => seqOf((await journalOf(service)).oldest ?? '') > seqOf(from) + 2000,
      'the oldest are gone',
      60_000,
    );
    const info = await journalOf(service);
    expect(info.bytes).toBeLessThan(1_500_000);
    // Pages of removed events are reused.
    expect(statSync(path.join(service.dataDir, 'journal', 'journal.mdb')).size).toBeLessThan(
      4_000_000,
    );
    // Otherwise the next events could expire too before they are read.
    await act(service, 'a', 'stop');
    await eventually(
      async () => (await journalOf(service)).bytes <= 1_048_576,
      'no more is forgotten',
    );
    const stream = await streamOf(service, await service.token(), `?last_event_id=${from}`);
    const frame = await stream.waitFor(({ event }) => event === 'gap');
    const gap = frame.json as { from: string; to: string; dropped: number | null };
    expect(gap).toEqual({
      from: `${epochOf(from)}-${seqOf(from) + 1}`,
      to: frame.id,
      dropped: null,
    });
    await stream.until(() => stream.frames.length > 3000);
    const rest = stream.frames.slice(stream.frames.indexOf(frame) + 1);
    expect(rest[0]).toMatchObject({ event: 'session' });
    const ids = rest.slice(1).map(({ id }) => seqOf(id ?? ''));
    expect(ids).toEqual(ids.map((_, at) => seqOf(gap.to) + 1 + at));
    stream.response.destroy();
  });
});
