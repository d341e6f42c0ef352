// Issue 5 "Limits": how many connections there may be from one address. Each test has its own addresses; all of 127/8 is this
// machine on Linux.

import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { expectError } from '../harness/api.js';
import { FIXTURE_KINDS } from '../harness/bots.js';
import { RawConnection, requestBytes } from '../harness/http.js';
import { skipWithout } from '../harness/needs.js';
import { frontFlags, type Service, startService, stopClean } from '../harness/service.js';

const LIMIT = 3;
/** The address of a client that has few connections. */
const OTHER = '127.0.0.2';

describe.runIf(process.platform === 'linux')('many at once', () => {
  let service: Service;
  let open: RawConnection[] = [];
  beforeAll(async () => {
    service = await startService({
      args: frontFlags(2),
      config: { kinds: [FIXTURE_KINDS], http: { max_connections_per_address: LIMIT } },
    });
  });
  afterAll(() => stopClean(service));
  afterEach(() => {
    for (const connection of open) connection.close();
    open = [];
  });

  const isNode = (): boolean => service.engine === 'node:http';
  const connect = async (localAddress: string): Promise<RawConnection> => {
    const connection = await RawConnection.open(service.port, { localAddress });
    open.push(connection);
    return connection;
  };
  /** Connects and sends a request; a connection that is accepted stays open. */
  const ask = async (localAddress: string) => {
    const connection = await connect(localAddress);
    await connection.send(requestBytes('GET', '/health'));
    return { connection, answer: await connection.response() };
  };
  let floods = 0;
  /**
   * Opens many at once, before they are counted. If that happens in between, it tries again from another address.
   * @returns those that were accepted, at least so many.
   */
  const flood = async (count: number, least: number): Promise<RawConnection[]> => {
    for (;;) {
      const address = `127.0.1.${++floods}`;
      const asked = await Promise.all(Array.from({ length: count }, () => ask(address)));
      const accepted = asked.filter(({ answer }) => answer.status === 200);
      if (accepted.length >= least) return accepted.map(({ connection }) => connection);
      for (const { connection } of accepted) connection.close();
    }
  };

  it('connections above the limit of one address get 429, other addresses are served', async () => {
    const address = '127.0.0.11';
    const held: Awaited<ReturnType<typeof ask>>[] = [];
    for (let n = 0; n < LIMIT; n++) held.push(await ask(address));
    let more: RawConnection | undefined;
    /** One more, which is refused once the others were counted: uWebSockets.js counts once a second. */
    const oneMore = async (): Promise<Awaited<ReturnType<typeof ask>>> => {
      more?.close();
      for (const [at, { connection }] of held.entries()) {
        // So that it does not idle. It is closed when one more was there while they were counted.
        await connection.send(requestBytes('GET', '/health'));
        const closes = await connection.response().then(
          ({ headers }) => headers['connection'] === 'close',
          () => true,
        );
        if (closes) held[at] = await ask(address);
        if (held[at]?.answer.status === 429) return held[at];
      }
      const last = await ask(address);
      more = last.connection;
      return last;
    };
    let refused = await oneMore();
    await expect
      .poll(async () => {
        if (refused.answer.status === 200) refused = await oneMore();
        return refused.answer.status;
      })
      .toBe(429);
    const { connection, answer } = refused;
    expectError(answer, 429, 'too many connections are open from this address');
    await connection.ended();
    expect((await ask(OTHER)).answer.status).toBe(200);
    for (const one of held) one.connection.close();
    // The service sees a moment later that a connection was closed.
    await expect
      .poll(async () => {
        const again = await ask(address);
        again.connection.close();
        return again.answer.status;
      })
      .toBe(200);
  });

  it('connections above the limit that were opened before they were counted are closed with their next answers', async () => {
    const headers = { Authorization: `Bearer ${await service.token()}` };
    let left = await flood(60, isNode() ? 1 : LIMIT + 1);
    // node:http accepts no more in the first place.
    if (isNode()) expect(left.length).toBeLessThanOrEqual(LIMIT);
    const targets = ['/health', '/api-info', '/nothing'];
    let turn = 0;
    const askAll = async (): Promise<number> => {
      const target = targets[turn++ % targets.length] as string;
      const asked = await Promise.all(
        left.map(async (connection) => {
          await connection.send(requestBytes('GET', target, headers));
          const answer = await connection.response().catch(() => undefined);
          expect([200, 404, undefined]).toContain(answer?.status);
          if (answer?.headers['connection'] === 'close') await connection.ended();
          return answer && answer.headers['connection'] !== 'close' ? connection : undefined;
        }),
      );
      left = asked.flatMap((connection) => connection ?? []);
      const other = await ask(OTHER);
      expect(other.answer.status).toBe(200);
      other.connection.close();
      return left.length;
    };
    await expect.poll(askAll).toBeLessThanOrEqual(LIMIT);
  });

  it('a connection above the limit is closed with its next answer, also a large one and one without a body', async (context) => {
    skipWithout(context, !isNode(), 'uWebSockets.js: node:http accepts none above the limit');
    const headers = { Authorization: `Bearer ${await service.token()}` };
    const left = await flood(40, 20);
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
  });
});
