// Stress test of the built ring. A ring of a few KiB, a writer that laps several fronts in real threads, and a checksum
// in each frame: no front may ever see a frame that is being overwritten, and every lap is counted.
//
// TORTURE_FRAMES sets the number of frames. 20000000 takes some minutes.

import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { Worker } from 'node:worker_threads';
import { afterAll, describe, expect, it } from 'vitest';
import { createRing, type RingSize } from '../../src/shared/memory/layout.js';

const BUILD = new URL('../../dist/src/shared/memory/', import.meta.url);
const THREAD = new URL('ring-torture-thread.mjs', import.meta.url);
const FRAMES = Number(process.env['TORTURE_FRAMES'] ?? 1_800_000);
/** Enough frames to tear many times where tearing is possible at all. */
const FRAMES_TO_TEAR = 150_000;
const PATIENCE_MS = 60_000 + FRAMES;

interface WriterReport {
  role: 'writer';
  written: number;
  waits: number;
  restarts: number;
}

interface FrontReport {
  role: 'front';
  front: number;
  read: number;
  lapped: number;
  laps: number;
  torn: number;
  lostBells: number;
  slept: number;
  /** For each cursor: frames read plus frames counted as lapped, and its start and end. */
  sums: { sum: number; from: number; cursor: number }[];
  /** What the first torn frame looked like. */
  example: string | undefined;
}

interface Torture {
  size: RingSize;
  frames: number;
  cursors: number;
  first?: number;
  protects?: boolean;
  build?: URL;
}

async function torture({
  size,
  frames,
  cursors,
  first = 1,
  protects = true,
  build = BUILD,
}: Torture): Promise<{ writer: WriterReport; fronts: FrontReport[]; head: number }> {
  const ring = createRing(size, first);
  const control = new SharedArrayBuffer(8 * (1 + size.fronts));
  const common = { build: build.href, ring, control, frames, cursors, protects };
  const seed = Math.floor(Math.random() * 2 ** 31);
  const workers: Worker[] = [];
  const run = <R>(data: object): Promise<R> =>
    new Promise((resolve, reject) => {
      const worker = new Worker(THREAD, { workerData: { ...common, ...data } });
      workers.push(worker);
      worker.once('message', resolve);
      worker.once('error', reject);
      worker.once('exit', () => reject(new Error(`a thread ended without a report, seed ${seed}`)));
    });
  const fronts = Array.from({ length: size.fronts }, (_, front) =>
    run<FrontReport>({ role: 'front', front, seed: seed + 1 + front }),
  );
  const writer = run<WriterReport>({ role: 'writer', seed });
  try {
    const [written, ...read] = await Promise.all([writer, ...fronts]);
    return { writer: written, fronts: read, head: Number(new BigInt64Array(control)[0]) };
  } finally {
    // When one thread fails, the others would wait for it.
    await Promise.all(workers.map((worker) => worker.terminate()));
  }
}

const total = (fronts: FrontReport[], of: 'read' | 'laps' | 'lapped' | 'torn' | 'slept'): number =>
  fronts.reduce((sum, front) => sum + front[of], 0);

describe('a ring whose writer laps its readers', () => {
  it(
    'returns complete frames in order, and counts each frame that it skips',
    async () => {
      const size = { bytes: 8192, slots: 64, fronts: 3 };
      const { writer, fronts, head } = await torture({ size, frames: FRAMES, cursors: 4 });

      expect(fronts.map(({ torn, example }) => ({ torn, example }))).toEqual(
        fronts.map(() => ({ torn: 0, example: undefined })),
      );
      for (const front of fronts) {
        expect(front.lostBells).toBe(0);
        for (const { sum, from, cursor } of front.sums) {
          expect(cursor).toBe(head);
          expect(sum).toBe(head - from);
        }
      }
      // The test stressed the ring: there were laps, and the writer waited for readers.
      expect(writer.written).toBeGreaterThanOrEqual(FRAMES);
      expect(total(fronts, 'read')).toBeGreaterThan(FRAMES / 10);
      expect(total(fronts, 'laps')).toBeGreaterThan(100);
      expect(writer.waits).toBeGreaterThan(100);
      expect(writer.restarts).toBeGreaterThan(10);
      expect(total(fronts, 'slept')).toBeGreaterThan(10);
      if (process.env['TORTURE_FRAMES']) console.log(writer, fronts);
    },
    PATIENCE_MS,
  );

  it(
    'does so when the records run out first, and with sequence numbers above 2^32',
    async () => {
      const size = { bytes: 16_384, slots: 16, fronts: 2 };
      const first = 2 ** 32 - Math.floor(FRAMES / 8);
      const { fronts, head } = await torture({ size, frames: FRAMES / 4, cursors: 3, first });
      for (const front of fronts) {
        expect(front.example).toBeUndefined();
        expect(front.torn).toBe(0);
        for (const { sum, from, cursor } of front.sums) {
          expect(cursor).toBe(head);
          expect(sum).toBe(head - from);
        }
      }
    },
    PATIENCE_MS,
  );
});

describe('the torture test itself', () => {
  const temporary: string[] = [];
  afterAll(() => {
    for (const dir of temporary) rmSync(dir, { recursive: true });
  });

  it(
    'detects torn frames when a reader does not publish its read position',
    async () => {
      const size = { bytes: 8192, slots: 64, fronts: 3 };
      const { fronts } = await torture({
        size,
        frames: FRAMES_TO_TEAR,
        cursors: 4,
        protects: false,
      });
      expect(total(fronts, 'torn')).toBeGreaterThan(0);
    },
    PATIENCE_MS,
  );

  it(
    'detects torn frames when the writer does not wait for readers',
    async () => {
      const size = { bytes: 8192, slots: 64, fronts: 3 };
      const build = buildWithoutWait();
      const { writer, fronts } = await torture({
        size,
        frames: FRAMES_TO_TEAR,
        cursors: 4,
        build,
      });
      expect(writer.waits).toBe(0);
      expect(total(fronts, 'torn')).toBeGreaterThan(0);
    },
    PATIENCE_MS,
  );

  /** A copy of the built ring in another directory, with a writer that ignores the READING cells. */
  function buildWithoutWait(): URL {
    const dir = mkdtempSync(join(tmpdir(), 'drover-torture-'));
    temporary.push(dir);
    cpSync(BUILD, dir, { recursive: true });
    writeFileSync(join(dir, 'package.json'), '{"type":"module"}');
    const path = join(dir, 'ring-writer.js');
    const source = readFileSync(path, 'utf8');
    const broken = source.replace(
      /^( *)#awaitReaders\(\) \{$/m,
      '$1#awaitReaders() {\n$1    return;',
    );
    expect(broken).not.toBe(source);
    writeFileSync(path, broken);
    return pathToFileURL(`${dir}/`);
  }
});
