// docs/INTERFACE.md §4, GET /health.

import { beforeAll, expect, it } from 'vitest';
import { call } from '../../harness/api.js';
import { RawConnection, raw, requestBytes } from '../../harness/http.js';
import type { Service } from '../../harness/service.js';

export function healthTests(given: () => Service): void {
  let service: Service;
  beforeAll(() => {
    service = given();
  });

  it('§4 GET /health answers 200 text/plain "ok" without credentials', async () => {
    const answer = await call(service, 'GET', '/health', { token: null });
    expect(answer.status).toBe(200);
    expect(answer.headers.get('content-type')).toMatch(/^text\/plain(;|$)/);
    expect(answer.text).toBe('ok');
  });

  it('§4 GET /health needs no header but Host', async () => {
    const answer = await raw(service.port, 'GET /health HTTP/1.1\r\nHost: x\r\n\r\n');
    expect([answer.status, answer.body]).toEqual([200, 'ok']);
  });

  it('§5.4 GET /health does not look at a token: a wrong one changes nothing', async () => {
    const inHeader = await call(service, 'GET', '/health', { token: 'nonsense' });
    const inQuery = await call(service, 'GET', '/health?token=nonsense', { token: null });
    expect([inHeader.status, inHeader.text]).toEqual([200, 'ok']);
    expect([inQuery.status, inQuery.text]).toEqual([200, 'ok']);
  });

  it('§4 GET /health serves monitors that keep a connection and that pipeline', async () => {
    const two = Buffer.concat([requestBytes('GET', '/health'), requestBytes('GET', '/health')]);
    const connection = await RawConnection.open(service.port);
    try {
      await connection.send(two);
      expect((await connection.response()).body).toBe('ok');
      expect((await connection.response()).body).toBe('ok');
      await connection.send(requestBytes('GET', '/health'));
      expect((await connection.response()).body).toBe('ok');
    } finally {
      connection.close();
    }
  });
}
