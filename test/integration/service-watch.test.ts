// The threads of the service: what blocks an event loop is named, and a thread that hangs is replaced.

import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, expect, it, onTestFinished } from 'vitest';
import { call } from '../harness/api.js';
import { eventually, invoke, lineFrom, POST, watch } from '../harness/bots.js';
import { Ledger } from '../harness/ledger.js';
import { PATIENCE_MS } from '../harness/patience.js';
import { RawStream } from '../harness/raw-stream.js';
import { type Service, startService, stopClean } from '../harness/service.js';
import type { SseStream } from '../harness/sse.js';

const HANG_MS = 1500;
/** More than a second, and less than a hang on a busy machine: of the time in which the thread ran. */
const SLOW_MS = 1200;

const HANGING = {
  drills: { enabled: true },
  watchdog: { hang_ms: HANG_MS },
  bots: [{ id: 'a', kind: 'synthetic', config: { events_per_second: 50 } }],
};
/** The thread of the journal lets others go first: on a busy machine it needs long to be blocked for so long. */
const LONG_MS = 3 * PATIENCE_MS;

let service: Service;
beforeAll(async () => {
  service = await startService({
    config: {
      drills: { enabled: true },
      // One that is only slow must not be taken for one that hangs.
      watchdog: { hang_ms: 60_000 },
      bots: [{ id: 'a', kind: 'synthetic', config: { events_per_second: 50 } }],
    },
  });
  await POST(service, '/api/rules', {
    name: 'many lines',
    query: 'level:error',
    condition: 'count',
    window_ms: 60_000,
  });
});
afterAll(() => stopClean(service));

async function block(target: Service, args: object): Promise<void> {
  const answer = await invoke(target, null, 'drill', args);
  expect(answer.status, answer.text).toBe(200);
}

/** Resumes until the service accepts the stream: a front may be away. */
async function resumed(target: Service, token: string, ledger: Ledger): Promise<RawStream> {
  for (;;) {
    const stream = await RawStream.open(target.port, {
      token,
      headers: { 'Last-Event-ID': ledger.lastEventId },
      onBlock: ledger.take,
    }).catch(() => undefined);
    if (stream) return stream;
    await delay(50);
  }
}

it.each(['front', 'journal', 'rules', 'broadcaster', 'main'])(
  'a turn of over a second of the %s is a line that says for how long, and what ran',
  async (thread) => {
    const stream = await watch(service);
    onTestFinished(() => stream.close());
    const tokens = await call(service, 'GET', '/api/tokens');
    const { id } = (tokens.json as { tokens: { id: string }[] }).tokens[0] ?? { id: '' };
    await block(service, { block: thread, for_ms: SLOW_MS });
    const name = thread === 'front' ? 'front-0' : thread;
    // A front is blocked by the next request.
    await call(service, 'GET', '/api/incidents?limit=7');
    const request = `GET /api/incidents with the token ${id}`;
    const what = thread === 'front' ? request : 'a drill';
    const line = await lineFrom(
      stream,
      0,
      ({ message }) => message.startsWith(`the event loop of ${name} was blocked for`),
      LONG_MS,
    );
    expect(line).toMatchObject({ level: 'warn', scope: 'drover', session_id: null });
    const [, seconds, ran] = /blocked for (\d+\.\d) s, in (.*)$/.exec(line.message) ?? [];
    expect(Number(seconds), line.message).toBeGreaterThanOrEqual(SLOW_MS / 1000);
    expect(ran).toBe(what);
    // The loops are in the metrics.
    const { text } = await call(service, 'GET', '/metrics');
    const above = new RegExp(
      `^drover_event_loop_lag_seconds_count\\{thread="${name}"\\} [1-9]`,
      'm',
    );
    expect(text).toMatch(above);
  },
  2 * LONG_MS,
);

it.each([
  ['in the handler of a request', 'request', 'GET', '/api/bots?status=online'],
  ['when a body has arrived', 'body', 'POST', '/api/bots'],
])(
  'a front that hangs %s is replaced: its streams resume without a loss, and the service answers',
  async (_, at, method, path) => {
    const own = await hanging();
    const token = await own.token();
    const ledger = new Ledger();
    const stream = await RawStream.open(own.port, { token, onBlock: ledger.take });
    onTestFinished(() => stream.close());
    await stream.until(() => ledger.frames > 20);
    await block(own, { block: 'front', at });
    const body = method === 'POST' ? { body: { id: 'b', kind: 'synthetic' } } : {};
    // Its connection is closed.
    await expect(call(own, method, path, body)).rejects.toThrow();
    await stream.ended;
    const again = await resumed(own, token, ledger);
    onTestFinished(() => again.close());
    const { frames } = ledger;
    await again.until(() => ledger.frames > frames + 100);
    expect(ledger).toMatchObject({ faults: [], gaps: [] });
    expect((await fetch(`${own.url}/health`)).status).toBe(200);
    const shown = await lines(own);
    const hung = await lineFrom(shown, 0, ({ message }) => message.includes('it is replaced'));
    expect(hung).toMatchObject({ level: 'error', scope: 'drover', session_id: null });
    expect(hung.message).toMatch(
      new RegExp(
        `^the event loop of front-0 has been blocked for \\d+\\.\\d s, in ${method} /api/bots with the token \\S+, at .*blockLoop .*: it is replaced$`,
      ),
    );
    await lineFrom(shown, 0, ({ message }) => message === 'front 0 was replaced');
  },
);

it('a journal that hangs in the midst of a write is named and not ended, and keeps events again', async () => {
  const own = await hanging();
  const stream = await watch(own);
  onTestFinished(() => stream.close());
  await block(own, { block: 'journal', for_ms: 2 * HANG_MS });
  const named = await lineFrom(stream, 0, ({ message }) =>
    /^the event loop of journal has been blocked for .*: if it stays so, restart the service$/.test(
      message,
    ),
  );
  await eventually(async () => {
    const kept = await call(own, 'GET', '/api/events?query=scope:drover&limit=1000');
    return kept.text.includes(named.message);
  }, 'the line is in the journal');
});

it('the service ends also when its journal hangs in the midst of a write, and says so', async () => {
  const own = await startService({ config: HANGING });
  const stream = await watch(own);
  await block(own, { block: 'journal' });
  await lineFrom(stream, 0, ({ message }) =>
    message.startsWith('the event loop of journal has been blocked for'),
  );
  stream.close();
  // Not with 0: what was not written is lost as in a crash.
  expect(await own.stop()).toBeNull();
  expect(own.child.signalCode).toBe('SIGKILL');
  expect(own.stderr()).toContain('the thread of the journal does not exit');
});

it.each(['rules', 'broadcaster'])('a thread that hangs is replaced: %s', async (thread) => {
  const own = await hanging();
  const stream = await watch(own);
  onTestFinished(() => stream.close());
  // The thread of the rules starts with the first one.
  await addRule(own, 'before');
  await block(own, { block: thread });
  await lineFrom(stream, 0, ({ message }) =>
    new RegExp(`^the event loop of ${thread} .*, in a drill, at .*: it is replaced$`).test(message),
  );
  // A rule that was made since needs the new one: it is looked at in the one, and its lines come through the other. Not a second
  // drill: a busy machine may take one that is only slow for one that hangs.
  await addRule(own, 'since then');
  await lineFrom(stream, 0, ({ message }) => message.startsWith('rule "since then" fires'));
});

it('drills that block a loop are refused with wrong arguments', async () => {
  const wrong = await invoke(service, null, 'drill', { block: 'demo' });
  expect(wrong.status).toBe(400);
  const long = await invoke(service, null, 'drill', { block: 'main', for_ms: 1e9 });
  expect(long.status).toBe(400);
});

async function addRule(target: Service, name: string): Promise<void> {
  const rule = { name, query: 'bot:a', condition: 'count', window_ms: 60_000 };
  const made = await POST(target, '/api/rules', rule);
  expect(made.status, made.text).toBe(201);
}

async function hanging(): Promise<Service> {
  const own = await startService({ config: HANGING });
  onTestFinished(() => stopClean(own));
  return own;
}

/** A stream with the lines until now. */
async function lines(own: Service): Promise<SseStream> {
  const { text } = await call(own, 'GET', '/api/events?order=oldest&limit=1');
  const { events } = JSON.parse(text) as { events: { id: string }[] };
  const stream = await watch(own, `?last_event_id=${events[0]?.id}`);
  onTestFinished(() => stream.close());
  return stream;
}
