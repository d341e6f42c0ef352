// Repeated kill -9 under load on one data directory: the journal keeps its order, no id is used twice, and a client that
// reconnects receives every id once, or one gap no longer than the unflushed events.
// DROVER_TEST_KILLS sets the number of kills, DROVER_TEST_RATE the events per second.

import path from 'node:path';
import { afterAll, expect, it } from 'vitest';
import { call } from '../harness/api.js';
import { journalOf, type PastEvent, pastDownload, pastPage, seqOf } from '../harness/history.js';
import { RawStream } from '../harness/raw-stream.js';
import { makeDir, removeDir, type Service, startService, stopClean } from '../harness/service.js';

const KILLS = Number(process.env['DROVER_TEST_KILLS'] ?? 5);
const RATE = Number(process.env['DROVER_TEST_RATE'] ?? 50_000);
const BOTS = 4;
/** How long the load runs before each kill, in ms. */
const RUN_MS = 250;
/** Longest permitted gap, in ms: the flush interval (50) and what a busy machine may add. */
const MOST_GAP_MS = 3000;

const dir = makeDir();
afterAll(() => removeDir(dir));

const start = (): Promise<Service> =>
  startService({
    dataDir: path.join(dir, 'data'),
    config: {
      bots: Array.from({ length: BOTS }, (_, at) => ({
        id: `b${at}`,
        kind: 'synthetic',
        config: { events_per_second: Math.round(RATE / BOTS), message_bytes: 60 },
      })),
    },
  });

async function all(service: Service, action: 'start' | 'stop'): Promise<void> {
  const ids = Array.from({ length: BOTS }, (_, at) => `b${at}`);
  const { status, text } = await call(service, 'POST', '/api/bots/actions', {
    body: { action, ids },
  });
  expect(status, text).toBe(200);
}

const ID = /^id: ([0-9a-f]+)-(\d+)\n/;

/** One client across all runs of the service. */
class Client {
  epoch = '';
  last = 0;
  /** Frames on the current connection. */
  frames = 0;
  readonly gaps: { from: number; to: number }[] = [];
  readonly faults: string[] = [];
  /** The data of every 997th number, to compare with the journal. */
  readonly sample = new Map<number, string>();
  lastTime = 0;

  readonly take = (block: string): void => {
    const match = ID.exec(`${block}\n`);
    if (!match) return;
    const seq = Number(match[2]);
    if (this.epoch === '') this.epoch = match[1] as string;
    if (match[1] !== this.epoch) this.faults.push(`epoch ${match[1]} after ${this.epoch}`);
    if (this.last === 0) {
      // The last snapshot has the position.
      this.last = seq;
      return;
    }
    const data = block.slice(block.indexOf('\ndata: ') + 7);
    if (block.includes('\nevent: gap\n')) {
      const { from, to } = JSON.parse(data) as { from: string; to: string };
      if (seqOf(from) !== this.last + 1) this.faults.push(`a gap from ${from} after ${this.last}`);
      this.gaps.push({ from: seqOf(from), to: seqOf(to) });
      this.last = seqOf(to);
      return;
    }
    if (seq !== this.last + 1) this.faults.push(`${seq} after ${this.last}`);
    this.last = seq;
    this.frames += 1;
    if (seq % 997 === 0) this.sample.set(seq, data);
    if (data.startsWith('{"timestamp_ms":')) this.lastTime = Number(data.slice(16, 29));
  };
}

it(`${KILLS} kills at ${RATE} events/s`, { timeout: 60_000 + KILLS * 25_000 }, async () => {
  const client = new Client();
  let boundary = '';
  let service = await start();
  const gapsMs: number[] = [];
  let kept = 0;
  for (let kill = 0; kill <= KILLS; kill++) {
    const token = await service.token();
    client.frames = 0;
    const gapsBefore = client.gaps.length;
    const stream = await RawStream.open(service.port, {
      target: `/events?token=${encodeURIComponent(token)}`,
      headers: client.last === 0 ? {} : { 'Last-Event-ID': `${client.epoch}-${client.last}` },
      onBlock: client.take,
    });
    await stream.until(() => client.frames > 100);
    // At most one gap for each kill.
    expect(client.gaps.length - gapsBefore).toBeLessThanOrEqual(1);
    expect(client.faults).toEqual([]);
    await new Promise((resolve) => setTimeout(resolve, RUN_MS));
    const flushed = await journalOf(service);
    expect(flushed).toMatchObject({ state: 'on', reason: null, lost: 0 });
    const killedAt = Date.now();
    if (kill === KILLS) await stopClean(service);
    else await service.kill();
    await stream.ended;
    expect(client.faults).toEqual([]);

    service = await start();
    // Stops the load, so that even a busy machine can read all events.
    await all(service, 'stop');
    // Up to the gap that the start declared: the next round checks the events of the new run.
    const gap =
      kill < KILLS ? (await pastPage(service, '?event=gap&limit=1')).events[0] : undefined;
    const upTo = gap ? `&before=${client.epoch}-${seqOf(gap.id) + 1}` : '';
    const after = boundary === '' ? '' : `&after=${boundary}`;
    const events = await pastDownload(service, after + upTo);
    kept += events.length;
    const inOrder = orderOf(events, boundary === '' ? undefined : seqOf(boundary));
    expect(inOrder.faults).toEqual([]);
    // The last run's events end where the gap declared by the next start begins.
    const ended = inOrder.gaps.at(-1);
    const lastKept = ended
      ? ended.from - 1
      : events.at(-1)
        ? seqOf((events.at(-1) as PastEvent).id)
        : 0;
    expect(lastKept).toBeGreaterThanOrEqual(seqOf(flushed.newest ?? ''));
    const last = events.findLast(({ id }) => seqOf(id) === lastKept);
    if (kill < KILLS && last?.data.timestamp_ms !== undefined) {
      gapsMs.push(killedAt - last.data.timestamp_ms);
    }
    for (const { id, data } of events) {
      const seen = client.sample.get(seqOf(id));
      if (seen !== undefined && seen !== JSON.stringify(data)) {
        client.faults.push(`${id} is another event: ${seen}`);
      }
    }
    expect(client.faults).toEqual([]);
    boundary = (events.at(-1) as PastEvent).id;
    if (kill < KILLS) await all(service, 'start');
  }
  await stopClean(service);
  console.log(
    `${kept} events kept; longest stretch lost with a kill: ${Math.max(...gapsMs)} ms, median ${
      gapsMs.sort((one, other) => one - other)[Math.floor(gapsMs.length / 2)]
    } ms`,
  );
  expect(Math.max(...gapsMs)).toBeLessThanOrEqual(MOST_GAP_MS);
});

/** Whether every number follows the previous one, or ends a gap that starts there. */
function orderOf(events: readonly PastEvent[], after: number | undefined) {
  const faults: string[] = [];
  const gaps: { from: number; to: number }[] = [];
  let last = after;
  for (const { id, event, data } of events) {
    const seq = seqOf(id);
    if (event === 'gap' && data.from !== data.to) {
      const gap = { from: seqOf(data.from ?? ''), to: seqOf(data.to ?? '') };
      gaps.push(gap);
      if (gap.to !== seq || (last !== undefined && gap.from !== last + 1)) {
        faults.push(`gap ${JSON.stringify(data)} after ${last}`);
      }
    } else if (last !== undefined && seq !== last + 1) faults.push(`${seq} after ${last}`);
    last = seq;
    if (faults.length > 5) break;
  }
  return { faults, gaps };
}
