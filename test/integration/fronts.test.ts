// Several fronts on one port: a client cannot tell which one it is connected to.

import { afterAll, beforeAll, expect, it, onTestFinished } from 'vitest';
import { call, expectError, tryPin } from '../harness/api.js';
import { raw, requestBytes } from '../harness/http.js';
import { Ledger } from '../harness/ledger.js';
import { RawStream } from '../harness/raw-stream.js';
import {
  exchange,
  makeDir,
  removeDir,
  runToExit,
  type Service,
  startService,
  stopClean,
} from '../harness/service.js';

/** A hash of the addresses spreads connections; with this many they practically never all land on one front. */
const MANY = 24;

let service: Service;
beforeAll(async () => {
  service = await startService({
    args: ['--fronts', '3'],
    config: {
      // One refill per minute: none occurs during the test that needs it.
      pin: { refill_per_minute: 1 },
      bots: [{ id: 'a', kind: 'synthetic', config: { events_per_second: 500 } }],
    },
  });
});
afterAll(() => stopClean(service));

const times = <T>(count: number, make: (n: number) => T): T[] =>
  Array.from({ length: count }, (_, n) => make(n));

/** A request on its own connection, which may land on any front. */
function fresh(method: string, target: string, token: string, body?: string) {
  const headers: Record<string, string> = { Authorization: `Bearer ${token}`, Connection: 'close' };
  if (body !== undefined) headers['Content-Type'] = 'application/json';
  return raw(service.port, requestBytes(method, target, headers, body));
}

it('every stream receives the same bytes for the same numbers', async () => {
  const token = await service.token();
  const wanted = 500;
  const texts = await Promise.all(
    times(MANY, async () => {
      const frames = new Map<number, string>();
      const ledger = new Ledger({ onFrame: (seq, block) => frames.set(seq, block) });
      const stream = await RawStream.open(service.port, { token, onBlock: ledger.take });
      onTestFinished(() => stream.close());
      await stream.until(() => frames.size >= wanted);
      expect(ledger).toMatchObject({ faults: [], gaps: [], retries: 1, snapshots: 1 });
      return frames;
    }),
  );
  const from = Math.max(...texts.map((frames) => Math.min(...frames.keys())));
  const to = Math.min(...texts.map((frames) => Math.max(...frames.keys())));
  expect(to - from).toBeGreaterThan(wanted / 2);
  const range = times(to - from + 1, (n) => from + n);
  const bytes = texts.map((frames) => range.map((seq) => frames.get(seq)).join('\n\n'));
  expect(new Set(bytes).size).toBe(1);
});

it('a stream resumes on any front', async () => {
  const token = await service.token();
  const ledger = new Ledger();
  for (let n = 0; n < MANY; n++) {
    const id = ledger.lastEventId;
    const stream = await RawStream.open(service.port, {
      token,
      headers: id === '' ? {} : { 'Last-Event-ID': id },
      onBlock: ledger.take,
    });
    const { frames } = ledger;
    await stream.until(() => ledger.frames > frames + 20);
    stream.close();
  }
  expect(ledger).toMatchObject({ faults: [], gaps: [], retries: MANY });
});

it('all fronts accept a token as soon as it is issued', async () => {
  for (let n = 0; n < 5; n++) {
    const token = await exchange(service.url, service.pin);
    const answers = await Promise.all(times(MANY, () => fresh('GET', '/api-info', token)));
    for (const answer of answers) {
      expect(answer.status).toBe(200);
      expect(answer.json()).toEqual({ port: service.port, token });
    }
  }
  const answers = await Promise.all(times(MANY, () => fresh('GET', '/api-info', 'A'.repeat(64))));
  expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([401]));
});

it('a confirmed creation or deletion of a bot is visible on every front', async () => {
  const token = await service.token();
  for (let n = 0; n < 8; n++) {
    const id = `guest-${n}`;
    const made = await fresh('POST', '/api/bots', token, JSON.stringify({ id, kind: 'synthetic' }));
    expect(made.status).toBe(201);
    const found = await Promise.all(times(9, () => fresh('GET', `/api/bots/${id}`, token)));
    expect(found.map(({ status }) => status)).toEqual(times(9, () => 200));
    const gone = await fresh('DELETE', `/api/bots/${id}`, token);
    expect(gone.status).toBe(204);
    const missed = await Promise.all(times(9, () => fresh('GET', `/api/bots/${id}`, token)));
    expect(missed.map(({ status }) => status)).toEqual(times(9, () => 404));
  }
});

it('another service on the same port is refused, and clients are not disturbed', async () => {
  const ledger = new Ledger();
  const token = await service.token();
  const stream = await RawStream.open(service.port, { token, onBlock: ledger.take });
  onTestFinished(() => stream.close());
  for (const fronts of ['2', '1']) {
    const dir = makeDir();
    const { code, stdout, stderr } = await runToExit([
      ...['--host', '127.0.0.1', '--port', String(service.port), '--fronts', fronts],
      ...['--no-demo', '--data-dir', dir],
    ]);
    removeDir(dir);
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
    expect(stderr).toMatch(new RegExp(`^drover: .*${service.port}.*\\n$`));
  }
  const { frames } = ledger;
  await stream.until(() => ledger.frames > frames + 100);
  expect(ledger.faults).toEqual([]);
  const answers = await Promise.all(times(MANY, () => fresh('GET', '/api-info', token)));
  expect(answers.every(({ status }) => status === 200)).toBe(true);
});

// From here on the PIN is locked, and after the next test the service is stopped.
it('all fronts share one rate limit for wrong PINs', async () => {
  await service.token();
  const wrong = service.pin === '000000' ? '000001' : '000000';
  const body = JSON.stringify({ pin: wrong });
  const request = requestBytes(
    'POST',
    '/auth/pin',
    { 'Content-Type': 'application/json', Connection: 'close' },
    body,
  );
  const answers = await Promise.all(times(60, () => raw(service.port, request)));
  const statuses = answers.map(({ status }) => status);
  expect(statuses.filter((status) => status === 401)).toHaveLength(12);
  expect(statuses.filter((status) => status === 429)).toHaveLength(48);
  // Locked for the right PIN too, on every front.
  for (const answer of await Promise.all(times(MANY, () => tryPin(service, service.pin)))) {
    expectError(answer, 429, /^locked, retry in \d+s$/);
  }
});

it('a shutdown completes the streams of all fronts after the same last line', async () => {
  const token = await service.token();
  const streams = await Promise.all(
    times(MANY, async () => {
      const blocks: string[] = [];
      const stream = await RawStream.open(service.port, { token, onBlock: (b) => blocks.push(b) });
      return { stream, blocks };
    }),
  );
  await call(service, 'GET', '/health', { token: null });
  expect(await service.stop()).toBe(0);
  const ends = await Promise.all(streams.map(({ stream }) => stream.ended));
  expect(new Set(ends)).toEqual(new Set(['complete']));
  expect(new Set(streams.map(({ blocks }) => blocks.at(-1))).size).toBe(1);
  expect(streams[0]?.blocks.at(-1)).toContain('"stopped"');
});
