// The threads of the service: one that hangs is replaced, and each test continues with the service that the one before has left.

import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, expect, it, onTestFinished } from 'vitest';
import { call } from '../harness/api.js';
import { eventually, invoke, lineFrom, POST, watch } from '../harness/bots.js';
import { Ledger } from '../harness/ledger.js';
import { RawStream } from '../harness/raw-stream.js';
import { type Service, startService, stopClean } from '../harness/service.js';

const HANG_MS = 1500;

let service: Service;
let hasEnded = false;
beforeAll(async () => {
  service = await startService({
    config: {
      drills: { enabled: true },
      watchdog: { hang_ms: HANG_MS },
      bots: [{ id: 'a', kind: 'synthetic', config: { events_per_second: 50 } }],
    },
  });
});
afterAll(async () => {
  if (!hasEnded) await stopClean(service);
});

async function block(args: object): Promise<void> {
  const answer = await invoke(service, null, 'drill', args);
  expect(answer.status, answer.text).toBe(200);
}

/** Resumes until the service accepts the stream: a front may be away. */
async function resumed(token: string, ledger: Ledger): Promise<RawStream> {
  for (;;) {
    const stream = await RawStream.open(service.port, {
      token,
      headers: { 'Last-Event-ID': ledger.lastEventId },
      onBlock: ledger.take,
    }).catch(() => undefined);
    if (stream) return stream;
    await delay(50);
  }
}

async function addRule(name: string): Promise<void> {
  const rule = { name, query: 'bot:a', condition: 'count', window_ms: 60_000 };
  const made = await POST(service, '/api/rules', rule);
  expect(made.status, made.text).toBe(201);
}

it.each([
  ['in the handler of a request', 'request', 'GET', '/api/bots?status=online'],
  ['when a body has arrived', 'body', 'POST', '/api/bots'],
])(
  'a front that hangs %s is replaced: its streams resume without a loss, and the service answers',
  async (_, at, method, path) => {
    const token = await service.token();
    const ledger = new Ledger();
    const stream = await RawStream.open(service.port, { token, onBlock: ledger.take });
    onTestFinished(() => stream.close());
    await stream.until(() => ledger.frames > 20);
    const before = ledger.lastEventId;
    await block({ block: 'front', at });
    const body = method === 'POST' ? { body: { id: 'b', kind: 'synthetic' } } : {};
    // Its connection is closed.
    await expect(call(service, method, path, body)).rejects.toThrow();
    await stream.ended;
    const again = await resumed(token, ledger);
    onTestFinished(() => again.close());
    const { frames } = ledger;
    await again.until(() => ledger.frames > frames + 100);
    expect(ledger).toMatchObject({ faults: [], gaps: [] });
    expect((await fetch(`${service.url}/health`)).status).toBe(200);
    const shown = await watch(service, `?last_event_id=${before}`);
    onTestFinished(() => shown.close());
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
  const stream = await watch(service);
  onTestFinished(() => stream.close());
  await block({ block: 'journal', for_ms: 2 * HANG_MS });
  const named = await lineFrom(stream, 0, ({ message }) =>
    /^the event loop of journal has been blocked for .*: if it stays so, restart the service$/.test(
      message,
    ),
  );
  await eventually(async () => {
    const kept = await call(service, 'GET', '/api/events?query=scope:drover&limit=1000');
    return kept.text.includes(named.message);
  }, 'the line is in the journal');
});

it.each(['rules', 'broadcaster'])('a thread that hangs is replaced: %s', async (thread) => {
  const stream = await watch(service);
  onTestFinished(() => stream.close());
  // The thread of the rules starts with the first one.
  await addRule(`before ${thread}`);
  await block({ block: thread });
  await lineFrom(stream, 0, ({ message }) =>
    new RegExp(`^the event loop of ${thread} .*, in a drill, at .*: it is replaced$`).test(message),
  );
  // A rule that was made since needs the new one: it is looked at in the one, and its lines come through the other. Not a second
  // drill: a busy machine may take one that is only slow for one that hangs.
  await addRule(`since ${thread}`);
  await lineFrom(stream, 0, ({ message }) => message.startsWith(`rule "since ${thread}" fires`));
});

// The last one: it ends the service.
it('the service ends also when its journal hangs in the midst of a write, and says so', async () => {
  const stream = await watch(service);
  await block({ block: 'journal' });
  await lineFrom(stream, 0, ({ message }) =>
    message.startsWith('the event loop of journal has been blocked for'),
  );
  stream.close();
  hasEnded = true;
  // Not with 0: what was not written is lost as in a crash.
  expect(await service.stop()).toBeNull();
  expect(service.child.signalCode).toBe('SIGKILL');
  expect(service.stderr()).toContain('the thread of the journal does not exit');
});
