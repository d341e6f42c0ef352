// drover/client: the live stream on the built service.

import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  ApiError,
  DroverClient,
  type StreamEvent,
  type StreamState,
} from '../../src/client/index.js';
import { inject } from '../harness/inject.js';
import { injectedFetch } from '../harness/injected-fetch.js';
import { freePort } from '../harness/ports.js';
import { Relay } from '../harness/relay.js';
import {
  makeDir,
  removeDir,
  type Service,
  type ServiceOptions,
  startService,
  stopClean,
} from '../harness/service.js';

const PAINTER = fileURLToPath(new URL('../fixtures/dashboard-kinds', import.meta.url));
/** The shortest backoff allowed. */
const FAST = { firstMs: 250, maxMs: 250 };

const numberOf = (id: string): number => Number(id.split('-')[1]);

/** A bot of the kind synthetic with this event rate. */
const busy = (id: string, events_per_second: number, message_bytes = 100) => ({
  id,
  kind: 'synthetic',
  config: { events_per_second, message_bytes },
});

describe('on the service', () => {
  let home: string;
  let options: ServiceOptions;
  let service: Service;
  let client: DroverClient;
  beforeAll(async () => {
    home = makeDir();
    const bots = [busy('a', 50), busy('b', 50), busy('quick', 1000, 500)];
    options = { dataDir: path.join(home, 'data'), port: await freePort(), config: { bots } };
    service = await startService(options);
    client = new DroverClient({ url: service.url, token: await service.token() });
  });
  afterAll(async () => {
    await stopClean(service);
    removeDir(home);
  });

  it('delivers the snapshots, then typed events, as filtered', async () => {
    const events: StreamEvent[] = [];
    const states: string[] = [];
    const stream = client.stream({ session: ['a'], onState: ({ state }) => states.push(state) });
    for await (const event of stream) {
      events.push(event);
      if (event.event === 'log') expect(stream.lastEventId).toBe(event.id);
      if (events.filter(({ event }) => event === 'log').length === 5) break;
    }
    expect(states).toEqual(['connecting', 'open', 'closed']);
    expect(events[0]).toMatchObject({
      event: 'session',
      id: null,
      data: { snapshot: { id: 'a' } },
    });
    for (const { event, data } of events) {
      if (event === 'log') expect(data.session_id).toBe('a');
      else expect(event).toBe('session');
    }
    const bare = client.stream({ snapshot: false, event: ['log'], session: ['b'] });
    for await (const event of bare) {
      expect(event).toMatchObject({ event: 'log', data: { session_id: 'b' } });
      break;
    }
    await expect.poll(async () => (await client.pressure()).streams.open).toBe(0);
  });

  it('delivers each event once and in order when connections are cut at any point', async () => {
    const relay = await Relay.before(service.port);
    const throughRelay = new DroverClient({ url: relay.url, token: client.token });
    const ids: string[] = [];
    const gaps: unknown[] = [];
    const stream = throughRelay.stream({ backoff: FAST, onGap: (gap) => gaps.push(gap) });
    let next = 20_000;
    for await (const batch of stream.batches()) {
      for (const { id } of batch) if (id !== null) ids.push(id);
      // Cuts anywhere within a frame.
      if (relay.bytes > next) {
        relay.disconnect();
        next = relay.bytes + 20_000 + Math.random() * 40_000;
      }
      if (relay.connections === 12) break;
    }
    expect(gaps).toEqual([]);
    const first = numberOf(ids[0] ?? '');
    expect(ids.map(numberOf)).toEqual(ids.map((_, at) => first + at));
  });

  it('reports a gap when it resumes from an id of another epoch', async () => {
    const from = '0123456789-7';
    const reported: unknown[] = [];
    const stream = client.stream({ lastEventId: from, onGap: (gap) => reported.push(gap) });
    expect(stream.lastEventId).toBe(from);
    for await (const event of stream) {
      expect(event).toMatchObject({ event: 'gap', data: { from, dropped: null } });
      if (event.event === 'gap') expect(reported).toEqual([event.data]);
      expect(stream.lastEventId).toBe(event.id);
      break;
    }
  });

  it('ends with the error when its token is revoked, and does not reconnect', async () => {
    const { id, token } = await client.tokens.create({ name: 'brief', scopes: ['read'] });
    const states: StreamState[] = [];
    const stream = client
      .withToken(token)
      .stream({ backoff: FAST, onState: (state) => states.push(state) });
    let revoked: Promise<void> | undefined;
    const reading = (async () => {
      for await (const _ of stream) revoked ??= client.tokens.revoke(id);
    })();
    const error = await reading.then(
      () => undefined,
      (thrown: unknown) => thrown,
    );
    await revoked;
    expect(error).toBeInstanceOf(ApiError);
    expect(error).toMatchObject({ status: 401, message: 'invalid token' });
    expect(states.at(-1)).toEqual({ state: 'closed', error });
    expect(states.filter(({ state }) => state === 'connecting')).toHaveLength(2);
  });

  it('is closed by its signal, by close and by its reader', async () => {
    const controller = new AbortController();
    const ways = [() => controller.abort(), (stream: { close(): void }) => stream.close()];
    for (const end of ways) {
      const stream = client.stream({ signal: controller.signal });
      for await (const _ of stream) end(stream);
      expect(stream.state).toEqual({ state: 'closed', error: null });
      await expect.poll(async () => (await client.pressure()).streams.open).toBe(0);
      await expect(stream.batches().next()).rejects.toThrow('a stream can be read once');
    }
    // With a signal that is already aborted, nothing is requested.
    const none = client.stream({ signal: AbortSignal.abort() });
    for await (const event of none) expect.unreachable(JSON.stringify(event));
  });

  it('continues when the service is killed and comes back, and reports its state', async () => {
    const states: StreamState[] = [];
    const gaps: unknown[] = [];
    const stream = client.stream({
      session: ['a'],
      backoff: FAST,
      onState: (state) => states.push(state),
      onGap: (gap) => gaps.push(gap),
    });
    const sinceMs = Date.now();
    let startedAgain: Promise<Service> | undefined;
    let last = '';
    let seen = 0;
    for await (const event of stream) {
      if (event.event === 'log' && event.data.scope === 'bot') seen++;
      if (startedAgain && states.at(-1)?.state === 'open' && event.event === 'log') {
        // An event published after the restart.
        if (event.data.timestamp_ms > sinceMs && states.length > 3 && seen > 40) break;
      }
      if (seen === 20 && !startedAgain) {
        last = event.id ?? '';
        await service.kill();
        startedAgain = startService(options);
      }
    }
    service = (await startedAgain) as Service;
    await stopClean(service);
    const kinds = states.map(({ state }) => state);
    expect(kinds.slice(0, 4)).toEqual(['connecting', 'open', 'waiting', 'connecting']);
    expect(kinds.slice(-2)).toEqual(['open', 'closed']);
    const waits = states.filter((state) => state.state === 'waiting');
    expect(waits[0]).toMatchObject({ failures: 1, error: { status: 0 } });
    for (const { failures, retryAtMs } of waits) {
      expect(failures).toBeGreaterThan(0);
      expect(retryAtMs).toBeGreaterThan(sinceMs);
    }
    // A new epoch shows as a gap; within the same epoch the ids increase.
    const [epoch] = (stream.lastEventId ?? '').split('-');
    if (epoch === last.split('-')[0]) {
      expect(numberOf(stream.lastEventId ?? '')).toBeGreaterThan(numberOf(last));
    } else expect(gaps).toHaveLength(1);
  });
});

it('does not read ahead of a slow reader, which then receives a gap and what follows it', async () => {
  // With a journal the reader would receive the rest and no gap.
  const config = {
    kinds: [PAINTER],
    stream: { ring_bytes: 2 ** 20, stall_ms: 300 },
    bots: [{ id: 'big', kind: 'painter', config: { greeting: 'hello' } }],
  };
  const slow = await inject({ config });
  const token = await slow.token();
  const client = new DroverClient({ url: 'http://drover', token, fetch: injectedFetch(slow) });
  const print = (times: number): Promise<unknown> =>
    client.invoke('big', 'print', { text: '%n '.repeat(2000), times });
  await expect.poll(async () => (await client.bots.get('big')).status).toBe('painting');
  let gaps = 0;
  let after = 0;
  let next: number | undefined;
  let connections = 0;
  let paused = false;
  const stream = client.stream({
    event: ['log', 'session'],
    backoff: FAST,
    onState: ({ state }) => {
      if (state === 'connecting') connections++;
      // More than is buffered on the way.
      if (state === 'open') void print(100);
    },
  });
  for await (const batch of stream.batches()) {
    for (const { event, id } of batch) {
      if (id === null) continue;
      if (event === 'gap') {
        gaps++;
        next = undefined;
        continue;
      }
      // After a gap come the snapshots and a new position; from then on the ids are consecutive.
      if (next !== undefined) expect(numberOf(id)).toBe(next);
      next = numberOf(id) + 1;
      if (connections === 2) after++;
    }
    if (!paused && next !== undefined) {
      paused = true;
      // The client reads nothing now, so the service closes the stream, as it does with any stalled reader.
      await expect.poll(async () => (await client.pressure()).streams.open).toBe(0);
      // More than the ring holds.
      await print(300);
    }
    if (after >= 20) break;
  }
  expect(connections).toBe(2);
  // The events that the ring has overwritten are reported as one gap.
  expect(gaps).toBe(1);
});
