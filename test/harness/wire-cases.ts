// What each engine does with requests that are hard to read: the table of docs/ENGINES.md.

import type { Service } from './service.js';

/** uWebSockets.js by its binary: that of the package for Node 20, and the later ones. */
export type Column = 'node' | 'uws 2023' | 'uws 2025';

/** The column of the engine that runs. */
export function column({ engine, stdout }: Service): Column {
  if (engine === 'node:http') return 'node';
  return /^engine: .* refuses a request whose first line/m.test(stdout()) ? 'uws 2023' : 'uws 2025';
}

export interface Outcome {
  /** Of the responses, in order. */
  statuses: readonly number[];
  /** The connection is open after them; otherwise the service closes it. */
  stays: boolean;
  /** Errors are those of the engine: HTML. */
  isHtml?: boolean;
  /** The connection may be closed earlier. */
  isAtMost?: boolean;
}

export interface WireCase {
  /** In latin1. Each is a segment. */
  pieces: readonly string[];
  expected: Readonly<Record<Column, Outcome>>;
}

const answered = (...statuses: number[]): Outcome => ({ statuses, stays: true });
const last = (...statuses: number[]): Outcome => ({ statuses, stays: false });
/** Closed without a response: at once, or after 8 to 12 s. */
const NOTHING = last();
const html = (status: number): Outcome => ({ statuses: [status], stays: false, isHtml: true });
const atMost = (...statuses: number[]): Outcome => ({ statuses, stays: false, isAtMost: true });

const all = (outcome: Outcome): WireCase['expected'] => ({
  node: outcome,
  'uws 2023': outcome,
  'uws 2025': outcome,
});
const by = (node: Outcome, uws2023: Outcome, uws2025 = uws2023): WireCase['expected'] => ({
  node,
  'uws 2023': uws2023,
  'uws 2025': uws2025,
});

const PING = '{"session_id":null,"command":"ping"}';

/** Each is sent on its own connection. @param token of an operator. */
export function wireCases(token: string): Record<string, WireCase> {
  const bearer = `Authorization: Bearer ${token}\r\n`;
  const get = (target: string, lines = ''): string =>
    `GET ${target} HTTP/1.1\r\nHost: a\r\n${bearer}${lines}\r\n`;
  const head = `POST /invoke HTTP/1.1\r\nHost: a\r\n${bearer}Content-Type: application/json\r\n`;
  const post = (lines = '', body = PING): string =>
    `${head}${lines}Content-Length: ${body.length}\r\n\r\n${body}`;
  const chunks = (body: string): string => `${head}Transfer-Encoding: chunked\r\n\r\n${body}`;
  const size = PING.length.toString(16);
  const old = 'GET /health HTTP/1.0\r\n\r\n';
  const info = get('/api-info');
  const three = post() + info + post();
  // In the headers of the first two and in the body of the last.
  const inSecond = post().length + 30;
  const cut = [
    three.slice(0, 30),
    three.slice(30, inSecond),
    three.slice(inSecond, -20),
    three.slice(-20),
  ];
  const many = (count: number): string => get('/health', 'X: y\r\n'.repeat(count - 2));
  return {
    // Pipelines.
    'GET, GET in one segment': {
      pieces: [get('/health') + info],
      expected: all(answered(200, 200)),
    },
    'POST, GET, POST in one segment': {
      pieces: [three],
      expected: by(answered(200, 200, 200), NOTHING),
    },
    'POST, GET, POST cut elsewhere': {
      pieces: cut,
      expected: by(answered(200, 200, 200), atMost(200, 200, 200)),
    },
    'GET, POST, GET in one segment': {
      pieces: [info + post() + info],
      expected: by(answered(200, 200, 200), NOTHING),
    },
    'POST, and then what is not HTTP': {
      pieces: [`${post()}\0\r\n\r\n`],
      expected: by(last(200, 400), html(505)),
    },
    // Where a request ends.
    'the same Content-Length twice': {
      pieces: [post(`Content-Length: ${PING.length}\r\n`)],
      expected: all(last(400)),
    },
    'two Content-Length': {
      pieces: [post('Content-Length: 2\r\n')],
      expected: by(last(400), html(505), last(400)),
    },
    'Content-Length twice on a GET': {
      pieces: [get('/health', 'Content-Length: 0\r\nContent-Length: 0\r\n')],
      expected: all(last(400)),
    },
    'Content-Length that is not a number': {
      pieces: [`${head}Content-Length: x\r\n\r\n`],
      expected: by(last(400), html(400)),
    },
    'Content-Length and Transfer-Encoding': {
      pieces: [`${head}Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n`],
      expected: by(last(400), html(400)),
    },
    'a refused request, and another in the same segment': {
      pieces: [post('Content-Length: 2\r\n') + info],
      expected: by(last(400), NOTHING),
    },
    'a header without a name': {
      pieces: [get('/health', ': x\r\n')],
      expected: by(last(400), answered(200)),
    },
    'a header without a name before the length of a body that is a request': {
      pieces: [`${head}: x\r\nContent-Length: ${info.length}\r\n\r\n${info}`],
      expected: by(last(400), answered(400, 200)),
    },
    // Chunks.
    'a chunked body': {
      pieces: [chunks(`${size}\r\n${PING}\r\n0\r\n\r\n`)],
      expected: by(answered(200), last(200)),
    },
    'a chunked body with a trailer': {
      pieces: [chunks(`${size}\r\n${PING}\r\n0\r\nX: y\r\n\r\n`)],
      expected: by(answered(200), html(505)),
    },
    'a chunked body with an extension': {
      pieces: [chunks(`${size};a=b\r\n${PING}\r\n0\r\n\r\n`)],
      expected: by(answered(200), last(408)),
    },
    'chunks that are none': {
      pieces: [chunks(`zz\r\n${PING}\r\n0\r\n\r\n`)],
      expected: by(last(400), html(400)),
    },
    // Headers.
    '98 headers': { pieces: [many(98)], expected: all(answered(200)) },
    '99 headers': { pieces: [many(99)], expected: by(last(431), NOTHING, html(431)) },
    '150 headers': { pieces: [many(150)], expected: by(last(431), NOTHING, html(431)) },
    'a header of 16 KB': {
      pieces: [get('/health', `X: ${'y'.repeat(16_384)}\r\n`)],
      expected: by(last(431), answered(200), html(431)),
    },
    'a header without a colon': {
      pieces: [get('/health', 'none\r\n')],
      expected: by(last(400), NOTHING, html(400)),
    },
    'a space before the colon': {
      pieces: [get('/health', 'X : y\r\n')],
      expected: by(last(400), NOTHING, html(400)),
    },
    'a folded header': {
      pieces: [get('/health', 'X: y\r\n z\r\n')],
      expected: by(last(400), NOTHING, html(400)),
    },
    'NUL in a header': {
      pieces: [get('/health', 'X: a\0b\r\n')],
      expected: by(last(400), NOTHING, html(400)),
    },
    'no Host': {
      pieces: ['GET /health HTTP/1.1\r\n\r\n'],
      expected: by(last(400), NOTHING, html(400)),
    },
    'two Host': {
      pieces: [get('/health', 'Host: b\r\n')],
      expected: by(last(400), last(400), html(400)),
    },
    // The first line.
    'NUL in the path': {
      pieces: ['GET /hea\0lth HTTP/1.1\r\nHost: a\r\n\r\n'],
      expected: by(last(400), html(505)),
    },
    'lines that end with LF alone': {
      pieces: ['GET /health HTTP/1.1\nHost: a\n\n'],
      expected: by(last(400), html(505)),
    },
    'an empty line before the request': {
      pieces: [`\r\n${get('/health')}`],
      expected: by(answered(200), html(505), NOTHING),
    },
    'http:// and the host before the path': {
      pieces: [get('http://a/health')],
      expected: by(answered(200), html(505)),
    },
    'OPTIONS *': {
      pieces: ['OPTIONS * HTTP/1.1\r\nHost: a\r\n\r\n'],
      expected: by(answered(404), html(505)),
    },
    CONNECT: {
      pieces: ['CONNECT a:443 HTTP/1.1\r\nHost: a\r\n\r\n'],
      expected: by(last(404), html(505)),
    },
    'bytes over 127 in the path': {
      pieces: ['GET /h\xc3\xa9 HTTP/1.1\r\nHost: a\r\n\r\n'],
      expected: by(last(400), answered(404)),
    },
    'an unknown method': {
      pieces: ['FOO /health HTTP/1.1\r\nHost: a\r\n\r\n'],
      expected: by(last(400), answered(405)),
    },
    'HTTP/1.0': { pieces: [old], expected: by(last(200), html(505)) },
    'HTTP/1.2': {
      pieces: ['GET /health HTTP/1.2\r\nHost: a\r\n\r\n'],
      expected: by(last(505), html(505)),
    },
    'what is not HTTP': {
      pieces: ['garbage\r\n\r\n'],
      expected: by(last(400), html(505), NOTHING),
    },
    'Expect: 100-continue': {
      pieces: [`${head}Expect: 100-continue\r\nContent-Length: ${PING.length}\r\n\r\n`, PING],
      expected: all(answered(100, 200)),
    },
  };
}
