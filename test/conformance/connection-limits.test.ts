// Issue 5 "Limits": how many connections there may be, in total and from one address.

import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { expectError } from '../harness/api.js';
import { FIXTURE_KINDS } from '../harness/bots.js';
import { RawConnection, requestBytes } from '../harness/http.js';
import {
  frontFlags,
  type Service,
  startService,
  stopClean,
  TEST_ENGINE,
} from '../harness/service.js';

const isNode = (service: Service): boolean => service.engine === 'node:http';

describe('many at once', () => {
  let service: Service;
  let open: RawConnection[];
  beforeEach(() => {
    open = [];
  });
  afterEach(async () => {
    for (const connection of open) connection.close();
    await stopClean(service);
  });

  const connect = async (localAddress = '127.0.0.1'): Promise<RawConnection> => {
    const connection = await RawConnection.open(service.port, { localAddress });
    open.push(connection);
    return connection;
  };
  /** Connects and sends a request; a connection that is accepted stays open. */
  const ask = async (localAddress?: string) => {
    const connection = await connect(localAddress);
    await connection.send(requestBytes('GET', '/health'));
    return { connection, answer: await connection.response() };
  };
  /** Asks again and again: the service sees a moment later that a connection was closed. */
  const askUntilServed = async (localAddress?: string): Promise<void> => {
    for (;;) {
      const { connection, answer } = await ask(localAddress);
      if (answer.status === 200) return;
      connection.close();
    }
  };

  it('connections above the limit get 503 and are closed; one that closes makes room', async () => {
    service = await startService({ config: { http: { max_connections: 4 } } });
    const first = await Promise.all([ask(), ask(), ask(), ask()]);
    expect(first.map(({ answer }) => answer.status)).toEqual([200, 200, 200, 200]);
    for (let n = 0; n < 3; n++) {
      const { connection, answer } = await ask();
      expectError(answer, 503, 'too many connections are open');
      await connection.ended();
    }
    // Those that were accepted are still served.
    const [kept] = first;
    await kept?.connection.send(requestBytes('GET', '/health'));
    expect((await kept?.connection.response())?.body).toBe('ok');
    first[3]?.connection.close();
    await askUntilServed();
  });

  it.runIf(process.platform === 'linux')(
    'connections above the limit of one address get 429, other addresses are served',
    async () => {
      service = await startService({ config: { http: { max_connections_per_address: 2 } } });
      const first = [await ask(), await ask()];
      /** Asks until it is refused: with uWebSockets.js connections are counted once a second. */
      const refused = async (): Promise<Awaited<ReturnType<typeof ask>>> => {
        for (;;) {
          for (const [at, { connection }] of first.entries()) {
            // So that it does not idle. It is closed when the third was there while they were counted.
            await connection.send(requestBytes('GET', '/health'));
            const closes = await connection.response().then(
              ({ headers }) => headers['connection'] === 'close',
              () => true,
            );
            if (closes) first[at] = await ask();
            if (first[at]?.answer.status === 429) return first[at];
          }
          const third = await ask();
          if (third.answer.status !== 200) return third;
          third.connection.close();
        }
      };
      const { connection, answer } = await refused();
      expectError(answer, 429, 'too many connections are open from this address');
      await connection.ended();
      expect((await ask('127.0.0.2')).answer.status).toBe(200);
      for (const { connection: held } of first) held.close();
      await askUntilServed();
    },
  );

  it.runIf(process.platform === 'linux')(
    'connections above the limit that were opened before they were counted are closed with their next answers',
    async () => {
      service = await startService({
        args: frontFlags(2),
        config: { http: { max_connections_per_address: 10 } },
      });
      const token = await service.token();
      // All at once, before they are counted.
      const flood = await Promise.all(Array.from({ length: 60 }, () => ask()));
      let left = flood.flatMap(({ connection, answer }) =>
        answer.status === 200 ? connection : [],
      );
      // node:http accepts no more in the first place.
      if (isNode(service)) expect(left.length).toBeLessThanOrEqual(10);
      else expect(left.length).toBeGreaterThan(10);
      const targets = ['/health', '/api-info', '/nothing'];
      for (let turn = 0; left.length > 10; turn++) {
        const asked = await Promise.all(
          left.map(async (connection) => {
            const target = targets[turn % targets.length] as string;
            await connection.send(
              requestBytes('GET', target, { Authorization: `Bearer ${token}` }),
            );
            const answer = await connection.response().catch(() => undefined);
            expect([200, 404, undefined]).toContain(answer?.status);
            if (answer?.headers['connection'] === 'close') await connection.ended();
            return answer && answer.headers['connection'] !== 'close' ? connection : undefined;
          }),
        );
        left = asked.flatMap((connection) => connection ?? []);
        const other = await ask('127.0.0.2');
        expect(other.answer.status).toBe(200);
        other.connection.close();
      }
    },
  );

  // node:http accepts no more in the first place.
  it.runIf(process.platform === 'linux' && TEST_ENGINE !== 'node')(
    'a connection above the limit is closed with its next answer, also a large one and one without a body',
    async () => {
      service = await startService({
        args: frontFlags(1),
        config: { kinds: [FIXTURE_KINDS], http: { max_connections_per_address: 3 } },
      });
      const headers = { Authorization: `Bearer ${await service.token()}` };
      const flood = await Promise.all(Array.from({ length: 40 }, () => ask()));
      const left = flood.flatMap(({ connection, answer }) =>
        answer.status === 200 ? connection : [],
      );
      /** Whether the next of them says that it is to be closed. */
      const next = async (method: string, target: string): Promise<boolean> => {
        const connection = left.pop();
        if (!connection) throw new Error('too few connections');
        await connection.send(requestBytes(method, target, headers));
        const answer = await connection.response();
        if (answer.headers['connection'] !== 'close') {
          left.unshift(connection);
          return false;
        }
        if (target === '/api/kinds') {
          expect(answer.body.length).toBeGreaterThan(5000);
          expect(answer.json()).toHaveProperty('kinds');
        }
        await connection.ended();
        return true;
      };
      await expect.poll(() => next('GET', '/health')).toBe(true);
      expect(left.length).toBeGreaterThan(10);
      for (const [method, target] of [
        ['GET', '/api/kinds'],
        ['OPTIONS', '/health'],
        ['GET', '/nothing'],
      ] as const) {
        expect([method, target, await next(method, target)]).toEqual([method, target, true]);
      }
    },
  );
});
