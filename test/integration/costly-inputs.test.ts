// Inputs of a few characters that once kept a thread for minutes: each is refused, and the service keeps running.

import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, expect, it, onTestFinished } from 'vitest';
import { StoreFile } from '../../src/main/store/store-file.js';
import type { Rule, RuleSettings } from '../../src/shared/contract/rules.js';
import { call, expectError } from '../harness/api.js';
import { create, list } from '../harness/bots.js';
import { makeDir, removeDir, type Service, startService, stopClean } from '../harness/service.js';
import { makeToken } from '../harness/tokens.js';

/** 32 characters, and 34 billion copies of nothing. */
const EXPRESSION = '/(((((){128}){128}){128}){128})/';
const TOO_MANY = /^query: regular expression: it has more than 4096 parts, .*\(at character 14\)$/;
const WHY = 'query: regular expression: it has more than 4096 parts';

let home: string;
let service: Service;
beforeAll(async () => {
  home = makeDir();
  writeFileSync(
    path.join(home, 'word.mjs'),
    `export default { kind: 'word', description: '', commands: {}, state() {}, run() {}, config: {
      type: 'object', properties: {
        words: { type: 'string', pattern: '^(\\\\w+\\\\s?)*$' },
        others: { type: 'string', pattern: '^(?!x)(\\\\w+\\\\s?)*$' },
        list: { type: 'array' },
      } } };`,
  );
  service = await startService({ config: { kinds: [path.join(home, 'word.mjs')] } });
  await create(service, { id: 'a', kind: 'word', desired: 'stopped' });
});
afterAll(async () => {
  await stopClean(service);
  removeDir(home);
});

async function expectWell(): Promise<void> {
  const health = await call(service, 'GET', '/health', { token: null });
  expect(health.text).toBe('ok');
  // Main answers, and nothing was lost.
  expect((await list(service)).map(({ id }) => id)).toEqual(['a']);
  expect((await call(service, 'GET', '/api/rules')).status).toBe(200);
  expect(service.child.exitCode).toBeNull();
}

it('an expression that is huge when it is written out, from a token that reads one bot', async () => {
  const { token } = await makeToken(service, { scopes: ['read'], bots: ['a'] });
  const query = `query=${encodeURIComponent(EXPRESSION)}`;
  for (const target of [`/api/bots?${query}`, `/api/events?${query}`, `/events?${query}`]) {
    expectError(await call(service, 'GET', target, { token }), 400, TOO_MANY);
  }
  await expectWell();
});

it('the same as a rule', async () => {
  const body = { name: 'huge', query: EXPRESSION, condition: 'count', window_ms: 60_000 };
  expectError(await call(service, 'POST', '/api/rules', { body }), 400, TOO_MANY);
  await expectWell();
});

it('a configuration for which the pattern of its kind takes for ever', async () => {
  const { token } = await makeToken(service, { scopes: ['control'], bots: ['a'] });
  const patch = (config: object) =>
    call(service, 'PATCH', '/api/bots/a', { token, body: { config } });
  const long = `${'a'.repeat(40_000)}!`;
  expectError(await patch({ words: long }), 400, /^config\.words must match pattern/);
  expectError(await patch({ others: long }), 400, /^this value takes more than 100 ms to check/);
  // Each entry was compared with each, before the schema was looked at.
  const entries = (letter: string) => Array.from({ length: 6000 }, (_, at) => `${letter}${at}`);
  expect((await patch({ list: entries('a') })).status).toBe(200);
  expect((await patch({ list: entries('b') })).status).toBe(200);
  await expectWell();
});

it('a rule that an earlier version has stored is shown with its reason, and the others are looked at', async () => {
  const body = { name: 'good', query: 'level:error', condition: 'count', window_ms: 60_000 };
  const dataDir = makeDir();
  onTestFinished(() => removeDir(dataDir));
  let own = await startService({ dataDir });
  expect((await call(own, 'POST', '/api/rules', { body })).status).toBe(201);
  await stopClean(own);
  const store = new StoreFile(path.join(dataDir, 'store.mdb'));
  const stored: RuleSettings = {
    id: '00000000000000aa',
    name: 'huge',
    query: EXPRESSION,
    condition: 'count',
    threshold: 1,
    window_ms: 60_000,
    for_ms: 0,
    severity: 'warn',
    enabled: true,
  };
  await store.commit([{ table: 'rules', key: stored.id, value: stored }]);
  await store.close();

  own = await startService({ dataDir });
  const rules = async (): Promise<Rule[]> =>
    ((await call(own, 'GET', '/api/rules')).json as { rules: Rule[] }).rules;
  expect(await rules()).toEqual([
    expect.objectContaining({ name: 'good', state: 'ok', reason: null }),
    {
      ...stored,
      state: 'refused',
      reason: expect.stringContaining(WHY),
      since_ms: null,
      value: null,
      bots: [],
    },
  ]);
  const lines = await call(own, 'GET', '/api/events?level=warn&scope=drover');
  expect(lines.text).toContain('rule \\"huge\\" is not evaluated: query: regular expression');
  const { name, query, condition, window_ms } = stored;
  const put = (change: object) =>
    call(own, 'PUT', `/api/rules/${stored.id}`, {
      body: { name, query, condition, window_ms, ...change },
    });
  expectError(await put({ enabled: false }), 400, TOO_MANY);
  expect((await put({ query: '/a{3}/' })).json).toMatchObject({ state: 'ok', reason: null });
  expect((await call(own, 'DELETE', `/api/rules/${stored.id}`)).status).toBe(204);
  expect((await rules()).map((rule) => rule.name)).toEqual(['good']);
  await stopClean(own);
});
