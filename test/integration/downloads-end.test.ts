// A download of past events ends with its token, and counts as a stream.

import { afterAll, beforeAll, expect, it, onTestFinished } from 'vitest';
import { expectError } from '../harness/api.js';
import { act, eventually } from '../harness/bots.js';
import { keptBy } from '../harness/history.js';
import { RawStream } from '../harness/raw-stream.js';
import { type Service, startService, stopClean } from '../harness/service.js';
import { makeToken, revoke } from '../harness/tokens.js';

const TARGET = '/api/events?format=ndjson';
const MESSAGE_BYTES = 2000;
/** Far more than the socket buffers of both ends hold. */
const EVENTS = 8000;

let service: Service;
beforeAll(async () => {
  const config = { events_per_second: 4000, message_bytes: MESSAGE_BYTES };
  service = await startService({
    config: {
      stream: { max_streams_per_token: 2 },
      bots: [{ id: 'a', kind: 'synthetic', config }],
    },
  });
  await eventually(
    async () => (await keptBy(service)) > EVENTS,
    'the journal has enough events',
    90_000,
  );
  await act(service, 'a', 'stop');
}, 120_000);
afterAll(() => stopClean(service));

/** A download whose client has read the beginning and stopped reading. */
async function beginDownload(token: string): Promise<RawStream> {
  const stream = await RawStream.open(service.port, { target: TARGET, token });
  onTestFinished(() => stream.close());
  stream.pause();
  return stream;
}

it('a revoked token cuts its download', async () => {
  const { id, token } = await makeToken(service);
  const stream = await beginDownload(token);
  expect((await revoke(service, id)).status).toBe(204);
  stream.resume();
  expect(await stream.ended).toBe('cut');
  expect(stream.bodyBytes).toBeLessThan(EVENTS * MESSAGE_BYTES);
});

it('an expired token cuts its download', async () => {
  const { token } = await makeToken(service, { expires_at_ms: Date.now() + 3000 });
  const stream = await beginDownload(token);
  await eventually(async () => {
    const answer = await RawStream.tryOpen(service.port, { token });
    if (answer instanceof RawStream) answer.close();
    return answer.status === 401;
  }, 'the token has expired');
  stream.resume();
  expect(await stream.ended).toBe('cut');
});

it('open downloads count towards the stream limit of a token: one more is 429', async () => {
  const { token } = await makeToken(service);
  const streams = [await beginDownload(token), await beginDownload(token)];
  for (const target of [TARGET, '/events']) {
    const refused = await RawStream.tryOpen(service.port, { target, token });
    if (refused instanceof RawStream) throw new Error(`${target} was accepted`);
    const answer = { ...refused, json: JSON.parse(refused.body) as unknown };
    expectError(answer, 429, 'too many streams are open with this token');
  }
  for (const stream of streams) stream.resume();
  // Read to the end, after which the limit has room again.
  for (const stream of streams) expect(await stream.ended).toBe('complete');
  await Promise.all([beginDownload(token), beginDownload(token)]);
});
