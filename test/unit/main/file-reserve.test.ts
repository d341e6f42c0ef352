import { beforeEach, expect, it } from 'vitest';
import { FileReserve, type FileReserveEvents } from '../../../src/main/environment/file-reserve.js';

const LIMIT = 640;
/** A 32nd of the limit. */
const RESERVE = 20;

/** A process in which bots have so many files open, beside what is in reserve. */
let others: number;
let reserved: Set<number>;
let serial: number;
let lists: number;
let lines: string[];
let held: Map<string, number>;

beforeEach(() => {
  [others, reserved, serial, lists, lines, held] = [100, new Set(), 0, 0, [], new Map()];
});

const events: FileReserveEvents = {
  say: (level, line) => void lines.push(`${level} ${line}`),
  heldByKind: async () => held,
};
const used = (): number => others + reserved.size;
const files = {
  count: (): number | null => used(),
  list: () => {
    lists += 1;
    return used();
  },
  open: () => {
    if (used() >= LIMIT) throw new Error('EMFILE');
    reserved.add(++serial);
    return serial;
  },
  close: (file: number) => void reserved.delete(file),
};

it('keeps files in reserve, and says nothing while enough are free', () => {
  const reserve = new FileReserve(LIMIT, events, files);
  reserve.look();
  others = 500;
  reserve.look();
  expect(reserved.size).toBe(RESERVE);
  expect(reserve.isShort).toBe(false);
  expect(reserve.report).toEqual({ used: 520, limit: LIMIT, most: null });
  expect(lines).toEqual([]);
  reserve.close();
  expect(reserved.size).toBe(0);
});

it('says when they are short, with the kind that has most open, and when that is over, once each', async () => {
  const reserve = new FileReserve(LIMIT, events, files);
  reserve.look();
  held = new Map([
    ['good', 3],
    ['leaky', 450],
  ]);
  others = 605;
  for (let n = 0; n < 5; n++) reserve.look();
  await Promise.resolve();
  expect(reserve.isShort).toBe(true);
  expect(reserve.report).toEqual({
    used: 625,
    limit: LIMIT,
    most: { kind: 'leaky', open: 450 },
  });
  expect(lines).toEqual([
    'warn 625 of 640 files are open; bots of the kind leaky have 450 connections open, the most. New streams and starts of bots are refused; docs/OPERATIONS.md says what to do',
  ]);
  // A few more than at the beginning are not enough: it would say so again and again.
  others = 590;
  reserve.look();
  expect(reserve.isShort).toBe(true);
  others = 300;
  for (let n = 0; n < 5; n++) reserve.look();
  expect(reserve.isShort).toBe(false);
  expect(reserve.report.most).toBeNull();
  expect(lines.slice(1)).toEqual(['info files are free again: 320 of 640 are open']);
});

it('gives part of the reserve back each time that nothing is free, and takes it again afterwards', () => {
  const reserve = new FileReserve(LIMIT, events, files);
  reserve.look();
  const free: number[] = [];
  for (let n = 0; n < 6; n++) {
    // Bots take each file that is free.
    others = LIMIT - reserved.size;
    reserve.look();
    free.push(LIMIT - used());
  }
  expect(free).toEqual([5, 5, 5, 5, 0, 0]);
  others = 100;
  reserve.look();
  expect(reserved.size).toBe(RESERVE);
});

it('says that the kind is not known when the hosts know none', async () => {
  const reserve = new FileReserve(LIMIT, events, files);
  others = 630;
  reserve.look();
  await Promise.resolve();
  expect(lines[0]).toContain('which bots have them open is not known');
});

it('lists files only now and then where they cannot be counted, and each time while they are short', () => {
  const reserve = new FileReserve(LIMIT, events, { ...files, count: () => null });
  for (let n = 0; n < 20; n++) reserve.look();
  expect(lists).toBeLessThanOrEqual(6);
  others = 620;
  for (let n = 0; n < 10; n++) reserve.look();
  expect(lists).toBeGreaterThan(9);
});

it('without a limit, or a count, nothing is kept and nothing is short', () => {
  const none = new FileReserve(null, events, files);
  none.look();
  expect(none.report).toEqual({ used: null, limit: null, most: null });
  const unknown = new FileReserve(LIMIT, events, {
    ...files,
    count: () => null,
    list: () => null,
  });
  unknown.look();
  expect(unknown.report).toEqual({ used: null, limit: LIMIT, most: null });
  expect(reserved.size).toBe(0);
});
