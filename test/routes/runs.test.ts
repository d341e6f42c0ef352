// `GET /api/runs`: the files of runs in the data directory, read in parts.

import { mkdirSync, mkdtempSync, rmSync, symlinkSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from 'vitest';
import { RunFiles } from '../../src/front/routes/run-files.js';
import { MAX_RUN_BYTES, MAX_RUN_FILES } from '../../src/shared/contract/runs.js';
import { call } from '../harness/api.js';
import { type InjectedService, inject } from '../harness/inject.js';
import { makeToken } from '../harness/tokens.js';

let service: InjectedService;
beforeAll(async () => {
  service = await inject();
});
afterAll(() => service.close());

let dir: string;
beforeEach(() => {
  dir = path.join(service.dir, 'runs');
});
afterEach(() => rmSync(dir, { recursive: true, force: true }));

function put(name: string, text: string, changed = 1000): void {
  mkdirSync(dir, { recursive: true });
  writeFileSync(path.join(dir, name), text);
  utimesSync(path.join(dir, name), changed, changed);
}

it('there are none before somebody puts some there', async () => {
  expect((await call(service, 'GET', '/api/runs')).json).toEqual({ runs: [], more: 0 });
});

it('lists recordings and reports, the latest first, and nothing else', async () => {
  put('old.ndjson', 'a', 1000);
  put('new.xml', 'abc', 2000);
  put('.hidden.ndjson', 'a');
  put('notes.txt', 'a');
  mkdirSync(path.join(dir, 'folder.ndjson'));
  symlinkSync('/etc/passwd', path.join(dir, 'link.ndjson'));
  expect((await call(service, 'GET', '/api/runs')).json).toEqual({
    runs: [
      { name: 'new.xml', bytes: 3, changed_ms: 2_000_000 },
      { name: 'old.ndjson', bytes: 1, changed_ms: 1_000_000 },
    ],
    more: 0,
  });
});

it('a file is read in parts, until one is empty', async () => {
  put('run.ndjson', 'hello');
  const read = async (query: string) =>
    (await call(service, 'GET', `/api/runs/run.ndjson${query}`)).text;
  expect([
    await read(''),
    await read('?from=3'),
    await read('?from=5'),
    await read('?from=99'),
  ]).toEqual(['hello', 'lo', '', '']);
});

it.each([
  'link.ndjson',
  'folder.ndjson',
  'gone.ndjson',
  'notes.txt',
  '..%2Fstore.json',
  '%2Fetc%2Fpasswd',
])('there is no run %s', async (name) => {
  mkdirSync(path.join(dir, 'folder.ndjson'), { recursive: true });
  symlinkSync('/etc/passwd', path.join(dir, 'link.ndjson'));
  writeFileSync(path.join(dir, 'notes.txt'), 'secret');
  const answer = await call(service, 'GET', `/api/runs/${name}`);
  expect([answer.status, answer.text.includes('secret')]).toEqual([404, false]);
});

it('a wrong place is refused', async () => {
  put('run.ndjson', 'hello');
  const answer = await call(service, 'GET', '/api/runs/run.ndjson?from=-1');
  expect([answer.status, answer.json]).toEqual([
    400,
    { error: 'from must be a whole number of at least 0' },
  ]);
});

it('a token that is limited to some bots gets none', async () => {
  put('run.ndjson', 'hello');
  const { token } = await makeToken(service, { scopes: ['read'], bots: ['demo-1'] });
  for (const url of ['/api/runs', '/api/runs/run.ndjson']) {
    expect((await call(service, 'GET', url, { token })).status).toBe(403);
  }
});

it('an answer and a list are bounded', async () => {
  const own = mkdtempSync(path.join(tmpdir(), 'runs-'));
  try {
    writeFileSync(path.join(own, 'large.ndjson'), Buffer.alloc(MAX_RUN_BYTES + 5));
    const files = new RunFiles(own);
    expect((await files.read('large.ndjson', 0, MAX_RUN_BYTES)).length).toBe(MAX_RUN_BYTES);
    expect((await files.read('large.ndjson', MAX_RUN_BYTES, MAX_RUN_BYTES)).length).toBe(5);
    for (let n = 0; n < MAX_RUN_FILES; n++) writeFileSync(path.join(own, `run-${n}.json`), '');
    const { runs, more } = await files.list();
    expect([runs.length, more]).toEqual([MAX_RUN_FILES, 1]);
  } finally {
    rmSync(own, { recursive: true });
  }
});
