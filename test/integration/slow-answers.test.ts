// Answers that are larger than what a connection takes at once, to clients that are slow to read them.

import { afterAll, beforeAll, expect, it, onTestFinished } from 'vitest';
import { call } from '../harness/api.js';
import { RawConnection, requestBytes } from '../harness/http.js';
import { type Service, startService, stopClean } from '../harness/service.js';

const BOTS = 400;
/** Together far more than the system keeps for one connection. */
const REQUESTS = 100;

let service: Service;
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
});
afterAll(() => stopClean(service));

it('a client that asks on and on before it reads harms nobody, and gets every answer whole', {
  timeout: 40_000,
}, async () => {
  const headers = { Authorization: `Bearer ${await service.token()}` };
  const connection = await RawConnection.open(service.port);
  onTestFinished(() => connection.close());
  connection.pause();
  const request = requestBytes('GET', '/api/bots', headers);
  await connection.send(Buffer.concat(Array.from({ length: REQUESTS }, () => request)));
  // All others are served meanwhile.
  for (let n = 0; n < 20; n++) {
    const health = await call(service, 'GET', '/health', { token: null });
    expect(health.text).toBe('ok');
  }
  connection.resume();
  for (let n = 0; n < REQUESTS; n++) {
    const answer = await connection.response();
    expect(answer.status).toBe(200);
    expect((answer.json() as { bots: object[] }).bots).toHaveLength(BOTS);
  }
});
