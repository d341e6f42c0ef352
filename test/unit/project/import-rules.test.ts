// Tries the import rules of biome.json: for each pair of folders, lints a file that imports the other folder.

import { execFile } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { foldersSection, readFolders, withSection } from '../../../config/folders.js';
import { ROOT } from '../../harness/docs.js';

/** What each folder may import. Any other import is refused. */
const MAY: Record<string, readonly string[]> = {
  'src/cli': ['src/main', 'src/client', 'src/shared'],
  'src/main': ['src/shared'],
  'src/front': ['src/shared'],
  'src/broadcaster': ['src/shared'],
  'src/journal': ['src/shared'],
  'src/bot-host': ['src/bot-sdk', 'src/shared'],
  'src/kinds': ['src/bot-sdk', 'src/shared'],
  'src/bot-sdk': ['src/shared'],
  // Only types of the contract: see SINGLE.
  'src/client': [],
  'src/shared': [],
};
const FOLDERS = Object.keys(MAY);

/** Exceptions and finer rules: file, specifier, allowed. */
const SINGLE: [string, string, boolean][] = [
  ['src/cli/doctor.ts', '../front/engine/load.js', true],
  ['src/cli/doctor.ts', '../front/request-handler.js', false],
  ['src/main/threads/demo.ts', '../../kinds/demo-world/messages.js', true],
  ['src/main/threads/demo.ts', '../../kinds/demo-world/room.js', false],
  ['src/client/calls.ts', '../shared/contract/bots.js', true],
  ['src/client/calls.ts', '../shared/errors.js', false],
  ['src/client/calls.ts', 'node:fs', false],
  ['src/broadcaster/broadcaster.ts', 'node:net', false],
  ['src/broadcaster/broadcaster.ts', 'node:worker_threads', false],
  ['src/journal/journal.ts', 'node:http', false],
  ['src/front/requests/request-handler.ts', 'uWebSockets.js', false],
  ['src/front/engine/uws/uws.ts', 'uWebSockets.js', true],
  ['src/shared/memory/ring.ts', '../errors.js', false],
  ['src/shared/contract/api.ts', '../lmdb/examine.js', false],
  ['src/shared/contract/api.ts', '../memory/layout.js', true],
  ['src/front/routes.ts', 'typebox', false],
  ['workers/front.ts', '../src/front/requests/request-handler.js', true],
  ['workers/front.ts', '../src/main/service.js', false],
  ['workers/bot-host.ts', '../src/bot-host/host.js', true],
  ['workers/bot-host.ts', '../src/front/requests/request-handler.js', false],
  ['workers/kinds/demo.ts', '../../src/bot-sdk/index.js', true],
  ['workers/kinds/demo.ts', '../../src/main/service.js', false],
  ['dashboard/src/main.ts', '../../src/client/index.js', true],
  ['dashboard/src/main.ts', '../../src/shared/contract/bots.js', true],
  ['dashboard/src/main.ts', '../../src/shared/query/parse-query.js', true],
  ['dashboard/src/main.ts', '../../src/shared/errors.js', false],
  ['dashboard/src/main.ts', '../../src/front/requests/request-handler.js', false],
];

let project: string;
let refused: Set<string>;

/** Each case is a separate file. */
function fileFor(file: string, n: number): string {
  return SPECIAL.has(file) ? file : join(dirname(file), `case-${n}.ts`);
}
/** Files that the rules name. */
const SPECIAL = new Set(['src/front/engine/uws/uws.ts', 'workers/front.ts', 'workers/bot-host.ts']);

interface Case {
  file: string;
  specifier: string;
  allowed: boolean;
}
const cases: Case[] = [
  ...FOLDERS.flatMap((from) =>
    FOLDERS.filter((to) => to !== from).map((to) => ({
      file: join(from, `to-${to.slice('src/'.length)}.ts`),
      specifier: `../${to.slice('src/'.length)}/any.js`,
      allowed: MAY[from]?.includes(to) ?? false,
    })),
  ),
  ...SINGLE.map(([file, specifier, allowed], n) => ({
    file: fileFor(file, n),
    specifier,
    allowed,
  })),
];

describe('imports point down only', () => {
  beforeAll(async () => {
    project = mkdtempSync(join(tmpdir(), 'drover-imports-'));
    const config = JSON.parse(readFileSync(join(ROOT, 'biome.json'), 'utf8'));
    delete config.vcs;
    writeFileSync(join(project, 'biome.json'), JSON.stringify(config));
    for (const { file, specifier } of cases) {
      const path = join(project, file);
      mkdirSync(dirname(path), { recursive: true });
      writeFileSync(path, `import type { Any } from '${specifier}';\n`, { flag: 'a' });
    }
    refused = await lint();
  });
  afterAll(() => rmSync(project, { recursive: true, force: true }));

  it.each(cases.map((one) => ({ ...one, verdict: one.allowed ? 'allowed' : 'refused' })))(
    '$file importing $specifier is $verdict',
    ({ file, specifier, allowed }) => {
      expect(refused.has(`${file} ${specifier}`)).toBe(!allowed);
    },
  );

  it('a circle is refused, also one of types only', async () => {
    const folder = join(project, 'src/main/circle');
    mkdirSync(folder, { recursive: true });
    writeFileSync(join(folder, 'a.ts'), `import type { B } from './b.js';\nexport type A = B;\n`);
    writeFileSync(join(folder, 'b.ts'), `import type { A } from './a.js';\nexport type B = A;\n`);
    const output = await biome(['lint', '--only=suspicious/noImportCycles', 'src/main/circle']);
    expect(output).toContain('noImportCycles');
  });
});

it('docs/ARCHITECTURE.md shows the folders and arrows as they are (npm run generate)', () => {
  const page = readFileSync(join(ROOT, 'docs/ARCHITECTURE.md'), 'utf8');
  expect(withSection(page, foldersSection(readFolders(ROOT)))).toBe(page);
});

/** @returns `file specifier` of every import that the rule refuses. */
async function lint(): Promise<Set<string>> {
  const output = await biome([
    'lint',
    '--only=style/noRestrictedImports',
    '--max-diagnostics=none',
    '--reporter=json',
    '.',
  ]);
  const { diagnostics } = JSON.parse(output) as {
    diagnostics: { location: { path: string; start: { line: number } } }[];
  };
  return new Set(
    diagnostics.map(({ location: { path, start } }) => {
      const line = readFileSync(join(project, path), 'utf8').split('\n')[start.line - 1] ?? '';
      return `${path} ${/'(.*)'/.exec(line)?.[1]}`;
    }),
  );
}

/** Its exit code is 1 when it has found something. */
function biome(args: readonly string[]): Promise<string> {
  const program = join(ROOT, 'node_modules/@biomejs/biome/bin/biome');
  return new Promise((resolve) => {
    execFile(
      process.execPath,
      [program, ...args],
      { cwd: project, maxBuffer: 64 * 2 ** 20 },
      (_, stdout, stderr) => resolve(stdout + (args.includes('--reporter=json') ? '' : stderr)),
    );
  });
}
