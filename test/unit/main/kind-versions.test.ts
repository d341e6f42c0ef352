// What makes a version of a kind, and which versions a host loads together.

import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterAll, describe, expect, it } from 'vitest';
import {
  type KindVersion,
  KindVersions,
  trusted,
  versionsOf,
} from '../../../src/main/bots/kind-versions.js';
import { readManifest } from '../../../src/main/bots/program-definitions.js';
import type { KeptSource, ReadFiles } from '../../../src/shared/contract/host-messages.js';
import type { Programs } from '../../../src/shared/contract/programs.js';
import { makeDir, removeDir } from '../../harness/service.js';

const dir = makeDir();
afterAll(() => removeDir(dir));

const url = (name: string): string => pathToFileURL(join(dir, name)).href;

function file(name: string, text: string): KeptSource {
  mkdirSync(join(dir, name, '..'), { recursive: true });
  writeFileSync(join(dir, name), text);
  return { url: url(name), format: 'module', text };
}

/** The version of a kind that consists of these files, its module first. */
function version(kind: string, files: KeptSource[], packages: string[] = []): KindVersion {
  const module = files[0]?.url ?? '';
  const imports = { [module]: [...files.map((one) => one.url), ...packages.map(url)] };
  return one(kind, module, { sources: files, imports });
}

function one(kind: string, module: string, read: ReadFiles | null, programs: Programs = {}) {
  const info = { kind, description: '', config: {}, commands: {} };
  return versionsOf([info], new Map([[kind, { module }]]), read, programs)[0] as KindVersion;
}

describe('the id', () => {
  it('is that of the contents of all files, wherever they are', () => {
    const a = version('k', [file('a/k.mjs', '1'), file('a/lib/x.mjs', '2')]);
    expect(version('k', [file('b/k.mjs', '1'), file('b/lib/x.mjs', '2')]).id).toBe(a.id);
    expect(version('k', [file('b/k.mjs', '1'), file('b/lib/x.mjs', '3')]).id).not.toBe(a.id);
    expect(version('k', [file('b/k.mjs', '1')]).id).not.toBe(a.id);
    expect(a.id).toMatch(/^[0-9a-f]{8}$/);
  });

  it('changes with the version of its package, and of a package that it imports', () => {
    const own = (release: string): KindVersion => {
      file('own/package.json', JSON.stringify({ name: 'own', version: release }));
      return version('k', [file('own/k.mjs', '1')]);
    };
    const first = own('1.0.0');
    expect(first.package).toBe('own@1.0.0');
    expect(own('1.0.1').id).not.toBe(first.id);
    const other = (release: string): KindVersion => {
      file('own/node_modules/p/package.json', JSON.stringify({ name: 'p', version: release }));
      // A file without a name is no package.
      file('own/node_modules/p/esm/package.json', JSON.stringify({ type: 'module' }));
      return version('k', [file('own/k.mjs', '1')], ['own/node_modules/p/esm/index.js']);
    };
    expect(other('2.0.0').id).not.toBe(other('2.0.1').id);
  });

  it('of a program is that of its definition and of the files that the command names', () => {
    const manifest = (text: string): KindVersion => {
      file('p.program.json', text);
      const module = url('p.program.json');
      const program = readManifest(join(dir, 'p.program.json'), 1000);
      return one('p', module, null, { [module]: program });
    };
    const plain = JSON.stringify({ command: ['python3', 'bot.py', '--fast'], protocol: 'jsonl' });
    file('bot.py', 'one');
    const first = manifest(plain);
    expect(manifest(plain).id).toBe(first.id);
    file('bot.py', 'two');
    const second = manifest(plain);
    expect(second.id).not.toBe(first.id);
    expect(manifest(plain.replace('fast', 'slow')).id).not.toBe(second.id);
    const versions = new KindVersions();
    versions.use(second);
    expect(versions.set(() => false)).toMatchObject({
      sources: [],
      programs: { [second.module]: {} },
    });
    file('p.program.json', plain);
    expect(versions.hasChanged('p')).toBe(false);
    file('bot.py', 'three');
    expect(versions.hasChanged('p')).toBe(true);
  });

  it('of a host that does not answer is that of the module on the disk', () => {
    file('silent.mjs', '1');
    const first = one('k', url('silent.mjs'), null);
    file('silent.mjs', '2');
    expect(one('k', url('silent.mjs'), null).id).not.toBe(first.id);
  });
});

describe('what a host loads', () => {
  const lib = (text: string): KeptSource => ({ ...file('lib.mjs', text), text });
  const shared = lib('1');
  const a = version('a', [file('a.mjs', 'a'), shared]);
  const b = version('b', [file('b.mjs', 'b'), shared]);

  it('are all current versions, with each file once', () => {
    const versions = new KindVersions();
    for (const one of [a, b]) versions.use(one);
    const { modules, sources, versions: ids } = versions.set(() => false);
    expect(modules).toEqual([a.module, b.module]);
    expect(sources.map(({ text }) => text)).toEqual(['a', '1', 'b']);
    expect([...ids.values()]).toEqual([a.id, b.id]);
    expect(versions.set((kind) => kind === 'a').modules).toEqual([b.module]);
  });

  it('a kind that shares a file with another, which was read at another time, is left out', () => {
    const versions = new KindVersions();
    const newer = version('b', [file('b.mjs', 'b'), lib('2')]);
    for (const one of [a, newer]) versions.use(one);
    expect(versions.set(() => false).modules).toEqual([a.module]);
    // Unless it is for bots of that kind.
    expect(versions.set(() => false, newer).modules).toEqual([newer.module]);
    expect(versions.set(() => true, newer).modules).toEqual([newer.module]);
    expect(KindVersions.only(newer)).toMatchObject({ modules: [newer.module] });
  });

  it('versions that nobody uses are forgotten, except the current ones', () => {
    const versions = new KindVersions();
    const newer = version('b', [file('b.mjs', 'b2'), shared]);
    const newest = version('b', [file('b.mjs', 'b3'), shared]);
    for (const one of [a, b, newer, newest]) versions.use(one);
    versions.forget(({ id }) => id === b.id);
    expect([b, newer, newest, a].map(({ kind, id }) => versions.get(kind, id))).toEqual([
      b,
      undefined,
      newest,
      a,
    ]);
  });

  it('what a process says that it has read counts as far as it is on the disk', () => {
    const read = {
      sources: [file('on-disk.mjs', '1'), { ...file('lie.mjs', '1'), text: '2' }],
      imports: {},
    };
    expect(trusted(read, 'thread')).toBe(read);
    expect(trusted(read, 'process')?.sources.map(({ url: of }) => of)).toEqual([
      url('on-disk.mjs'),
    ]);
    expect(trusted(null, 'process')).toBeNull();
  });
});
