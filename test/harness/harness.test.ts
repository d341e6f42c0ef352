// Tests of the harness: a defect here would falsify every conformance test.

import http from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { parseResponse, RawConnection, raw, requestBytes } from './http.js';
import { RawStream } from './raw-stream.js';
import { openStream } from './sse.js';

let server: http.Server;
let port: number;
beforeAll(async () => {
  server = http.createServer((request, response) => {
    if (request.url === '/sse') {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.write('retry: 7\n\nid: e-1\n\n: beat\n\nevent: a\ndata: {"n"');
      setImmediate(() => response.end(':1}\n\nid: e-2\ndata: "\u{1F411}"\n\n'));
    } else if (request.url === '/cut') {
      response.writeHead(200).write('event: a\ndata: 1\n\n', () => response.destroy());
    } else {
      request.pipe(response.writeHead(200, { 'content-type': 'text/plain' }));
    }
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  ({ port } = server.address() as AddressInfo);
});
afterAll(() => void server.close());

it('a raw stream is over with its last chunk, also while the connection stays open', async () => {
  const stream = await RawStream.open(port, { target: '/sse' });
  expect(await stream.ended).toBe('complete');
  expect(stream.isOver).toBe(true);
  stream.close();
});

it('raw() sends pieces and reads a chunked response', async () => {
  const bytes = requestBytes('POST', '/', {}, 'hello');
  const answer = await raw(port, [
    bytes.subarray(0, 30),
    bytes.subarray(30, -2),
    bytes.subarray(-2),
  ]);
  expect([answer.status, answer.headers['content-type'], answer.body]).toEqual([
    200,
    'text/plain',
    'hello',
  ]);
});

it('a connection returns pipelined responses one by one, and reports its end', async () => {
  const connection = await RawConnection.open(port);
  const last = requestBytes('POST', '/', { Connection: 'close' }, 'two');
  await connection.send(Buffer.concat([requestBytes('POST', '/', {}, 'one'), last]));
  expect((await connection.response()).body).toBe('one');
  expect((await connection.response()).body).toBe('two');
  await connection.ended();
  await expect(connection.response()).rejects.toThrow('the connection ended');
});

it('parseResponse waits for complete responses and reads each framing', () => {
  const parse = (text: string, ended = false, head = false) =>
    parseResponse(Buffer.from(text), ended, head)?.response.body;
  expect(parse('HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nab')).toBeUndefined();
  expect(parse('HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabcHTTP')).toBe('abc');
  expect(parse('HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\n', false, true)).toBe('');
  expect(parse('HTTP/1.1 200 OK\r\n\r\nab')).toBeUndefined();
  expect(parse('HTTP/1.1 200 OK\r\n\r\nab', true)).toBe('ab');
  expect(parse('HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n')).toBeUndefined();
  expect(parse('HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nab\r\n0\r\n\r\n')).toBe(
    'ab',
  );
  expect(() => parse('HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nx\r\n')).toThrow(
    'chunk',
  );
});

it('a stream keeps frames, comments, retry and bytes, and detects a clean end', async () => {
  const stream = await openStream(`http://127.0.0.1:${port}/sse`, { isDescribed: false });
  const frame = await stream.waitFor(({ id }) => id === 'e-2');
  expect(frame).toEqual({ event: undefined, id: 'e-2', data: '"\u{1F411}"', json: '\u{1F411}' });
  expect(await stream.ended).toBe(true);
  expect(stream.frames[0]).toEqual({ event: 'a', id: undefined, data: '{"n":1}', json: { n: 1 } });
  expect([stream.retry, stream.comments, stream.faults]).toEqual([7, ['beat'], []]);
  expect(stream.raw.endsWith('"\n\n')).toBe(true);
  await expect(stream.waitFor(() => false)).rejects.toThrow('the stream had ended');
});

it('a cut stream does not count as a clean end', async () => {
  const stream = await openStream(`http://127.0.0.1:${port}/cut`, { isDescribed: false });
  expect(await stream.ended).toBe(false);
});

it('a wait without a match fails', async () => {
  const stream = await openStream(`http://127.0.0.1:${port}/sse`, { isDescribed: false });
  await expect(stream.waitFor(() => false, 50)).rejects.toThrow();
  stream.close();
});
