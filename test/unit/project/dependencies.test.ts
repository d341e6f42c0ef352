// Dependencies: exact versions with digests, from a registry, each with its reason in docs/DEPENDENCIES.md.

import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { describe, expect, it } from 'vitest';
import { ROOT } from '../../harness/docs.js';

const read = (file: string): string => readFileSync(path.join(ROOT, file), 'utf8');
const { dependencies, optionalDependencies, devDependencies } = JSON.parse(
  read('package.json'),
) as Record<string, Record<string, string>>;
const { packages } = JSON.parse(read('package-lock.json')) as {
  packages: Record<
    string,
    {
      version?: string;
      integrity?: string;
      resolved?: string;
      link?: boolean;
      engines?: { node?: string };
      optionalDependencies?: Record<string, string>;
    }
  >;
};
/** `name@1.2.3`, or the version alone. */
const EXACT = /^(npm:[a-z-]+@)?\d+\.\d+\.\d+$/;

/** The modules that are shipped. */
const sources = (): string[] =>
  ['src', 'workers'].flatMap((folder) =>
    readdirSync(path.join(ROOT, folder), { recursive: true, encoding: 'utf8' })
      .filter((name) => name.endsWith('.ts'))
      .map((name) => `${folder}/${name}`),
  );

describe('dependencies', () => {
  const direct = Object.entries({ ...dependencies, ...optionalDependencies, ...devDependencies });

  it.each(direct)('%s %s is exact, locked to that version, and documented', (name, version) => {
    expect(version).toMatch(EXACT);
    const [, number = version] = /@(.+)$/.exec(version) ?? [];
    expect(packages[`node_modules/${name}`]?.version).toBe(number);
    const documented = name
      .replace(/^(@lmdb\/lmdb-).*/, '$1<platform>')
      .replace(/^(@koromix\/koffi-linux-).*/, '$1<platform>');
    expect(read('docs/DEPENDENCIES.md')).toContain(documented);
  });

  it.each(Object.entries(dependencies ?? {}))('%s %s has a section', (name, version) => {
    const pattern = version.startsWith('npm:')
      ? `### ${name} (\`${version}\`)`
      : `### ${name} ${version}`;
    expect(read('docs/DEPENDENCIES.md')).toContain(`\n${pattern}\n`);
  });

  it('has no package that wants a later Node than Drover: npm would warn', () => {
    const later = Object.entries(packages).filter(([, { engines }]) => {
      const [, major = '0'] = /^>= ?(\d+)/.exec(engines?.node ?? '') ?? [];
      return Number(major) > 20;
    });
    expect(later.map(([name]) => name)).toEqual([]);
  });

  it('has the native packages of lmdb, which is bundled, in its version', () => {
    const lmdb = packages['node_modules/lmdb'];
    const native = Object.entries(optionalDependencies ?? {}).filter(([name]) =>
      name.startsWith('@lmdb/'),
    );
    expect(Object.fromEntries(native)).toEqual(lmdb?.optionalDependencies);
  });

  // Without it the service does not start.
  it('has the native package of koffi for each Linux that lmdb has one for', () => {
    const packagesOf = (start: string): string[] =>
      Object.keys(optionalDependencies ?? {}).flatMap((name) =>
        name.startsWith(start) ? name.slice(start.length) : [],
      );
    expect(packagesOf('@koromix/koffi-linux-')).toEqual(packagesOf('@lmdb/lmdb-linux-'));
  });

  it.each([
    ['lmdb', 'src/shared/lmdb/lmdb.ts'],
    ['msgpackr', 'src/shared/contract/packr.ts'],
    ['yaml', 'src/shared/fleet/yaml.ts'],
  ])('only the module that the build replaces imports %s', (name, file) => {
    const importing = sources().filter((one) => read(one).includes(`from '${name}'`));
    expect(importing).toEqual([file]);
  });

  // Found missing only by a bench: ingest is a third slower without it.
  it('the build loads the native part of msgpackr for messages between threads, and not for the store', () => {
    const loaded = (file: string): string[] => {
      const script = `await import(${JSON.stringify(pathToFileURL(path.join(ROOT, file)).href)});
        process.stdout.write(JSON.stringify(process.report.getReport().sharedObjects));`;
      const output = execFileSync(process.execPath, ['--input-type=module', '-e', script], {
        encoding: 'utf8',
      });
      return (JSON.parse(output) as string[]).filter((library) => library.includes('node_modules'));
    };
    expect(loaded('dist/src/shared/contract/packr.js')).toEqual([
      expect.stringContaining('/@msgpackr-extract/'),
    ]);
    expect(loaded('dist/src/shared/lmdb/lmdb.js')).toEqual([
      expect.stringContaining('/@lmdb/lmdb-'),
    ]);
  });

  it('all come from a registry, with a digest that npm checks', () => {
    const odd = Object.entries(packages).filter(
      ([at, { integrity = '', resolved = 'https://', link = false }]) =>
        at !== '' && (link || !integrity.startsWith('sha512-') || !/^https:\/\//.test(resolved)),
    );
    expect(odd).toEqual([]);
    expect(Object.keys(packages).length).toBeGreaterThan(100);
  });
});

/** The specifiers that a built module imports: for names, for side effects, or dynamically. */
const importsOf = (file: string): string[] =>
  Array.from(
    read(file).matchAll(/(?:^import|from|import\()\s*['"]([^'"]+)/gm),
    ([, at = '']) => at,
  );

it('a page can load the built client directly: it imports nothing from other folders', () => {
  const folder = 'dist/src/client';
  const modules = readdirSync(path.join(ROOT, folder)).filter((name) => name.endsWith('.js'));
  const imported = modules.flatMap((name) => importsOf(`${folder}/${name}`));
  expect(imported).toContain('./event-stream.js');
  expect(imported.filter((at) => !/^\.\/[\w-]+\.js$/.test(at))).toEqual([]);
});

it('only package-paths.ts knows where files of the package are: import.meta.url differs in a bundle', () => {
  expect(sources().filter((file) => read(file).includes('import.meta.'))).toEqual([
    'src/shared/package-paths.ts',
  ]);
});

it('no thread loads Ajv at its start: the validators are generated code', () => {
  const seen = new Map<string, string[]>();
  const walk = (file: string): void => {
    if (seen.has(file)) return;
    const imported = importsOf(file);
    seen.set(file, imported);
    for (const at of imported) {
      if (at.startsWith('.')) walk(path.join(path.dirname(file), at));
    }
  };
  for (const entry of [
    'src/cli/main',
    'workers/bot-host',
    'workers/broadcaster',
    'workers/front',
    'workers/journal',
  ])
    walk(`dist/${entry}.js`);
  const users = (name: string): string[] =>
    [...seen].flatMap(([file, imported]) => (imported.includes(name) ? file : []));
  // In a chunk that the bundler names after any of its modules.
  const withValidators = [...seen.keys()].filter((file) =>
    read(file).includes('src/generated/validators'),
  );
  expect(withValidators).not.toEqual([]);
  // A positive control.
  expect([...seen.keys()]).toContain('dist/src/shared/lmdb/lmdb.js');
  expect(users('ajv')).toEqual([]);
});
