// A valid store or journal that cannot be opened for now is not treated as broken: nothing is renamed or recreated.

import { chmodSync, mkdirSync, readdirSync, renameSync, rmSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import { faultOf } from '../../src/shared/lmdb/file-fault.js';
import { call } from '../harness/api.js';
import { eventually } from '../harness/bots.js';
import { journalOf, pastPage } from '../harness/history.js';
import {
  makeDir,
  removeDir,
  runToExit,
  type Service,
  startService,
  stopClean,
} from '../harness/service.js';

let dataDir: string;
beforeEach(() => {
  const home = makeDir();
  onTestFinished(() => removeDir(home));
  dataDir = path.join(home, 'data');
});

const isBroken = (name: string): boolean => name.includes('.broken-');

/** Keeps LMDB from opening the file, also as root: a directory is in the place of its lock file. */
function blockLock(file: string): () => void {
  rmSync(`${file}-lock`);
  mkdirSync(`${file}-lock`);
  return () => rmSync(`${file}-lock`, { recursive: true });
}

/** Keeps LMDB from opening the file, except as root. */
function denyAccess(file: string): () => void {
  chmodSync(file, 0);
  return () => chmodSync(file, 0o600);
}

const WAYS: [string, (file: string) => () => void][] = [
  ['its lock cannot be opened', blockLock],
  ...(process.getuid?.() === 0 ? [] : ([['it is not readable', denyAccess]] as typeof WAYS)),
];

async function withBot(): Promise<Service> {
  const bots = [{ id: 'kept', kind: 'synthetic', config: { events_per_second: 200 } }];
  return startService({ dataDir, config: { bots } });
}

describe.each(WAYS)('%s', (_, prevent) => {
  it('store: the start fails with one line', async () => {
    await stopClean(await withBot());
    const file = path.join(dataDir, 'store.mdb');
    const allow = prevent(file);
    const { code, stderr } = await runToExit(['--port', '0', '--no-demo', '--data-dir', dataDir]);
    expect(code).toBe(1);
    expect(stderr).toMatch(
      /^drover: the store \S+ cannot be opened: (it could not be checked: )?E\w+: .*\n$/,
    );
    expect(readdirSync(dataDir).filter(isBroken)).toEqual([]);
    allow();
    const again = await startService({ dataDir });
    expect((await call(again, 'GET', '/api/bots/kept')).status).toBe(200);
    await stopClean(again);
  });

  it('journal: the service runs without it, reports that, and uses it again later', async () => {
    const first = await withBot();
    await eventually(
      async () => (await pastPage(first, '?session=kept')).events.length > 0,
      'the journal has events',
    );
    const { oldest } = await journalOf(first);
    await stopClean(first);
    const dir = path.join(dataDir, 'journal');
    const allow = prevent(path.join(dir, 'journal.mdb'));
    const again = await startService({ dataDir });
    const status = async (): Promise<unknown> =>
      ((await call(again, 'GET', '/api/pressure')).json as { journal: unknown }).journal;
    await eventually(
      async () => /failed/.test(JSON.stringify(await status())),
      'the journal has failed',
    );
    expect(await status()).toEqual({
      state: 'failed',
      reason: expect.stringMatching(/^(it could not be checked: )?E\w+: /),
    });
    expect(readdirSync(dir).filter(isBroken)).toEqual([]);
    allow();
    await eventually(
      async () => /"on"/.test(JSON.stringify(await status())),
      'the journal is on again',
      20_000,
    );
    expect((await journalOf(again)).oldest).toBe(oldest);
    await stopClean(again);
  });
});

it('too little memory to verify a file does not count as a broken file', async () => {
  await stopClean(await withBot());
  const verifier = fileURLToPath(
    new URL('../../dist/src/programs/verify-store.js', import.meta.url),
  );
  const file = path.join(dataDir, 'store.mdb');
  expect(await faultOf(file, verifier)).toBeUndefined();
  vi.stubEnv('NODE_OPTIONS', '--max-old-space-size=1 --max-semi-space-size=1');
  onTestFinished(() => void vi.unstubAllEnvs());
  await expect(faultOf(file, verifier)).rejects.toThrow(
    'it could not be checked: there is too little memory',
  );
  vi.unstubAllEnvs();
  renameSync(file, `${file}.elsewhere`);
  expect(await faultOf(file, verifier)).toBe('it is missing');
});
