// What is small beside much else: errors below a chart, and sizes in the unit that people read.

import { expect, it } from 'vitest';
import { megabytesText, sizeText } from '../../../dashboard/src/parts/size.js';
import { severityPath } from '../../../dashboard/src/views/severity-path.js';

it('one error per second has nearly half of the height, and thousands have all of it', () => {
  const bars = severityPath([0, 1, 5000, 0]).split('M').slice(1);
  expect(bars.map((bar) => bar.split(' ')[0])).toEqual(['1.0', '2.0']);
  const heights = bars.map((bar) => Number(/v-([\d.]+)/.exec(bar)?.[1]));
  expect(heights[0]).toBeGreaterThan(0.4);
  expect(heights[1]).toBe(1);
});

it('a single second of a long range is as wide as can be seen, also the last', () => {
  const values = new Array<number>(1000).fill(0).with(999, 2);
  const [, at, width] = /^M([\d.]+) 1h([\d.]+)/.exec(severityPath(values)) ?? [];
  expect([Number(at), Number(width)]).toEqual([996, 4]);
  expect(severityPath(values.with(999, 0))).toBe('');
});

it.each([
  [0, '0 bytes'],
  [1023, '1,023 bytes'],
  [1024, '1 KB'],
  [850 * 1024 ** 2, '850 MB'],
  [1024 ** 3 - 1, '1 GB'],
  [1.5 * 1024 ** 3, '1.5 GB'],
  [128 * 1024 ** 3, '128 GB'],
  [3 * 1024 ** 4, '3 TB'],
  [5000 * 1024 ** 4, '5,000 TB'],
])('%d bytes are %s', (bytes, text) => {
  expect(sizeText(bytes)).toBe(text);
  expect(megabytesText(bytes / 1024 ** 2)).toBe(text);
});
