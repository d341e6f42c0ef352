// What a hostile process could send on the pipes between a bot host process and the service: messages of a host with changes,
// other structures, and bytes. All of it comes from one seed.

import { header, packMessage } from '../../src/shared/pipe/frames.js';

/** The channels of a host that has one front, and the other ways out of its process. */
export const WAYS = ['link', 'control', 'events', 'front', 'watch', 'other', 'raw'] as const;
export type Way = (typeof WAYS)[number];

export interface PipeCase {
  way: Way;
  /** Whether it is on the pipe of the watch thread. */
  isWatch: boolean;
  bytes: Buffer;
  /** For a failure. */
  shown: string;
}

const LINE = {
  timestamp_ms: 1_795_257_586_197,
  level: 'info',
  scope: 'bot',
  session_id: 'a',
  transport: null,
  direction: null,
  message: 'hello',
};

/** What a host says on each channel. Its bots are `a` with run 1 and `b` with run 2; `c` and `main` are of others. */
const GOOD: Readonly<Record<Exclude<Way, 'other' | 'raw'>, readonly unknown[]>> = {
  link: [{ type: 'failed', message: 'why', stack: 'Error: why' }, { type: 'done' }],
  control: [
    { type: 'tell', method: 'awake', input: null },
    {
      type: 'tell',
      method: 'exited',
      input: { id: 'a', run: 1, error: null, stack: null, restart: true },
    },
    { type: 'tell', method: 'flooded', input: { id: 'b', run: 2, reason: 'much' } },
    { type: 'tell', method: 'settled', input: { run: 2 } },
    {
      type: 'tell',
      method: 'used',
      input: { ms: 10, uses: [1, 2, 3, 4], connections: [1, 1], memory: null },
    },
    { type: 'tell', method: 'lateError', input: { id: 'a', run: 1, error: 'x', isLeftOpen: true } },
    {
      type: 'tell',
      method: 'offered',
      input: { kind: 'test', commands: { go: { description: '', args: { type: 'object' } } } },
    },
    // To the calls CALLED.
    { type: 'return', id: 3, output: { bots: [{ id: 'a', status: 'x', since_ms: 1, data: {} }] } },
    { type: 'return', id: 4, output: { any: ['result'] } },
    { type: 'return', id: 5, output: { test: 1 } },
    { type: 'throw', id: 6, error: { code: 'conflict', message: 'x', retryAfterS: 1 } },
  ],
  events: [
    [LINE],
    [
      { ...LINE, transport: 'tcp', direction: 'outgoing', correlation_id: '7' },
      { id: 'a', patch: { status: 'x' } },
    ],
    [{ id: 'b', patch: { status: 'x', since_ms: 5, data: { x: 1, y: [null] } } }],
  ],
  front: [
    [1, 1, 'result', '{"x":1}'],
    [0, 2, 'not here', ''],
    [0, 1, 'command_failed', 'why', 2, 'result', 'null'],
  ],
  watch: [
    {
      type: 'cells',
      heartbeat: [7, 1000, 2000, 1, 0, 0],
      lastRun: [1, -5],
      lag: { counts: new Array(13).fill(0), sum: 0 },
    },
    { type: 'captured', id: 1, frames: [{ function: 'f', url: '', line: 1, column: 1 }], bot: 'a' },
    { type: 'notCaptured', id: 1 },
  ],
};

/** What main has called, with the ids from 3 on. */
export const CALLED = ['attachEvents', 'setPermit', 'open', 'leftBehind'] as const;

const SCALARS: readonly unknown[] = [
  null,
  true,
  0,
  -1,
  1.5,
  2 ** 31,
  2 ** 53,
  -(2 ** 63),
  1e308,
  '',
  'a',
  'c',
  'main',
  'nope',
  'constructor',
  '__proto__',
  'toString',
  'hasOwnProperty',
  'deleted',
  'auth',
  'drover.control',
  'x"}\n\nevent: session\ndata: {}\n\n',
  '\u001b]0;x\u0007',
  '\ud800',
  '\u2028',
  '</script>',
];
const NAMES = [
  'id',
  'run',
  'type',
  'method',
  'input',
  'patch',
  'session_id',
  'labels',
  'host',
  'message_json',
  'constructor',
  'toString',
  '__proto__',
  'then',
  'toJSON',
];

class Source {
  readonly #random: () => number;

  constructor(random: () => number) {
    this.#random = random;
  }

  below(limit: number): number {
    return Math.floor(this.#random() * limit);
  }

  one<T>(list: readonly T[]): T {
    return list[this.below(list.length)] as T;
  }

  bytes(length: number): Buffer {
    return Buffer.from(Array.from({ length }, () => this.below(256)));
  }

  value(depth = 3): unknown {
    const kind = depth === 0 ? 0 : this.below(8);
    if (kind === 6) return Array.from({ length: this.below(5) }, () => this.value(depth - 1));
    if (kind === 7) {
      return Object.fromEntries(
        Array.from({ length: this.below(5) }, () => [this.one(NAMES), this.value(depth - 1)]),
      );
    }
    if (this.below(40) === 0) return 'x'.repeat(2 ** this.below(17));
    if (this.below(40) === 0) return JSON.parse('['.repeat(300) + ']'.repeat(300));
    return this.one(SCALARS);
  }

  /** The same with another value, one field less or more, or twice as much, somewhere. */
  changed(value: unknown): unknown {
    if (typeof value !== 'object' || value === null || this.below(6) === 0) return this.value();
    const entries = Object.entries(value);
    const at = this.below(entries.length + 1);
    const entry = entries[at];
    const choice = this.below(5);
    if (!entry || choice === 0) entries.push([this.one(NAMES), this.value()]);
    else if (choice === 1) entries.splice(at, 1);
    else entries[at] = [entry[0], this.changed(entry[1])];
    if (!Array.isArray(value)) return Object.fromEntries(entries);
    const list = entries.map(([, one]) => one);
    return choice === 2 ? [...list, ...list] : list;
  }

  /** A text of bytes with some of them changed, left out or doubled. */
  damaged(bytes: Buffer): Buffer {
    const at = this.below(bytes.length + 1);
    const end = at + this.below(9);
    return this.one([
      () => Buffer.concat([bytes.subarray(0, at), this.bytes(1), bytes.subarray(at + 1)]),
      () => Buffer.concat([bytes.subarray(0, at), bytes.subarray(end)]),
      () => Buffer.concat([bytes.subarray(0, end), bytes.subarray(at)]),
      () => bytes.subarray(0, at),
    ])();
  }
}

/** Without an end. @param channels the numbers of the channels of this host. */
export function* pipeCases(
  random: () => number,
  channels: Readonly<{ events: number; front: number }>,
): Generator<PipeCase, never, void> {
  const source = new Source(random);
  const numbers = { link: 1, control: 0, watch: 1, ...channels };
  for (;;) {
    const way = source.one(WAYS);
    if (way === 'raw') {
      const bytes = source.bytes(1 + source.below(64));
      const isWatch = source.below(2) === 0;
      yield { way, isWatch, bytes, shown: bytes.toString('hex') };
      continue;
    }
    const of = way === 'other' ? source.one(['control', 'events'] as const) : way;
    const good = source.one(GOOD[of]);
    const body = bodyOf(source, of, good);
    const channel =
      way === 'other' ? source.one([3, 4, 5, 99, 2 ** 31, 2 ** 32 - 1]) : numbers[way];
    // At times the length is wrong, too.
    const length =
      source.below(30) === 0
        ? source.one([0, body.length + 9, 2 ** 26 + 1, 2 ** 32 - 1])
        : body.length;
    const bytes = Buffer.concat([header(channel, length), body]);
    yield { way, isWatch: way === 'watch', bytes, shown: `${channel}: ${body.toString('latin1')}` };
  }
}

/** As a host packs it: a batch has an event on each line. */
function packed(of: keyof typeof GOOD, value: unknown): Buffer {
  if (of !== 'events' || !Array.isArray(value)) return Buffer.from(packMessage(value ?? null));
  return Buffer.from(value.map((event) => JSON.stringify(event ?? null)).join('\n'));
}

function bodyOf(source: Source, of: keyof typeof GOOD, good: unknown): Buffer {
  const kind = source.below(8);
  if (kind === 0) return packed(of, good);
  if (kind === 1) return source.damaged(packed(of, good));
  if (kind === 2) return source.bytes(source.below(100));
  if (kind === 3) return packed(of, source.value());
  let value = good;
  for (let times = 1 + source.below(3); times > 0; times--) value = source.changed(value);
  return packed(of, value);
}
