// When there is something to forget by age.

import { expect, it } from 'vitest';
import { Block } from '../../../src/journal/block.js';
import { BlockBuilder } from '../../../src/journal/block-builder.js';
import { JournalLabels } from '../../../src/journal/label-table.js';
import { Retention } from '../../../src/journal/retention.js';
import { JournalStates } from '../../../src/journal/state-table.js';
import { Stats } from '../../../src/journal/stats.js';
import { SteadyClock } from '../../../src/journal/steady-clock.js';
import { NameHasher } from '../../../src/shared/contract/name-hash.js';

it('an old block is due unless it is the newest, which stays: nothing is written for it again and again', () => {
  const retention = new Retention({
    maxBytes: 1_000_000,
    maxAgeMs: 60_000,
    labels: new JournalLabels(new NameHasher('k')),
    states: new JournalStates(new NameHasher('k')),
    stats: new Stats(),
    steady: new SteadyClock(0),
  });
  const written = (ago: number): Block => {
    const builder = new BlockBuilder(1000);
    builder.add(1, builder.data.write('frame', 0), Date.now(), 0, 0, undefined, undefined);
    return new Block(builder.encode(Date.now() - ago, Date.now() - ago));
  };
  const old = written(120_000);
  expect(retention.isDue(old, old.next + 1)).toBe(true);
  expect(retention.isDue(old, old.next)).toBe(false);
  expect(retention.isDue(written(1000), old.next + 1)).toBe(false);
  expect(retention.isDue(undefined, 1)).toBe(false);
});
