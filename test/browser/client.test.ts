// drover/client in a browser: its built modules, without a bundler, in a page whose origin differs from the service's.

import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Browser, Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from 'vitest';
import { freePort } from '../harness/ports.js';
import { makeDir, removeDir, type Service, startService } from '../harness/service.js';
import { launchChromium } from './chromium.js';

/** What the page records of its stream. */
interface Seen {
  states: { state: string; error?: { status: number } | null }[];
  gaps: unknown[];
  ids: string[];
  snapshots: string[];
  ended: string | null;
}

const MODULES = new URL('../../dist/src/client/', import.meta.url);
/** Declares an empty icon. Otherwise the browser requests one. */
const PAGE = '<!doctype html><title>page</title><link rel="icon" href="data:,">';
const BUSY = { events_per_second: 100 };

let pages: Server;
let origin: string;
let browser: Browser;
let page: Page;
let service: Service;
let dataDir: string;
let port: number;

beforeAll(async () => {
  pages = createServer((request, response) => {
    if (request.url === '/') {
      response.setHeader('content-type', 'text/html').end(PAGE);
      return;
    }
    const file = new URL(`.${request.url}`, MODULES);
    if (!existsSync(file)) {
      response.writeHead(404).end();
      return;
    }
    response.setHeader('content-type', 'text/javascript').end(readFileSync(file));
  }).listen(0, '127.0.0.1');
  await once(pages, 'listening');
  origin = `http://127.0.0.1:${(pages.address() as AddressInfo).port}`;
  browser = await launchChromium();
});

afterAll(async () => {
  await browser?.close();
  pages?.close();
});

beforeEach(async () => {
  dataDir = makeDir();
  port = await freePort();
});

afterEach(async () => {
  await page?.close();
  await service?.stop();
  removeDir(dataDir);
});

/** Starts the service and a page that has signed in with the PIN. The page has a global `client`. */
async function open(bot: object, stream: object = {}): Promise<void> {
  await start(bot, stream);
  page = await browser.newPage();
  await page.goto(origin);
  await page.evaluate(`(async () => {
    const { DroverClient, ApiError } = await import('/index.js');
    const stranger = new DroverClient({ url: '${service.url}' });
    globalThis.ApiError = ApiError;
    globalThis.client = stranger.withToken(await stranger.exchangePin('${service.pin}'));
  })()`);
}

async function start(config: object, stream: object = {}): Promise<void> {
  service = await startService({
    dataDir,
    port,
    config: {
      http: { cors_origins: [origin] },
      stream,
      bots: [{ id: 'a', kind: 'synthetic', config }],
    },
  });
}

/** Starts reading a stream into the page's `seen`. @param perBatch runs in the page before each batch is processed. */
async function read(options = '', perBatch = ''): Promise<void> {
  await page.evaluate(`(() => {
    const seen = (globalThis.seen = { states: [], gaps: [], ids: [], snapshots: [], ended: null });
    const stream = (globalThis.stream = client.stream({
      backoff: { firstMs: 50, maxMs: 500 },
      onState: ({ state, error }) => seen.states.push({ state, error: error && { status: error.status } }),
      onGap: (gap) => seen.gaps.push(gap),
      ${options}
    }));
    (async () => {
      for await (const batch of stream.batches()) {
        ${perBatch}
        for (const { event, id, data } of batch) {
          if (id === null) seen.snapshots.push(data.snapshot.id);
          else seen.ids.push(id);
        }
      }
      seen.ended = 'well';
    })().catch((error) => {
      seen.ended = error instanceof ApiError ? error.status + ' ' + error.message : String(error);
    });
  })()`);
}

const seen = (): Promise<Seen> => page.evaluate('seen') as Promise<Seen>;

async function until(fits: (seen: Seen) => boolean): Promise<Seen> {
  let last: Seen | undefined;
  await expect
    .poll(
      async () => {
        last = await seen();
        return fits(last);
      },
      { interval: 100 },
    )
    .toBe(true);
  return last as Seen;
}

it('signs in, calls, and reads the stream with the token in a header', async () => {
  await open(BUSY);
  const bots = await page.evaluate('client.bots.list().then((bots) => bots.map(({ id }) => id))');
  expect(bots).toEqual(['a']);
  const missing = await page.evaluate(
    "client.bots.get('b').catch((error) => [error instanceof ApiError, error.status, error.message])",
  );
  expect(missing).toEqual([true, 404, 'no bot "b"']);
  const urls: string[] = [];
  page.on('request', (request) => urls.push(request.url()));
  await read();
  const { snapshots, ids } = await until(({ ids }) => ids.length > 100);
  expect(snapshots).toEqual(['a']);
  const numbers = ids.map((id) => Number(id.split('-')[1]));
  expect(numbers).toEqual(numbers.map((_, at) => (numbers[0] ?? 0) + at));
  expect(urls).toEqual([`${service.url}/events`]);
  await page.evaluate('stream.close()');
  await until(({ ended }) => ended === 'well');
});

it('reads a history download that can be canceled, the metrics, and the API information', async () => {
  await open(BUSY);
  await read();
  await until(({ ids }) => ids.length > 20);
  const past = (await page.evaluate(`(async () => {
    const all = [];
    for await (const { id, data } of client.download({ session: ['a'], event: ['log'] })) all.push([id, data.session_id]);
    for await (const event of client.download()) break;
    return all;
  })()`)) as [string, string][];
  expect(past.length).toBeGreaterThan(10);
  for (const [, bot] of past) expect(bot).toBe('a');
  const numbers = past.map(([id]) => Number(id.split('-')[1]));
  expect(numbers).toEqual(numbers.toSorted((a, b) => a - b));
  expect(await page.evaluate('client.metrics()')).toMatch(/^# HELP drover_/m);
  expect(await page.evaluate('client.openapi().then(({ openapi }) => openapi)')).toBe('3.1.0');
});

it('reconnects after the service was killed and restarted', async () => {
  await open(BUSY);
  await read();
  const before = await until(({ ids }) => ids.length > 20);
  await service.kill();
  await until(({ states }) => states.some(({ state }) => state === 'waiting'));
  await start(BUSY);
  const { ids, gaps, states } = await until(
    ({ states, ids }) => states.at(-1)?.state === 'open' && ids.length > before.ids.length + 40,
  );
  expect(states.slice(0, 3).map(({ state }) => state)).toEqual(['connecting', 'open', 'waiting']);
  expect(new Set(ids).size).toBe(ids.length);
  // A new epoch is reported as a gap.
  const epochs = new Set(ids.map((id) => id.split('-')[0]));
  expect(gaps.length).toBeGreaterThanOrEqual(epochs.size - 1);
});

it('receives a gap', async () => {
  await open(BUSY);
  await read("lastEventId: '0123456789-7',");
  const { gaps, ids } = await until(({ ids }) => ids.length > 0);
  expect(gaps).toEqual([{ from: '0123456789-7', to: ids[0], dropped: null }]);
});

it('ends when its token is revoked', async () => {
  await open(BUSY);
  await read();
  await until(({ ids }) => ids.length > 0);
  await page.evaluate('client.tokens.revokeCurrent()');
  const { states } = await until(({ ended }) => ended === '401 invalid token');
  expect(states.at(-1)).toEqual({ state: 'closed', error: { status: 401 } });
});

it('does not read ahead when its reader is slow', async () => {
  await open(
    { events_per_second: 2000, message_bytes: 8000 },
    { ring_bytes: 8388608, stall_ms: 300 },
  );
  await read(
    '',
    'if (!globalThis.mayRead) await new Promise((go) => { globalThis.mayRead = go; });',
  );
  await until(() => true);
  const token = await service.token();
  const openStreams = async (): Promise<number> => {
    const response = await fetch(`${service.url}/api/pressure`, {
      headers: { authorization: `Bearer ${token}` },
    });
    return ((await response.json()) as { streams: { open: number } }).streams.open;
  };
  await expect.poll(openStreams).toBe(1);
  // Nobody reads, so the service closes the stream.
  await expect.poll(openStreams).toBe(0);
  await page.evaluate('mayRead()');
  const { gaps, ids } = await until(
    ({ states, ids }) => states.length > 4 && states.at(-1)?.state === 'open' && ids.length > 500,
  );
  // Events that have left the ring come from the journal, or are a gap.
  const numbers = ids.map((id) => Number(id.split('-')[1]));
  const jumps = numbers.filter((n, at) => at > 0 && n !== (numbers[at - 1] ?? 0) + 1);
  expect(jumps.length).toBeLessThanOrEqual(gaps.length);
});
