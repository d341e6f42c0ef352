// The past of a bot that has been on several nodes: the parts of each as one.

import { expect, it } from 'vitest';
import type { Outcome } from '../../../../src/cluster/bus/history-nodes.js';
import { mergedFieldHistory } from '../../../../src/cluster/bus/merged-field-history.js';
import { DroverError } from '../../../../src/shared/errors.js';

const point = (
  at_ms: number,
  last: unknown,
  low: unknown = last,
  high: unknown = last,
  more = {},
) => ({
  at_ms,
  count: 1,
  complete: true,
  values: { 'data.gold': { last, min: low, max: high } },
  ...more,
});
const answer = (points: object[], before: object | null = null) =>
  Buffer.from(JSON.stringify({ from_ms: 1000, step_ms: 100, before, points }));
const REQUEST = {
  token: 't',
  filter: '[]',
  fields: ['data.gold'],
  afterMs: 1000,
  beforeMs: 1300,
  points: 3,
};
const asked: unknown[] = [];
const nodes = (outcome: Partial<Outcome>) => ({
  of: (wanted: unknown, afterMs: number | null) => {
    asked.push([wanted, afterMs]);
    return ['h1', 'h2'];
  },
  ask: async () => ({ answers: [], missing: [], faults: new Map(), ...outcome }),
});

it('a part that two nodes have shows what was last, the lowest and the highest of both', async () => {
  const answers = [
    { node: 'h1', bytes: answer([point(1010, 5), point(1150, 7, 2, 7)], point(900, 1)) },
    {
      node: 'h2',
      bytes: answer(
        [point(1190, 'none', null, null, { complete: false }), point(1210, 9)],
        point(950, 4),
      ),
    },
  ];
  const missing = [{ node: 'h3', reason: 'nobody answers' }];
  const body = await mergedFieldHistory(nodes({ answers, missing }), REQUEST);
  expect(JSON.parse(Buffer.from(body).toString())).toEqual({
    from_ms: 1000,
    step_ms: 100,
    before: point(950, 4),
    points: [
      point(1010, 5),
      point(1190, 'none', 2, 7, { count: 2, complete: false }),
      point(1210, 9),
    ],
    missing,
  });
  // A node that was lost before the range has nothing in it.
  expect(asked).toEqual([[null, 1000]]);
});

it('is the error of a node when none has answered', async () => {
  const faults = new Map([['h1', new DroverError('unavailable', 'the journal is off')]]);
  await expect(mergedFieldHistory(nodes({ faults }), REQUEST)).rejects.toThrow(
    'the journal is off',
  );
});
