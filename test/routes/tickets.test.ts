// Decision "tickets": `POST /auth/ticket` and `GET /events?ticket=`, on two fronts, so that a ticket and its use often meet
// different ones.

import { afterAll, beforeAll, expect, it, onTestFinished } from 'vitest';
import { call, expectError } from '../harness/api.js';
import { type InjectedService, inject } from '../harness/inject.js';
import { snapshots } from '../harness/shapes.js';
import { streamOn } from '../harness/sse.js';
import { makeTicket, makeToken, revoke } from '../harness/tokens.js';

let service: InjectedService;
beforeAll(async () => {
  service = await inject({
    fronts: 2,
    config: {
      bots: ['mine', 'other'].map((id) => ({
        id,
        kind: 'synthetic',
        config: { events_per_second: 20 },
      })),
    },
  });
});
afterAll(() => service.close());

const targetOf = (ticket: string, more = ''): string =>
  `/events?ticket=${encodeURIComponent(ticket)}${more}`;

/** Opens a stream and closes it; the status alone. */
async function statusOf(
  target: string,
  headers: Record<string, string> = {},
  on = service,
): Promise<number> {
  const response = await on.open(target, headers);
  response.destroy();
  return response.statusCode ?? 0;
}

it('a ticket is good for 30 s, and is not the token', async () => {
  const before = Date.now();
  const answer = await call(service, 'POST', '/auth/ticket');
  expect(answer.status).toBe(200);
  expect(answer.headers.get('cache-control')).toBe('no-store');
  const { ticket, expires_at_ms } = answer.json as { ticket: string; expires_at_ms: number };
  // It needs no encoding in a URL.
  expect(ticket).toMatch(/^[A-Za-z0-9_-]{43}$/);
  expect(expires_at_ms).toBeGreaterThanOrEqual(before + 30_000);
  expect(expires_at_ms).toBeLessThanOrEqual(Date.now() + 30_000);
  expectError(await call(service, 'GET', '/api-info', { token: ticket }), 401, 'invalid token');
});

it('opens a stream as its token would, once', async () => {
  const { token } = await makeToken(service, { bots: ['mine'] });
  const ticket = await makeTicket(service, token);
  const stream = await streamOn(service, targetOf(ticket, '&event=log,session'));
  onTestFinished(() => stream.close());
  await stream.until(() => stream.frames.length > 20);
  expect(snapshots(stream, 'mine').length).toBeGreaterThan(0);
  expect(stream.raw).not.toContain('"other"');
  const again = await service.open(targetOf(ticket), {});
  const json = JSON.parse(Buffer.concat(await again.toArray()).toString()) as unknown;
  const headers = again.headers as Record<string, string>;
  expectError({ status: again.statusCode ?? 0, headers, json }, 401, 'invalid ticket');
  expect(headers['www-authenticate']).toBe('Bearer');
});

it('opens one stream when many ask at once, on all fronts', async () => {
  for (let round = 0; round < 5; round++) {
    const ticket = await makeTicket(service);
    const statuses = await Promise.all(
      Array.from({ length: 24 }, () => statusOf(targetOf(ticket))),
    );
    expect(statuses.filter((status) => status === 200)).toHaveLength(1);
    expect(statuses.filter((status) => status === 401)).toHaveLength(23);
  }
});

it('resumes as a token does', async () => {
  const stream = await streamOn(service, targetOf(await makeTicket(service), '&session=mine'));
  onTestFinished(() => stream.close());
  const { id = '' } = await stream.waitFor((frame) => frame.id !== undefined);
  await stream.until(() => stream.frames.length > 30);
  const at = stream.frames.findIndex((frame) => frame.id === id);
  const later = stream.frames.slice(at + 1, at + 10);
  const inQuery = `&session=mine&last_event_id=${id}`;
  const resumed = [
    await streamOn(service, targetOf(await makeTicket(service), inQuery)),
    await streamOn(service, targetOf(await makeTicket(service), '&session=mine'), {
      headers: { 'last-event-id': id },
    }),
  ];
  for (const other of resumed) {
    onTestFinished(() => other.close());
    await other.until(() => other.frames.length >= later.length);
    expect(other.frames.slice(0, later.length)).toEqual(later);
  }
});

it('is good for nothing but GET /events, and HEAD does not use it up', async () => {
  const ticket = await makeTicket(service);
  for (const path of ['/api-info', '/api/bots', '/api/tokens']) {
    expectError(
      await call(service, 'GET', `${path}?ticket=${ticket}`, { token: null }),
      401,
      'missing token',
    );
  }
  expect((await call(service, 'HEAD', `/events?ticket=${ticket}`, { token: null })).status).toBe(
    401,
  );
  expect(await statusOf(targetOf(ticket))).toBe(200);
});

it('is not looked at when there is a token', async () => {
  const ticket = await makeTicket(service);
  const token = encodeURIComponent(await service.token());
  expect(await statusOf(targetOf(ticket, `&token=${token}`))).toBe(200);
  expect(await statusOf(targetOf(ticket, '&token=wrong'))).toBe(401);
  expect(await statusOf(targetOf(ticket), { authorization: 'Bearer wrong' })).toBe(401);
  expect(await statusOf(targetOf(ticket))).toBe(200);
});

it('is refused when it is none', async () => {
  for (const wrong of ['', 'x', '%zz', 'A'.repeat(43), 'A'.repeat(3000)]) {
    expect(await statusOf(`/events?ticket=${wrong}`)).toBe(401);
  }
});

it('ends with its token, used or not', async () => {
  const { id, token } = await makeToken(service);
  const [used, unused] = [await makeTicket(service, token), await makeTicket(service, token)];
  const stream = await streamOn(service, targetOf(used));
  onTestFinished(() => stream.close());
  await revoke(service, id);
  await stream.ended;
  expect(await statusOf(targetOf(unused))).toBe(401);
});

it('counts as a stream of its token', async () => {
  const own = await inject({ config: { stream: { max_streams_per_token: 1 } } });
  const target = async () => targetOf(await makeTicket(own));
  const stream = await streamOn(own, await target());
  expect(await statusOf(await target(), {}, own)).toBe(429);
  stream.close();
  await stream.ended;
  expect(await statusOf(await target(), {}, own)).toBe(200);
});
