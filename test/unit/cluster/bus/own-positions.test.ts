// How a node learns where its own blocks are on the stream of the cluster: also those that came while it did not read, and when the
// stream is another one meanwhile.

import { mkdirSync, mkdtempSync, rmdirSync, rmSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, expect, it, onTestFinished, vi } from 'vitest';
import { decodeBlock, type ReadBlock } from '../../../../src/cluster/bus/block.js';
import { BlockWriter } from '../../../../src/cluster/bus/block-writer.js';
import { OwnPositions } from '../../../../src/cluster/bus/own-positions.js';
import { PLACES_FILE, PositionFile } from '../../../../src/cluster/bus/position-file.js';
import { PositionMap } from '../../../../src/cluster/bus/position-map.js';
import { Deferred } from '../../../../src/shared/deferred.js';
import { KIND_CODE, NO_LEVEL } from '../../../../src/shared/stream/frame.js';

const OWN = 'aa';
let dir: string;
let places: OwnPositions;
/** What the stream has of this node, by sequence: own number, and number of the cluster. Each has two frames. */
let stored: Map<number, { own: number; number: number }>;
/** Answers of the stream are given when this resolves. */
let gate: Deferred;
/** What the operator was told. */
let lines: string[];

beforeEach(() => {
  dir = mkdtempSync(path.join(os.tmpdir(), 'drover-own-places-'));
  stored = new Map();
  gate = new Deferred();
  lines = [];
  places = new OwnPositions({
    dir,
    ownEpoch: OWN,
    node: 'h1',
    async nextOwn(from) {
      await gate.promise;
      const seq = [...stored.keys()].filter((one) => one >= from).sort((a, b) => a - b)[0];
      return seq === undefined ? null : { seq, block: block(seq) };
    },
    firstOf: async (seq) => stored.get(seq)?.number ?? null,
    oldest: async () => null,
    say: (line) => void lines.push(line),
  });
});
afterEach(() => {
  places.close();
  rmSync(dir, { recursive: true, force: true });
});

function bytesOf(seq: number, node = 'h1'): Uint8Array {
  const { own = 0 } = stored.get(seq) ?? {};
  const writer = new BlockWriter();
  for (const n of [0, 1]) writer.add(KIND_CODE.log, NO_LEVEL, null, null, `{"n":${n}}`);
  const rest = { node, incarnation: 'i', epoch: OWN, at: { seq: 0, total: 0 } };
  return writer.finish({ ...rest, type: 'frames', first: own, next: own + 2 });
}
const block = (seq: number, node?: string): ReadBlock => decodeBlock(bytesOf(seq, node));
function saw(seq: number): void {
  places.saw(block(seq), stored.get(seq)?.number ?? 0, seq);
}
const numberOf = (own: number): unknown => {
  const place = places.places.of(own);
  return place && `${place.epoch}-${place.number}`;
};

it('finds what came while it did not read, before what comes meanwhile', async () => {
  for (const [seq, own, number] of [
    [2, 10, 100],
    [4, 12, 120],
    [6, 14, 140],
  ] as const)
    stored.set(seq, { own, number });
  places.joined('c1', 5);
  saw(6);
  places.saw(block(7, 'h2'), 150, 7);
  expect(numberOf(14)).toBeNull();
  gate.resolve();
  expect(await places.known(60_000)).toBe(true);
  expect([10, 11, 12, 13, 14, 15, 16].map(numberOf)).toEqual([
    'c1-100',
    'c1-101',
    'c1-120',
    'c1-121',
    'c1-140',
    'c1-141',
    null,
  ]);
});

it('looks also for what was not read when the stream was joined again meanwhile', async () => {
  stored.set(2, { own: 10, number: 100 });
  places.joined('c1', 3);
  stored.set(8, { own: 12, number: 180 });
  stored.set(11, { own: 14, number: 200 });
  places.joined('c1', 10);
  saw(11);
  gate.resolve();
  expect(await places.known(60_000)).toBe(true);
  expect([10, 12, 14].map(numberOf)).toEqual(['c1-100', 'c1-180', 'c1-200']);
});

it('a stream that was made again meanwhile has its own numbers, and is looked through too', async () => {
  stored.set(2, { own: 10, number: 100 });
  stored.set(6, { own: 12, number: 120 });
  places.joined('c1', 5);
  saw(6);
  stored.clear();
  stored.set(1, { own: 20, number: 1 });
  stored.set(3, { own: 22, number: 5 });
  places.joined('c2', 2);
  saw(3);
  gate.resolve();
  expect(await places.known(60_000)).toBe(true);
  expect([10, 12, 20, 22].map(numberOf)).toEqual([null, null, 'c2-1', 'c2-5']);
});

it('says once that the disk takes no writes, and writes later what it has in memory, without a new block', () => {
  vi.useFakeTimers();
  onTestFinished(() => void vi.useRealTimers());
  // Nothing can be written to a file whose name a directory has.
  const file = path.join(dir, PLACES_FILE);
  mkdirSync(file);
  places.joined('c1', 0);
  stored.set(1, { own: 10, number: 100 });
  saw(1);
  vi.advanceTimersByTime(60_000);
  expect(lines).toEqual([expect.stringMatching(/cannot be written.*in memory.*EISDIR/)]);
  expect(numberOf(11)).toBe('c1-101');
  rmdirSync(file);
  vi.advanceTimersByTime(60_000);
  expect(lines.slice(1)).toEqual([expect.stringMatching(/is written again/)]);
  expect(new PositionMap(new PositionFile(dir, OWN)).of(11)).toEqual({ epoch: 'c1', number: 101 });
});
