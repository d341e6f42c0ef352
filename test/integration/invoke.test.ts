// docs/INTERFACE.md §6.4: commands to one bot, to several, and to the service. A client
// that disconnects: the command is cancelled, and the stream reports the reason.

import http from 'node:http';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Answer, call, expectError } from '../harness/api.js';
import {
  act,
  create,
  eventually,
  FIXTURE_KINDS,
  lineFrom,
  POST,
  snapshot,
  statusFrom,
} from '../harness/bots.js';
import { type Service, startService, stopClean } from '../harness/service.js';
import { waitForLog, waitForStatus } from '../harness/shapes.js';
import { openStream, type SseStream } from '../harness/sse.js';

let service: Service;
let stream: SseStream;
beforeAll(async () => {
  // No timeout that a test could confuse with a disconnect.
  const config = { kinds: [FIXTURE_KINDS], hosts: { count: 2 }, invoke: { timeout_ms: 600_000 } };
  service = await startService({ demo: true, config });
  stream = await openStream(`${service.url}/events`, { token: await service.token() });
  for (const id of ['demo-1', 'demo-2', 'demo-3']) await waitForStatus(stream, id, 'in_world');
});
afterAll(async () => {
  stream?.close();
  await stopClean(service);
});

const send = (body: unknown): Promise<Answer> => call(service, 'POST', '/invoke', { body });
const invoke = (session_id: unknown, command: unknown, args: unknown = {}): Promise<Answer> =>
  send({ session_id, command, args });

describe('to the service itself', () => {
  it('§6.4 `session_id` null and `ping` answers {"result": "pong"}', async () => {
    const answer = await invoke(null, 'ping');
    expect([answer.status, answer.json]).toEqual([200, { result: 'pong' }]);
    expect(answer.headers.get('content-type')).toMatch(/^application\/json\b/);
  });

  it('an unknown command is 404', async () => {
    for (const command of ['no_such_command', '', 'say', '__proto__', 'constructor', 'toString']) {
      const answer = await invoke(null, command);
      // An empty name may be called malformed rather than unknown.
      expectError(answer, command === '' && answer.status === 400 ? 400 : 404);
    }
  });

  it('§6 the result is a log event of scope dispatch', async () => {
    await invoke(null, 'ping');
    const log = await waitForLog(stream, (l) => l.scope === 'dispatch' && l.session_id === null);
    expect(log.message).toContain('ping');
  });
});

describe('to one bot', () => {
  it('answers {"result": …}, and the bot runs the command', async () => {
    const text = `to one ${Date.now()}`;
    const answer = await invoke('demo-1', 'say', { text });
    expect(answer.status).toBe(200);
    expect(Object.keys(answer.json as object)).toEqual(['result']);
    const out = await waitForLog(
      stream,
      (l) => l.direction === 'outgoing' && l.message.includes(text),
    );
    expect(out.session_id).toBe('demo-1');
  });

  it('other bots in the world hear what it says', async () => {
    const text = `heard ${Date.now()}`;
    await invoke('demo-1', 'say', { text });
    const heard = await waitForLog(
      stream,
      (l) => l.direction === 'incoming' && l.session_id === 'demo-2' && l.message.includes(text),
    );
    expect(heard.transport).toBe('tcp');
  });

  it('an unknown bot is 404', async () => {
    for (const id of ['nobody', '__proto__', 'DEMO-1', '']) {
      const answer = await invoke(id, 'say', { text: 'x' });
      expectError(answer, id === '' && answer.status === 400 ? 400 : 404);
    }
  });

  it('an unknown command is 404', async () => {
    for (const command of ['no_such_command', '__proto__', 'constructor', 'SAY']) {
      expectError(await invoke('demo-1', command), 404);
    }
  });

  it('invalid args are 400', async () => {
    const bad: [string, unknown][] = [
      ['say', {}],
      ['say', { text: 7 }],
      ['say', { text: null }],
      ['move', {}],
      ['move', { x: 1 }],
      ['move', { x: '1', y: 2 }],
      ['move', { x: null, y: 2 }],
    ];
    for (const [command, args] of bad) expectError(await invoke('demo-1', command, args), 400);
  });

  it('concurrent commands are all answered and carried out', async () => {
    const sent = Array.from({ length: 20 }, (_, n) =>
      invoke('demo-3', 'say', { text: `burst ${n}.` }),
    );
    for (const answer of await Promise.all(sent)) expect(answer.status).toBe(200);
    for (let n = 0; n < 20; n++) {
      await waitForLog(
        stream,
        (l) => l.session_id === 'demo-3' && l.message.includes(`burst ${n}.`),
      );
    }
  });
});

describe('to a list', () => {
  it('answers {"results": {id: {"result"}}}, one for each', async () => {
    const answer = await invoke(['demo-1', 'demo-2'], 'say', { text: 'to both' });
    expect(answer.status).toBe(200);
    expect(Object.keys(answer.json as object)).toEqual(['results']);
    const { results } = answer.json as { results: Record<string, object> };
    expect(Object.keys(results).sort()).toEqual(['demo-1', 'demo-2']);
    for (const result of Object.values(results)) expect(Object.keys(result)).toEqual(['result']);
  });

  it('a failing one has {"error"} and does not affect the others', async () => {
    const answer = await invoke(['demo-1', 'nobody'], 'say', { text: 'to one and none' });
    expect(answer.status).toBe(200);
    const { results } = answer.json as { results: Record<string, object> };
    expect(Object.keys(results).sort()).toEqual(['demo-1', 'nobody']);
    expect(Object.keys(results['demo-1'] ?? {})).toEqual(['result']);
    expect(results.nobody).toEqual({ error: expect.any(String) });
  });

  it('an unknown command is an error for each bot', async () => {
    const answer = await invoke(['demo-1', 'demo-2'], 'no_such_command');
    expect([answer.status, answer.json]).toEqual([
      200,
      {
        results: {
          'demo-1': { error: expect.any(String) },
          'demo-2': { error: expect.any(String) },
        },
      },
    ]);
  });

  it('an empty list is 400', async () => {
    expectError(await invoke([], 'say', { text: 'to none' }), 400);
  });
});

it('a malformed request is 400', async () => {
  const bad = [
    {},
    { session_id: null },
    { session_id: null, command: 7, args: {} },
    { session_id: null, command: null, args: {} },
    { session_id: 7, command: 'ping', args: {} },
    { session_id: {}, command: 'ping', args: {} },
    { session_id: [7], command: 'ping', args: {} },
    { session_id: [null], command: 'ping', args: {} },
    { session_id: 'demo-1', command: 'say', args: 'hello' },
    { session_id: 'demo-1', command: 'say', args: ['hello'] },
    { session_id: 'demo-1', command: 'say', args: 7 },
    [],
    null,
    'ping',
    7,
  ];
  for (const body of bad) expectError(await send(body), 400);
  expect((await invoke(null, 'ping')).json).toEqual({ result: 'pong' });
});

describe('a client that disconnects', () => {
  beforeAll(async () => {
    for (const id of ['one', 'two']) {
      await create(service, { id, kind: 'faulty' });
      await statusFrom(stream, 0, id, 'online');
    }
    // What the kind has heard is a variable of its module, which each host loads.
    const [one, two] = await Promise.all(['one', 'two'].map((id) => snapshot(service, id)));
    expect(one?.host).not.toBe(two?.host);
  });

  /** Sends the command to the bots and disconnects when all of them are running it. */
  async function hangUp(target: string | string[]): Promise<void> {
    const request = http.request(`${service.url}/invoke`, {
      method: 'POST',
      agent: false,
      headers: {
        authorization: `Bearer ${await service.token()}`,
        'content-type': 'application/json',
      },
    });
    const failed = new Promise((resolve) => request.once('error', resolve));
    request.end(JSON.stringify({ session_id: target, command: 'never', args: {} }));
    for (const id of [target].flat()) {
      await eventually(async () => (await heard(id)) === 'waiting', `${id} runs the command`);
    }
    request.destroy();
    await failed;
  }

  const heard = async (id: string): Promise<unknown> =>
    ((await invoke(id, 'heard')).json as { result: unknown }).result;

  const cancelledLine = (from: number, id: string): Promise<unknown> =>
    lineFrom(
      stream,
      from,
      (log) =>
        log.scope === 'dispatch' &&
        log.session_id === id &&
        log.level === 'error' &&
        log.message === 'never failed: the client has gone, the command is cancelled',
    );

  it('the command’s signal is aborted, the stream says why, and the bot keeps running', async () => {
    const from = stream.frames.length;
    await hangUp('one');
    await cancelledLine(from, 'one');
    await eventually(async () => (await heard('one')) === 'aborted', 'the command is aborted');
    expect(await snapshot(service, 'one')).toMatchObject({ status: 'online', restarts: 0 });
  });

  it('each command of a list is cancelled', async () => {
    const from = stream.frames.length;
    await hangUp(['one', 'two']);
    for (const id of ['one', 'two']) {
      await cancelledLine(from, id);
      await eventually(async () => (await heard(id)) === 'aborted', `${id} is aborted`);
    }
  });

  it('a disconnect does not cancel the command of another client', async () => {
    const patient = invoke('one', 'never');
    await eventually(async () => (await heard('one')) === 'waiting', 'it runs');
    const from = stream.frames.length;
    await hangUp('two');
    await cancelledLine(from, 'two');
    expect(await heard('one')).toBe('waiting');
    await eventually(async () => (await heard('two')) === 'aborted', 'the command is aborted');
    // The end of its bot ends the remaining command.
    await act(service, 'one', 'stop');
    expect((await patient).status).toBe(409);
  });
});

// It stops the service.
it('a command for many bots writes nothing to standard error', async () => {
  const many = Array.from({ length: 30 }, (_, n) => `many-${n}`);
  for (const id of many) {
    await create(service, { id, kind: 'faulty' });
    await statusFrom(stream, 0, id, 'online');
  }
  const answer = await POST(service, '/invoke', { session_id: many, command: 'heard', args: {} });
  const { results } = answer.json as { results: Record<string, { result: string }> };
  expect(Object.keys(results)).toEqual(many);
  expect(Object.values(results).every((outcome) => typeof outcome.result === 'string')).toBe(true);
  await stopClean(service);
  expect(service.stderr()).toBe('');
});
