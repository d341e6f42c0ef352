// Event stream clients that other people wrote, as their documentation shows them: no message that is not an event, and an
// exact resume, whether they send the last id as a header or in the query.

import { once } from 'node:events';
import { createRequire } from 'node:module';
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';
import { afterAll, beforeAll, expect, it, onTestFinished, vi } from 'vitest';
import type { Service } from '../../harness/service.js';

export function otherClientTests(given: () => Service): void {
  interface Message {
    event: string;
    id: string;
    data: string;
  }

  /** The parts of these packages that are used. They are written for a browser: document and window are the least they need. */
  interface Polyfill {
    EventSourcePolyfill: new (
      url: string,
      options: { headers: Record<string, string> },
    ) => {
      addEventListener(
        kind: string,
        listen: (event: { data: string; lastEventId: string }) => void,
      ): void;
      close(): void;
    };
  }
  interface FetchEventSource {
    fetchEventSource(
      url: string,
      options: {
        headers: Record<string, string>;
        signal: AbortSignal;
        openWhenHidden: boolean;
        fetch: typeof fetch;
        onmessage: (message: Message) => void;
        onclose: () => void;
      },
    ): Promise<void>;
  }
  const load = createRequire(import.meta.url);

  let service: Service;
  let token: string;
  /** In front of the service: connections through it can be cut. */
  let relay: Server;
  const sockets = new Set<Socket>();
  /** The first lines of the requests through it. */
  const requests: string[] = [];

  beforeAll(async () => {
    Object.assign(globalThis, {
      window: { setTimeout, clearTimeout, addEventListener: () => {} },
      document: { removeEventListener: () => {} },
    });
    service = given();
    token = await service.token();
    relay = createServer((client) => {
      const upstream = connect(service.port, '127.0.0.1');
      client.once('data', (bytes) => requests.push(String(bytes).split('\r\n', 1)[0] ?? ''));
      for (const [one, other] of [
        [client, upstream],
        [upstream, client],
      ] as const) {
        sockets.add(one);
        one.pipe(other);
        one.on('error', () => {});
        one.on('close', () => {
          sockets.delete(one);
          other.destroy();
        });
      }
    }).listen(0, '127.0.0.1');
    await once(relay, 'listening');
  });
  afterAll(async () => {
    cut();
    relay.close();
    Reflect.deleteProperty(globalThis, 'window');
    Reflect.deleteProperty(globalThis, 'document');
  });

  function cut(): void {
    for (const socket of sockets) socket.destroy();
  }

  const url = (query = ''): string =>
    `http://127.0.0.1:${(relay.address() as AddressInfo).port}/events${query}`;
  const headers = (): Record<string, string> => ({ Authorization: `Bearer ${token}` });
  const numberOf = ({ id }: Message): number => Number(id.split('-')[1]);

  /** Cuts the connection twice. All messages are JSON, and the numbered events are complete and in order. */
  async function expectExact(messages: Message[], faults: unknown[]): Promise<void> {
    const lines = (): Message[] => messages.filter(({ event }) => event === 'log');
    for (const count of [20, 60, 100]) {
      await expect.poll(() => lines().length).toBeGreaterThan(count);
      cut();
    }
    expect(faults).toEqual([]);
    expect(messages.map(({ event }) => event)).not.toContain('gap');
    for (const { data } of messages) expect(() => JSON.parse(data), data).not.toThrow();
    const numbers = messages.filter(({ id }) => id !== '').map(numberOf);
    const first = numbers[0] ?? 0;
    expect(numbers).toEqual(numbers.map((_, at) => first + at));
  }

  function polyfill(query = ''): Message[] {
    const { EventSourcePolyfill } = load('event-source-polyfill') as Polyfill;
    const source = new EventSourcePolyfill(url(query), { headers: headers() });
    onTestFinished(() => source.close());
    const messages: Message[] = [];
    for (const event of ['log', 'session', 'activity', 'operation', 'gap', 'message']) {
      source.addEventListener(event, ({ data, lastEventId }) => {
        messages.push({ event, id: lastEventId, data });
      });
    }
    return messages;
  }

  function fetchEventSource(query = ''): { messages: Message[]; faults: unknown[] } {
    const { fetchEventSource } = load('@microsoft/fetch-event-source') as FetchEventSource;
    const messages: Message[] = [];
    const faults: unknown[] = [];
    const closing = new AbortController();
    onTestFinished(() => closing.abort());
    fetchEventSource(url(query), {
      headers: headers(),
      signal: closing.signal,
      openWhenHidden: true,
      fetch,
      onmessage: (message) => messages.push(message),
      onclose: () => {
        throw new Error('the service closed the stream');
      },
    }).catch((fault: unknown) => faults.push(fault));
    return { messages, faults };
  }

  it('event-source-polyfill resumes with the query parameter that it sends', async () => {
    // It prints each cut.
    vi.spyOn(console, 'error').mockImplementation(() => {});
    onTestFinished(() => void vi.restoreAllMocks());
    const from = requests.length;
    await expectExact(polyfill(), []);
    await expect.poll(() => requests.slice(from).at(-1)).toMatch(/[?&]lastEventId=[0-9a-f]+-\d+ /);
  });

  it('@microsoft/fetch-event-source gets nothing but events', async () => {
    const { messages, faults } = fetchEventSource();
    await expectExact(messages, faults);
  });

  it('both ignore the position of a filtered stream, and the heartbeat', async () => {
    const query = '?level=error&scope=nothing';
    const byFetch = fetchEventSource(query);
    const byPolyfill = polyfill(query);
    const response = await fetch(`${service.url}/events${query}`, { headers: headers() });
    let raw = '';
    for await (const bytes of response.body as unknown as AsyncIterable<Uint8Array>) {
      raw += Buffer.from(bytes).toString();
      if ((raw.match(/^: position \S+$/gm)?.length ?? 0) > 3) break;
    }
    expect(byFetch).toEqual({ messages: [], faults: [] });
    expect(byPolyfill).toEqual([]);
  });
}
