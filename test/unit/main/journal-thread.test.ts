// Run by vitest. The journal's thread, as main sees it: one that dies at once. Beside the sources there is no build of its
// entry, so that each thread ends with "Cannot find module".

import { expect, it, onTestFinished } from 'vitest';
import { JournalThread } from '../../../src/main/threads/journal-thread.js';
import { createLags } from '../../../src/shared/memory/loop-lag.js';
import { newIdentity } from '../../../src/shared/stream/numbering.js';
import { eventually } from '../../harness/bots.js';
import { journalDir } from '../../harness/journal.js';
import { testRing } from '../shared/ring-fixture.js';

it('a thread that dies at once is begun again after longer and longer pauses, and that is said once', async () => {
  const said: string[] = [];
  const begun: number[] = [performance.now()];
  const identity = newIdentity();
  const broadcaster = { peer: { tell: () => {} } } as never;
  const thread = new JournalThread(
    {
      config: {
        enabled: true,
        max_bytes: 2 ** 30,
        max_age_hours: 1,
        flush_ms: 50,
        fsync: 'never',
      },
      dataDir: journalDir(),
      stream: { ring: testRing(1 << 16, 64).shared, ...identity },
      numbering: { ...identity, first: 1, left: 'ended', fault: null },
      reader: 0,
      lag: { buffer: createLags(1), block: 0 },
      say: (level, message) => said.push(`${level} ${message}`),
      replaced: () => begun.push(performance.now()),
    },
    broadcaster,
  );
  onTestFinished(() => thread.close(0));
  await eventually(() => begun.length === 4, 'it was begun four times', 60_000);
  const pauses = begun.slice(1).map((at, index) => at - (begun[index] as number));
  for (const [index, least] of [1000, 2000, 4000].entries()) {
    expect(pauses[index]).toBeGreaterThan(least - 20);
  }
  expect(said).toEqual([
    expect.stringMatching(/^error the service goes on without its journal: Cannot find module/),
  ]);
  await eventually(() => thread.status.state === 'failed', 'it has failed');
});
