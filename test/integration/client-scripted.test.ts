// drover/client: its live stream against a scripted server, for responses that a real service does not produce.

import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { DroverClient, type StreamEvent, type StreamState } from '../../src/client/index.js';

/** The shortest backoff allowed. */
const FAST = { firstMs: 250, maxMs: 250 };

describe('on a scripted server', () => {
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

  /** Reads to the end. @returns the ids received, the waits, and the error that ended it. */
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

  it('sends the token in a header, never in the URL, and the last id even if it came without an event', async () => {
    scripts = [
      say(
        'retry: 5\nevent: session\ndata: {}\n\nid: e-6\nevent: session\ndata: {}\n\n: position e-7\n',
      ),
      say(log('e-8')),
      refuse(401, 'invalid token'),
    ];
    const { ids, error } = await readAll({ level: ['info', 'warn'], snapshot: false });
    // The last snapshot has the position of the stream as its id, and is not an event of that number.
    expect(ids).toEqual([null, null, 'e-8']);
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

  it.each([400, 401, 403, 404, 405, 414])('%i ends the stream', async (status) => {
    scripts = [refuse(status, 'no')];
    const { error, waits } = await readAll();
    expect(error).toMatchObject({ status, message: 'no' });
    expect(waits).toEqual([]);
    expect(requests).toHaveLength(1);
  });

  it.each([408, 429, 500, 502, 503])('%i is retried', async (status) => {
    scripts = [refuse(status, 'later'), say(log('e-1')), refuse(403, 'no')];
    const { ids, waits } = await readAll();
    expect(ids).toEqual(['e-1']);
    expect(waits.map(({ error, failures }) => [error.status, failures])).toEqual([
      [status, 1],
      [0, 1],
    ]);
  });

  it('waits longer after each consecutive failure, and honours Retry-After', async () => {
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
    // Jitter shortens each wait by up to half: 150 + 300 + 600 ms, then 1.2 s or the second of Retry-After.
    expect(Date.now() - began).toBeGreaterThanOrEqual(150 + 300 + 600 + 1000 - 10);
  });

  it('waits longer when connections open and drop at once, with or without snapshots', async () => {
    const snapshots = say('id: e-1\nevent: session\ndata: {}\n\n');
    scripts = [say(''), say(''), snapshots, say(''), say(log('e-2')), say(''), refuse(403, 'no')];
    const { waits } = await readAll();
    expect(waits.map(({ failures }) => failures)).toEqual([1, 2, 3, 4, 1, 2]);
  });

  it('resets the backoff when a connection lasted longer than the last wait', async () => {
    const brief: Script = (response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' }).flushHeaders();
      setTimeout(() => response.end(), 600);
    };
    scripts = [refuse(503, 'later'), refuse(503, 'later'), brief, refuse(403, 'no')];
    const { waits } = await readAll();
    expect(waits.map(({ failures }) => failures)).toEqual([1, 2, 1]);
  });

  it('waits as long as the retry field says, with a lower bound', async () => {
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

  it('retryNow() skips the wait', async () => {
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

  it('treats a silent connection as lost, before and after the response head', async () => {
    scripts = [never, say(log('e-1'), false), say(log('e-2')), refuse(403, 'no')];
    const { ids, waits } = await readAll({ silenceMs: 300 });
    expect(ids).toEqual(['e-1', 'e-2']);
    const messages = waits.map(({ error }) => error.message);
    const silent = 'no data for 0.3 s';
    expect(messages).toEqual([silent, silent, 'the service closed the stream']);
  });

  it('knows from the service how long silence may last, and tells of data without events', async () => {
    const beats: (string | null)[] = [];
    scripts = [
      (response) => {
        const headers = { 'content-type': 'text/event-stream', 'drover-heartbeat-ms': '100' };
        response.writeHead(200, headers).write(': position e-1\n');
      },
      refuse(403, 'no'),
    ];
    const waits: string[] = [];
    const stream = client.stream({
      backoff: FAST,
      onHeartbeat: () => beats.push(stream.lastEventId),
      onState: (state) => state.state === 'waiting' && waits.push(state.error.message),
    });
    await expect(stream.batches().next()).rejects.toMatchObject({ status: 403 });
    expect(beats).toEqual(['e-1']);
    expect(waits).toEqual(['no data for 5.1 s']);
  });

  it('reconnects when the stream is damaged, and resumes after the last complete event', async () => {
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

  it('ends when the response is not an event stream', async () => {
    scripts = [(response) => response.writeHead(200, { 'content-type': 'text/html' }).end('<p>')];
    const { error } = await readAll();
    expect(error).toMatchObject({
      status: 200,
      message: 'GET /events was answered with text/html, not text/event-stream',
    });
  });

  it('passes on events with an unknown name or none', async () => {
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

  it('rethrows errors from callbacks, and closes', async () => {
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
