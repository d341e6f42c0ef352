// A client that disconnects during `POST /invoke`: the command is cancelled, and the stream reports the reason.

import http from 'node:http';
import { afterAll, beforeAll, expect, it } from 'vitest';
import {
  act,
  create,
  eventually,
  FIXTURE_KINDS,
  invoke,
  lineFrom,
  POST,
  snapshot,
  statusFrom,
  watch,
} from '../harness/bots.js';
import { type Service, startService, stopClean } from '../harness/service.js';
import type { SseStream } from '../harness/sse.js';

let service: Service;
let stream: SseStream;
beforeAll(async () => {
  // No timeout that a test could confuse with the disconnect.
  service = await startService({
    config: { kinds: [FIXTURE_KINDS], hosts: { count: 2 }, invoke: { timeout_ms: 600_000 } },
  });
  stream = await watch(service);
  for (const id of ['one', 'two']) {
    await create(service, { id, kind: 'faulty' });
    await statusFrom(stream, 0, id, 'online');
  }
});
afterAll(async () => {
  stream?.close();
  await stopClean(service);
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
  ((await invoke(service, id, 'heard')).json as { result: unknown }).result;

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
  const patient = invoke(service, 'one', 'never');
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
