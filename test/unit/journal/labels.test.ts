// The labels that a bot had at a frame are the same after a restart, even after older blocks were deleted. Uses real tables.

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import fc from 'fast-check';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { JournalLabels } from '../../../src/journal/label-table.js';
import { openTables, type Tables } from '../../../src/journal/tables.js';
import type { BotSnapshot } from '../../../src/shared/contract/events.js';
import { NameHasher } from '../../../src/shared/contract/name-hash.js';
import type { BotLabels } from '../../../src/shared/stream/label-history.js';

const names = new NameHasher('00'.repeat(32));
let dir: string;
let tables: Tables;
beforeEach(() => {
  dir = mkdtempSync(path.join(tmpdir(), 'drover-labels-'));
  tables = openTables(path.join(dir, 'journal.mdb'), 'never');
});
afterEach(async () => {
  await tables.close();
  rmSync(dir, { recursive: true, force: true });
});

const snapshotOf = (id: string, labels: BotLabels | null): BotSnapshot =>
  ({ id, labels: labels ?? {}, status: labels ? 'running' : 'deleted' }) as BotSnapshot;
const had = (labels: JournalLabels, id: string, seq: number, wanted: BotLabels): boolean => {
  const { low, high } = names.of(id);
  return labels.history.had(low, high, seq, wanted);
};
const restarted = (): JournalLabels => {
  const labels = new JournalLabels(names);
  labels.load(tables);
  return labels;
};
function flush(labels: JournalLabels): void {
  tables.commit(() => labels.write(tables));
  labels.written();
}
const prune = (labels: JournalLabels, oldest: number): void =>
  tables.commit(() => labels.prune(tables, oldest));

it('a change at the oldest frame that is kept counts from there on', () => {
  const labels = new JournalLabels(names);
  labels.saw(10, snapshotOf('x', { team: 'a' }));
  labels.saw(100, snapshotOf('x', { team: 'b' }));
  flush(labels);
  prune(labels, 100);
  for (const of of [labels, restarted()]) {
    // The frame that tells of a change belongs to both.
    expect([had(of, 'x', 100, { team: 'a' }), had(of, 'x', 100, { team: 'b' })]).toEqual([
      true,
      true,
    ]);
    expect([had(of, 'x', 150, { team: 'a' }), had(of, 'x', 150, { team: 'b' })]).toEqual([
      false,
      true,
    ]);
  }
});

it('with more bots than one transaction looks at, no old label takes the place of a new one', () => {
  const labels = new JournalLabels(names);
  labels.saw(10, snapshotOf('x', {}));
  for (let bot = 0; bot < 250; bot++) labels.saw(20 + bot, snapshotOf(`y${bot}`, { n: `${bot}` }));
  labels.saw(300, snapshotOf('x', { team: 'b' }));
  flush(labels);
  for (let oldest = 310; oldest < 400; oldest += 10) prune(labels, oldest);
  const next = restarted();
  expect(had(next, 'x', 600, { team: 'b' })).toBe(true);
  for (let bot = 0; bot < 250; bot++) expect(had(next, `y${bot}`, 600, { n: `${bot}` })).toBe(true);
  expect(tables.labels.getCount()).toBe(251);
});

const BOTS = ['one', 'two', 'three'];
const LABELS: BotLabels[] = [{}, { team: 'a' }, { team: 'b' }, { team: 'a', region: 'x' }];
const steps = fc.array(
  fc.oneof(
    fc.record({
      bot: fc.constantFrom(...BOTS),
      labels: fc.option(fc.constantFrom(...LABELS), { freq: 4 }),
    }),
    fc.record({ oldest: fc.double({ min: 0, max: 1, noNaN: true }) }),
  ),
  { maxLength: 60, size: 'max' },
);

it('any changes, forgotten bit by bit', () => {
  fc.assert(
    fc.property(steps, (taken) => {
      tables.labels.clearSync();
      const labels = new JournalLabels(names);
      let seq = 0;
      let oldest = 0;
      for (const step of taken) {
        seq += 1;
        if ('bot' in step) labels.saw(seq, snapshotOf(step.bot, step.labels));
        else {
          flush(labels);
          oldest = Math.max(oldest, Math.floor(step.oldest * seq));
          prune(labels, oldest);
        }
      }
      flush(labels);
      const next = restarted();
      for (let at = oldest; at <= seq + 1; at++) {
        for (const bot of BOTS) {
          for (const wanted of LABELS) {
            expect(had(next, bot, at, wanted), `${bot} at ${at}`).toBe(
              had(labels, bot, at, wanted),
            );
          }
        }
      }
    }),
    { numRuns: 200 },
  );
});

it('bots that are not there any more after a restart leave nothing behind', () => {
  let labels = new JournalLabels(names);
  let seq = 1;
  for (let run = 0; run < 5; run++) {
    for (let bot = 0; bot < 50; bot++) labels.saw(seq++, snapshotOf(`${run} ${bot}`, { n: 'a' }));
    flush(labels);
    labels = restarted();
    labels.rebase(seq++, []);
    flush(labels);
  }
  for (let step = 0; step < 10; step++) prune(labels, seq + 10 + step);
  expect(tables.labels.getCount()).toBe(0);
  expect(had(labels, '0 0', seq + 20, {})).toBe(false);
});
