// Where kinds are looked for.

import { mkdtempSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { expect, it, onTestFinished } from 'vitest';
import { findKinds, SHIPPED } from '../../../src/main/bots/kind-modules.js';

function directory(...names: string[]): string {
  const dir = mkdtempSync(path.join(tmpdir(), 'drover-test-'));
  onTestFinished(() => rmSync(dir, { recursive: true }));
  for (const name of names) writeFileSync(path.join(dir, name), '');
  return dir;
}

const names = (modules: readonly string[]): string[] => modules.map((one) => path.basename(one));

it('the modules of a directory, TypeScript too where Node loads it, but not the source of a file beside it', () => {
  const dir = directory('b.mjs', 'a.js', 'c.ts', 'd.mts', 'd.mjs', 'e.d.ts', 'f.d.mts', 'g.json');
  const { modules, failed, perhaps } = findKinds([dir], { loadsTypeScript: true });
  const own = modules.slice(SHIPPED.length);
  expect(names(own)).toEqual(['a.js', 'b.mjs', 'c.ts', 'd.mjs']);
  expect([...perhaps]).toEqual(own);
  expect(failed).toEqual([]);
});

it('hidden files are no kinds, and those of CommonJS are named', () => {
  const dir = directory(
    'a.mjs',
    '.hidden.mjs',
    '.#lock.mjs',
    '.p.program.json',
    'old.cjs',
    'x.test.cjs',
  );
  const { modules, failed } = findKinds([dir], { loadsTypeScript: true });
  expect(names(modules.slice(SHIPPED.length))).toEqual(['a.mjs']);
  expect(failed).toEqual([
    {
      module: pathToFileURL(path.join(dir, 'old.cjs')).href,
      error: 'it is CommonJS and not loaded: a kind is a module, .mjs or .js, and may import it',
      helper: true,
    },
  ]);
});

it('a source that is newer than the file beside it is named: that file is an older version', () => {
  const dir = directory('a.mts', 'a.mjs', 'b.ts', 'b.js');
  const seconds = Date.now() / 1000;
  const at = (name: string, age: number): void =>
    utimesSync(path.join(dir, name), seconds - age, seconds - age);
  at('a.mts', 0);
  at('a.mjs', 60);
  // As a checkout leaves them.
  at('b.ts', 0);
  at('b.js', 1);
  const { modules, failed } = findKinds([dir], { loadsTypeScript: true });
  expect(names(modules.slice(SHIPPED.length))).toEqual(['a.mjs', 'b.js']);
  expect(failed).toEqual([
    {
      module: pathToFileURL(path.join(dir, 'a.mts')).href,
      error: 'it is newer than a.mjs, which is loaded: compile it',
    },
  ]);
});

it('TypeScript is named with the reason where Node does not load it', () => {
  const dir = directory('a.mjs', 'c.ts');
  const [inDirectory, alone] = [
    findKinds([dir], { loadsTypeScript: false }),
    findKinds([path.join(dir, 'c.ts')], { loadsTypeScript: false }),
  ];
  expect(names(inDirectory.modules.slice(SHIPPED.length))).toEqual(['a.mjs']);
  for (const { failed } of [inDirectory, alone]) {
    expect(failed).toEqual([
      {
        module: pathToFileURL(path.join(dir, 'c.ts')).href,
        error: expect.stringMatching(/^Node v\S+ does not load TypeScript: compile it/),
      },
    ]);
  }
});

it('a file that is named must be a kind', () => {
  const dir = directory('a.mjs');
  expect([...findKinds([path.join(dir, 'a.mjs')]).perhaps]).toEqual([]);
});
