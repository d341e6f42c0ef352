// Where own frames are in the stream of the cluster: the table in memory and on disk.

import {
  appendFileSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import fc from 'fast-check';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { PLACES_FILE, PositionFile } from '../../../../src/cluster/bus/position-file.js';
import { PositionMap } from '../../../../src/cluster/bus/position-map.js';
import { readLine, writeLine } from '../../../../src/cluster/bus/runs.js';

const OWN = 'aa';
const EPOCH = 'bb';

let dir: string;
beforeEach(() => {
  dir = mkdtempSync(path.join(os.tmpdir(), 'drover-places-'));
});
afterEach(() => rmSync(dir, { recursive: true, force: true }));

const open = (own = OWN): PositionMap => new PositionMap(new PositionFile(dir, own));
const file = (): string => path.join(dir, PLACES_FILE);

/** Runs with gaps in both numberings. */
const gaps = fc.array(
  fc.record({ ownGap: fc.nat(3), gap: fc.nat(50), count: fc.integer({ min: 1, max: 40 }) }),
  { minLength: 1, maxLength: 60 },
);

it('finds each frame by either number, from memory and from the disk', () => {
  fc.assert(
    fc.property(gaps, fc.nat(60), (steps, written) => {
      rmSync(file(), { force: true });
      const places = open();
      const numbers = new Map<number, number>();
      let own = 1;
      let number = 1;
      for (const [at, { ownGap, gap, count }] of steps.entries()) {
        own += ownGap;
        number += gap;
        places.add(EPOCH, at + 1, { own, number, count });
        for (let n = 0; n < count; n++) numbers.set(own + n, number + n);
        own += count;
        number += count;
        if (at === written) expect(places.flush()).toBe(true);
      }
      places.flush();
      for (const known of [places, open()]) {
        expect(known.end).toBe(own);
        expect(known.seq(EPOCH)).toBe(steps.length);
        for (let one = 0; one <= own + 1; one++) {
          const wanted = numbers.get(one);
          expect(known.of(one)).toEqual(
            wanted === undefined ? null : { epoch: EPOCH, number: wanted },
          );
        }
        const inOrder = [...numbers];
        for (let from = 0; from <= number; from++) {
          const wanted = inOrder.find(([, one]) => one >= from)?.[0] ?? null;
          expect(known.ownFrom(EPOCH, from)).toBe(wanted);
          const last = inOrder.findLast(([, one]) => one < from)?.[0];
          expect(known.ownBefore(EPOCH, from)).toBe(last === undefined ? wanted : last + 1);
        }
      }
    }),
    { numRuns: 50 },
  );
});

it('adds nothing twice', () => {
  const places = open();
  places.add(EPOCH, 1, { own: 10, number: 100, count: 5 });
  places.add(EPOCH, 1, { own: 10, number: 100, count: 5 });
  places.add(EPOCH, 2, { own: 13, number: 103, count: 4 });
  expect([...places.from(EPOCH, 0)]).toEqual([{ own: 10, number: 100, count: 7 }]);
});

it('knows another numbering of the cluster beside the first', () => {
  const places = open();
  places.add('first', 7, { own: 1, number: 50, count: 3 });
  places.add('second', 2, { own: 4, number: 1, count: 3 });
  expect([places.of(3), places.of(4)]).toEqual([
    { epoch: 'first', number: 52 },
    { epoch: 'second', number: 1 },
  ]);
  expect([places.seq('first'), places.seq('second'), places.seq('third')]).toEqual([0, 2, 0]);
  expect([places.ownFrom('second', 0), places.ownFrom('third', 0)]).toEqual([4, null]);
});

it('begins again with another numbering of the node, or when the file is none', () => {
  const places = open();
  places.add(EPOCH, 1, { own: 1, number: 1, count: 1 });
  places.flush();
  expect(open('other').of(1)).toBeNull();
  writeFileSync(file(), 'something else\n');
  const again = open();
  expect(again.of(1)).toBeNull();
  again.add(EPOCH, 1, { own: 1, number: 1, count: 1 });
  again.flush();
  expect(open().of(1)).toEqual({ epoch: EPOCH, number: 1 });
});

it('leaves out a line that a crash has cut off', () => {
  const places = open();
  places.add(EPOCH, 1, { own: 1, number: 1, count: 1 });
  places.flush();
  const { size } = statSync(file());
  appendFileSync(file(), '["bb",2,2,3,5');
  const again = open();
  expect(statSync(file()).size).toBe(size);
  again.add(EPOCH, 2, { own: 2, number: 5, count: 1 });
  again.flush();
  expect([open().of(1), open().of(2)]).toEqual([
    { epoch: EPOCH, number: 1 },
    { epoch: EPOCH, number: 5 },
  ]);
});

it('keeps what the disk does not take, and writes it later', () => {
  const there = path.join(dir, 'later');
  const places = new PositionMap(new PositionFile(there, OWN));
  places.add(EPOCH, 1, { own: 1, number: 1, count: 1 });
  expect(places.flush()).toBe(false);
  expect(places.of(1)).toEqual({ epoch: EPOCH, number: 1 });
  const made = new PositionMap(new PositionFile(dir, OWN));
  made.add(EPOCH, 1, { own: 1, number: 1, count: 1 });
  expect(made.flush()).toBe(true);
});

it('forgets what the journal has removed, says up to where, and makes the file smaller', () => {
  const places = open();
  // Lines of 512 runs that do not follow each other.
  for (let at = 0; at < 512 * 400; at++) {
    places.add(EPOCH, at + 1, { own: 2 * at + 1, number: 3 * at + 1, count: 1 });
  }
  places.flush();
  const { size } = statSync(file());
  expect(places.forgottenBelow(EPOCH)).toBe(0);
  places.prune(2 * 512 * 300 + 1);
  expect(statSync(file()).size).toBeLessThan(size / 2);
  for (const known of [places, open()]) {
    expect(known.forgottenBelow(EPOCH)).toBe(3 * (512 * 300 - 1) + 2);
    expect(known.of(2 * 512 * 300 - 1)).toBeNull();
    expect(known.of(2 * 512 * 300 + 1)).toEqual({ epoch: EPOCH, number: 3 * 512 * 300 + 1 });
    expect(known.end).toBe(2 * 512 * 400);
  }
  expect(readFileSync(file(), 'utf8').split('\n')).toHaveLength(102);
});

it('a line that was changed is none', () => {
  const line = writeLine({ epoch: EPOCH, seq: 1, runs: [{ own: 1, number: 2, count: 3 }] });
  expect(readLine(line)).toMatchObject({ epoch: EPOCH, runs: [{ own: 1, number: 2, count: 3 }] });
  for (const wrong of [line.replace('[0,0,3]', '[0,0,4]'), '', 'x', '[] []', line.slice(0, -3)]) {
    expect(readLine(wrong)).toBeNull();
  }
});

it('reads on where it was while older frames are forgotten, and new ones are written', () => {
  const places = open();
  for (let n = 1; n <= 4; n++) {
    places.add(EPOCH, n, { own: 10 * n, number: 100 * n, count: 5 });
    places.flush();
  }
  places.add(EPOCH, 5, { own: 50, number: 500, count: 5 });
  const read: number[] = [];
  for (const { own } of places.from(EPOCH, 0)) {
    read.push(own);
    if (own === 20) places.prune(20);
    if (own === 30) places.flush();
  }
  expect(read).toEqual([10, 20, 30, 40, 50]);
});
