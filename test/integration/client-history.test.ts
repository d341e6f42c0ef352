// drover/client and `drover logs` on the journal: pages of past events, statistics, and the switch to live events.

import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, afterEach, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { ApiError, DroverClient, type StreamEvent } from '../../src/client/index.js';
import { type CliOptions, type CliRun, runCli, startCli } from '../harness/cli.js';
import { freePort } from '../harness/ports.js';
import { makeDir, removeDir, type Service, startService, stopClean } from '../harness/service.js';

let service: Service;
let client: DroverClient;
let home: string;
let dataDir: string;
let port: number;

const numberOf = ({ id }: StreamEvent): number => Number(id?.split('-')[1]);

beforeAll(async () => {
  home = makeDir();
  dataDir = makeDir();
  port = await freePort();
  await start();
});
afterAll(async () => {
  await stopClean(service);
  removeDir(home);
  removeDir(dataDir);
});

async function start(config: object = {}): Promise<void> {
  const bots = [{ id: 'busy', kind: 'synthetic', config: { events_per_second: 50 } }];
  service = await startService({ dataDir, port, config: { bots, ...config } });
  client = new DroverClient({ url: service.url, token: await service.token() });
}

async function lines(count: number): Promise<void> {
  const stream = client.stream({ session: ['busy'], event: ['log'] });
  let seen = 0;
  for await (const _ of stream) if (++seen === count) return;
}

const options = (): CliOptions => ({
  env: { DROVER_URL: service.url, DROVER_TOKEN: client.token ?? '' },
});
const drover = (...args: string[]) => runCli(home, args, options());
const eventsIn = (stdout: string): StreamEvent[] =>
  stdout
    .split('\n')
    .slice(0, -1)
    .map((line) => JSON.parse(line) as StreamEvent);

describe('on one service', () => {
  it('the client pages through past events in both directions, and reads statistics', async () => {
    await lines(60);
    const query = { session: ['busy'], event: ['log'] as const, limit: 20 };
    const newest = await client.events(query);
    expect(newest.events).toHaveLength(20);
    const older = await client.events({ ...query, cursor: newest.cursor ?? '' });
    const both = [...newest.events, ...older.events].map(numberOf);
    expect(both).toEqual(both.toSorted((a, b) => b - a));
    expect(new Set(both).size).toBe(40);
    for (const event of newest.events) {
      expect(event).toMatchObject({ event: 'log', data: { session_id: 'busy', level: 'info' } });
    }
    const last = newest.events.at(-1)?.id ?? '';
    const after = await client.events({ ...query, order: 'oldest', after: last });
    expect(after.events[0]).toEqual(newest.events.at(-2));
    const found = await client.events({ q: 'BUSY', event: ['session'], limit: 1 });
    expect(found.events[0]).toMatchObject({ event: 'session', data: { snapshot: { id: 'busy' } } });
    const { journal, buckets, step_s } = await client.stats({ step: 10 });
    expect(step_s).toBe(10);
    expect(journal).toMatchObject({ state: 'on', reason: null, lost: 0 });
    const sum = buckets.reduce((all, { events }) => all + events, 0);
    expect(sum).toBeGreaterThanOrEqual(60);
    const wrong = client.events({ limit: 0 });
    await expect(wrong).rejects.toThrow(ApiError);
  });

  it('the client downloads a whole range, event by event', async () => {
    await lines(60);
    const range = { session: ['busy'], event: ['log'] as const };
    const all: StreamEvent[] = [];
    for await (const event of client.download(range)) all.push(event);
    const numbers = all.map(numberOf);
    expect(numbers.length).toBeGreaterThanOrEqual(60);
    expect(numbers).toEqual(numbers.toSorted((a, b) => a - b));
    for (const event of all) {
      expect(event).toMatchObject({ event: 'log', data: { session_id: 'busy' } });
    }
    const [first, second] = all;
    for await (const event of client.download({ ...range, after: first?.id ?? '' })) {
      expect(event).toEqual(second);
      break;
    }
    await expect(client.download({ after: 'nonsense' }).next()).rejects.toMatchObject({
      status: 400,
    });
    const gone = client.download({ ...range, signal: AbortSignal.abort(new Error('enough')) });
    await expect(gone.next()).rejects.toThrow('enough');
  });

  it.each([
    [
      'cut off in the middle',
      '{"id":"a-1","event":"log","data":{}}\n{"id":"a-2","ev',
      /was cut off/,
    ],
    [
      'complete but ends in the middle of a line',
      '{"id":"a-1","event":"log","data":{}}\n{"id"',
      /damaged/,
    ],
    [
      'complete but has a line that is not an event',
      '{"id":"a-1","event":"log","data":{}}\n{}\n',
      /damaged: \{\} is no/,
    ],
  ])('a download that is %s rejects', async (what, text, message) => {
    const server = createServer((_, response) => {
      response.writeHead(200, { 'content-type': 'application/x-ndjson' }).write(text);
      setTimeout(() => (what.startsWith('cut') ? response.destroy() : response.end()), 100);
    }).listen(0, '127.0.0.1');
    onTestFinished(() => void server.close());
    await once(server, 'listening');
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const download = new DroverClient({ url, token: 'x' }).download();
    const seen: unknown[] = [];
    const reading = (async () => {
      for await (const event of download) seen.push(event.id);
    })();
    await expect(reading).rejects.toMatchObject({
      name: 'ApiError',
      status: 0,
      message: expect.stringMatching(message),
    });
    if (what.startsWith('cut')) expect(seen).toEqual(['a-1']);
  });

  it('drover logs selects past lines by number, text and time', async () => {
    await lines(30);
    const ten = await drover('logs', '-n', '10', '--bot', 'busy', '--json');
    expect(ten).toMatchObject({ code: 0, stderr: '' });
    const numbers = eventsIn(ten.stdout).map(numberOf);
    expect(numbers).toHaveLength(10);
    expect(numbers).toEqual(numbers.toSorted((a, b) => a - b));
    const text = await drover('logs', '-g', 'LISTENING', '--scope', 'drover');
    expect(text.stdout.trim().split('\n')).toHaveLength(1);
    expect(text.stdout).toMatch(/^\d\d:\d\d:\d\d\.\d{3} \w+ +- drover +.*listening/i);
    const future = new Date(Date.now() + 60_000).toISOString();
    expect(await drover('logs', '--since', future)).toEqual({ code: 0, stdout: '', stderr: '' });
    const recent = eventsIn((await drover('logs', '--since', '5m', '-n', '5', '--json')).stdout);
    expect(recent).toHaveLength(5);
    const wrong = await drover('logs', '--since', 'yesterdayish');
    expect(wrong).toMatchObject({ code: 2, stderr: expect.stringContaining('is not a time') });
  });
});

// A service that a test starts ends with it.
describe('when the service restarts', () => {
  afterEach(() => stopClean(service));

  it('drover logs -f starts with past lines and continues live without a gap, also after a restart', async () => {
    await lines(30);
    const logs: CliRun = startCli(
      home,
      ['logs', '-f', '-n', '20', '--bot', 'busy', '--json'],
      options(),
    );
    const until = (count: number) =>
      expect.poll(() => eventsIn(logs.stdout()).length).toBeGreaterThanOrEqual(count);
    await until(60);
    await service.stop();
    await expect.poll(() => logs.stderr()).toContain('retrying in');
    await start();
    const before = eventsIn(logs.stdout()).length;
    await until(before + 40);
    logs.child.kill('SIGINT');
    expect((await logs.ended).code).toBe(0);
    const shown = eventsIn(logs.stdout());
    expect(shown.filter(({ event }) => event === 'gap')).toEqual([]);
    const numbers = shown.map(numberOf);
    // Each event once, in order, and everything that the journal has in that range.
    const all = new Set<number>();
    const range = {
      session: ['busy'],
      event: ['log'] as const,
      order: 'oldest' as const,
      limit: 1000,
    };
    const [first, last] = [shown[0]?.id ?? '', shown.at(-1)?.id ?? ''];
    for (let cursor: string | null | undefined; cursor !== null; ) {
      const page = await client.events({ ...range, after: first, ...(cursor ? { cursor } : {}) });
      for (const event of page.events) all.add(numberOf(event));
      cursor = page.cursor;
    }
    const wanted = [...all].filter((n) => n <= Number(last.split('-')[1]));
    expect(numbers.slice(1)).toEqual(wanted);
  });

  it('drover logs reports that the journal is off', async () => {
    await stopClean(service);
    await start({ journal: { enabled: false } });
    const off = await drover('logs');
    expect(off.code).toBe(1);
    expect(off.stderr).toMatch(/^drover: [^\n]*journal[^\n]*\n$/);
    const following = startCli(home, ['logs', '-f'], options());
    await expect.poll(() => following.stdout()).toContain('busy');
  });
});
