// Bodies with a value on each line: what is read of them, and what is said of lines that are wrong.

import { expect, it } from 'vitest';
import { BodyRoom, type BodyShare } from '../../../src/front/engine/body-room.js';
import type { Exchange } from '../../../src/front/engine/engine.js';
import { isNdjson, ndjsonBody } from '../../../src/front/http/ndjson-body.js';
import { partial } from '../../harness/partial.js';

const MAX_BYTES = 20_000;
const limits = { maxBytes: 100, timeoutMs: 1000, maxDepth: 64 };
const read = ndjsonBody('MoveBotBody', { most: 1000, maxBytes: MAX_BYTES });

function exchange(bytes: Uint8Array, given: { maxBytes?: number } = {}): Exchange {
  return partial<Exchange>({
    header: (name) => (name === 'content-length' ? String(bytes.length) : ''),
    slot: undefined,
    async body(maxBytes: number, _: number, share: BodyShare) {
      given.maxBytes = maxBytes;
      share.add(bytes.length);
      return bytes;
    },
  });
}

const linesOf = (text: string | Uint8Array, room = new BodyRoom(MAX_BYTES)) =>
  read(exchange(typeof text === 'string' ? Buffer.from(text) : text), { ...limits, room });

it('is chosen by the type of the body', () => {
  expect(isNdjson('application/x-ndjson')).toBe(true);
  expect(isNdjson('Application/X-NDJSON; charset=utf-8')).toBe(true);
  for (const other of ['', 'application/json', 'application/x-ndjsonx']) {
    expect(isNdjson(other)).toBe(false);
  }
});

it('has the value and the number of each line, with LF or CRLF; empty lines count and have none', async () => {
  const lines = await linesOf('{"node":"a"}\r\n\n \t\r\n{"node":"b"}\n{"node":"c"}');
  expect(lines).toEqual({
    values: [{ node: 'a' }, { node: 'b' }, { node: 'c' }],
    numbers: [1, 4, 5],
    faults: [],
  });
});

it('a line that is no UTF-8, no JSON or no such value is a fault of that line', async () => {
  const bytes = Buffer.concat([
    Buffer.from('{"node":"a"}\n{"node":"'),
    Buffer.from([0xff, 0xc0]),
    Buffer.from('"}\n{"node":\n{"node":"a","x":1}\nnull\n{"node":"\\ud800"}\n{"node":"b"}\n'),
  ]);
  const { values, faults } = await linesOf(bytes);
  expect(values).toEqual([{ node: 'a' }, { node: 'b' }]);
  expect(faults).toEqual([
    [2, 'the line is not valid UTF-8'],
    [3, 'the line is not valid JSON'],
    [4, 'unknown key x'],
    [5, 'must be object'],
    [6, expect.stringMatching(/^node /)],
  ]);
});

it('has its own limit of bytes and of lines', async () => {
  const given: { maxBytes?: number } = {};
  const room = new BodyRoom(MAX_BYTES);
  await read(exchange(Buffer.from('{"node":"a"}'), given), { ...limits, room });
  expect(given.maxBytes).toBe(MAX_BYTES);
  await expect(linesOf(' '.repeat(MAX_BYTES + 1))).rejects.toMatchObject({ code: 'too_large' });
  const line = '{"node":"a"}\n';
  expect((await linesOf(line.repeat(1000))).values).toHaveLength(1000);
  await expect(linesOf(line.repeat(1001))).rejects.toMatchObject({
    code: 'too_large',
    message: 'the body has more than 1000 lines',
  });
});

it('counts in the room of all bodies until it is read, and no longer', async () => {
  const room = new BodyRoom(8000);
  const large = `{"node":"a"}${'\n'.repeat(9000)}`;
  const both = await Promise.allSettled([linesOf(large, room), linesOf(large, room)]);
  expect(both.map(({ status }) => status)).toEqual(['fulfilled', 'rejected']);
  expect(both[1]).toMatchObject({ reason: { code: 'no_room' } });
  expect((await linesOf(large, room)).values).toHaveLength(1);
});
