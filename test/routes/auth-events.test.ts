// Decision "log": security events on the stream, scope `auth`, without secrets and without a flood.

import { afterEach, expect, it } from 'vitest';
import { call, exchangePin, tryPin } from '../harness/api.js';
import { type InjectedService, inject } from '../harness/inject.js';
import { logs } from '../harness/shapes.js';
import type { SseStream } from '../harness/sse.js';
import { makeTicket, makeToken, revoke, streamOf } from '../harness/tokens.js';

let service: InjectedService;
let stream: SseStream;
async function start(config: object = {}): Promise<void> {
  // One front: what two of them tell has no common order.
  service = await inject({ config });
  stream = await streamOf(service, await service.token(), '?scope=auth');
}
afterEach(() => stream?.close());

const messages = (): string[] => logs(stream).map(({ level, message }) => `${level} ${message}`);
const otherPin = (n: number): string =>
  String((Number(service.pin) + n) % 1_000_000).padStart(6, '0');

it('tells of wrong PINs, of the lock, and of tokens that come and go', async () => {
  await start({ pin: { capacity: 2, refill_per_minute: 1 } });
  const fresh = await exchangePin(service);
  const made = await makeToken(service, { name: 'dash', scopes: ['read', 'invoke'] });
  const ticket = await makeTicket(service, made.token);
  await revoke(service, made.id);
  const brief = await makeToken(service, { name: 'brief', expires_at_ms: Date.now() + 300 });
  await stream.until(() => messages().some((line) => line.includes('has expired')));
  for (const n of [1, 2, 3]) await tryPin(service, otherPin(n));
  await stream.until(() => messages().some((line) => line.includes('locked')));
  const [own] = ((await call(service, 'GET', '/api/tokens')).json as { tokens: { id: string }[] })
    .tokens;
  // Before them there may be that of this stream's own token.
  expect(messages().slice(-8)).toEqual([
    expect.stringMatching(
      /^info token "pin" \([0-9a-f-]{36}\), admin, was created with the PIN from 127\.0\.0\.1$/,
    ),
    `info token "dash" (${made.id}), read, invoke, was created by token "pin" (${own?.id})`,
    `info token "dash" (${made.id}) was revoked by token "pin" (${own?.id})`,
    `info token "brief" (${brief.id}), read, was created by token "pin" (${own?.id})`,
    `info token "brief" (${brief.id}) has expired`,
    'warn wrong PIN from 127.0.0.1',
    'warn wrong PIN from 127.0.0.1',
    expect.stringMatching(/^warn the PIN exchange is locked for (59|60)s, last by 127\.0\.0\.1$/),
  ]);
  for (const log of logs(stream)) {
    expect(log).toMatchObject({ session_id: null, transport: null, direction: null });
  }
  const secrets = [fresh, made.token, brief.token, ticket, service.pin];
  for (const secret of [...secrets, otherPin(1)]) expect(stream.raw).not.toContain(secret);
});

it('a flood of wrong PINs is no flood of events', async () => {
  await start({ pin: { capacity: 1000, refill_per_minute: 60_000 } });
  for (let round = 0; round < 20; round++) {
    await Promise.all(
      Array.from({ length: 25 }, (_, n) => tryPin(service, otherPin(round * 25 + n + 1))),
    );
  }
  // A token is not hidden behind them.
  const { id } = await makeToken(service);
  await stream.until(() => messages().some((line) => line.includes(id)));
  expect(messages()).toHaveLength(61);
  expect(messages().filter((line) => line === 'warn wrong PIN from 127.0.0.1')).toHaveLength(60);
});
