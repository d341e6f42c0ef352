// The fuzz corpus: malformed input for the service. Everything derives from one seed, so that a run can be repeated.

/** The bytes for one connection. */
export interface Case {
  /** Name of its generator. */
  name: string;
  pieces: Buffer[];
  /** How the client ends: it closes its half at once, waits for a response, or resets the connection. */
  ending: 'half' | 'wait' | 'reset';
}

export type Random = () => number;

/** mulberry32. */
export function randomFrom(seed: number): Random {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** Random choices for a generator. */
class Source {
  readonly random: Random;
  readonly token: string;

  constructor(random: Random, token: string) {
    this.random = random;
    this.token = token;
  }

  below(limit: number): number {
    return Math.floor(this.random() * limit);
  }

  one<T>(list: readonly T[]): T {
    return list[this.below(list.length)] as T;
  }

  bytes(length: number): string {
    return Buffer.from(Array.from({ length }, () => this.below(256))).toString('latin1');
  }

  /** From one to many thousands, with small numbers more often. */
  size(): number {
    return Math.floor(2 ** (this.random() * 15));
  }

  authorization(): string {
    return `Authorization: Bearer ${this.token}\r\n`;
  }

  target(): string {
    return this.one([
      '/health',
      '/api-info',
      '/api/bots',
      '/api/bots/x',
      '/api/kinds',
      '/api/bots/x/config',
      '/nope',
      '/auth/pin',
      '/invoke',
    ]);
  }

  good(): string {
    return this.one([
      `GET ${this.target()} HTTP/1.1\r\nHost: a\r\n${this.authorization()}\r\n`,
      this.post('/auth/pin', '{"pin":"x"}'),
      this.post('/invoke', '{"session_id":null,"command":"ping"}'),
      this.post('/invoke', '{"session_id":"no-such","command":"ping"}'),
    ]);
  }

  post(path: string, body: string, headers = ''): string {
    const length = Buffer.byteLength(body, 'latin1');
    return (
      `POST ${path} HTTP/1.1\r\nHost: a\r\n${this.authorization()}Content-Type: application/json\r\n` +
      `${headers}Content-Length: ${length}\r\n\r\n${body}`
    );
  }
}

type Maker = (source: Source) => string | string[];

const NUMBERS = [
  '0',
  '1',
  '-1',
  '+1',
  '01',
  '1 ',
  ' 1',
  '1,1',
  '1, 2',
  '0x1',
  '1e3',
  '1.0',
  '',
  ' ',
  'abc',
  '\0',
  '4294967296',
  '9007199254740993',
  '18446744073709551616',
  '99999999999999999999999999',
];
const CODINGS = [
  'chunked',
  'Chunked',
  'CHUNKED',
  ' chunked',
  'chunked ',
  '\tchunked',
  'chunked, chunked',
  'gzip, chunked',
  'chunked, gzip',
  'identity',
  'identity, chunked',
  'xchunked',
  'chunked;q=1',
  '"chunked"',
  'chun\0ked',
  'chunked\x0b',
  '',
  ',',
  'chunked\r\n , identity',
];
const CODING_NAMES = [
  'Transfer-Encoding',
  'transfer-encoding',
  'TRANSFER-ENCODING',
  'Transfer-Encoding ',
  ' Transfer-Encoding',
  'Transfer_Encoding',
  'Transfer-Encoding\0',
  'X: y\nTransfer-Encoding',
];

const nested = (open: string, close: string, depth: number): string =>
  open.repeat(depth) + close.repeat(depth);

const JSON_BODIES: readonly ((source: Source) => string)[] = [
  (s) => nested('[', ']', s.size()),
  (s) => '['.repeat(s.size()),
  (s) => nested('{"a":', '}', s.size() >> 2),
  (s) => `{"pin":${nested('[', ']', s.size())}}`,
  (s) => `{"session_id":null,"command":"ping","args":{"a":${nested('[', ']', s.size())}}}`,
  (s) => `{"pin":"${'9'.repeat(2 * s.size())}"}`,
  (s) => `{"pin":${'9'.repeat(s.size())}}`,
  () => '{"pin":"1","pin":"2","pin":3}',
  () => '{"__proto__":{"pin":"1"},"pin":"1"}',
  () => '{"constructor":{"prototype":{"pin":"1"}}}',
  () => '{"session_id":"__proto__","command":"constructor","args":{"__proto__":{"x":1}}}',
  () => '{"session_id":["__proto__","toString"],"command":"hasOwnProperty"}',
  (s) => `{"pin":"${s.bytes(s.below(40))}"}`,
  (s) => `{"pin":"\xed\xa0\x80${s.one(['', '\xf0\x9f', '\xff', '\xc0\xaf', '\xef\xbb\xbf'])}"}`,
  (s) => `\xef\xbb\xbf${s.one(['{}', '{"pin":"1"}'])}`,
  () => '{"pin":"\\ud800"}',
  () => '{"pin":"\\u0000"}',
  (s) => `{"session_id":null,"command":"${'c'.repeat(s.size())}","args":{}}`,
  (s) =>
    `{"session_id":[${Array.from({ length: s.size() >> 3 }, () => '"a"').join()}],"command":"x"}`,
  (s) => `{${Array.from({ length: s.size() >> 3 }, (_, n) => `"k${n}":${n}`).join()}}`,
];

const GENERATORS: Record<string, Maker> = {
  split: (s) => {
    const bytes = s.good();
    const at = s.below(bytes.length);
    return [bytes.slice(0, at), bytes.slice(at)];
  },
  drip: (s) => {
    const bytes = s.good();
    const from = s.below(bytes.length);
    return [bytes.slice(0, from), ...bytes.slice(from, from + 30), bytes.slice(from + 30)];
  },
  'content-length': (s) =>
    `POST ${s.target()} HTTP/1.1\r\nHost: a\r\n${s.authorization()}Content-Type: application/json\r\n` +
    `${Array.from({ length: 1 + s.below(3) }, () => `Content-Length: ${s.one(NUMBERS)}\r\n`).join('')}\r\n{"pin":"1"}`,
  'transfer-encoding': (s) =>
    `${s.one(['POST', 'GET', 'PUT'])} ${s.target()} HTTP/1.1\r\nHost: a\r\n${s.authorization()}` +
    `${s.one(['', 'Content-Length: 5\r\n'])}${s.one(CODING_NAMES)}: ${s.one(CODINGS)}\r\n` +
    `Content-Type: application/json\r\n\r\n${s.one(['5\r\nhello\r\n0\r\n\r\n', '0\r\n\r\n', 'ffffffffffffffff\r\n', '-1\r\n', '5;a=b\r\nhello', 'zz\r\n', '0\r\nX: y\r\n\r\n', '1\nx\n0\n\n'])}`,
  'line-ends': (s) => {
    const bytes = s.good();
    const parts = bytes.split('\r\n');
    return parts.reduce((all, part) => all + s.one(['\r\n', '\n', '\r', '\r\r\n', '\n\r']) + part);
  },
  nul: (s) => {
    const bytes = s.good();
    const at = s.below(bytes.length);
    return bytes.slice(0, at) + s.one(['\0', '\x01', '\x7f', '\xff', '\x1b[2J']) + bytes.slice(at);
  },
  host: (s) =>
    `GET ${s.target()} HTTP/1.1\r\n${s.one(['', 'Host:\r\n', 'Host: a\r\nHost: b\r\n', 'Host: a, b\r\n', 'Host: \0\r\n', 'Host : a\r\n', ` Host: a\r\n`, `Host: ${'h'.repeat(s.size())}\r\n`, 'Host: [::1\r\n', 'Host: a@b\r\n'])}\r\n`,
  headers: (s) => {
    const lines = Array.from({ length: 1 + s.below(s.one([3, 30, 300])) }, () =>
      s.one([
        `${'n'.repeat(1 + (s.size() >> 4))}: v`,
        `x: ${'v'.repeat(s.size() >> 4)}`,
        ': v',
        'no colon',
        `${s.bytes(1 + s.below(8))}: v`,
        `x: ${s.bytes(s.below(20))}`,
        ' folded',
        '\tfolded',
        'x:',
        'x:y',
        '__proto__: 1',
        'constructor: 1',
        'authorization: Basic x',
        'Connection: close',
        'Connection: upgrade\r\nUpgrade: websocket',
        'Expect: 100-continue',
        'Expect: teapot',
        'Last-Event-ID: 1-1',
        'Content-Type: application/json',
      ]),
    );
    return `GET ${s.target()} HTTP/1.1\r\nHost: a\r\n${lines.join('\r\n')}\r\n\r\n`;
  },
  target: (s) =>
    `GET ${s.one([
      'http://a/health',
      'HTTP://A/health',
      'https://a:1/api-info?x',
      'http:///health',
      'http://',
      'ftp://a/',
      '*',
      '',
      'health',
      '//health',
      '///',
      '/../health',
      '/./health',
      '/api/../health',
      '/api/bots/..',
      '/api/bots/%2e%2e/config',
      '/%2e%2e/%2e%2e/etc/passwd',
      '/..\\..\\x',
      '/%68ealth',
      '/health%00',
      '/api/bots/%',
      '/api/bots/%zz',
      '/api/bots/%c0%af',
      '/api/bots/\xff',
      '/api/bots/%ff/config',
      '/api/bots/__proto__',
      '/health?',
      '/health??',
      '/health#x',
      '/health;x',
      '/api-info?token=%',
      '/api-info?token=%zz&token',
      '/events?kind=\xff&level=%',
      '/events?last_event_id=%00',
      '/events?session=a,b,,&scope=',
      '/api/incidents?limit=-1',
      '/api/incidents?limit=1e3',
      `/${'a'.repeat(s.size() * 4)}`,
      `/${'/'.repeat(s.size())}`,
      `/health?${'&'.repeat(s.size())}`,
      `/health?${'a=b&'.repeat(s.size() >> 2)}`,
      `/api/bots/${'%61'.repeat(s.size() >> 2)}`,
    ])} HTTP/1.1\r\nHost: a\r\n${s.authorization()}\r\n`,
  method: (s) =>
    `${s.one(['get', 'FOO', '', ' GET', 'G\0T', 'CONNECT', 'TRACE', 'PRI', 'M-SEARCH', 'OPTIONS', 'HEAD', 'PATCH', 'DELETE', 'X'.repeat(s.size())])} ${s.one([s.target(), '*', 'a:443'])} HTTP/1.1\r\nHost: a\r\n${s.authorization()}\r\n`,
  version: (s) =>
    s.one([
      'GET /health HTTP/1.0\r\n\r\n',
      'GET /health HTTP/1.0\r\nHost: a\r\nConnection: keep-alive\r\n\r\n',
      'GET /health\r\n',
      'GET /health\r\n\r\n',
      'GET /health HTTP/0.9\r\n\r\n',
      'GET /health HTTP/1.2\r\nHost: a\r\n\r\n',
      'GET /health HTTP/11\r\nHost: a\r\n\r\n',
      'GET /health http/1.1\r\nHost: a\r\n\r\n',
      'GET /health HTTP/1.1 x\r\nHost: a\r\n\r\n',
      'GET /health HTTPS/1.1\r\nHost: a\r\n\r\n',
      'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0',
      '\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03',
      'SSH-2.0-x\r\n',
    ]),
  pipeline: (s) => Array.from({ length: 2 + s.below(20) }, () => s.good()).join(''),
  'behind-a-stream': (s) => [
    `GET /events?event=session HTTP/1.1\r\nHost: a\r\n${s.authorization()}\r\n`,
    s.one([s.good(), 'GARBAGE\r\n\r\n', '\0', s.bytes(200)]),
  ],
  'body-on-get': (s) =>
    `GET ${s.target()} HTTP/1.1\r\nHost: a\r\n${s.authorization()}Content-Length: ${s.one(['0', '5', '100000'])}\r\n\r\n${s.one(['hello', '', s.good(), 'x'.repeat(s.size())])}`,
  json: (s) =>
    s.post(
      s.one(['/auth/pin', '/invoke', '/api/bots', '/api/bots/actions']),
      s.one(JSON_BODIES)(s),
    ),
  'wrong-length': (s) => {
    const body = '{"pin":"1"}';
    const length = s.one([0, 1, 5, 10, 12, 20, 70_000]);
    return `POST /auth/pin HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: ${length}\r\n\r\n${body}`;
  },
  'too-large': (s) => s.post('/auth/pin', 'x'.repeat(65_000 + s.size() * 4)),
  noise: (s) => s.bytes(s.size()),
};
const NAMES = Object.keys(GENERATORS);

/** Changes, removes, duplicates or swaps a few bytes. */
function mutate(s: Source, bytes: string): string {
  let text = bytes;
  for (let times = 1 + s.below(4); times > 0; times--) {
    const at = s.below(text.length + 1);
    const end = at + s.below(12);
    text = s.one([
      () => text.slice(0, at) + s.bytes(1) + text.slice(at + 1),
      () => text.slice(0, at) + text.slice(end),
      () => text.slice(0, at) + s.bytes(1 + s.below(6)) + text.slice(at),
      () => text.slice(0, end) + text.slice(at),
      () => text.slice(0, at),
    ])();
  }
  return text;
}

/** Endless cases. */
export function* casesFrom(random: Random, token: string): Generator<Case, never, void> {
  const source = new Source(random, token);
  for (;;) {
    const name = source.one(NAMES);
    const made = (GENERATORS[name] as Maker)(source);
    const texts = Array.isArray(made) ? made : [made];
    const isMutated = source.below(3) === 0;
    const pieces = texts.map((text) =>
      Buffer.from(isMutated ? mutate(source, text) : text, 'latin1'),
    );
    const ending = source.one(['half', 'half', 'half', 'wait', 'reset'] as const);
    yield { name: isMutated ? `${name}, mutated` : name, pieces, ending };
  }
}

/** Endless invalid TLS handshakes: the first message of a real one, corrupted. */
export function* handshakesFrom(random: Random, hello: Buffer): Generator<Case, never, void> {
  const source = new Source(random, '');
  const text = hello.toString('latin1');
  for (;;) {
    const broken = source.below(4) === 0 ? text : mutate(source, text);
    const at = source.below(broken.length + 1);
    const texts = source.one([
      [broken],
      [broken.slice(0, at), broken.slice(at)],
      [broken, source.bytes(source.size())],
    ]);
    const pieces = texts
      .filter((piece) => piece !== '')
      .map((piece) => Buffer.from(piece, 'latin1'));
    const ending = source.one(['half', 'wait', 'reset'] as const);
    yield { name: 'handshake', pieces, ending };
  }
}

/** A valid request, cut at every byte: all cases. */
export function* everySplit(token: string): Generator<Case> {
  const head = `Host: a\r\nAuthorization: Bearer ${token}\r\n`;
  const body = '{"session_id":null,"command":"ping"}';
  const requests = [
    `GET /api-info HTTP/1.1\r\n${head}\r\n`,
    `POST /invoke HTTP/1.1\r\n${head}Content-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
  ];
  for (const request of requests) {
    const bytes = Buffer.from(request, 'latin1');
    for (let at = 1; at < bytes.length; at++) {
      yield {
        name: `cut at ${at}`,
        pieces: [bytes.subarray(0, at), bytes.subarray(at)],
        ending: 'wait',
      };
    }
  }
}
