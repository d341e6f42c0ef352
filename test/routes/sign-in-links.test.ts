// Decision "sign-in links": who may make one, what it gives, and that it gives it once. On two fronts: the link and its use
// often meet different ones.

import { afterAll, beforeAll, expect, it } from 'vitest';
import { type Answer, call, expectError } from '../harness/api.js';
import { type InjectedService, inject } from '../harness/inject.js';
import { logs } from '../harness/shapes.js';
import { listTokens, type Made, makeLink, makeToken, revoke, streamOf } from '../harness/tokens.js';

const GONE = 'this sign-in link was used already, has expired, or is incomplete: ask for a new one';

let service: InjectedService;
beforeAll(async () => {
  service = await inject({ fronts: 2, config: { auth: { sign_in_days: 7 } } });
});
afterAll(() => service.close());

const open = (path: string, link: unknown): Promise<Answer> =>
  call(service, 'POST', path, { token: null, body: { link } });
const check = (link: unknown): Promise<Answer> => open('/auth/link/check', link);
const use = (link: unknown): Promise<Answer> => open('/auth/link', link);

it('says who made it and what it gives, and gives that once', async () => {
  const maker = await makeToken(service, { name: 'Grace', scopes: ['admin'] });
  const spec = { name: 'Ada', scopes: ['read', 'invoke'], labels: { team: 'a' } };
  const before = Date.now();
  const { link, expires_at_ms } = await makeLink(service, spec, maker);
  expect(expires_at_ms).toBeGreaterThanOrEqual(before + 600_000);
  expect(expires_at_ms).toBeLessThanOrEqual(Date.now() + 600_000);
  // Also often: only its use counts.
  for (let n = 0; n < 2; n++) {
    const offer = await check(link);
    expect(offer.headers.get('cache-control')).toBe('no-store');
    expect(offer.json).toEqual({
      ...spec,
      bots: null,
      expires_at_ms: null,
      created_by: 'Grace',
      link_expires_at_ms: expires_at_ms,
    });
  }
  const given = await use(link);
  expect(given.status).toBe(201);
  expect(given.headers.get('cache-control')).toBe('no-store');
  const { token, ...info } = given.json as Made;
  expect(info).toMatchObject({
    ...spec,
    created_by: { how: 'link', token: maker.id, name: 'Grace', address: '127.0.0.1' },
    by_pin: false,
    extended_by_use: true,
    expires_at_ms: info.created_at_ms + 7 * 86_400_000,
  });
  expect((await call(service, 'GET', '/api/bots', { token })).status).toBe(200);
  expect((await listTokens(service)).map(({ id }) => id)).toContain(info.id);
  for (const again of [use, check]) expectError(await again(link), 401, GONE);
});

it('is made by a token that may make tokens, of a valid body', async () => {
  const { token } = await makeToken(service, { scopes: ['read', 'control', 'invoke'] });
  const body = { name: 'x', scopes: ['read'] };
  const make = (options: object) => call(service, 'POST', '/api/tokens/link', options);
  expectError(await make({ token, body }), 403, 'this needs a token with the scope admin');
  expectError(await make({ body: { name: 'x', scopes: [] } }), 400, /scopes/);
  const admin = { name: 'x', scopes: ['admin'], bots: ['a'] };
  expectError(await make({ body: admin }), 400, /admin cannot be limited/);
});

it('ends with the token that made it', async () => {
  const maker = await makeToken(service, { scopes: ['admin'] });
  const { link } = await makeLink(service, {}, maker);
  await revoke(service, maker.id);
  for (const open of [check, use]) expectError(await open(link), 401, GONE);
});

it('of two that use it at the same time one is refused', async () => {
  const { link } = await makeLink(service);
  const statuses = (await Promise.all([use(link), use(link), use(link)])).map((one) => one.status);
  expect(statuses.toSorted()).toEqual([201, 401, 401]);
});

it('that is no link is refused', async () => {
  const token = await service.token();
  for (const no of ['x', token, `${'x'.repeat(43)}.node`]) {
    for (const open of [check, use]) expectError(await open(no), 401, GONE);
  }
  for (const no of ['', 'x'.repeat(257), 1, null]) expectError(await use(no), 400, /link/);
});

it('is told on the stream, without its secret', async () => {
  const maker = await makeToken(service, { name: 'Grace', scopes: ['admin'] });
  const stream = await streamOf(service, maker.token, '?scope=auth&snapshot=0');
  const { link } = await makeLink(service, {}, maker);
  const { id } = (await use(link)).json as Made;
  const messages = (): string[] => logs(stream).map(({ message }) => message);
  await stream.until(() => messages().some((line) => line.includes(id)));
  const by = `token "Grace" (${maker.id})`;
  expect(messages()).toEqual(
    expect.arrayContaining([
      `a sign-in link with the scopes read was created by ${by}`,
      `token "Ada" (${id}), read, was created with a sign-in link of ${by}, from 127.0.0.1`,
    ]),
  );
  expect(stream.raw).not.toContain(link);
  stream.close();
});
