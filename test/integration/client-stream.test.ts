// drover/client: the live stream, against the built service and, for what that does not do by itself, a scripted one.

import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { type AddressInfo, connect, createServer as createProxy, type Socket } from 'node:net';
import { afterEach, beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import {
  ApiError,
  DroverClient,
  type StreamEvent,
  type StreamState,
} from '../../src/client/index.js';
import { freePort } from '../harness/ports.js';
import { makeDir, removeDir, type Service, startService, stopClean } from '../harness/service.js';

/** The shortest that there is. */
const FAST = { firstMs: 250, maxMs: 250 };

const numberOf = (id: string): number => Number(id.split('-')[1]);

/** What a bot of the kind synthetic that is as busy as that is configured with. */
const busy = (id: string, events_per_second: number, message_bytes = 100) => ({
  id,
  kind: 'synthetic',
  config: { events_per_second, message_bytes },
});

describe('on the service', () => {
  let service: Service | undefined;
  afterEach(async () => {
    await stopClean(service);
    service = undefined;
  });

  async function start(
    options: Parameters<typeof startService>[0],
  ): Promise<{ client: DroverClient; running: Service }> {
    const running = await startService(options);
    service = running;
    return {
      client: new DroverClient({ url: running.url, token: await running.token() }),
      running,
    };
  }

  it('has the snapshots, then typed events, by the filter that was asked for', async () => {
    const { client } = await start({ config: { bots: [busy('a', 50), busy('b', 50)] } });
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
    const bare = client.stream({ snapshot: false, kind: ['log'], session: ['b'] });
    for await (const event of bare) {
      expect(event).toMatchObject({ event: 'log', data: { session_id: 'b' } });
      break;
    }
    await expect.poll(async () => (await client.pressure()).streams.open).toBe(0);
  });

  it('has each event once and in order over connections that are cut anywhere', async () => {
    const { client, running } = await start({ config: { bots: [busy('a', 1000, 500)] } });
    const proxy = await CuttableProxy.before(running.port);
    const viaProxy = new DroverClient({ url: proxy.url, token: client.token });
    const ids: string[] = [];
    const gaps: unknown[] = [];
    const stream = viaProxy.stream({ backoff: FAST, onGap: (gap) => gaps.push(gap) });
    let next = 20_000;
    for await (const batch of stream.batches()) {
      for (const { id } of batch) if (id !== null) ids.push(id);
      // In the middle of whatever is on its way.
      if (proxy.bytes > next) {
        proxy.cut();
        next = proxy.bytes + 20_000 + Math.random() * 40_000;
      }
      if (proxy.connections === 12) break;
    }
    expect(gaps).toEqual([]);
    const first = numberOf(ids[0] ?? '');
    expect(ids.map(numberOf)).toEqual(ids.map((_, at) => first + at));
  });

  it('goes on when the service was killed and comes back, and says how it stands', async () => {
    const dataDir = makeDir();
    onTestFinished(() => removeDir(dataDir));
    const options = { dataDir, port: await freePort(), config: { bots: [busy('a', 100)] } };
    const { client, running } = await start(options);
    const states: StreamState[] = [];
    const gaps: unknown[] = [];
    const stream = client.stream({
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
        // The next one of the second process, or of the same numbering.
        if (event.data.timestamp_ms > sinceMs && states.length > 3 && seen > 40) break;
      }
      if (seen === 20 && !startedAgain) {
        last = event.id ?? '';
        await running.kill();
        startedAgain = startService(options);
      }
    }
    service = await startedAgain;
    const kinds = states.map(({ state }) => state);
    expect(kinds.slice(0, 4)).toEqual(['connecting', 'open', 'waiting', 'connecting']);
    expect(kinds.slice(-2)).toEqual(['open', 'closed']);
    const waits = states.filter((state) => state.state === 'waiting');
    expect(waits[0]).toMatchObject({ failures: 1, error: { status: 0 } });
    for (const { failures, retryAtMs } of waits) {
      expect(failures).toBeGreaterThan(0);
      expect(retryAtMs).toBeGreaterThan(sinceMs);
    }
    // Another numbering is told as a gap; with the same one the ids go up.
    const [epoch] = (stream.lastEventId ?? '').split('-');
    if (epoch === last.split('-')[0]) {
      expect(numberOf(stream.lastEventId ?? '')).toBeGreaterThan(numberOf(last));
    } else expect(gaps).toHaveLength(1);
  });

  it('has a gap when the id that it is to go on from is of another numbering', async () => {
    const { client } = await start({ config: { bots: [busy('a', 50)] } });
    const from = '0123456789-7';
    const told: unknown[] = [];
    const stream = client.stream({ lastEventId: from, onGap: (gap) => told.push(gap) });
    expect(stream.lastEventId).toBe(from);
    for await (const event of stream) {
      expect(event).toMatchObject({ event: 'gap', data: { from, dropped: null } });
      if (event.event === 'gap') expect(told).toEqual([event.data]);
      expect(stream.lastEventId).toBe(event.id);
      break;
    }
  });

  it('ends with the error when its token is revoked, and asks no more', async () => {
    const { client } = await start({ config: { bots: [busy('a', 50)] } });
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

  it('is not read ahead of a reader that is slow, who gets the rest or a gap', async () => {
    // A journal would have the rest, and the reader no gap.
    const config = {
      journal: { enabled: false },
      stream: { ring_bytes: 8 * 2 ** 20, stall_ms: 300 },
      bots: [busy('big', 2000, 8000)],
    };
    const { client } = await start({ config });
    let missing = 0;
    let after = 0;
    let next: number | undefined;
    let connections = 0;
    let paused = false;
    const stream = client.stream({
      kind: ['log', 'session'],
      backoff: FAST,
      onState: ({ state }) => {
        if (state === 'connecting') connections++;
      },
    });
    for await (const batch of stream.batches()) {
      for (const { event, id } of batch) {
        if (id === null) continue;
        if (event === 'gap') {
          missing++;
          next = undefined;
          continue;
        }
        // Behind a gap the snapshots and a new position come; after them all is in a row again.
        if (next !== undefined) expect(numberOf(id)).toBe(next);
        next = numberOf(id) + 1;
      }
      if (!paused && next !== undefined) {
        paused = true;
        // Nothing is taken any more: the service gives the stream up, which it does for no one who reads.
        await expect
          .poll(async () => (await client.pressure()).streams.open, { timeout: 40_000 })
          .toBe(0);
      }
      if (connections === 2 && next !== undefined) after += batch.length;
      if (after > 100) break;
    }
    // What is too long ago for the ring comes from the journal, or is one gap.
    expect(missing).toBeLessThanOrEqual(1);
  });

  it('is closed by its signal, by close and by its reader', async () => {
    const { client } = await start({ config: { bots: [busy('a', 50)] } });
    const controller = new AbortController();
    const ways = [() => controller.abort(), (stream: { close(): void }) => stream.close()];
    for (const end of ways) {
      const stream = client.stream({ signal: controller.signal });
      for await (const _ of stream) end(stream);
      expect(stream.state).toEqual({ state: 'closed', error: null });
      await expect.poll(async () => (await client.pressure()).streams.open).toBe(0);
      await expect(stream.batches().next()).rejects.toThrow('a stream can be read once');
    }
    // With a signal that is aborted already nothing is asked for.
    const none = client.stream({ signal: AbortSignal.abort() });
    for await (const event of none) expect.unreachable(JSON.stringify(event));
  });
});

describe('on a scripted service', () => {
  type Script = (response: ServerResponse, request: IncomingMessage) => void;
  let scripts: Script[];
  let requests: IncomingMessage[];
  let client: DroverClient;

  beforeEach(async () => {
    scripts = [];
    requests = [];
    const server = createServer((request, response) => {
      requests.push(request);
      (scripts.shift() ?? never)(response, request);
    }).listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    client = new DroverClient({ url: `http://127.0.0.1:${port}`, token: 'secret' });
    onTestFinished(() => {
      server.closeAllConnections();
      server.close();
    });
  });

  const never: Script = () => {};
  const refuse =
    (status: number, message: string, headers: Record<string, string> = {}): Script =>
    (response) =>
      response.writeHead(status, headers).end(JSON.stringify({ error: message }));
  const say =
    (text: string, end = true): Script =>
    (response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream; charset=utf-8' });
      response.write(text);
      if (end) response.end();
    };
  const log = (id: string): string => `id: ${id}\nevent: log\ndata: {"message":"${id}"}\n\n`;

  /** Reads to the end; what has come, how it stood, and what it ended with. */
  async function readAll(options: Parameters<DroverClient['stream']>[0] = {}): Promise<{
    ids: (string | null)[];
    waits: (StreamState & { state: 'waiting' })[];
    error: unknown;
  }> {
    const ids: (string | null)[] = [];
    const waits: (StreamState & { state: 'waiting' })[] = [];
    const onState = (state: StreamState): void => {
      if (state.state === 'waiting') waits.push(state);
    };
    let error: unknown;
    try {
      for await (const { id } of client.stream({ backoff: FAST, ...options, onState }))
        ids.push(id);
    } catch (thrown) {
      error = thrown;
    }
    return { ids, waits, error };
  }

  it('sends the token in a header, never in the URL, and the last id, also one without an event', async () => {
    scripts = [
      say('retry: 5\n\nevent: session\ndata: {}\n\nid: e-7\n\n'),
      say(log('e-8')),
      refuse(401, 'invalid token'),
    ];
    const { ids, error } = await readAll({ level: ['info', 'warn'], snapshot: false });
    expect(ids).toEqual([null, 'e-8']);
    expect(error).toMatchObject({ status: 401 });
    expect(requests.map(({ headers }) => headers['last-event-id'])).toEqual([
      undefined,
      'e-7',
      'e-8',
    ]);
    for (const { url, headers } of requests) {
      expect(url).toBe('/events?level=info%2Cwarn&snapshot=0');
      expect(headers.authorization).toBe('Bearer secret');
    }
  });

  it.each([400, 401, 403, 404, 405, 414])('%i ends it', async (status) => {
    scripts = [refuse(status, 'no')];
    const { error, waits } = await readAll();
    expect(error).toMatchObject({ status, message: 'no' });
    expect(waits).toEqual([]);
    expect(requests).toHaveLength(1);
  });

  it.each([408, 429, 500, 502, 503])('%i is tried again', async (status) => {
    scripts = [refuse(status, 'later'), say(log('e-1')), refuse(403, 'no')];
    const { ids, waits } = await readAll();
    expect(ids).toEqual(['e-1']);
    expect(waits.map(({ error, failures }) => [error.status, failures])).toEqual([
      [status, 1],
      [0, 1],
    ]);
  });

  it('waits longer with each failure in a row, and as long as it is told to', async () => {
    const later = refuse(503, 'later');
    scripts = [
      later,
      later,
      later,
      refuse(429, 'locked', { 'retry-after': '1' }),
      refuse(403, 'no'),
    ];
    const began = Date.now();
    const { waits } = await readAll({ backoff: { firstMs: 300, maxMs: 10_000 } });
    expect(waits.map(({ failures }) => failures)).toEqual([1, 2, 3, 4]);
    expect(waits[3]?.error.retryAfterMs).toBe(1000);
    // Each is shortened by up to a half: 150 + 300 + 600, and then 1.2 s, or the second that was asked for.
    expect(Date.now() - began).toBeGreaterThanOrEqual(150 + 300 + 600 + 1000 - 10);
  });

  it('waits longer too where connections open and break at once, with snapshots or without', async () => {
    const snapshots = say('id: e-1\n\nevent: session\ndata: {}\n\n');
    scripts = [say(''), say(''), snapshots, say(''), say(log('e-2')), say(''), refuse(403, 'no')];
    const { waits } = await readAll();
    expect(waits.map(({ failures }) => failures)).toEqual([1, 2, 3, 4, 1, 2]);
  });

  it('begins anew when a connection has held for longer than the last wait', async () => {
    const brief: Script = (response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' }).flushHeaders();
      setTimeout(() => response.end(), 600);
    };
    scripts = [refuse(503, 'later'), refuse(503, 'later'), brief, refuse(403, 'no')];
    const { waits } = await readAll();
    expect(waits.map(({ failures }) => failures)).toEqual([1, 2, 1]);
  });

  it('waits as long as the service says with retry, but never next to nothing', async () => {
    scripts = [say('retry: 700\n\n'), refuse(403, 'no')];
    const waitOf = async (): Promise<number> => {
      const { waits } = await readAll({ backoff: undefined });
      return (waits[0]?.retryAtMs ?? 0) - Date.now();
    };
    const began = Date.now();
    expect(await waitOf()).toBeLessThanOrEqual(700);
    expect(Date.now() - began).toBeGreaterThanOrEqual(340);
    scripts = [say('retry: 0\n\n'), refuse(403, 'no')];
    const again = Date.now();
    await waitOf();
    expect(Date.now() - again).toBeGreaterThanOrEqual(120);
  });

  it('does not wait when it is told not to', async () => {
    scripts = [refuse(503, 'later'), refuse(403, 'no')];
    const stream = client.stream({
      backoff: { firstMs: 10_000_000, maxMs: 10_000_000 },
      onState: ({ state }) => {
        if (state === 'waiting') setTimeout(() => stream.retryNow());
      },
    });
    await expect(stream.batches().next()).rejects.toMatchObject({ status: 403 });
  });

  it('can be closed while it waits', async () => {
    scripts = [refuse(503, 'later')];
    const stream = client.stream({
      backoff: { firstMs: 10_000_000, maxMs: 10_000_000 },
      onState: ({ state }) => {
        if (state === 'waiting') setTimeout(() => stream.close());
      },
    });
    for await (const event of stream) expect.unreachable(JSON.stringify(event));
    expect(stream.state).toEqual({ state: 'closed', error: null });
  });

  it('takes a connection that is silent for dead, before and after its head', async () => {
    scripts = [never, say(log('e-1'), false), say(log('e-2')), refuse(403, 'no')];
    const { ids, waits } = await readAll({ silenceMs: 300 });
    expect(ids).toEqual(['e-1', 'e-2']);
    const messages = waits.map(({ error }) => error.message);
    const silent = 'nothing came for 0.3 s';
    expect(messages).toEqual([silent, silent, 'the service has ended the stream']);
  });

  it('opens it again when it is damaged, behind the last whole event', async () => {
    scripts = [
      say(`${log('e-1')}id: e-2\nevent: log\ndata: {"mess\n\n`, false),
      say(log('e-2')),
      refuse(403, 'no'),
    ];
    const { ids, waits } = await readAll();
    expect(ids.at(-1)).toBe('e-2');
    expect(waits[0]?.error.message).toMatch(/^the stream is damaged: /);
    expect(requests[1]?.headers['last-event-id']).not.toBe('e-2');
  });

  it('ends when what answers is no event stream', async () => {
    scripts = [(response) => response.writeHead(200, { 'content-type': 'text/html' }).end('<p>')];
    const { error } = await readAll();
    expect(error).toMatchObject({
      status: 200,
      message: 'GET /events was answered with text/html, not text/event-stream',
    });
  });

  it('hands on events of kinds that it does not know, and those without one', async () => {
    scripts = [say('event: news\ndata: {"a":1}\n\ndata: plain\n\n'), refuse(403, 'no')];
    const stream = client.stream({ backoff: FAST });
    const events: StreamEvent[] = [];
    await (async () => {
      for await (const event of stream) events.push(event);
    })().catch(() => {});
    expect(events).toEqual([
      { event: 'other', name: 'news', id: null, data: { a: 1 } },
      { event: 'other', name: 'message', id: null, data: 'plain' },
    ]);
  });

  it('throws what its own callbacks throw, and closes', async () => {
    scripts = [say(log('e-1'), false)];
    const stream = client.stream({
      onState: ({ state }) => {
        if (state === 'open') throw new Error('of the caller');
      },
    });
    await expect(stream.batches().next()).rejects.toThrow('of the caller');
    expect(stream.state.state).toBe('closed');
  });
});

/** Between a client and the service; it can cut what goes through it. */
class CuttableProxy {
  bytes = 0;
  connections = 0;
  readonly url: string;
  readonly #sockets = new Set<Socket>();

  private constructor(port: number) {
    this.url = `http://127.0.0.1:${port}`;
  }

  static async before(port: number): Promise<CuttableProxy> {
    const server = createProxy().listen(0, '127.0.0.1');
    await once(server, 'listening');
    const proxy = new CuttableProxy((server.address() as AddressInfo).port);
    server.on('connection', (client) => proxy.#join(client, connect(port, '127.0.0.1')));
    onTestFinished(() => {
      server.close();
      proxy.cut();
    });
    return proxy;
  }

  cut(): void {
    for (const socket of this.#sockets) socket.destroy();
  }

  #join(client: Socket, service: Socket): void {
    this.connections++;
    for (const socket of [client, service]) {
      this.#sockets.add(socket);
      socket.on('error', () => {});
      socket.on('close', () => {
        this.#sockets.delete(socket);
        client.destroy();
        service.destroy();
      });
    }
    service.on('data', ({ length }) => {
      this.bytes += length;
    });
    client.pipe(service);
    service.pipe(client);
  }
}
