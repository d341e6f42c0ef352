// The statistics of all nodes: sums, and what is said of nodes that did not answer.

import { expect, it } from 'vitest';
import type { Outcome } from '../../../../src/cluster/bus/history-nodes.js';
import { mergedStats } from '../../../../src/cluster/bus/merged-stats.js';
import { DroverError } from '../../../../src/shared/errors.js';

const bucket = (at_ms: number, events: number, more: object = {}) => ({
  at_ms,
  events,
  per_second: events / 60,
  levels: { info: events },
  other: 0,
  scopes: { bot: events },
  ...more,
});
const stats = (buckets: object[], state = 'on') =>
  Buffer.from(JSON.stringify({ step_s: 60, buckets, journal: { state } }));
const REQUEST = { after: 0, before: 120_000, token: 't' } as never;

function nodes(outcome: Partial<Outcome>) {
  return {
    of: () => ['h1', 'h2'],
    ask: async () => ({ answers: [], missing: [], faults: new Map(), ...outcome }),
  };
}

it('are sums by time, with the state of the journal of this node', async () => {
  const answers = [
    { node: 'h1', bytes: stats([bucket(60_000, 6)], 'failed') },
    { node: 'h2', bytes: stats([bucket(0, 3), bucket(60_000, 12, { scopes: { net: 12 } })]) },
  ];
  const body = await mergedStats(nodes({ answers }), 'h1', REQUEST);
  expect(JSON.parse(Buffer.from(body).toString())).toEqual({
    step_s: 60,
    buckets: [bucket(0, 3), bucket(60_000, 18, { per_second: 0.3, scopes: { net: 12, bot: 6 } })],
    journal: { state: 'failed' },
    missing: [],
  });
});

it('name a node whose answer cannot be read, and one that has not answered', async () => {
  const answers = [
    { node: 'h1', bytes: Buffer.from('{"step_s":') },
    { node: 'h2', bytes: stats([bucket(0, 3)]) },
  ];
  const missing = [{ node: 'h3', reason: 'nobody answers' }];
  const body = await mergedStats(nodes({ answers, missing }), 'h1', REQUEST);
  const { missing: named, buckets } = JSON.parse(Buffer.from(body).toString());
  expect(buckets).toHaveLength(1);
  expect(named).toEqual([
    { node: 'h1', reason: expect.stringMatching(/^its answer cannot be read: /) },
    { node: 'h3', reason: 'nobody answers' },
  ]);
});

it('are the error of a node when none has answered', async () => {
  const faults = new Map([['h1', new DroverError('unavailable', 'the journal is off')]]);
  const asked = mergedStats(nodes({ faults }), 'h1', REQUEST);
  await expect(asked).rejects.toMatchObject({ message: 'the journal is off' });
});
