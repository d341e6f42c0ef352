// Run by vitest. Requests of one connection on node:http that arrive before the response to an earlier one. Real sockets.

import { once } from 'node:events';
import { expect, it, onTestFinished } from 'vitest';
import type { ConnectionGate, Exchange } from '../../../src/front/engine/engine.js';
import { nodeEngine } from '../../../src/front/engine/node/node.js';
import { RawConnection } from '../../harness/http.js';
import { partial } from '../../harness/partial.js';

const MOST_WAITING = 32;

/** An engine that answers when the test says so. */
async function held(): Promise<{
  connection: RawConnection;
  /** In the order in which they were handled. */
  handled: Exchange[];
  /** Resolves when that many requests were handled. */
  until(count: number): Promise<void>;
}> {
  const handled: Exchange[] = [];
  const events = new EventTarget();
  const connections = { entered: () => undefined, left: () => {}, hasCrowd: false };
  const engine = nodeEngine.create(
    (exchange) => {
      handled.push(exchange);
      events.dispatchEvent(new Event('handled'));
      // It is still worked on.
      return new Promise<void>(() => {});
    },
    new Map(),
    {
      responded: () => {},
      tls: null,
      ciphers: [],
      connections: partial<ConnectionGate>(connections),
      maxUrlBytes: 100,
      maxHeaderBytes: 4096,
      headerTimeoutMs: 60_000,
      bodyTimeoutMs: 60_000,
      idleTimeoutMs: 60_000,
    },
  );
  const port = await engine.listen('127.0.0.1', 0, false);
  const connection = await RawConnection.open(port);
  onTestFinished(() => {
    connection.close();
    engine.close();
  });
  const until = async (count: number): Promise<void> => {
    while (handled.length < count) await once(events, 'handled');
  };
  return { connection, handled, until };
}

const get = (path: string): string => `GET ${path} HTTP/1.1\r\nHost: a\r\n\r\n`;
const many = (count: number): string =>
  Array.from({ length: count }, (_, n) => get(`/${n}`)).join('');

function respond(exchange: Exchange | undefined, close = false): void {
  exchange?.respond({ status: 200, headers: [], body: exchange.path, close });
}

it('they are handled one after the other; one too many ends the connection after the responses to those before it', async () => {
  const { connection, handled, until } = await held();
  await connection.send(many(1 + MOST_WAITING + 3));
  for (let n = 0; n <= MOST_WAITING; n++) {
    await until(n + 1);
    expect(handled).toHaveLength(n + 1);
    respond(handled[n]);
    expect((await connection.response()).body).toBe(`/${n}`);
  }
  await connection.ended();
  expect(handled).toHaveLength(1 + MOST_WAITING);
});

it('a response that closes the connection is the last one', async () => {
  const { connection, handled, until } = await held();
  await connection.send(many(3));
  await until(1);
  respond(handled[0], true);
  expect((await connection.response()).headers['connection']).toBe('close');
  await connection.ended();
  expect(handled).toHaveLength(1);
});

it('behind a stream there is no response: the connection ends', async () => {
  const { connection, handled, until } = await held();
  await connection.send(many(3));
  await until(1);
  respond(handled[0]);
  await until(2);
  const closed = new Promise<void>((resolve) => {
    handled[1]?.stream([], resolve, () => {});
  });
  await closed;
  await connection.ended();
  expect(handled).toHaveLength(2);
});

it('those of a client that has left are not handled', async () => {
  const { connection, handled, until } = await held();
  await connection.send(many(3));
  await until(1);
  const left = new Promise<void>((resolve) => handled[0]?.onGone(resolve));
  connection.close();
  await left;
  respond(handled[0]);
  expect(handled).toHaveLength(1);
});

it('what is not HTTP gets its refusal after the responses before it, and so does a body that is not chunks', async () => {
  const first = await held();
  await first.connection.send(`${many(2)}\0\r\n\r\n`);
  await first.until(1);
  respond(first.handled[0]);
  await first.until(2);
  respond(first.handled[1]);
  const statuses = [];
  for (let n = 0; n < 3; n++) statuses.push((await first.connection.response()).status);
  expect(statuses).toEqual([200, 200, 400]);
  const chunked = 'POST /c HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n';
  const second = await held();
  await second.connection.send(get('/0') + chunked);
  await second.until(1);
  respond(second.handled[0]);
  expect((await second.connection.response()).status).toBe(200);
  expect((await second.connection.response()).status).toBe(400);
  await second.connection.ended();
  expect(second.handled).toHaveLength(1);
});
