// Tokens that were created on the machine of the service and wait in its data directory.

import {
  chmodSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { TokenFiles, tokenFileName } from '../../../src/main/access/token-files.js';
import type { TokenFile } from '../../../src/shared/contract/tokens.js';
import { tokenDigest } from '../../../src/shared/token-digest.js';

const ID = '0a3c5f8e-6a0e-4d5f-8f0c-1f6a2f0c9b7d';
const TOKEN: TokenFile = { id: ID, digest: tokenDigest('x'), name: 'x', scopes: ['read'] };

interface Setup {
  files: TokenFiles;
  path: string;
  dir: string;
  adopted: TokenFile[];
  reports: string[];
}

function setUp(adopt = async (_: TokenFile): Promise<void> => {}): Setup {
  const dir = mkdtempSync(path.join(tmpdir(), 'drover-test-'));
  onTestFinished(() => rmSync(dir, { recursive: true, force: true }));
  const adopted: TokenFile[] = [];
  const reports: string[] = [];
  const files = new TokenFiles(
    dir,
    async (token) => {
      await adopt(token);
      adopted.push(token);
    },
    (line) => reports.push(line),
  );
  return { files, dir, path: path.join(dir, tokenFileName(ID)), adopted, reports };
}

function put(file: string, value: unknown): void {
  writeFileSync(file, JSON.stringify(value), { mode: 0o600 });
}

it('accepts a token once, and removes its file', async () => {
  const { files, path: file, dir, adopted, reports } = setUp();
  put(file, TOKEN);
  await files.search();
  await files.search();
  expect(adopted).toEqual([TOKEN]);
  expect(readdirSync(dir)).toEqual([]);
  expect(reports).toEqual([]);
});

it('accepts tokens as they come, also several at once', async () => {
  const { files, dir, adopted } = setUp();
  files.start();
  onTestFinished(() => files.stop());
  for (let n = 0; n < 3; n++) {
    const id = ID.replace(/^./, String(n));
    const file = path.join(dir, tokenFileName(id));
    put(`${file}.tmp`, { ...TOKEN, id });
    renameSync(`${file}.tmp`, file);
  }
  await expect.poll(() => adopted.length, { timeout: 20_000 }).toBe(3);
  await expect.poll(() => readdirSync(dir)).toEqual([]);
});

it('reports a reason once, and tries again: the disk may have room later', async () => {
  let isFull = true;
  const {
    files,
    path: file,
    adopted,
    reports,
  } = setUp(async () => {
    if (isFull) throw new Error('no space left');
  });
  put(file, TOKEN);
  for (let n = 0; n < 3; n++) await files.search();
  expect(reports).toEqual([`the token in ${file} is not accepted: no space left`]);
  expect(existsSync(file)).toBe(true);
  isFull = false;
  await files.search();
  expect(adopted).toEqual([TOKEN]);
});

it.each<[string, (file: string, dir: string) => void, RegExp]>([
  ['is not JSON', (file) => writeFileSync(file, '{', { mode: 0o600 }), /JSON/],
  ['has an unknown scope', (file) => put(file, { ...TOKEN, scopes: ['all'] }), /scopes/],
  ['has a token instead of a digest', (file) => put(file, { ...TOKEN, digest: 'x' }), /digest/],
  [
    'has the id of another',
    (file) => put(file, { ...TOKEN, id: ID.replace('0a', '0b') }),
    /its id differ/,
  ],
  [
    'is too large',
    (file) => put(file, { ...TOKEN, name: 'x'.repeat(300_000) }),
    /not a file with a token/,
  ],
  [
    'can be written by others',
    (file) => {
      put(file, TOKEN);
      chmodSync(file, 0o622);
    },
    /other users can write/,
  ],
  [
    'is a link',
    (file, dir) => {
      put(path.join(dir, 'elsewhere'), TOKEN);
      symlinkSync(path.join(dir, 'elsewhere'), file);
    },
    /ELOOP/,
  ],
])('does not accept a file that %s', async (_, make, reason) => {
  const { files, path: file, dir, adopted, reports } = setUp();
  make(file, dir);
  await files.search();
  expect(adopted).toEqual([]);
  expect(reports).toEqual([expect.stringMatching(reason)]);
});
