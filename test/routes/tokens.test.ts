// Decision "tokens": their life, and what ends with them. On two fronts: what holds must hold on both.

import path from 'node:path';
import { open } from 'lmdb';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { tokenDigest } from '../../src/shared/token-digest.js';
import { call, exchangePin, expectError } from '../harness/api.js';
import { type InjectedService, inject } from '../harness/inject.js';
import { makeDir, removeDir } from '../harness/service.js';
import type { SseStream } from '../harness/sse.js';
import { listTokens, makeToken, revoke, streamOf, type Token } from '../harness/tokens.js';

let service: InjectedService;
beforeAll(async () => {
  service = await inject({
    fronts: 2,
    config: { bots: [{ id: 'only', kind: 'synthetic', config: { events_per_second: 20 } }] },
  });
});
afterAll(() => service.close());

/** Several, so that both fronts have some. */
async function manyStreams(token: string): Promise<SseStream[]> {
  const streams = await Promise.all(Array.from({ length: 4 }, () => streamOf(service, token)));
  onTestFinished(() => {
    for (const stream of streams) stream.close();
  });
  await Promise.all(streams.map((stream) => stream.waitFor(() => true)));
  return streams;
}

/** Statuses of several requests, some to each front. */
async function statusesOf(token: string): Promise<Set<number>> {
  const answers = await Promise.all(
    Array.from({ length: 4 }, () => call(service, 'GET', '/api-info', { token })),
  );
  return new Set(answers.map(({ status }) => status));
}

describe('a token', () => {
  it('is shown once with its secret, and after that without', async () => {
    const spec = { name: 'dash 🐑 board', scopes: ['read', 'control'], labels: { a: 'b' } };
    const before = Date.now();
    const { token, ...made } = await makeToken(service, spec);
    expect(Buffer.from(token, 'base64')).toHaveLength(48);
    expect(made).toEqual({
      ...spec,
      id: expect.any(String),
      bots: null,
      created_at_ms: expect.any(Number),
      created_by: { how: 'token', token: expect.any(String), name: 'pin', address: '127.0.0.1' },
      expires_at_ms: null,
      extended_by_use: false,
      last_used_at_ms: null,
      last_used_from: null,
      by_pin: false,
      current: false,
    });
    expect(made.created_at_ms).toBeGreaterThanOrEqual(before);
    const answer = await call(service, 'GET', '/api/tokens');
    expect(answer.headers.get('cache-control')).toBe('no-store');
    expect(answer.text).not.toContain(token);
    expect(answer.text).not.toContain(tokenDigest(token));
    const { tokens } = answer.json as { tokens: { id: string }[] };
    expect(tokens.find(({ id }) => id === made.id)).toEqual(made);
    expect(await statusesOf(token)).toEqual(new Set([200]));
  });

  it('that the PIN gave is an admin token named pin', async () => {
    await service.token();
    const [first] = await listTokens(service);
    expect(first).toMatchObject({ name: 'pin', scopes: ['admin'], bots: null, labels: null });
    const created_by = { how: 'pin', token: null, name: null, address: '127.0.0.1' };
    expect(first).toMatchObject({ by_pin: true, created_by, extended_by_use: true });
    const days = 30 * 86_400_000;
    expect(first?.expires_at_ms).toBe((first?.last_used_at_ms ?? 0) + days);
  });

  it('that the PIN gave has the name of the browser', async () => {
    const before = (await listTokens(service)).map(({ id }) => id);
    const userAgent = 'Mozilla/5.0 (X11; Linux x86_64; rv:133.0) Gecko/20100101 Firefox/133.0';
    await service.request({
      method: 'POST',
      target: '/auth/pin',
      headers: { 'Content-Type': 'application/json', 'User-Agent': userAgent },
      body: JSON.stringify({ pin: service.pin }),
    });
    const made = (await listTokens(service)).filter(({ id }) => !before.includes(id));
    expect(made.map(({ name }) => name)).toEqual(['pin (Firefox on Linux)']);
  });

  it('is marked in the list that is made for it', async () => {
    const { id, token } = await makeToken(service, { scopes: ['admin'] });
    const { json } = await call(service, 'GET', '/api/tokens', { token });
    const { tokens } = json as { tokens: Token[] };
    expect(tokens.filter(({ current }) => current).map((one) => one.id)).toEqual([id]);
  });

  it('has its last use in the list', async () => {
    const { id, token } = await makeToken(service);
    const lastUse = async () =>
      (await listTokens(service)).find((one) => one.id === id)?.last_used_at_ms;
    expect(await lastUse()).toBeNull();
    const before = Date.now();
    await call(service, 'GET', '/api/bots', { token });
    await service.flush();
    expect(await lastUse()).toBeGreaterThanOrEqual(before);
    expect(await lastUse()).toBeLessThanOrEqual(Date.now());
  });

  it('says where it was last used, as the client claims', async () => {
    const { id, token } = await makeToken(service);
    const from = async () => {
      await service.flush();
      return (await listTokens(service)).find((one) => one.id === id)?.last_used_from;
    };
    const use = (userAgent: string) =>
      service.request({
        method: 'GET',
        target: '/api-info',
        headers: { Authorization: `Bearer ${token}`, 'User-Agent': userAgent },
      });
    const address = '127.0.0.1';
    await use('Mozilla/5.0 (Macintosh) AppleWebKit/605.1 Version/17.0 Safari/605.1');
    expect(await from()).toEqual({ address, client: 'Safari on macOS' });
    await use('<script>');
    expect(await from()).toEqual({ address, client: null });
  });

  it('that is not well-formed is refused with what is wrong', async () => {
    const bodies: [object, RegExp][] = [
      [{ scopes: ['read'] }, /name is missing/],
      [{ name: '', scopes: ['read'] }, /name/],
      [{ name: 'x'.repeat(65), scopes: ['read'] }, /name/],
      [{ name: 'two\nlines', scopes: ['read'] }, /name/],
      [{ name: 'x' }, /scopes is missing/],
      [{ name: 'x', scopes: [] }, /scopes/],
      [{ name: 'x', scopes: ['read', 'read'] }, /scopes/],
      [{ name: 'x', scopes: ['write'] }, /must be one of read, control, invoke, admin/],
      [{ name: 'x', scopes: ['read'], bots: [] }, /bots/],
      [{ name: 'x', scopes: ['read'], bots: ['a b'] }, /bots/],
      [{ name: 'x', scopes: ['read'], labels: {} }, /labels/],
      [{ name: 'x', scopes: ['read'], bots: ['a'], labels: { a: 'b' } }, /bots or labels/],
      [{ name: 'x', scopes: ['admin'], labels: { a: 'b' } }, /admin cannot be limited/],
      [{ name: 'x', scopes: ['read'], expires_at_ms: Date.now() - 1 }, /in the past/],
      [{ name: 'x', scopes: ['read'], expires_at_ms: 1.5 }, /expires_at_ms/],
      [{ name: 'x', scopes: ['read'], more: 1 }, /unknown key body.more/],
    ];
    const before = await listTokens(service);
    for (const [body, message] of bodies) {
      expectError(await call(service, 'POST', '/api/tokens', { body }), 400, message);
    }
    expect((await listTokens(service)).length).toBe(before.length);
  });
});

describe('a revoked token', () => {
  it('is refused on every front, and its streams end', async () => {
    const { id, token } = await makeToken(service);
    const other = await makeToken(service);
    const [ending, staying] = [await manyStreams(token), await manyStreams(other.token)];
    expect((await revoke(service, id)).status).toBe(204);
    expect(await statusesOf(token)).toEqual(new Set([401]));
    await Promise.all(ending.map((stream) => stream.ended));
    for (const stream of staying) expect(stream.isOver).toBe(false);
    expect((await listTokens(service)).map((one) => one.id)).not.toContain(id);
    expectError(await revoke(service, id), 404, /no token/);
  });

  it('ends the streams of readers that have stopped reading too', async () => {
    const { id, token } = await makeToken(service);
    const [stream] = await manyStreams(token);
    stream?.response.pause();
    await revoke(service, id);
    // What was on its way can be read, and then it is over.
    stream?.response.resume();
    await stream?.ended;
  });

  it('may be the one that asks for it', async () => {
    const { id, token } = await makeToken(service, { scopes: ['admin'] });
    expect((await call(service, 'DELETE', `/api/tokens/${id}`, { token })).status).toBe(204);
    expectError(await call(service, 'GET', '/api-info', { token }), 401, 'invalid token');
  });

  it('knows what it may do', async () => {
    const { token, ...made } = await makeToken(service, { scopes: ['invoke'], bots: ['only'] });
    const own = await call(service, 'GET', '/api/tokens/current', { token });
    expect(own.status).toBe(200);
    expect(own.headers.get('cache-control')).toBe('no-store');
    const used = {
      last_used_at_ms: expect.any(Number),
      last_used_from: { address: '127.0.0.1', client: null },
    };
    expect(own.json).toEqual({ ...made, current: true, ...used });
    expect(own.text).not.toContain(token);
    const list = await call(service, 'GET', '/api/tokens', { token });
    expectError(list, 403, 'this needs a token with the scope admin');
  });

  it('may be any one, which ends itself and no other', async () => {
    const { id, token } = await makeToken(service, { bots: ['only'] });
    const other = await makeToken(service, { bots: ['only'] });
    const streams = await manyStreams(token);
    const signOut = () => call(service, 'DELETE', '/api/tokens/current', { token });
    expect((await signOut()).status).toBe(204);
    await Promise.all(streams.map((stream) => stream.ended));
    expect(await statusesOf(token)).toEqual(new Set([401]));
    expectError(await signOut(), 401, 'invalid token');
    expect(await statusesOf(other.token)).toEqual(new Set([200]));
    const left = (await listTokens(service)).map((one) => one.id);
    expect(left).not.toContain(id);
    expect(left).toContain(other.id);
  });
});

describe('a token that runs out', () => {
  it('is refused from its time on, and so do its streams', async () => {
    // Long enough to open streams on a busy machine.
    const expires_at_ms = Date.now() + 3000;
    const { id, token, ...made } = await makeToken(service, { expires_at_ms });
    expect(made.expires_at_ms).toBe(expires_at_ms);
    const streams = await manyStreams(token);
    await Promise.all(streams.map((stream) => stream.ended));
    const over = Date.now();
    expect(over).toBeGreaterThanOrEqual(expires_at_ms);
    expect(await statusesOf(token)).toEqual(new Set([401]));
    expect((await listTokens(service)).map((one) => one.id)).not.toContain(id);
  });
});

describe('over a restart', () => {
  it('tokens keep what they are, and revoked and expired ones stay away', async () => {
    const dir = makeDir();
    onTestFinished(() => removeDir(dir));
    const first = await inject({ dir });
    const kept = await makeToken(first, { name: 'kept', scopes: ['read'], bots: ['a', 'b'] });
    const revoked = await makeToken(first, { name: 'revoked' });
    const brief = await makeToken(first, { name: 'brief', expires_at_ms: Date.now() + 700 });
    await call(first, 'GET', '/api-info', { token: kept.token });
    await first.flush();
    await revoke(first, revoked.id);
    const used = (await listTokens(first)).find(({ id }) => id === kept.id)?.last_used_at_ms;
    await first.close();
    await expect.poll(() => Date.now() > (brief.expires_at_ms ?? 0)).toBe(true);
    const second = await inject({ dir });
    try {
      const { token: _, ...shown } = kept;
      const tokens = await listTokens(second);
      const place = { address: '127.0.0.1', client: null };
      const use = { last_used_at_ms: used, last_used_from: place };
      expect(tokens).toContainEqual({ ...shown, ...use });
      for (const { id } of [revoked, brief]) {
        expect(tokens.map((one) => one.id)).not.toContain(id);
      }
      expect((await call(second, 'GET', '/api-info', { token: kept.token })).status).toBe(200);
      for (const { token } of [revoked, brief]) {
        expectError(await call(second, 'GET', '/api-info', { token }), 401);
      }
      expectError(await call(second, 'GET', '/api/tokens', { token: kept.token }), 403);
    } finally {
      await second.close();
    }
  });

  it('a token from before there were scopes may do everything', async () => {
    const dir = makeDir();
    onTestFinished(() => removeDir(dir));
    const token = Buffer.alloc(48, 7).toString('base64');
    const root = open({ path: path.join(dir, 'store.mdb'), noSubdir: true, maxDbs: 12 });
    const record = { id: 'old', digest: tokenDigest(token), name: 'pin', created_at_ms: 1 };
    await root.openDB({ name: 'tokens' }).put('old', record);
    await root.close();
    const own = await inject({ dir });
    try {
      const answer = await call(own, 'GET', '/api/tokens', { token });
      const { tokens } = answer.json as { tokens: object[] };
      expect(tokens).toContainEqual({
        id: 'old',
        name: 'pin',
        scopes: ['admin'],
        bots: null,
        labels: null,
        created_at_ms: 1,
        created_by: null,
        expires_at_ms: expect.any(Number),
        extended_by_use: true,
        last_used_at_ms: expect.any(Number),
        last_used_from: { address: '127.0.0.1', client: null },
        by_pin: true,
        current: true,
      });
      const fresh = await exchangePin(own);
      expect((await call(own, 'DELETE', '/api/tokens/old', { token: fresh })).status).toBe(204);
      expectError(await call(own, 'GET', '/api-info', { token }), 401);
    } finally {
      await own.close();
    }
  });
});

describe('the PIN, when the token limit is reached', () => {
  it('takes the place of one that it made, and of no other that has the same name', async () => {
    const dir = makeDir();
    onTestFinished(() => removeDir(dir));
    const first = await inject({ dir });
    const bots = ['a'];
    const { id: named } = await makeToken(first, { name: 'pin', scopes: ['admin'] });
    const { id: limited } = await makeToken(first, { name: 'pin', bots });
    await first.close();
    const root = open({ path: path.join(dir, 'store.mdb'), noSubdir: true, maxDbs: 12 });
    const stored = root.openDB({ name: 'tokens' });
    const kept = stored.getKeysCount();
    await stored.transaction(() => {
      const old = { digest: '', name: 'pin', created_at_ms: 1, expires_at_ms: null };
      // From before it was kept who made them: one by the PIN, and one that only has the name.
      stored.put('by-pin', { ...old, id: 'by-pin', scopes: ['admin'], reach: null });
      stored.put('by-name', { ...old, id: 'by-name', scopes: ['read'], reach: { bots } });
      for (let n = kept + 2; n < 10_000; n++) {
        const [id, digest] = [`other-${n}`, `${n}`];
        stored.put(id, { ...old, id, digest, name: 'other', scopes: ['read'], reach: null });
      }
    });
    await root.close();
    const own = await inject({ dir });
    try {
      await exchangePin(own);
      await exchangePin(own);
      const left = new Set((await listTokens(own)).map(({ id }) => id));
      expect(left.size).toBe(10_000);
      expect(left).not.toContain('by-pin');
      for (const id of ['by-name', named, limited]) expect(left).toContain(id);
    } finally {
      await own.close();
    }
  });
});
