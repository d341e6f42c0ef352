// docs/INTERFACE.md §1, §4 GET /api-info, §5.5, §5.6, §8.4: what a restart changes, and what it keeps.

import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { call, expectError, tryPin } from '../harness/api.js';
import { raw, requestBytes } from '../harness/http.js';
import { freePort } from '../harness/ports.js';
import {
  exchange,
  makeDir,
  removeDir,
  type Service,
  startService,
  stopClean,
} from '../harness/service.js';

const BOTS = Array.from({ length: 20 }, (_, n) => ({ id: `bot-${n}`, kind: 'synthetic' }));

let base: string;
let port: number;
let service: Service | undefined;
beforeEach(async () => {
  base = makeDir();
  port = await freePort();
});
afterEach(async () => {
  await stopClean(service);
  removeDir(base);
});

const dataDir = (): string => path.join(base, 'data');

async function start(): Promise<Service> {
  const config = { pin: { capacity: 12, refill_per_minute: 1 }, bots: BOTS };
  service = await startService({ dataDir: dataDir(), port, config });
  return service;
}

/** What a client finds that waits for `GET /health` and then asks at once. */
async function firstLook(token: string): Promise<{ bots: number; one: number; pin: boolean }> {
  const url = `http://127.0.0.1:${port}`;
  const get = (target: string): Promise<Response> =>
    fetch(`${url}${target}`, { headers: { authorization: `Bearer ${token}` } });
  // Raw: it is asked many times before anything listens, and a fetch that fails costs more.
  const isHealthy = (): Promise<boolean> =>
    raw(port, requestBytes('GET', '/health')).then(
      ({ status }) => status === 200,
      () => false,
    );
  while (!(await isHealthy())) await delay(5);
  const pin = readFileSync(path.join(dataDir(), 'pin.txt'), 'utf8').trimEnd();
  const [all, one] = await Promise.all([get('/api/bots'), get('/api/bots/bot-0')]);
  const { bots } = (await all.json()) as { bots: unknown[] };
  const isPinRight = await exchange(url, pin).then(
    () => true,
    () => false,
  );
  return { bots: bots.length, one: one.status, pin: isPinRight };
}

it('a restart keeps every token, also after a hard kill, resets the bucket, and changes the PIN', async () => {
  const first = await start();
  const answers = await Promise.all(Array.from({ length: 10 }, () => tryPin(first, first.pin)));
  const tokens = answers.map((answer) => (answer.json as { token: string }).token);
  // §8.4: the bucket is empty when it ends.
  const wrong = first.pin === '000000' ? '000001' : '000000';
  for (let n = 0; n < 12; n++) expectError(await tryPin(first, wrong), 401, 'wrong pin');
  expect((await tryPin(first, first.pin)).status).toBe(429);
  // §5.5: right after they were made, without a goodbye.
  await first.kill();

  const pins = new Set([first.pin]);
  for (const how of ['after a kill', 'after an orderly end']) {
    // §4: it is not healthy before its bots are there, and the PIN is the new one.
    const [next, found] = await Promise.all([start(), firstLook(tokens[0] as string)]);
    expect([how, found]).toEqual([how, { bots: BOTS.length, one: 200, pin: true }]);
    for (const token of tokens) {
      const answer = await call(next, 'GET', '/api-info', { token });
      // §4: it returns the same token.
      expect([how, answer.status, answer.json]).toEqual([how, 200, { port: next.port, token }]);
    }
    // §5.6: in the line and in the file.
    expect(next.pin).toMatch(/^\d{6}$/);
    expect(readFileSync(next.pinPath, 'utf8').trimEnd()).toBe(next.pin);
    for (const old of pins) expectError(await tryPin(next, old), 401, 'wrong pin');
    expect((await tryPin(next, next.pin)).status).toBe(200);
    expect(pins).not.toContain(next.pin);
    pins.add(next.pin);
    expect(await next.stop()).toBe(0);
    // The PIN was of that process.
    expect(readdirSync(dataDir())).not.toContain('pin.txt');
  }

  // Decision "token": no file holds a token, only what it was digested to.
  const files = readdirSync(dataDir(), { recursive: true, withFileTypes: true });
  const names = files.filter((f) => f.isFile()).map((f) => path.join(f.parentPath, f.name));
  expect(names.length).toBeGreaterThan(2);
  for (const name of names) {
    const content = readFileSync(name);
    for (const token of tokens) {
      expect(content.includes(token)).toBe(false);
      expect(content.includes(Buffer.from(token, 'base64'))).toBe(false);
    }
  }
});
