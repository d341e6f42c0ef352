// How the journal takes frames from the ring: it never keeps the broadcaster waiting.

import { expect, it } from 'vitest';
import { JournalLabels } from '../../../src/journal/label-table.js';
import { Recorder } from '../../../src/journal/recorder.js';
import { JournalStates } from '../../../src/journal/state-table.js';
import { Stats } from '../../../src/journal/stats.js';
import { SteadyClock } from '../../../src/journal/steady-clock.js';
import { FORM } from '../../../src/journal/tables.js';
import { NameHasher } from '../../../src/shared/contract/name-hash.js';
import { IDLE, openRing, readingCell } from '../../../src/shared/memory/layout.js';
import { KIND_CODE, NO_LEVEL, sseFrame } from '../../../src/shared/stream/frame.js';
import { NO_META, testRing } from '../shared/ring-fixture.js';

it('lets go of the ring when a frame is not what it has to be', () => {
  const { shared, writer, reader } = testRing(1 << 16, 64);
  const parts = {
    ring: reader,
    epoch: 'e',
    labels: new JournalLabels(new NameHasher('00')),
    states: new JournalStates(new NameHasher('00')),
    stats: new Stats(),
    steady: new SteadyClock(0),
  };
  const state = {
    form: FORM,
    epoch: 'e',
    next: 1,
    posted: 0,
    clock: 0,
    bytes: 0,
    stats: 0,
    lost: 0,
    holes: 0,
  };
  const recorder = new Recorder(parts, state);
  writer.append(sseFrame('e-1', 'session', '{"snapshot":'), {
    ...NO_META,
    kind: KIND_CODE.session,
    level: NO_LEVEL,
  });
  writer.publish();
  expect(() => recorder.drain(reader.head())).toThrow(SyntaxError);
  expect(openRing(shared).cells[readingCell(0)]).toBe(IDLE);
});
