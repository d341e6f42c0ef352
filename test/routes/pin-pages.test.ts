// Which pages may send the PIN: none that made its own name resolve to this service (DNS rebinding).

import { hostname } from 'node:os';
import { describe, expect, it } from 'vitest';
import { type InjectedService, inject } from '../harness/inject.js';

const ONE_ATTEMPT = { capacity: 1, refill_per_minute: 1 };

/** The response to a PIN from a page of `origin`, sent to `host`; undefined for no header. */
async function sent(
  service: InjectedService,
  origin: string | undefined,
  host: string | undefined,
  pin = service.pin,
): Promise<{ status: number; error: string | undefined }> {
  const headers: Record<string, string> = { 'Content-Type': 'application/json' };
  if (origin !== undefined) headers['Origin'] = origin;
  if (host !== undefined) headers['Host'] = host;
  const body = JSON.stringify({ pin });
  const { status, text } = await service.request({
    method: 'POST',
    target: '/auth/pin',
    headers,
    body,
  });
  return { status, error: (JSON.parse(text) as { error?: string }).error };
}

const short = hostname().split('.', 1)[0] as string;

describe('a page may send the PIN', () => {
  it.each([
    ['http://192.168.1.20:8090', '192.168.1.20:8090'],
    ['http://127.0.0.1', '127.0.0.1'],
    ['http://[::1]:8090', '[::1]:8090'],
    ['http://[fe80::2]:8090', '[FE80:0::2]:8090'],
    ['http://localhost:8090', 'localhost:8090'],
    ['http://localhost:8090', 'LOCALHOST:8090'],
    [`http://${hostname().toLowerCase()}:8090`, `${hostname()}:8090`],
    [`http://${short.toLowerCase()}.local:8090`, `${short}.local:8090`],
  ])('of %s to the Host %s', async (origin, host) => {
    expect(await sent(await inject(), origin, host)).toMatchObject({ status: 200 });
  });

  it('of a name in http.allowed_hosts, on any port and behind a proxy with TLS', async () => {
    const service = await inject({ config: { http: { allowed_hosts: ['Drover.example'] } } });
    for (const [origin, host] of [
      ['http://drover.example:8090', 'drover.example:8090'],
      ['https://drover.example', 'drover.example'],
      ['https://drover.example', 'drover.example:443'],
      ['https://drover.example.', 'drover.example.'],
    ]) {
      expect(await sent(service, origin, host), origin).toMatchObject({ status: 200 });
    }
  });

  it('of the name that the service listens on', async () => {
    const service = await inject({ config: { http: { host: 'drover.internal' } } });
    const answer = await sent(service, 'http://drover.internal:8090', 'drover.internal:8090');
    expect(answer).toMatchObject({ status: 200 });
  });

  it('of an origin in http.cors_origins', async () => {
    const service = await inject({ config: { http: { cors_origins: ['tauri://localhost'] } } });
    expect(await sent(service, 'tauri://localhost', '127.0.0.1:8090')).toMatchObject({
      status: 200,
    });
  });

  it('and so may everything that is no page, with any Host', async () => {
    const service = await inject();
    for (const host of ['evil.example', 'drover', '', undefined]) {
      expect(await sent(service, undefined, host)).toMatchObject({ status: 200 });
    }
  });
});

describe('a page may not send the PIN', () => {
  it.each([
    ['http://evil.example:8090', 'evil.example:8090', 'http.allowed_hosts'],
    ['http://127.0.0.1.evil.example', '127.0.0.1.evil.example', 'http.allowed_hosts'],
    ['http://localhost.evil.example', 'localhost.evil.example', 'http.allowed_hosts'],
    ['http://127.0.0.1', 'evil.example@127.0.0.1', 'http.allowed_hosts'],
    ['http://127.0.0.1', '127.0.0.1/evil.example', 'http.allowed_hosts'],
    ['http://127.0.0.1', '', 'http.allowed_hosts'],
    ['http://evil.example', '127.0.0.1:8090', 'http.cors_origins'],
    ['http://127.0.0.1:9000', '127.0.0.1:8090', 'http.cors_origins'],
    ['https://127.0.0.1', '127.0.0.1:8090', 'http.cors_origins'],
    ['null', '127.0.0.1:8090', 'http.cors_origins'],
    ['ftp://127.0.0.1:8090', '127.0.0.1:8090', 'http.cors_origins'],
  ])('of %s to the Host %s: it is told to use %s', async (origin, host, key) => {
    const { status, error } = await sent(await inject(), origin, host);
    expect(status).toBe(403);
    expect(error).toContain(key);
  });

  it('in any number of attempts: they cost none, and do not say whether the PIN is right', async () => {
    const service = await inject({ config: { pin: ONE_ATTEMPT } });
    const wrong = '000000';
    const answers = new Set<string>();
    for (const pin of [wrong, service.pin, wrong, service.pin]) {
      const answer = await sent(service, 'http://evil.example', 'evil.example', pin);
      answers.add(JSON.stringify(answer));
    }
    expect([...answers]).toEqual([expect.stringContaining('"status":403')]);
    expect(await sent(service, undefined, undefined)).toMatchObject({ status: 200 });
  });
});
