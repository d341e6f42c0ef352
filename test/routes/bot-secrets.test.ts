// Passwords of bots: a caller that may change a bot does not get them.

import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Answer, call, expectError } from '../harness/api.js';
import { create, FIXTURE_KINDS, invoke } from '../harness/bots.js';
import { type InjectedService, inject } from '../harness/inject.js';
import { waitForLog, waitForStatus } from '../harness/shapes.js';
import type { SseStream } from '../harness/sse.js';
import { makeToken, streamOf } from '../harness/tokens.js';

let service: InjectedService;
/** May change bots, and nothing else. */
let control: string;
let serial = 0;
beforeAll(async () => {
  service = await inject({ config: { kinds: [FIXTURE_KINDS] } });
  control = (await makeToken(service, { scopes: ['control'] })).token;
});
afterAll(() => service.close());

const FULL = {
  host: 'irc.example',
  password: 'hunter2-of-the-bot',
  proxy: 'http://proxy.example/?key=of-the-proxy',
  backup: [{ host: 'b.example', password: 'of-the-backup' }],
};
const GIVEN = { password: 'another-one', proxy: null, backup: null };

async function keeper(config: object = FULL): Promise<string> {
  const id = `keeper-${++serial}`;
  const made = await create(service, { id, kind: 'keeper', desired: 'stopped', config });
  expect(made.status, made.text).toBe(201);
  return id;
}

function change(id: string, config: object, token?: string): Promise<Answer> {
  return call(service, 'PATCH', `/api/bots/${id}`, { body: { config }, ...(token && { token }) });
}

async function shown(id: string): Promise<unknown> {
  const { json } = await call(service, 'GET', `/api/bots/${id}/config`);
  return (json as { config: unknown }).config;
}

describe('a token with the scope control that does not know the secrets of a bot', () => {
  it.each<[string, object]>([
    ['host', { host: 'evil.example' }],
    ['port', { port: 2 }],
    ['tls.verify', { tls: { verify: false } }],
    // It may decide where the others go: a proxy's address is a secret where it contains a password.
    ['proxy', { proxy: 'http://evil.example' }],
    ['password', { password: 'another' }],
    ['host', { host: 'evil.example', password: 'another', proxy: 'another' }],
    ['backup.1.host', { backup: [{ host: 'b.example' }, { host: 'evil', password: 'x' }] }],
  ])('cannot change %s: %j', async (key, config) => {
    const id = await keeper();
    const before = await shown(id);
    const refused = await change(id, config, control);
    expectError(
      refused,
      403,
      new RegExp(`config\\.${key.replaceAll('.', '\\.')} may send secrets`),
    );
    expect(refused.text).not.toMatch(/hunter2|of-the/);
    expect(await shown(id)).toEqual(before);
  });

  it('is told which ones to give again', async () => {
    const id = await keeper();
    const { json } = await change(id, { host: 'evil.example', proxy: 'p' }, control);
    expect(json).toEqual({
      error:
        'a change of config.host may send secrets elsewhere: give config.password and config.backup.0.password again, or use a token with the scope admin',
    });
  });

  it('may change what the kind marks as harmless, and send back what is shown', async () => {
    const id = await keeper({ ...FULL, pin: 1234 });
    const config = { ...((await shown(id)) as object), greeting: 'hi', pin: 4321 };
    const changed = await change(id, config, control);
    expect(changed.status, changed.text).toBe(200);
    expect(await shown(id)).toMatchObject({ greeting: 'hi', host: FULL.host });
  });

  it('may change everything with the secrets given again or removed', async () => {
    const id = await keeper();
    const changed = await change(id, { host: 'new.example', ...GIVEN }, control);
    expect(changed.status, changed.text).toBe(200);
    expect(await shown(id)).toMatchObject({ host: 'new.example' });
  });

  it('may change a bot without secrets', async () => {
    const id = await keeper({ host: 'irc.example' });
    expect((await change(id, { host: 'new.example' }, control)).status).toBe(200);
  });

  it('is refused too when it may read and is limited to the bot', async () => {
    const id = await keeper();
    const scopes = ['read', 'control', 'invoke'];
    const { token } = await makeToken(service, { scopes, bots: [id] });
    expectError(await change(id, { host: 'evil.example' }, token), 403, /may send secrets/);
  });
});

it('a token with the scope admin may change where secrets go', async () => {
  const id = await keeper();
  expect((await change(id, { host: 'new.example' })).status).toBe(200);
  expect(await shown(id)).toMatchObject({ host: 'new.example' });
});

describe('a caller of commands', () => {
  const secret = FULL.password;
  const guesses = Array.from({ length: 99 }, (_, at) => `hunter${at}-of-the-bot`).join(' ');
  let id: string;
  let stream: SseStream;
  beforeAll(async () => {
    id = `keeper-${++serial}`;
    stream = await streamOf(service, await service.token());
    await create(service, { id, kind: 'keeper', config: { ...FULL, pin: 987654 } });
    await waitForStatus(stream, id, 'online');
  });
  afterAll(() => stream.close());

  it('sees no secret in results, statuses and lines', async () => {
    const { json } = await invoke(service, id, 'config');
    expect(json).toMatchObject({ result: { password: '***', '***': 1, pin: '***', port: 1 } });
    await invoke(service, id, 'show');
    await waitForStatus(stream, id, 'as ***');
    expect(stream.raw).not.toMatch(/hunter2|of-the-proxy|987654/);
  });

  it('does not see which of many guesses is right', async () => {
    expect((await invoke(service, id, 'say', { text: guesses })).json).toEqual({
      result: { said: guesses },
    });
    const results = JSON.stringify({ said: guesses });
    await waitForLog(stream, ({ message }) => message === `Say{text="${guesses}"}`);
    await waitForLog(
      stream,
      ({ scope, message }) =>
        scope === 'dispatch' && message.startsWith(`say -> ${results.slice(0, 400)}`),
    );
    expect((await invoke(service, id, 'say', { text: secret })).json).toEqual({
      result: { said: '***' },
    });
  });
});
