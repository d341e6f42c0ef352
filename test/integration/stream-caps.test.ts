// Limits on the number of streams: what is refused, with which error, and that a closed stream makes room again.

import { readFileSync } from 'node:fs';
import { afterEach, expect, it, onTestFinished } from 'vitest';
import { expectError } from '../harness/api.js';
import { RawStream, type RawStreamOptions, type Refusal } from '../harness/raw-stream.js';
import { exchange, type Service, startService, stopClean } from '../harness/service.js';

let service: Service | undefined;
afterEach(async () => {
  await stopClean(service);
  service = undefined;
});

async function start(stream: object): Promise<Service> {
  // Two fronts: the limits apply to the process, on any front.
  service = await startService({ args: ['--fronts', '2'], config: { stream } });
  return service;
}

async function openAll(count: number, options: RawStreamOptions): Promise<RawStream[]> {
  const { port } = service as Service;
  const streams = await Promise.all(
    Array.from({ length: count }, () => RawStream.open(port, options)),
  );
  onTestFinished(() => {
    for (const stream of streams) stream.close();
  });
  return streams;
}

/** Opens streams that are all refused, `times` times, so that both fronts are reached. */
async function refused(options: RawStreamOptions, times = 8): Promise<Refusal[]> {
  const { port } = service as Service;
  const answers: Refusal[] = [];
  for (let n = 0; n < times; n++) {
    const opened = await RawStream.tryOpen(port, options);
    if (opened instanceof RawStream) throw new Error(`stream ${n} was accepted`);
    answers.push(opened);
  }
  return answers;
}

function expectRefusals(answers: Refusal[], status: number, message: string): void {
  for (const answer of answers) {
    expect(answer.headers['content-type']).not.toContain('event-stream');
    expectError({ ...answer, json: () => JSON.parse(answer.body) }, status, message);
  }
}

/** There is room again when the service has noticed the end of the connection. */
async function expectRoom(options: RawStreamOptions): Promise<RawStream> {
  const { port } = service as Service;
  let opened: RawStream | undefined;
  await expect
    .poll(async () => {
      const answer = await RawStream.tryOpen(port, options);
      if (!(answer instanceof RawStream)) return answer.status;
      opened = answer;
      return 200;
    })
    .toBe(200);
  onTestFinished(() => opened?.close());
  return opened as RawStream;
}

it('stream.max_streams: one more is 503, with any token', async () => {
  const { url, pin, token } = await start({ max_streams: 20 });
  const options = { token: await token() };
  const streams = await openAll(20, options);
  expectRefusals(await refused(options), 503, 'too many streams are open');
  const other = { token: await exchange(url, pin), localAddress: '127.0.0.2' };
  expectRefusals(await refused(other), 503, 'too many streams are open');
  streams[7]?.close();
  await expectRoom(other);
  expectRefusals(await refused(options), 503, 'too many streams are open');
});

it('stream.max_streams_per_token: one more with this token is 429, another token is accepted', async () => {
  const { url, pin, token } = await start({ max_streams_per_token: 5 });
  const options = { token: await token() };
  const streams = await openAll(5, options);
  const message = 'too many streams are open with this token';
  expectRefusals(await refused(options), 429, message);
  // The same token from another address, and in the query.
  expectRefusals(await refused({ ...options, localAddress: '127.0.0.2' }), 429, message);
  const target = `/events?token=${encodeURIComponent(options.token)}`;
  expectRefusals(await refused({ target }), 429, message);
  const other = { token: await exchange(url, pin) };
  await openAll(5, other);
  expectRefusals(await refused(other), 429, message);
  streams[0]?.close();
  await expectRoom(options);
  expectRefusals(await refused(options), 429, message);
});

it('stream.max_streams_per_address: one more from this address is 429, another address is accepted', async () => {
  const { token } = await start({ max_streams_per_address: 4 });
  const options = { token: await token() };
  const streams = await openAll(4, options);
  const message = 'too many streams are open from this address';
  expectRefusals(await refused(options), 429, message);
  const other = { ...options, localAddress: '127.0.0.2' };
  await openAll(4, other);
  expectRefusals(await refused(other), 429, message);
  streams[3]?.close();
  await expectRoom(options);
  expectRefusals(await refused(other), 429, message);
});

it('closed streams make room again, and refused requests take none', async () => {
  const { token, port } = await start({ max_streams: 3 });
  const options = { token: await token() };
  for (let round = 0; round < 5; round++) {
    const streams: RawStream[] = [];
    // Requests that open no stream do not count.
    const bad = { ...options, target: '/events?nope=1' };
    expect(await RawStream.tryOpen(port, bad)).toMatchObject({ status: 400 });
    for (let n = 0; n < 3; n++) streams.push(await expectRoom(options));
    expectRefusals(await refused(options, 3), 503, 'too many streams are open');
    // Without room the query is not examined.
    expect(await RawStream.tryOpen(port, bad)).toMatchObject({ status: 503 });
    expect(await RawStream.tryOpen(port, { target: '/events' })).toMatchObject({ status: 401 });
    for (const stream of streams) stream.close();
  }
  for (let n = 0; n < 3; n++) await expectRoom(options);
});

it('by default one token and address can open 1,000 streams, but not use up the global limit', async () => {
  const own = await startService();
  service = own;
  const options = { token: await own.token() };
  const streams = await openAll(1000, options);
  await Promise.all(streams.map((stream) => stream.until(() => stream.bodyBytes > 0)));
  const { stream, http } = JSON.parse(
    readFileSync(new URL('../../config/default.json', import.meta.url), 'utf8'),
  ) as { stream: Record<string, number>; http: Record<string, number> };
  expect(stream['max_streams_per_token']).toBeLessThanOrEqual((stream['max_streams'] ?? 0) / 4);
  expect(stream['max_streams_per_address']).toBeLessThanOrEqual((stream['max_streams'] ?? 0) / 2);
  // Each stream is a connection; the rest is left for requests.
  expect(http['max_connections_per_address']).toBeGreaterThan(
    stream['max_streams_per_address'] ?? 0,
  );
  expect(http['max_connections_per_address']).toBeLessThanOrEqual(
    (http['max_connections'] ?? 0) / 2,
  );
});
