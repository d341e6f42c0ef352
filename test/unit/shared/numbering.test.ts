import { createHash } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { JOURNAL_FILE, Numbering, newIdentity } from '../../../src/shared/stream/numbering.js';

let dir: string;
beforeEach(() => {
  dir = mkdtempSync(path.join(tmpdir(), 'drover-numbering-'));
});
afterEach(() => rmSync(dir, { recursive: true, force: true }));

/** Half a day at 200,000 events/s at least. */
const RESERVE = 2 ** 34;
/** Creates the journal: a numbering without one is not continued. */
const keep = (): void => writeFileSync(path.join(dir, JOURNAL_FILE), 'x');
const file = (): string => path.join(dir, 'numbering');

it('begins at 1, and continues after the last number of a clean shutdown', () => {
  const first = Numbering.begin(dir);
  expect(first.first).toBe(1);
  keep();
  first.numbering.finish(5000);
  const second = Numbering.begin(dir);
  expect(second.first).toBe(5000);
  expect(second.numbering.identity).toEqual(first.numbering.identity);
});

it('continues after the reserved range following an unclean shutdown', () => {
  const { numbering } = Numbering.begin(dir);
  keep();
  const { first } = Numbering.begin(dir);
  expect(first).toBe(1 + RESERVE);
  expect(Numbering.begin(dir).first).toBe(1 + 2 * RESERVE);
  expect(Numbering.open(dir, numbering.identity, first).identity).toEqual(numbering.identity);
});

it('reserves more when half is used', () => {
  expect(RESERVE / 2 / 200_000).toBeGreaterThan(12 * 3600 - 300);
  const { numbering } = Numbering.begin(dir);
  keep();
  const kept = Numbering.open(dir, numbering.identity, 1);
  const before = readFileSync(file());
  kept.keepAhead(1000);
  expect(readFileSync(file())).toEqual(before);
  kept.keepAhead(RESERVE * 0.75);
  const { first } = Numbering.begin(dir);
  expect(first).toBe(RESERVE * 0.75 + RESERVE);
  expect(Number.isSafeInteger(first)).toBe(true);
});

it('a torn write leaves the slot before it', () => {
  Numbering.begin(dir);
  keep();
  Numbering.begin(dir).numbering.finish(70_000_000_000);
  const whole = readFileSync(file());
  expect(whole.length).toBe(1024);
  // Whichever slot is torn, the other is taken: numbers are then skipped, and never used again.
  const firsts = [0, 512].map((slot) => {
    const torn = Buffer.from(whole);
    torn.fill('#', slot + 100, slot + 512);
    writeFileSync(file(), torn);
    return Numbering.begin(dir).first;
  });
  expect(firsts).toContain(70_000_000_000);
  for (const first of firsts) expect(first).toBeGreaterThan(RESERVE);
});

it.each([
  ['the file is garbage', () => writeFileSync(file(), 'garbage')],
  ['the file is missing', () => rmSync(file())],
  ['the journal is missing', () => rmSync(path.join(dir, JOURNAL_FILE))],
])('another numbering begins when %s', (_, damage) => {
  Numbering.begin(dir);
  keep();
  for (let run = 0; run < 5; run++) Numbering.begin(dir);
  const { numbering } = Numbering.begin(dir);
  damage();
  const next = Numbering.begin(dir);
  expect(next.first).toBe(1);
  expect(next.numbering.identity.epoch).not.toBe(numbering.identity.epoch);
  // And it is that one from then on, however often the old one was written.
  keep();
  expect(Numbering.begin(dir).numbering.identity).toEqual(next.numbering.identity);
});

it('keeps a numbering that began without the file', () => {
  const identity = newIdentity();
  Numbering.begin(dir);
  Numbering.open(dir, identity, 777);
  keep();
  const { numbering, first } = Numbering.begin(dir);
  expect(numbering.identity).toEqual(identity);
  expect(first).toBe(777 + RESERVE);
  // Taken away while it is used.
  rmSync(file());
  Numbering.open(dir, identity, 500_000_000_000);
  expect(Numbering.begin(dir)).toMatchObject({ numbering: { identity } });
  expect(Numbering.begin(dir).first).toBeGreaterThan(500_000_000_000);
});

it('says how the previous run ended: after two unclean shutdowns the whole journal is examined', () => {
  expect(Numbering.begin(dir).previousShutdown).toBe('clean');
  keep();
  // An unclean shutdown.
  const second = Numbering.begin(dir);
  expect(second.previousShutdown).toBe('unclean');
  // Another, before the journal was examined.
  const third = Numbering.begin(dir);
  expect(third.previousShutdown).toBe('unexamined');
  const kept = Numbering.open(dir, third.numbering.identity, third.first);
  kept.examined();
  const fourth = Numbering.begin(dir);
  expect(fourth.previousShutdown).toBe('unclean');
  // A clean one, before the journal was examined.
  fourth.numbering.finish(fourth.first);
  const fifth = Numbering.begin(dir);
  expect(fifth.previousShutdown).toBe('unclean');
  fifth.numbering.examined();
  fifth.numbering.finish(fifth.first);
  expect(Numbering.begin(dir).previousShutdown).toBe('clean');
});

it.each([
  ['ended', 'clean'],
  ['broken-off', 'unclean'],
  ['unexamined', 'unexamined'],
  [undefined, 'unclean'],
])('reads a file of the version before: %s is %s', (leaving, previousShutdown) => {
  const slot = { epoch: '0123456789', hashKey: 'ab'.repeat(32), generation: 8, reserved: 4321 };
  const json = JSON.stringify({ ...slot, leaving });
  const digest = createHash('sha256').update(json).digest('hex').slice(0, 32);
  writeFileSync(file(), `${digest} ${json}\n`.padEnd(1024, ' '));
  keep();
  const found = Numbering.begin(dir);
  expect(found).toMatchObject({ first: 4321, previousShutdown });
  expect(found.numbering.identity).toEqual({ epoch: slot.epoch, hashKey: slot.hashKey });
  // What was written since is newer than that slot.
  const next = Numbering.begin(dir);
  expect(next.previousShutdown).toBe(previousShutdown === 'clean' ? 'unclean' : 'unexamined');
});
