// Limits on the number of streams: what is refused, with which error, and that a closed stream makes room again.

import { once } from 'node:events';
import { expect, it, onTestFinished } from 'vitest';
import { DEFAULTS } from '../../src/shared/contract/config.js';
import { exchangePin, expectError } from '../harness/api.js';
import { type InjectedService, inject } from '../harness/inject.js';
import type { InjectedResponse } from '../harness/injected-exchange.js';

interface Options {
  token?: string;
  target?: string;
  address?: string;
}

interface Refusal {
  status: number;
  headers: Record<string, string>;
  body: string;
}

let service: InjectedService;

async function start(stream: object): Promise<InjectedService> {
  // Two fronts: the limits apply to the process, on any front.
  service = await inject({ fronts: 2, config: { stream } });
  return service;
}

async function tryOpen({ target = '/events', token, address }: Options): Promise<InjectedResponse> {
  const headers: Record<string, string> =
    token === undefined ? {} : { authorization: `Bearer ${token}` };
  const where = address === undefined ? {} : { address };
  const response = await service.inject({ method: 'GET', target, headers, ...where });
  onTestFinished(() => void response.destroy());
  return response;
}

const openAll = (count: number, options: Options): Promise<InjectedResponse[]> =>
  Promise.all(Array.from({ length: count }, () => open(options)));

async function open(options: Options): Promise<InjectedResponse> {
  const response = await tryOpen(options);
  expect(response.statusCode).toBe(200);
  // The stream's first bytes; it has begun.
  expect(String((await once(response, 'data'))[0])).toMatch(/^retry: /);
  return response;
}

async function refusal(options: Options): Promise<Refusal> {
  const response = await tryOpen(options);
  if (response.statusCode === 200) throw new Error('the stream was accepted');
  const body = Buffer.concat(await response.toArray()).toString();
  return { status: response.statusCode, headers: response.headers, body };
}

/** Opens streams that are all refused, `times` times, so that both fronts are reached. */
async function refused(options: Options, times = 8): Promise<Refusal[]> {
  const answers: Refusal[] = [];
  for (let n = 0; n < times; n++) answers.push(await refusal(options));
  return answers;
}

async function close(stream: InjectedResponse | undefined): Promise<void> {
  if (!stream) throw new Error('no stream');
  stream.destroy();
  await once(stream, 'close');
}

function expectRefusals(answers: Refusal[], status: number, message: string): void {
  for (const answer of answers) {
    expect(answer.headers['content-type']).not.toContain('event-stream');
    expectError({ ...answer, json: () => JSON.parse(answer.body) }, status, message);
  }
}

it('stream.max_streams: one more is 503, with any token', async () => {
  const own = await start({ max_streams: 20 });
  const options = { token: await own.token() };
  const streams = await openAll(20, options);
  expectRefusals(await refused(options), 503, 'too many streams are open');
  const other = { token: await exchangePin(own), address: '127.0.0.2' };
  expectRefusals(await refused(other), 503, 'too many streams are open');
  await close(streams[7]);
  await open(other);
  expectRefusals(await refused(options), 503, 'too many streams are open');
});

it('stream.max_streams_per_token: one more with this token is 429, another token is accepted', async () => {
  const own = await start({ max_streams_per_token: 5 });
  const options = { token: await own.token() };
  const streams = await openAll(5, options);
  const message = 'too many streams are open with this token';
  expectRefusals(await refused(options), 429, message);
  // The same token from another address, and in the query.
  expectRefusals(await refused({ ...options, address: '127.0.0.2' }), 429, message);
  const target = `/events?token=${encodeURIComponent(options.token)}`;
  expectRefusals(await refused({ target }), 429, message);
  const other = { token: await exchangePin(own) };
  await openAll(5, other);
  expectRefusals(await refused(other), 429, message);
  await close(streams[0]);
  await open(options);
  expectRefusals(await refused(options), 429, message);
});

it('http.max_connections_per_address: one more stream from this address is 429, another address is accepted', async () => {
  service = await inject({ fronts: 2, config: { http: { max_connections_per_address: 4 } } });
  const own = service;
  const options = { token: await own.token() };
  const streams = await openAll(4, options);
  const message = 'too many streams are open from this address';
  expectRefusals(await refused(options), 429, message);
  const other = { ...options, address: '127.0.0.2' };
  await openAll(4, other);
  expectRefusals(await refused(other), 429, message);
  await close(streams[3]);
  await open(options);
  expectRefusals(await refused(other), 429, message);
});

it('closed streams make room again, and refused requests take none', async () => {
  const own = await start({ max_streams: 3 });
  const options = { token: await own.token() };
  for (let round = 0; round < 5; round++) {
    const streams: InjectedResponse[] = [];
    // Requests that open no stream do not count.
    const bad = { ...options, target: '/events?query=/(/' };
    expect(await refusal(bad)).toMatchObject({ status: 400 });
    for (let n = 0; n < 3; n++) streams.push(await open(options));
    expectRefusals(await refused(options, 3), 503, 'too many streams are open');
    // Without room the filter is not examined.
    expect(await refusal(bad)).toMatchObject({ status: 503 });
    expect(await refusal({})).toMatchObject({ status: 401 });
    for (const stream of streams) await close(stream);
  }
  for (let n = 0; n < 3; n++) await open(options);
});

it('by default one token and address can open 1,000 streams, but not use up the global limit', async () => {
  service = await inject();
  await openAll(1000, { token: await service.token() });
  const { stream, http } = DEFAULTS;
  expect(stream.max_streams_per_token).toBeLessThanOrEqual(stream.max_streams / 4);
  expect(http.max_connections_per_address).toBeLessThanOrEqual(stream.max_streams / 2);
  expect(http.max_connections_per_address).toBeLessThanOrEqual(http.max_connections / 2);
});
