// Fields of bots' data: as a list, over time, and as columns of the table.

import { expect, it } from 'vitest';
import { flatten, matching, valueText } from '../../../dashboard/src/data/flatten.js';
import {
  boundsOf,
  chartRows,
  sparkPath,
  stepsOf,
  valueChanges,
} from '../../../dashboard/src/data/series.js';
import type { BotHistory } from '../../../src/client/index.js';

it('objects in the data are taken apart; a path has the value that a query finds', () => {
  const data = {
    at: { map: 'castle', x: 1, deep: { y: 2 } },
    list: [1, { z: 2 }],
    none: {},
    'at.x': 9,
  };
  expect(flatten(data)).toEqual([
    { path: 'at.map', value: 'castle' },
    { path: 'at.x', value: 9 },
    { path: 'at.deep.y', value: 2 },
    { path: 'list', value: [1, { z: 2 }] },
    { path: 'none', value: {} },
  ]);
  expect(matching(flatten(data), 'MAP').map(({ path }) => path)).toEqual(['at.map']);
  expect(matching(flatten(data), '"z"').map(({ path }) => path)).toEqual(['list']);
});

it.each([
  [1234567.5, '1,234,567.5'],
  [true, 'true'],
  [null, ''],
  [undefined, ''],
  [{ a: 1 }, '{"a":1}'],
  ['text', 'text'],
])('%j is shown as %j', (value, text) => {
  expect(valueText(value)).toBe(text);
});

const point = (
  at_ms: number,
  last: number | string | null,
  min: unknown = last,
  max: unknown = last,
) => ({
  at_ms,
  count: 1,
  complete: true,
  values: { gold: { last, min, max } },
});
const history = (before: object | null, points: object[]): BotHistory =>
  ({ from_ms: 1000, step_ms: 100, before, points }) as BotHistory;

it('the past continues with what has come since, each once', () => {
  const past = history(point(500, 5), [point(1200, 9, 2, 9)]);
  const live = [
    { at: 1150, value: 9 },
    { at: 1300, value: 'none' },
  ];
  const steps = stepsOf(past, 'gold', live);
  expect(steps).toEqual([
    { at: 1000, last: 5, min: 5, max: 5 },
    { at: 1200, last: 9, min: 2, max: 9 },
    { at: 1300, last: 'none', min: null, max: null },
  ]);
  expect(boundsOf(steps)).toEqual({ min: 2, max: 9 });
  expect(valueChanges([...steps, { at: 1400, last: 'none', min: null, max: null }])).toEqual(steps);
});

it('a chart has the lowest and the highest of a part in its time only, and the last value until now', () => {
  const steps = stepsOf(history(point(500, 5), [point(1800, 9, 2, 11)]), 'gold', []);
  expect(chartRows(steps, 100, 2500)).toEqual([
    { at: 1000, value: 5, min: 5, max: 5 },
    { at: 1700, value: 5, min: 5, max: 5 },
    { at: 1800, value: 9, min: 2, max: 11 },
    { at: 2500, value: 9, min: 9, max: 9 },
  ]);
});

it('a sparkline has steps, and a gap where there was no number', () => {
  const steps = [
    { at: 0, last: 0, min: 0, max: 0 },
    { at: 50, last: 10, min: 10, max: 10 },
    { at: 60, last: null, min: null, max: null },
    { at: 90, last: 5, min: 5, max: 5 },
  ];
  const box = { from: 0, to: 100, width: 100, height: 10 };
  expect(sparkPath(steps, box)).toBe('M0.0 10.0H50.0L50.0 0.0H60.0M90.0 5.0H100.0');
  expect(sparkPath(steps.slice(0, 1), box)).toBe('M0.0 5.0H100.0');
  expect(sparkPath(steps.slice(2, 3), box)).toBe('');
});
