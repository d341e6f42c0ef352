// The dashboard's log on the history of a real service, without a browser: it holds a bounded window, anywhere in it.

import { fileURLToPath } from 'node:url';
import { expect, it, onTestFinished } from 'vitest';
import { historyLines } from '../../dashboard/src/hub/line.js';
import { applyUpdate, resetState } from '../../dashboard/src/model/live.js';
import type { LogFilter } from '../../dashboard/src/model/log-filter.js';
import { LogWindow } from '../../dashboard/src/model/log-window.js';
import { DroverClient } from '../../src/client/index.js';
import { eventually, invoke, snapshot } from '../harness/bots.js';
import { startService } from '../harness/service.js';

const KINDS = fileURLToPath(new URL('../fixtures/dashboard-kinds', import.meta.url));
const FILTER: LogFilter = { levels: [], scopes: [], bots: ['painter-1'], dir: '', text: '' };
/** Few enough that the host skips none. */
const BATCH = 5000;
const BATCHES = 14;
/** 60,000 rows, plus a tenth so that the window is not trimmed on every page. */
const MOST_ROWS = 66_000;

it('drops distant rows while scrolling into the past and back, and shows each line once', async () => {
  const service = await startService({
    config: {
      kinds: [KINDS],
      bots: [{ id: 'painter-1', kind: 'painter', config: { greeting: 'good morning' } }],
    },
  });
  onTestFinished(async () => {
    resetState();
    await service.stop();
  });
  const client = new DroverClient({ url: service.url, token: await service.token() });
  await eventually(
    async () => (await snapshot(service, 'painter-1')).status === 'painting',
    'painting',
  );
  for (let batch = 0; batch < BATCHES; batch++) {
    await invoke(service, 'painter-1', 'print', { text: `${batch} number %n`, times: BATCH });
    const q = `${batch} number ${BATCH}`;
    await eventually(async () => (await client.events({ q })).events.length === 1, q);
  }
  // The state of a hub that has only the last lines.
  const { events } = await client.events({ kind: ['log'], limit: 1000 });
  const lines = historyLines(events.toReversed()).map((line, at) => ({ ...line, n: at + 1 }));
  applyUpdate({
    reset: true,
    connection: { state: 'open' },
    clockAheadMs: 0,
    lines,
    firstLine: 1,
    changes: [],
    bots: [],
    gone: [],
    seconds: [],
    countedSince: null,
  });
  const shown = new LogWindow(FILTER, () => client);
  onTestFinished(() => shown.close());
  shown.begin();

  /** The numbers of the printed rows. */
  const numbers = (): number[] =>
    shown.rows.flatMap(({ text }) => {
      const [, batch, number] = /^(\d+) number (\d+)$/.exec(text) ?? [];
      return number === undefined ? [] : Number(batch) * BATCH + Number(number);
    });
  const isRun = (): boolean => numbers().every((number, at, all) => number === (all[0] ?? 0) + at);
  let most = 0;
  while (shown.top.peek() !== 'end') {
    await shown.older();
    most = Math.max(most, shown.rows.length);
  }
  expect(numbers()[0]).toBe(1);
  expect(isRun()).toBe(true);
  expect(shown.isJoined.peek()).toBe(false);

  while (!shown.isJoined.peek()) {
    await shown.newer();
    most = Math.max(most, shown.rows.length);
  }
  expect(numbers().at(-1)).toBe(BATCH * BATCHES);
  expect(isRun()).toBe(true);
  expect(most).toBeLessThanOrEqual(MOST_ROWS);
  expect(shown.top.peek()).toBe('more');
});
