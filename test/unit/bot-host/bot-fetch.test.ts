// `fetch` of a bot's context: like fetch, with each redirect on the stream and checked against network.allow.

import { once } from 'node:events';
import http from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { fetchAsBot } from '../../../src/bot-host/bot-fetch.js';
import type { Logger } from '../../../src/bot-sdk/index.js';
import { partial } from '../../harness/partial.js';

interface Request {
  method: string;
  path: string;
  headers: http.IncomingHttpHeaders;
  body: string;
}

let servers: http.Server[];
let origins: string[];
let requests: Request[];
let lines: string[];

const log = partial<Logger>({
  wire: (_: string, direction: string, line: string) => lines.push(`${direction} ${line}`),
  info: (line: string) => lines.push(line),
});

beforeAll(async () => {
  // `/<status>/<location>` redirects there; everything else is an answer.
  const answer: http.RequestListener = async (request, response) => {
    const { method = '', url = '', headers } = request;
    const body = Buffer.concat(await request.toArray()).toString();
    requests.push({ method, path: url, headers, body });
    const [, status, location] = /^\/(30\d)\/(.*)$/.exec(url) ?? [];
    if (status === undefined) response.end(`answer to ${method}`);
    else
      response.writeHead(Number(status), { location: decodeURIComponent(location ?? '') }).end('x');
  };
  servers = [http.createServer(answer), http.createServer(answer)];
  for (const server of servers) {
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
  }
  origins = servers.map((server) => `http://127.0.0.1:${(server.address() as AddressInfo).port}`);
});
afterAll(() => {
  for (const server of servers) server.close().closeAllConnections();
});
beforeEach(() => {
  requests = [];
  lines = [];
});

const to = (status: number, location: string): string =>
  `/${status}/${encodeURIComponent(location)}`;
const url = (path: string, server = 0): URL => new URL(`${origins[server]}${path}`);
const bot = (target: URL, init: RequestInit = {}, check = (): void => {}): Promise<Response> =>
  fetchAsBot(target, init, log, check);

/** What a client got and what the servers saw. */
async function outcome(
  get: (target: URL, init: RequestInit) => Promise<Response>,
  target: URL,
  init: RequestInit,
) {
  requests = [];
  const got = await get(target, init).then(
    async (response) => ({
      status: response.status,
      url: response.url,
      redirected: response.redirected,
      text: await response.text(),
    }),
    (thrown: Error) => ({ error: thrown.message }),
  );
  return { got, seen: requests };
}

describe('does what fetch does', () => {
  const headers = { authorization: 'Bearer mine', cookie: 'a=b', 'x-own': '1' };
  const cases: [string, () => URL, RequestInit][] = [];
  for (const status of [301, 302, 303, 307, 308]) {
    for (const [method, body] of [['GET'], ['HEAD'], ['POST', 'text'], ['PUT', 'text']] as const) {
      for (const server of [0, 1]) {
        const where = server === 0 ? 'the same server' : 'another server';
        const init = { method, headers, ...(body && { body }) };
        cases.push([
          `${method} ${status} to ${where}`,
          () => url(to(status, url('/end', server).href)),
          init,
        ]);
      }
    }
  }
  cases.push(
    ['a relative location', () => url(to(302, '../end?x=1')), {}],
    ['a chain', () => url(to(302, to(307, to(301, '/end')))), { method: 'POST', body: 'text' }],
    ['a fragment', () => url(`${to(302, '/end')}#here`), {}],
    ['a loop', () => url(to(302, '')), {}],
    ['an invalid location', () => url(to(302, 'http://[')), {}],
    ['another scheme', () => url(to(302, 'data:,x')), {}],
    ['redirect: manual', () => url(to(302, '/end')), { redirect: 'manual' }],
    ['redirect: error', () => url(to(302, '/end')), { redirect: 'error' }],
    ['no redirect, with redirect: error', () => url('/end'), { redirect: 'error' }],
    ['304, which is no redirect', () => url(to(304, '/end')), {}],
    [
      'a form',
      () => url(to(307, '/end')),
      { method: 'POST', body: new URLSearchParams({ a: 'b' }) },
    ],
  );

  it.each(cases)('%s', async (_, target, init) => {
    const expected = await outcome(fetch, target(), init);
    const found = await outcome(bot, target(), init);
    expect(found.got).toEqual(expected.got);
    expect(found.seen).toEqual(expected.seen);
  });

  it('a body that is a stream is not sent twice', async () => {
    const init = (): RequestInit =>
      ({ method: 'POST', body: new Blob(['text']).stream(), duplex: 'half' }) as RequestInit;
    const expected = await outcome(fetch, url(to(307, '/end')), init());
    expect(expected.got).toEqual({ error: 'fetch failed' });
    expect((await outcome(bot, url(to(307, '/end')), init())).got).toEqual(expected.got);
    const see = await outcome(bot, url(to(303, '/end')), init());
    expect(see.got).toMatchObject({ status: 200, text: 'answer to GET' });
  });
});

it('every request and response is a line, without secrets', async () => {
  await bot(url(to(302, `${origins[1]}/end?token=secret`)));
  const first = `GET ${url(to(302, `${origins[1]}/end?token=secret`)).href}`;
  const second = `GET ${origins[1]}/end?token=***`;
  expect(lines).toEqual([
    `outgoing ${first}`,
    `incoming 302 ${first}`,
    `outgoing ${second}`,
    `incoming 200 ${second}`,
  ]);
});

it('each address is checked before anything is sent to it', async () => {
  const asked: [string, number][] = [];
  const port = Number(url('/', 1).port);
  const check = (host: string, at: number): void => {
    asked.push([host, at]);
    if (at === port) throw new Error('not there');
  };
  await expect(fetchAsBot(url(to(302, `${origins[1]}/end`)), {}, log, check)).rejects.toThrow(
    'not there',
  );
  expect(asked).toEqual([
    ['127.0.0.1', Number(url('/').port)],
    ['127.0.0.1', port],
  ]);
  expect(requests.map(({ path }) => path)).not.toContain('/end');
  for (const [address, host, at] of [
    ['http://[::1]/', '[::1]', 80],
    ['https://a.example/', 'a.example', 443],
  ] as const) {
    const refuse = (...place: [string, number]): never => {
      throw new Error(place.join(' '));
    };
    await expect(fetchAsBot(new URL(address), {}, log, refuse)).rejects.toThrow(`${host} ${at}`);
  }
});
