import { expect, it } from 'vitest';
import { LineReader } from '../../../src/kinds/program/line-reader.js';

/** The lines of these chunks, with the bytes cut off. */
function read(chunks: (string | Buffer)[], max?: number): [string, number][] {
  const lines: [string, number][] = [];
  const reader = new LineReader((line, cut) => lines.push([line, cut]), max);
  for (const chunk of chunks) reader.push(Buffer.from(chunk as string));
  reader.finish();
  return lines;
}

it('cuts the same lines wherever the chunks end', () => {
  const text = Buffer.from('one\r\nzwölf €\n\n\nlast 😀');
  const whole = read([text]);
  expect(whole).toEqual([
    ['one', 0],
    ['zwölf €', 0],
    ['', 0],
    ['', 0],
    ['last 😀', 0],
  ]);
  for (let at = 1; at < text.length; at++) {
    expect(read([text.subarray(0, at), text.subarray(at)])).toEqual(whole);
  }
  expect(read([...text].map((byte) => Buffer.from([byte])))).toEqual(whole);
});

it('holds no more of a line than the limit, and counts the rest', () => {
  expect(read(['abcdefgh\nxyz\n'], 5)).toEqual([
    ['abcde', 3],
    ['xyz', 0],
  ]);
  expect(read(['abc', 'def', 'ghi\nx'], 5)).toEqual([
    ['abcde', 4],
    ['x', 0],
  ]);
});

it('tells what has no end yet', () => {
  const reader = new LineReader(() => {}, 4);
  reader.push(Buffer.from('a\nbcdefg'));
  expect(reader.unfinished).toBe(6);
  expect(reader.beginning(100)).toBe('bcde');
});
