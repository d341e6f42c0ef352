// Responses larger than a connection accepts at once, to clients that read slowly.

import { readFile } from 'node:fs/promises';
import { afterAll, beforeAll, expect, it, onTestFinished } from 'vitest';
import { call } from '../harness/api.js';
import { RawConnection, requestBytes } from '../harness/http.js';
import { type Service, startService, stopClean } from '../harness/service.js';

const BOTS = 400;
/** Responses of about 80 KB each: together far more than the system buffers for one connection. */
const TOO_MANY = 100;
/** As many as the system buffers. */
const SOME = 3;

let service: Service;
let token: string;
beforeAll(async () => {
  service = await startService({
    config: {
      bots: Array.from({ length: BOTS }, (_, n) => ({
        id: `silent-${n}`,
        kind: 'synthetic',
        config: { events_per_second: 0 },
      })),
    },
  });
  token = await service.token();
});
afterAll(() => stopClean(service));

/** Sends this number of requests for the list at once, and reads nothing yet. */
async function sendRequests(requests: number): Promise<RawConnection> {
  const connection = await RawConnection.open(service.port);
  onTestFinished(() => connection.close());
  connection.pause();
  const request = requestBytes('GET', '/api/bots', { Authorization: `Bearer ${token}` });
  await connection.send(Buffer.concat(Array.from({ length: requests }, () => request)));
  return connection;
}

async function expectList(connection: RawConnection): Promise<void> {
  const answer = await connection.response();
  expect(answer.status).toBe(200);
  expect((answer.json() as { bots: object[] }).bots).toHaveLength(BOTS);
}

it('a client that sends several requests before it reads gets every response intact, in order', async () => {
  const connection = await sendRequests(SOME);
  await othersAreServed();
  connection.resume();
  for (let n = 0; n < SOME; n++) await expectList(connection);
});

// The engine closes a connection whose client sends requests and does not read the responses (docs/ENGINES.md).
it('a client that keeps sending requests and never reads affects no other client', async () => {
  const before = await memory();
  const connections = await Promise.all(Array.from({ length: 20 }, () => sendRequests(TOO_MANY)));
  await othersAreServed();
  // All responses together would be 160 MB.
  expect((await memory()) - before).toBeLessThan(80 * 2 ** 20);
  for (const connection of connections) connection.close();
});

async function othersAreServed(): Promise<void> {
  for (let n = 0; n < 20; n++) {
    const health = await call(service, 'GET', '/health', { token: null });
    expect(health.text).toBe('ok');
  }
}

/** Resident memory of the service, in bytes. */
async function memory(): Promise<number> {
  const status = await readFile(`/proc/${service.child.pid}/status`, 'utf8');
  return Number(/^VmRSS:\s+(\d+) kB$/m.exec(status)?.[1]) * 1024;
}
