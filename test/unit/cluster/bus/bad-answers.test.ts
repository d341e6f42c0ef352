// What is no answer about the past: its node counts as one that has not answered, which is said, and the others' answers are used.

import { expect, it } from 'vitest';
import { withHead } from '../../../../src/cluster/bus/history-messages.js';
import { mergedFieldHistory } from '../../../../src/cluster/bus/merged-field-history.js';
import { MergedPages } from '../../../../src/cluster/bus/merged-pages.js';
import { mergedStates } from '../../../../src/cluster/bus/merged-states.js';
import { mergedStats } from '../../../../src/cluster/bus/merged-stats.js';

const nodes = (good: string, bad: string) => ({
  of: () => ['h1', 'h2'],
  ask: async () => ({
    answers: [
      { node: 'h1', bytes: Buffer.from(good) },
      { node: 'h2', bytes: Buffer.from(bad) },
    ],
    missing: [],
    faults: new Map(),
  }),
});
type Nodes = ReturnType<typeof nodes>;

const STATS = { step_s: 60, buckets: [] };
const BUCKET = { at_ms: 0, events: 1, per_second: 1, levels: {}, other: 0, scopes: {} };
const STATES = { at_ms: 1, known_from_ms: 1, is_in_gap: false, states: [], unknown: [] };
const STATE = {
  ...{ id: 'a', kind: 'k', status: 'online', desired: 'running', since_ms: 1, restarts: 0 },
  ...{ host: 0, labels: {} },
};
const FIELDS = { from_ms: 0, step_ms: 10, before: null, points: [] };
const POINT = { at_ms: 1, count: 1, complete: true, values: {} };
const HEAD = { at: null, forgottenBelow: 0 };
const page = { filter: null, order: 'oldest', afterMs: null, beforeMs: null } as const;
const range = { ...page, afterSeq: 1, beforeSeq: null, limit: 10, maxBytes: 1000, lines: false };
const range_ms = { afterMs: 0, beforeMs: 10, points: 1 };

const SHAPES = ['', 'null', '0', '[]', '{}', '"x"', '{"a":'];

it.each<[string, (nodes: Nodes) => Promise<Uint8Array>, object, object[]]>([
  [
    'statistics',
    (asked) => mergedStats(asked, 'h1', { after: 0, before: 1, stepS: null, token: 't' }),
    STATS,
    [
      { ...STATS, buckets: null },
      { ...STATS, buckets: [null] },
      { ...STATS, buckets: [{ ...BUCKET, levels: null }] },
      { ...STATS, buckets: [{ ...BUCKET, scopes: { a: 'x' } }] },
      { ...STATS, counted_from_ms: 'x' },
    ],
  ],
  [
    'states',
    (asked) => mergedStates(asked, { at: 1, reach: { labels: { team: 'a' } }, token: 't' }),
    STATES,
    [
      { ...STATES, states: [null] },
      { ...STATES, states: [{ ...STATE, labels: null }] },
      { ...STATES, unknown: [{}] },
    ],
  ],
  [
    'the past of fields',
    (asked) => mergedFieldHistory(asked, { filter: '', fields: [], ...range_ms, token: 't' }),
    FIELDS,
    [
      { ...FIELDS, step_ms: 0 },
      { ...FIELDS, before: 1 },
      { ...FIELDS, points: [{ ...POINT, values: null }] },
      { ...FIELDS, points: [{ ...POINT, values: { a: null } }] },
    ],
  ],
  [
    'pages',
    async (asked) => {
      const position = () => ({ epoch: 'e', next: 5, seq: 4 });
      return (await new MergedPages({ nodes: asked, position }).page({ ...range, token: 't' }))
        .body;
    },
    HEAD,
    [
      { ...HEAD, at: 'x' },
      { ...HEAD, at: 1e300 },
      { at: null, forgottenBelow: '9' },
    ],
  ],
])('of %s', async (_, ask, good, bad) => {
  const text = (value: object): string => Buffer.from(withHead(value)).toString();
  for (const answer of [...SHAPES, ...bad.map(text)]) {
    const body = await ask(nodes(text(good), answer));
    expect([answer, JSON.parse(Buffer.from(body).toString()).missing]).toEqual([
      answer,
      [{ node: 'h2', reason: expect.stringMatching(/^its answer cannot be read: /) }],
    ]);
  }
});
