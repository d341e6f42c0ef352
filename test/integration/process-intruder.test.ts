// A bot in a process that writes to the pipes between its process and the service: it ends its own host, and nothing else.

import { afterAll, beforeAll, expect, it } from 'vitest';
import { header, packMessage } from '../../src/shared/pipe/frames.js';
import { call } from '../harness/api.js';
import {
  create,
  createNeighbour,
  expectComplete,
  expectUndisturbed,
  incidents,
  invoke,
  lineFrom,
  snapshotFrom,
  statusFrom,
  watch,
} from '../harness/bots.js';
import { ISOLATION_KINDS } from '../harness/isolation.js';
import { pipeCases } from '../harness/pipe-cases.js';
import { PipedHost } from '../harness/piped-host.js';
import { randomFrom } from '../harness/random.js';
import { type Service, startService, stopClean } from '../harness/service.js';
import { logOf, snapshotOf } from '../harness/shapes.js';
import type { SseStream } from '../harness/sse.js';

/** `npm test` always has the same cases. `npm run long -- fuzz` has more, different each time. */
const cases = Number(process.env['FUZZ_WIRE_CASES'] ?? 8);
const seed = Number(process.env['FUZZ_SEED'] ?? 1);

const OUT = 3;
const WATCH = 5;
/** The channel of events, and that of the first front. */
const CHANNELS = { events: 2, front: 3 };
/** In a thread, and in its own process. */
const NEIGHBOURS = ['beside', 'apart'];

let service: Service;
let stream: SseStream;

beforeAll(async () => {
  service = await startService({
    config: {
      kinds: [ISOLATION_KINDS],
      stream: { ring_bytes: 64 * 2 ** 20 },
      hosts: { count: 1, max_dedicated: 4, isolation_by_kind: { intruder: 'process' } },
      watchdog: { hang_ms: 20_000 },
      restart: { backoff_ms: 10, backoff_cap_ms: 50, max_restarts: null },
    },
  });
  stream = await watch(service);
  await createNeighbour(service, stream, 'beside');
  const config = { events_per_second: 100, message_bytes: 10 };
  const apart = { id: 'apart', kind: 'synthetic', isolation: 'process', dedicated: true, config };
  expect((await create(service, apart)).status).toBe(201);
  await lineFrom(stream, 0, (log) => log.session_id === 'apart' && /^5 /.test(log.message));
  expect((await create(service, { id: 'intruder', kind: 'intruder' })).status).toBe(201);
  await statusFrom(stream, 0, 'intruder', 'alive');
});
afterAll(async () => {
  stream?.close();
  if (service) await stopClean(service);
});

/** The bot writes this, and is started again on another host. Nobody else has noticed anything. */
async function expectEnded(fd: number, bytes: Uint8Array, shown?: string): Promise<string> {
  const from = stream.frames.length;
  const hex = Buffer.from(bytes).toString('hex');
  const answer = await invoke(service, 'intruder', 'write', { fd, hex });
  // Its host may be gone before it has answered.
  expect([200, 503], `${answer.text} ${shown}`).toContain(answer.status);
  const lost = await lineFrom(stream, from, ({ message }) =>
    /^bot host \d+ was lost/.test(message),
  );
  await snapshotFrom(stream, from, 'intruder', (s) => s.status === 'alive');
  expect((await call(service, 'GET', '/health')).text).toBe('ok');
  for (const neighbour of NEIGHBOURS) await expectUndisturbed(stream, neighbour);
  expectComplete(stream);
  // Nothing in the name of another bot, or of the service.
  for (const frame of stream.frames.slice(from)) {
    const bot = logOf(frame)?.session_id ?? snapshotOf(frame)?.id ?? 'intruder';
    expect([...NEIGHBOURS, 'intruder']).toContain(bot);
    expect(logOf(frame)?.message ?? '').not.toContain('forged');
    expect(snapshotOf(frame)?.data ?? {}).not.toHaveProperty('forged');
  }
  return lost.message;
}

function frame(channel: number, message: unknown): Buffer {
  const body = packMessage(message);
  return Buffer.concat([header(channel, body.length), body]);
}

const LINE = {
  timestamp_ms: 1,
  level: 'info',
  scope: 'bot',
  session_id: 'beside',
  transport: null,
  direction: null,
  message: 'forged',
};

it.each<[string, number, Buffer, string]>([
  ['an unknown method', OUT, frame(0, { type: 'tell', method: 'nope' }), '"nope"'],
  ['constructor', OUT, frame(0, { type: 'tell', method: 'constructor' }), '"constructor"'],
  ['__proto__', OUT, frame(0, { type: 'tell', method: '__proto__' }), '"__proto__"'],
  ['a wrong input', OUT, frame(0, { type: 'tell', method: 'exited', input: 7 }), 'exited must be'],
  ['the line of another bot', OUT, frame(CHANNELS.events, LINE), 'the bot "beside"'],
  [
    'the snapshot of another bot',
    OUT,
    frame(CHANNELS.events, { id: 'apart', patch: { data: { forged: true } } }),
    'the bot "apart"',
  ],
  [
    'a security event',
    OUT,
    frame(CHANNELS.events, { ...LINE, session_id: 'intruder', scope: 'auth' }),
    'the scope "auth"',
  ],
  ['its end', OUT, frame(1, { type: 'done' }), 'its end, which nobody has asked for'],
  ['an endless frame', OUT, header(0, 2 ** 32 - 1), 'a frame of 4294967295 bytes'],
  ['outcomes of commands', OUT, frame(CHANNELS.front, 7), 'no list of them'],
  ['cells that are none', WATCH, frame(1, { type: 'cells', lastRun: [] }), 'cells'],
  ['other bytes to the watch', WATCH, Buffer.alloc(64, 0xff), 'a frame of 4294967295 bytes'],
])('a bot that sends %s ends its own host', async (_, fd, bytes, reason) => {
  const message = await expectEnded(fd, bytes);
  expect(message).toContain(reason);
  // It was alone there.
  const [report] = await incidents(service, 'intruder');
  expect(report).toMatchObject({ type: 'host_lost', suspect: 'intruder' });
});

it(
  `${cases} hostile frames, each from a new process (FUZZ_SEED=${seed})`,
  async () => {
    const source = pipeCases(randomFrom(seed), CHANNELS);
    for (let sent = 0; sent < cases; ) {
      const { bytes, isWatch, shown } = source.next().value;
      // Only what ends a host: this is seen from here.
      const relay = new PipedHost();
      relay.startBots('a', 'b');
      relay.openFront();
      relay.write(bytes, isWatch ? 'watch' : 'out');
      const { isEnded } = relay;
      await relay.exit();
      if (!isEnded) continue;
      sent += 1;
      await expectEnded(isWatch ? WATCH : OUT, bytes, shown);
    }
  },
  60_000 + cases * 10_000,
);

it('the service has said of each why, and nothing was uncaught', async () => {
  expect(service.child.exitCode).toBeNull();
  expect(service.stderr()).not.toMatch(/uncaught|TypeError|RangeError|at .*\.js:\d+/i);
  const echo = await invoke(service, 'intruder', 'echo', { text: 'still here' });
  expect(echo.json).toEqual({ result: { text: 'still here' } });
});
