// SIGHUP: a running service follows its configuration and its kinds, or nothing of them when something is wrong.

import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { call } from '../harness/api.js';
import { create, invoke, lineFrom, watch } from '../harness/bots.js';
import { makeDir, removeDir, type Service, startService, stopClean } from '../harness/service.js';
import type { SseStream } from '../harness/sse.js';

let dir: string;
let kinds: string;
let file: string;
let service: Service;
let stream: SseStream;

function writeConfig(config: object): void {
  writeFileSync(file, JSON.stringify({ hosts: { count: 1 }, kinds: [kinds], ...config }));
}

function writeKind(name: string, version: number, more = ''): void {
  writeFileSync(
    path.join(kinds, `${name}.mjs`),
    `${more}
    export default {
      kind: '${name}', description: '', state() {}, config: { type: 'object' },
      commands: { version: { description: '', args: {}, run: () => ${version} } },
      run: (ctx) => ctx.sleep(2 ** 30),
    };`,
  );
}

beforeEach(async () => {
  dir = makeDir();
  kinds = path.join(dir, 'kinds');
  file = path.join(dir, 'config.json');
  mkdirSync(kinds);
  writeKind('first', 1);
  writeConfig({});
  service = await startService({ args: ['--config', file] });
  stream = await watch(service, '?scope=drover');
});

afterEach(async () => {
  stream.close();
  await stopClean(service);
  removeDir(dir);
});

/** Sends SIGHUP. @returns the line about it that fits. */
async function hangUp(fits: RegExp): Promise<string> {
  const seen = stream.frames.length;
  service.child.kill('SIGHUP');
  return (await lineFrom(stream, seen, ({ message }) => fits.test(message))).message;
}

async function version(id: string): Promise<unknown> {
  return ((await invoke(service, id, 'version')).json as { result: unknown }).result;
}

it('keys that can change, kinds and programs are followed; others are named', async () => {
  await create(service, { id: 'old', kind: 'first' });
  writeKind('first', 2);
  writeKind('second', 1);
  writeConfig({
    programs: { echo: { command: ['cat'], protocol: 'raw' } },
    restart: { backoff_ms: 12_345 },
    pressure: { max_bots: 4 },
    invoke: { timeout_ms: 9000 },
  });
  expect(await hangUp(/^reloaded:/)).toBe(
    'reloaded: pressure.max_bots, programs, restart.backoff_ms',
  );
  await lineFrom(
    stream,
    0,
    ({ message }) =>
      message === 'invoke.timeout_ms has changed, which takes effect at the next start',
  );
  expect(await version('old')).toBe(1);
  for (const [id, kind] of Object.entries({ a: 'first', b: 'second', c: 'echo' })) {
    expect((await create(service, { id, kind })).status).toBe(201);
  }
  expect(await version('a')).toBe(2);
  expect((await call(service, 'GET', '/api/bots/a/config')).json).toMatchObject({
    restart: { backoff_ms: 12_345 },
  });
  const refused = await create(service, { id: 'd', kind: 'first' });
  expect(refused.json).toEqual({ error: 'bot limit reached' });
  writeConfig({
    programs: { echo: { command: ['cat'], protocol: 'raw' } },
    pressure: { max_bots: 10 },
  });
  await hangUp(/^reloaded: pressure\.max_bots/);
  expect((await create(service, { id: 'd', kind: 'first' })).status).toBe(201);
});

it('a kind whose file is gone is gone, unless bots have it', async () => {
  writeKind('second', 1);
  await hangUp(/^reloaded:/);
  rmSync(path.join(kinds, 'second.mjs'));
  await hangUp(/^reloaded:/);
  expect((await call(service, 'GET', '/api/kinds/second')).status).toBe(404);
  await create(service, { id: 'a', kind: 'first', desired: 'stopped' });
  rmSync(path.join(kinds, 'first.mjs'));
  expect(await hangUp(/^nothing was reloaded:/)).toMatch(/first\.mjs is not there any more$/);
  expect((await call(service, 'GET', '/api/kinds/first')).status).toBe(200);
});

const WRONG: [string, () => void, RegExp][] = [
  [
    'a value',
    () => writeConfig({ restart: { backoff_ms: -1 }, pressure: { max_bots: 1 } }),
    /config\.json: restart\.backoff_ms must be >= 0/,
  ],
  ['the syntax of the file', () => writeFileSync(file, '{'), /config\.json is not valid JSON/],
  [
    'a kind',
    () => {
      writeConfig({ pressure: { max_bots: 1 } });
      writeKind('first', 3, 'throw new Error("no luck");');
    },
    /the bot kind first is not reloaded: .*no luck/,
  ],
  [
    'the place of a kind',
    () => writeConfig({ kinds: [path.join(dir, 'elsewhere')], pressure: { max_bots: 1 } }),
    /the bot kind first is not reloaded: .*first\.mjs is not there any more/,
  ],
];

it.each(WRONG)(
  'when %s is wrong, nothing is followed and nothing ends',
  async (_, spoil, reason) => {
    await create(service, { id: 'old', kind: 'first' });
    writeKind('second', 1);
    spoil();
    expect(await hangUp(/^nothing was reloaded:/)).toMatch(reason);
    expect((await call(service, 'GET', '/api/kinds/second')).status).toBe(404);
    expect((await create(service, { id: 'a', kind: 'first' })).status).toBe(201);
    expect(await version('a')).toBe(1);
    expect(await version('old')).toBe(1);
    // What is right again is followed.
    writeKind('first', 4);
    writeConfig({});
    await hangUp(/^reloaded:/);
    expect((await call(service, 'GET', '/api/kinds/second')).status).toBe(200);
  },
);
