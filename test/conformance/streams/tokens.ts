// Decisions "tokens" and "tickets" over sockets, on two fronts: what depends on requests that cross. test/routes has the rest.

import { beforeAll, expect, it, onTestFinished } from 'vitest';
import { call, expectError, tryPin } from '../../harness/api.js';
import { RawConnection, raw, requestBytes } from '../../harness/http.js';
import type { Service } from '../../harness/service.js';
import { streamOn } from '../../harness/sse.js';
import {
  listTokens,
  type Made,
  makeTicket,
  makeToken,
  revoke,
  streamOf,
} from '../../harness/tokens.js';

export function tokenFrontTests(given: () => Service): void {
  let service: Service;
  beforeAll(() => {
    service = given();
  });

  /** Statuses of as many requests, each on its own connection: the system spreads them over the fronts. */
  async function statusesOf(token: string, requests = 16): Promise<Set<number>> {
    const bytes = requestBytes('GET', '/api-info', { Authorization: `Bearer ${token}` });
    const answers = await Promise.all(
      Array.from({ length: requests }, () => raw(service.port, bytes)),
    );
    return new Set(answers.map(({ status }) => status));
  }

  it('§5.3 a token made with the PIN is good on all fronts at once', async () => {
    for (let round = 0; round < 5; round++) {
      const { token } = (await tryPin(service, service.pin)).json as { token: string };
      expect(await statusesOf(token, 8)).toEqual(new Set([200]));
    }
  });

  it('a revoked token is refused on every front, and its streams end, also that of a reader that has stopped reading', async () => {
    const { id, token } = await makeToken(service);
    const other = await makeToken(service);
    const streams = async (of: string) => {
      const opened = await Promise.all(Array.from({ length: 16 }, () => streamOf(service, of)));
      onTestFinished(() => {
        for (const stream of opened) stream.close();
      });
      await Promise.all(opened.map((stream) => stream.waitFor(() => true)));
      return opened;
    };
    const [ending, staying] = [await streams(token), await streams(other.token)];
    ending[0]?.response.pause();
    expect((await revoke(service, id)).status).toBe(204);
    expect(await statusesOf(token)).toEqual(new Set([401]));
    // What was on its way can be read, and then it is over.
    ending[0]?.response.resume();
    await Promise.all(ending.map((stream) => stream.ended));
    for (const stream of staying) expect(stream.isOver).toBe(false);
  });

  it('a revoked token does not get done what its body asks for when that comes later', async () => {
    const { id, token } = await makeToken(service, { scopes: ['control'] });
    const body = JSON.stringify({ id: 'too-late', kind: 'synthetic' });
    const headers = { Authorization: `Bearer ${token}`, 'Content-Type': 'application/json' };
    const bytes = requestBytes('POST', '/api/bots', headers, body);
    const connection = await RawConnection.open(service.port);
    onTestFinished(() => connection.close());
    await connection.send(bytes.subarray(0, -5));
    // The head has arrived when an answer to a request that was sent after it is there.
    await statusesOf(token);
    await revoke(service, id);
    await connection.send(bytes.subarray(-5));
    expectError(await connection.response(), 401, 'invalid token');
    expectError(await call(service, 'GET', '/api/bots/too-late'), 404);
  });

  it('a ticket opens one stream when many ask at once, on all fronts', async () => {
    for (let round = 0; round < 5; round++) {
      const ticket = await makeTicket(service);
      const asked = Array.from({ length: 24 }, async () => {
        const response = await service.open(`/events?ticket=${ticket}`, {});
        response.destroy();
        return response.statusCode;
      });
      const statuses = await Promise.all(asked);
      expect(statuses.filter((status) => status === 200)).toHaveLength(1);
      expect(statuses.filter((status) => status === 401)).toHaveLength(23);
    }
  });

  it('a ticket opens a stream as its token would', async () => {
    const stream = await streamOn(service, `/events?ticket=${await makeTicket(service)}`);
    onTestFinished(() => stream.close());
    await stream.until(() => stream.frames.length > 5);
  });

  it('tokens that were revoked by a client that saw them in the list are accepted by no front', async () => {
    const made: Made[] = [];
    const gone = new Set<string>();
    let making = true;
    const make = async (): Promise<void> => {
      for (let n = 0; n < 6; n++) made.push(await makeToken(service, { name: 'brief life' }));
    };
    const revokeAll = async (): Promise<void> => {
      while (making) {
        const seen = (await listTokens(service)).filter(({ name }) => name === 'brief life');
        await Promise.all(
          seen.map(async ({ id }) => {
            if ((await revoke(service, id)).status === 204) gone.add(id);
          }),
        );
      }
    };
    const revoking = Promise.all([revokeAll(), revokeAll()]);
    try {
      await Promise.all(Array.from({ length: 8 }, make));
    } finally {
      making = false;
      await revoking;
    }
    const ended = made.filter(({ id }) => gone.has(id));
    expect(ended.length).toBeGreaterThan(0);
    const revived: string[] = [];
    for (const { id, token } of ended) {
      if ((await statusesOf(token, 6)).has(200)) revived.push(id);
    }
    expect(revived).toEqual([]);
    for (const { id } of made.filter(({ id }) => !gone.has(id))) await revoke(service, id);
  });
}
