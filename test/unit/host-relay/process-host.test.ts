// What a bot host process may send, and what ends it: main, the broadcaster and the fronts get nothing that no bot host says.

import { writeSync } from 'node:fs';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Item } from '../../../src/shared/contract/events.js';
import { messageJson } from '../../../src/shared/contract/line-text.js';
import { CommandLog } from '../../../src/shared/memory/command-log.js';
import { packEvents } from '../../../src/shared/pipe/event-text.js';
import { header } from '../../../src/shared/pipe/frames.js';
import { PipedHost } from '../../harness/piped-host.js';

const CONTROL = 0;
const LINK = 1;
const EVENTS = 2;

let host: PipedHost;
beforeEach(() => {
  host = new PipedHost();
  host.startBots('a', 'b');
});
afterEach(async () => {
  await host.exit();
});

const line = {
  timestamp_ms: 1_795_257_586_197,
  level: 'info',
  scope: 'bot',
  session_id: 'a',
  transport: null,
  direction: null,
  message: 'hello',
};
const spaced = Buffer.from(JSON.stringify(line).replace(',', ', '));
const doubled = Buffer.from(JSON.stringify(line).repeat(2));
const cells = {
  type: 'cells',
  heartbeat: [7, 1000, 2000, 1, 0, 0],
  lastRun: [1, -5],
  lag: { counts: new Array(13).fill(0), sum: 0 },
};
const exit = { id: 'a', run: 1, error: null, stack: null, restart: true };
const tell = (method: string, input: unknown) => ({ type: 'tell', method, input });

const isOfA = (item: Item): boolean =>
  item.kind === 'log' &&
  item.session_id === 'a' &&
  item.message_json === '"hello"' &&
  item.scope === 'bot';

/** Nobody in the service has got anything, and the process is ended for this reason. */
async function expectFault(reason: string | RegExp): Promise<void> {
  expect(host.heard()).toEqual([]);
  // Of a batch with a line of a bot that is not there, the others are good.
  expect(host.published().filter((item) => !isOfA(item))).toEqual([]);
  expect(host.isEnded).toBe(true);
  const { failure, isDone } = await host.exit();
  expect(failure).toMatchObject({ isFault: true, message: expect.stringMatching(reason) });
  expect(failure?.message).toMatch(
    /^(?:it sent what no bot host sends|what it sends cannot be read): /,
  );
  expect(isDone).toBe(false);
}

describe('what a host says arrives', () => {
  it.each([
    ['awake', null],
    ['exited', exit],
    ['settled', { run: 2 }],
    ['flooded', { id: 'b', run: 2, reason: 'much' }],
    ['lateError', { id: 'a', run: 1, error: 'late', isLeftOpen: true }],
    ['kindFailed', { kind: 'test', error: 'boom', bots: 1 }],
    ['offered', { kind: 'test', commands: { go: { args: { type: 'object' } } } }],
    ['used', { ms: 1000, uses: [1, 2.5, 3, 4], connections: [1, 2], memory: null }],
  ])('%s', (method, input) => {
    host.say(CONTROL, tell(method, input));
    expect(host.heard()).toEqual([tell(method, input)]);
    expect(host.isEnded).toBe(false);
  });

  it('lines and snapshots as they were written', () => {
    const log: Item = {
      kind: 'log',
      timestamp_ms: 1_795_257_586_197,
      level: 'warn',
      scope: 'tcp',
      session_id: 'a',
      transport: 'tcp',
      direction: 'incoming',
      message_json: messageJson('a "b" \\ \n \ud800 \u2028 é \u{1f600}'),
      correlation_id: 'x"1\n',
    };
    const data = { x: 1, text: 'é\ud800', list: [null, { y: true }] };
    const items: Item[] = [
      log,
      { kind: 'session', id: 'b', patch: { status: 'in_world', since_ms: 5, data } },
      { kind: 'session', id: 'b', patch: { data: {} } },
    ];
    host.send(EVENTS, packEvents(items));
    const [first, ...others] = host.published();
    // What UTF-8 cannot carry in a name of a request is replaced.
    expect(first).toEqual(log);
    expect(others[1]).toEqual(items[2]);
    expect(others[0]).toMatchObject({ id: 'b', patch: { status: 'in_world', since_ms: 5 } });
    expect(host.inFlight.bytes).toBe(0);
  });

  it('the outcomes of commands, each once', () => {
    const { channel, front } = host.openFront();
    front.emit('message', {
      type: 'run',
      sentAt: 0,
      commands: [1, 'a', 'go', '{}', 0, 2, 'a', 'go', '{}', 7],
    });
    host.say(channel, [1, 1, 'result', '{"x":1}']);
    host.say(channel, [0, 2, 'not here', '']);
    expect(front.taken()).toEqual([
      [1, 1, 'result', '{"x":1}'],
      [0, 2, 'not here', ''],
    ]);
    expect(host.isEnded).toBe(false);
  });

  it('the images of its cells', () => {
    host.say(LINK, cells, 'watch');
    expect([...new Int32Array(host.cells.heartbeat)]).toEqual(cells.heartbeat);
    expect([...new Int32Array(host.cells.lastRun)]).toEqual([1, -5]);
    expect(host.heard()).toEqual([tell('awake', null)]);
  });

  it('its end, when main has asked for it', async () => {
    host.asMain('shutdown', null, 'tell');
    host.say(LINK, { type: 'done' });
    expect((await host.exit()).isDone).toBe(true);
  });
});

describe('what no host says ends it', () => {
  it.each([
    ['nope', null, '"nope", which main does not have'],
    ['constructor', null, '"constructor", which main does not have'],
    ['__proto__', null, '"__proto__", which main does not have'],
    ['toString', null, '"toString", which main does not have'],
    [7, null, 'a number, which main does not have'],
    ['exited', null, 'exited must be object'],
    ['exited', { ...exit, run: 'x' }, /exited.run must be/],
    ['exited', { ...exit, id: 'b' }, 'run 1 as one of the bot "b"'],
    ['exited', { ...exit, run: 9 }, 'the end of run 9, which is over'],
    ['exited', { ...exit, more: 1 }, /exited.*more/],
    ['settled', { run: 9 }, 'run 9 as settled'],
    ['settled', { run: 1.5 }, /settled.run must be/],
    ['used', { ms: 1, uses: [1, -1], connections: null, memory: null }, /used.uses/],
    ['used', { ms: 1e308, uses: [], connections: null, memory: null }, /used.ms/],
    ['flooded', { id: 'b', run: 1, reason: '' }, 'run 1 as one of the bot "b"'],
    ['lateError', { id: 'b', run: 1, error: '' }, 'run 1 as one of the bot "b"'],
    ['offered', { kind: 'other', commands: {} }, 'the kind "other", of which no bot is there'],
    ['offered', { kind: 'test', commands: { '<': { args: {} } } }, /offered.commands/],
    ['offered', { kind: 'test', commands: { go: { args: 1 } } }, /offered.commands/],
    ['awake', { nested: JSON.parse('['.repeat(500) + ']'.repeat(500)) }, 'nested too deep'],
  ])('the method %j with %j', async (method, input, reason) => {
    host.say(CONTROL, tell(method as string, input));
    await expectFault(reason);
  });

  it.each<[string, object, string | RegExp]>([
    ['of another bot', { session_id: 'c' }, 'the bot "c", which is not there'],
    ['of no bot', { session_id: null }, 'the bot a object'],
    ['of the prototype', { session_id: '__proto__' }, 'the bot "__proto__"'],
    ['of another level', { level: 'fatal' }, 'the level "fatal"'],
    ['of the level constructor', { level: 'constructor' }, 'the level "constructor"'],
    ['with the scope auth', { scope: 'auth' }, 'the scope "auth", which is the service\'s own'],
    ['with the scope Drover.Config', { scope: 'Drover.Config' }, 'the scope "Drover.Config"'],
    ['with a scope with controls', { scope: 'a\u001b[2J' }, 'as a name'],
    ['with a long scope', { scope: 'a'.repeat(65) }, 'as a name'],
    ['without a time', { timestamp_ms: 1.5 }, 'without a time'],
    ['without a message', { message: { x: 1 } }, 'without a message'],
    ['that is long', { message: 'x'.repeat(8193) }, 'a line of 8193 characters'],
    ['that is too late', { timestamp_ms: 2 ** 53 }, 'without a time'],
    ['of another wire', { transport: 'udp', direction: 'incoming' }, 'as its wire'],
    ['of half a wire', { transport: 'tcp' }, 'as its wire'],
    ['with a long request', { correlation_id: 'x'.repeat(2000) }, 'as the id of a request'],
  ])('a line %s', async (_, change, reason) => {
    host.publish(line, { ...line, ...change });
    await expectFault(reason);
  });

  it.each<[string, unknown, string | RegExp]>([
    ['of another bot', { id: 'c', patch: { status: 'x' } }, 'the bot "c", which is not there'],
    ['of labels', { id: 'a', patch: { labels: {} } }, 'a change of "labels", which main owns'],
    ['of its host', { id: 'a', patch: { host: 0 } }, 'a change of "host", which main owns'],
    ['with __proto__', JSON.parse('{"id":"a","patch":{"__proto__":{}}}'), '"__proto__"'],
    ['to deleted', { id: 'a', patch: { status: 'deleted' } }, "the service's own"],
    ['to nothing', { id: 'a', patch: { status: null } }, 'as a name'],
    ['at no time', { id: 'a', patch: { since_ms: -1 } }, 'without a time'],
    ['to a list', { id: 'a', patch: { data: [] } }, 'data that is no object'],
    ['to much', { id: 'a', patch: { data: { x: 'x'.repeat(40_000) } } }, 'data of 40'],
    [
      'that is deep',
      { id: 'a', patch: { data: { x: JSON.parse('['.repeat(64) + ']'.repeat(64)) } } },
      'nested too deep',
    ],
    ['that is none', { id: 'a', patch: 1 }, 'a change of a bot that is no object'],
  ])('a change %s', async (_, event, reason) => {
    host.publish(event);
    await expectFault(reason);
  });

  it.each<[string, number, Uint8Array | object | null, string | RegExp]>([
    ['a list of events', EVENTS, [line], 'an event that is no object'],
    ['an empty event', EVENTS, Buffer.from('\n'), 'JSON'],
    ['a long batch', EVENTS, Buffer.alloc(64, '\n'), 'a batch of 65 events'],
    ['no event', EVENTS, null, 'an event that is no object'],
    ['no line', EVENTS, { ...line, more: 1 }, 'a line that is not as a host writes it'],
    ['no line, with spaces', EVENTS, spaced, 'a line that is not as a host writes it'],
    ['two lines in one', EVENTS, doubled, 'JSON'],
    ['bytes as events', EVENTS, Uint8Array.of(0x91, 0xc1), 'JSON'],
    ['bytes as a message', CONTROL, Uint8Array.of(0xd4, 0x65, 0), 'JSON'],
    ['nothing as a message', CONTROL, new Uint8Array(0), 'JSON'],
    ['null as a message', CONTROL, null, 'a message that is no object'],
    ['a call', CONTROL, { type: 'call', id: 1, method: 'awake', input: null }, 'the type "call"'],
    ['an answer', CONTROL, { type: 'return', id: 77 }, 'a call that is not open'],
    ['an error', CONTROL, { type: 'throw', id: '1' }, 'a call that is not open'],
    ['an end', LINK, { type: 'done' }, 'its end, which nobody has asked for'],
    ['another end', LINK, { type: 'failed', message: 1, stack: null }, /failed.message must be/],
    ['a third end', LINK, { type: '__proto__' }, '__proto__'],
    ['a channel', 99, {}, 'on channel 99, which is not open'],
  ])('%s', async (_, channel, body, reason) => {
    if (body instanceof Uint8Array) host.send(channel, body);
    else host.say(channel, body);
    await expectFault(reason);
  });

  it.each([
    ['out', CONTROL, 2 ** 26 + 1],
    ['out', EVENTS, 2 ** 23 + 1],
    ['out', LINK, 2 ** 32 - 1],
    ['watch', LINK, 2 ** 20 + 1],
  ] as const)('on %s, channel %i, a frame of %i bytes', async (pipe, channel, bytes) => {
    host.write(header(channel, bytes), pipe);
    await expectFault(`a frame of ${bytes} bytes, and`);
  });

  it.each<[string, object, string | RegExp]>([
    ['short images', { ...cells, lastRun: [1] }, /cells.lastRun/],
    ['images of what is no cell', { ...cells, lastRun: [1, 2 ** 31] }, /cells.lastRun/],
    ['negative memory', { ...cells, heartbeat: [1, -1, 0, 0, 0, 0] }, /cells.heartbeat/],
    ['negative counts', { ...cells, lag: { counts: new Array(13).fill(-1), sum: 0 } }, /cells.lag/],
    ['an endless sum', { ...cells, lag: { ...cells.lag, sum: 1e308 } }, /cells.lag/],
    ['another type', { type: 'toString' }, 'toString'],
    [
      'a stack that nobody wants',
      { type: 'captured', id: 1, frames: [], bot: null },
      'the stack 1',
    ],
    ['no type', {}, 'a message of the type a undefined'],
  ])('from the watch: %s', async (_, message, reason) => {
    host.say(LINK, message, 'watch');
    await expectFault(reason);
  });

  it.each<[string, unknown, string]>([
    ['that nobody has sent', [0, 2, 'result', '1'], 'a command that is not open'],
    ['for the second time', [0, 1, 'result', '1', 1, 'result', '1'], 'a command that is not open'],
    ['of commands that it has taken', [1], 'answer no commands'],
    ['without any', [0], 'answer no commands'],
    ['with another code', [0, 1, 'constructor', ''], 'the code "constructor"'],
    ['that is no JSON', [0, 1, 'result', '1}, "b": {'], 'no JSON'],
    ['that is deep', [0, 1, 'result', '['.repeat(65) + ']'.repeat(65)], 'nested too deep'],
    ['without a text', [0, 1, 'result', null], 'the code "result"'],
    ['in half a list', [0, 1], 'no list of them'],
    ['in no list', { 0: 0 }, 'no list of them'],
  ])('an outcome %s', async (_, list, reason) => {
    const { channel, front } = host.openFront();
    front.emit('message', { type: 'run', sentAt: 0, commands: [1, 'a', 'go', '{}', 0] });
    host.say(channel, [1]);
    front.taken();
    host.say(channel, list);
    expect(front.taken()).toEqual([]);
    await expectFault(reason);
  });

  it('an answer of another shape, and an error that is none', async () => {
    const first = host.asMain('setPermit', { id: 'a', permit: 1 });
    host.say(CONTROL, { type: 'return', id: first, output: null });
    expect(host.heard()).toHaveLength(1);
    const second = host.asMain('stop', { id: 'a', graceMs: 1 });
    host.say(CONTROL, { type: 'throw', id: second, error: { code: 'toString', message: '' } });
    await expectFault('stop with an error that is none');
  });

  it('an answer to a call that it has answered', async () => {
    const id = host.asMain('open', null);
    host.say(CONTROL, { type: 'return', id, output: { test: 1 } });
    expect(host.heard()).toHaveLength(1);
    host.say(CONTROL, { type: 'return', id, output: { test: 1 } });
    await expectFault('a call that is not open');
  });

  it('nothing that comes after it is taken, on any pipe', async () => {
    host.say(CONTROL, tell('nope', null));
    host.pipes.watch.emit('data', Buffer.alloc(3));
    host.say(LINK, cells, 'watch');
    host.say(CONTROL, tell('awake', null));
    await expectFault('"nope"');
  });
});

describe('a bot whose run is over', () => {
  it('has no further lines there, and its neighbour has', () => {
    host.publish(line);
    expect(host.published()).toHaveLength(1);
    host.say(CONTROL, tell('exited', exit));
    host.publish(line, { ...line, session_id: 'b' });
    expect(host.published()).toMatchObject([{ session_id: 'b' }]);
    expect(host.isEnded).toBe(false);
    // What is not published is not in flight.
    expect(host.inFlight.bytes).toBe(0);
  });

  it('also one that main has stopped, until main starts it again', () => {
    const id = host.asMain('stop', { id: 'a', graceMs: 100 });
    host.publish(line);
    host.say(CONTROL, { type: 'return', id, output: { abandoned: true } });
    host.publish(line);
    expect(host.published()).toHaveLength(1);
    host.asMain('start', { bots: [{ id: 'a', run: 3, kind: 'test', config: {} }] });
    host.publish(line);
    expect(host.published()).toHaveLength(1);
  });

  it('its late errors reach main, a few', () => {
    host.say(CONTROL, tell('settled', { run: 1 }));
    host.say(CONTROL, tell('exited', exit));
    for (let n = 0; n < 100; n++) {
      host.say(CONTROL, tell('lateError', { id: 'a', run: 1, error: 'late' }));
    }
    // Of a run that is not known here any more.
    host.say(CONTROL, tell('lateError', { id: 'c', run: 77, error: 'late' }));
    expect(host.heard().filter(({ method }) => method === 'lateError')).toHaveLength(16);
    expect(host.isEnded).toBe(false);
  });
});

it('failures of the modules of its kinds reach main, some of them, and none of a kind without a bot there', () => {
  for (let n = 0; n < 200; n++) {
    host.say(CONTROL, tell('kindFailed', { kind: 'test', error: 'boom', bots: 2 }));
    host.say(CONTROL, tell('kindFailed', { kind: 'other', error: 'boom', bots: 0 }));
  }
  const told = host.heard().map(({ input }) => (input as { kind: string }).kind);
  expect(told).toEqual(Array(100).fill('test'));
  expect(host.isEnded).toBe(false);
});

it('a line is not from the future', () => {
  host.publish({ ...line, timestamp_ms: Number.MAX_SAFE_INTEGER });
  const [item] = host.published() as { timestamp_ms: number }[];
  expect(item?.timestamp_ms).toBeLessThanOrEqual(Date.now());
});

it('a process that says too much is not read for a while, and main gets what it has said', async () => {
  while (!host.pipes.out.isPaused) host.say(CONTROL, tell('awake', null));
  expect(host.heard().length).toBeLessThan(10_000);
  await expect.poll(() => host.pipes.out.isPaused).toBe(false);
  expect(host.isEnded).toBe(false);
});

it('a process that reads nothing is ended', async () => {
  host.pipes.in.writableLength = 2 ** 30;
  host.asMain('open', null);
  await expectFault('does not read');
});

it('a note that is no list of commands is not believed', () => {
  const bytes = Buffer.alloc(host.cells.commandLog.byteLength + 8);
  for (const [count, length] of [
    [-1n, 0],
    [2n ** 62n, 0],
    [20n, -1],
    [20n, 100_000],
  ] as const) {
    bytes.writeBigInt64LE(count, 8);
    bytes.writeInt32LE(length, 16);
    writeSync(host.note, bytes, 0, bytes.length, 0);
    host.say(LINK, cells, 'watch');
    expect(new CommandLog(host.cells.commandLog).read()).toEqual([]);
  }
  expect(host.isEnded).toBe(false);
});
