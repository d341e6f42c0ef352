// Which folder may import which: RULES is the only list of it. `npm run lint:imports` holds the imports against it,
// `npm run generate` draws them in docs/ARCHITECTURE.md.

import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import { pathToFileURL } from 'node:url';
import { parseAst } from 'rolldown/parseAst';
import { projectDir } from './generate.js';

/** What the files of a folder, or a file, may import: the rule with the longest name decides. Each may import its own folder. */
interface Rule {
  /** Folders, files, and the files directly in a folder (`src/shared/*`). */
  may: readonly string[];
  /** Modules of Node that it may not import; `node:` is all of them. */
  not?: readonly string[];
  /** What a refusal says. */
  why: string;
}

const SOCKETS = ['node:net', 'node:http', 'node:https', 'node:tls'];
const CONTRACT = 'src/shared/contract';

const RULES: Readonly<Record<string, Rule>> = {
  'src/shared': { may: [], why: 'src/shared is the ground: it imports no thread’s code' },
  'src/shared/contract': {
    may: ['src/shared/*', 'src/shared/memory', 'src/shared/query'],
    why: 'the contract imports nothing that needs a stream, a pipe or a file',
  },
  'src/shared/memory': {
    may: [],
    not: ['node:net', 'node:http'],
    why: 'shared memory does not know what is stored in it',
  },
  'src/broadcaster': {
    may: ['src/shared'],
    not: [...SOCKETS, 'node:worker_threads'],
    why: 'the broadcaster has no threads and no sockets',
  },
  'src/journal': {
    may: ['src/shared'],
    not: SOCKETS,
    why: 'the journal reads the ring and its file',
  },
  'src/rules': { may: ['src/shared'], not: SOCKETS, why: 'the rules read the ring' },
  'src/cluster': {
    may: ['src/cluster/wire', 'src/shared'],
    why: 'a single service loads it',
  },
  'src/cluster/wire': { may: ['src/shared'], why: 'main and the bus thread use it' },
  'src/cluster/bus': {
    may: ['src/cluster/wire', 'src/shared'],
    why: 'the bus calls main over the Rpc',
  },
  'src/cluster/control': {
    may: ['src/cluster/*', 'src/cluster/wire', 'src/shared'],
    why: 'the cluster asks the service through src/cluster/node-service.ts',
  },
  'src/host-relay': { may: ['src/shared'], why: 'the relay runs no code of bots' },
  'src/front': { may: ['src/shared'], why: 'a front calls main over the Rpc' },
  ...inOrder('src/front', [
    'engine',
    'http',
    'access',
    'table',
    'requests',
    'bots',
    'stream',
    'views',
    'history',
    'metrics',
    'reference',
    'routes',
  ]),
  'src/bot-sdk': { may: ['src/shared'], not: SOCKETS, why: 'bot authors load it into their code' },
  'src/bot-host': {
    may: ['src/bot-sdk', 'src/shared'],
    why: 'a bot host reaches other threads over the Rpc',
  },
  'src/kinds': {
    may: ['src/bot-sdk', 'src/shared'],
    why: 'a kind imports what a kind of a bot author imports',
  },
  'src/client': { may: [CONTRACT], not: ['node:'], why: 'the client runs in browsers' },
  'src/main': { may: [], why: 'src/main has folders only' },
  ...inOrder(
    'src/main',
    [
      'environment',
      'store',
      'threads',
      'rules',
      'bots',
      'operations',
      'access',
      'fleet',
      'service',
    ],
    [
      'src/cluster/*',
      'src/cluster/control/nats-cluster.ts',
      'src/cluster/wire',
      'src/kinds/demo-world/messages.ts',
    ],
    // Main opens no HTTP socket.
    ['node:http'],
  ),
  'src/cli': {
    may: ['src/client', 'src/cluster', 'src/front/engine/load.ts', 'src/main', 'src/shared'],
    why: 'the command line imports src/main for `start`, and src/client for the rest',
  },
  ...entry('broadcaster', 'src/broadcaster'),
  ...entry('cluster-bus', 'src/cluster/bus', 'src/cluster/wire'),
  ...entry('front', 'src/front'),
  ...entry('journal', 'src/journal'),
  ...entry('rules', 'src/rules'),
  ...entry('host-relay', 'src/host-relay'),
  ...entry('process-watch', 'src/bot-host'),
  ...entry('bot-host', 'src/bot-host', 'src/bot-sdk'),
  ...entry('bot-process', 'src/bot-host', 'workers/bot-host.ts'),
  ...entry('demo-world', 'src/kinds'),
  'workers/kinds': {
    may: ['src/bot-sdk', 'src/kinds', 'src/shared'],
    why: 'a kind imports what a kind of a bot author imports',
  },
  'dashboard/src': {
    may: ['src/client', CONTRACT, 'src/shared/incidents', 'src/shared/query'],
    not: ['node:'],
    why: 'the page imports the client, the contract, the query language and the causes of incidents',
  },
  config: { may: ['src'], why: 'generators read the sources' },
  bench: { may: ['src', 'test'], why: 'benches use the servers of the tests' },
};

/** Packages that only these files and folders import. */
const PACKAGES: Readonly<Record<string, readonly string[]>> = {
  typebox: ['src/shared/contract/typebox.ts'],
  yaml: ['src/shared/fleet/yaml.ts'],
  'uWebSockets.js': ['src/front/engine/uws', 'bench'],
};

/** Folders in a folder: each may import those before it. */
function inOrder(
  folder: string,
  names: readonly string[],
  also: readonly string[] = [],
  not: readonly string[] = [],
): Record<string, Rule> {
  const path = (name: string) => `${folder}/${name}`;
  return Object.fromEntries(
    names.map((name, at) => [
      path(name),
      {
        may: ['src/shared', ...also, ...names.slice(0, at).map(path)],
        not,
        why: `folders of ${folder} import those before them in the list of config/folders.ts`,
      },
    ]),
  );
}

/** The entry of a thread or process. */
function entry(name: string, ...may: readonly string[]): Record<string, Rule> {
  return {
    [`workers/${name}.ts`]: {
      may: [...may, 'src/shared'],
      why: 'an entry imports the code of its thread',
    },
  };
}

const PAGE = 'docs/ARCHITECTURE.md';
const BEGIN = '<!-- folders: generated by npm run generate -->';
const END = '<!-- /folders -->';
const ROOTS = ['src', 'workers', 'dashboard/src', 'bench', 'config'];
/** Not a source folder: benches use its servers. */
const TESTS = 'test';

/** A folder and the folders that its files import. Each folder of src counts; elsewhere only the top folder. */
export interface Folder {
  name: string;
  lines: number;
  imports: string[];
  /** 1 if it imports no other folder, else one more than the highest level it imports. */
  level: number;
}

/** All folders, the lowest level last. @throws Error when folders import each other in a circle. */
export function readFolders(root: string): Folder[] {
  const lines = new Map<string, number>();
  const imports = new Map<string, Set<string>>();
  for (const file of filesOf(root)) {
    const text = readFileSync(join(root, file), 'utf8');
    const name = folderOf(file);
    lines.set(name, (lines.get(name) ?? 0) + text.split('\n').length - 1);
    const targets = imports.get(name) ?? new Set();
    imports.set(name, targets);
    for (const specifier of specifiersOf(file, text).filter((one) => one.startsWith('.'))) {
      const target = folderOf(normalize(join(dirname(file), specifier)));
      if (target !== name && target !== TESTS) targets.add(target);
    }
  }
  const levels = levelsOf(imports);
  return [...imports]
    .map(([name, targets]) => ({
      name,
      lines: lines.get(name) ?? 0,
      imports: [...targets].sort(),
      level: levels.get(name) ?? 0,
    }))
    .sort((a, b) => b.level - a.level || a.name.localeCompare(b.name));
}

/** The section of docs/ARCHITECTURE.md: each folder, highest level first, with what it imports besides src/shared. */
export function foldersSection(folders: readonly Folder[]): string {
  const width = Math.max(...folders.map(({ name }) => name.length));
  const lines = folders.map(({ name, imports }) => {
    const others = imports.filter((target) => target !== 'src/shared');
    return `${name.padEnd(width)}  ${others.join(' ')}`.trimEnd();
  });
  return [
    BEGIN,
    '',
    `${summary(folders)} Those of src/shared are left out:`,
    '',
    '```',
    ...lines,
    '```',
    '',
    END,
  ].join('\n');
}

/** Replaces the section in the page. @throws Error when the page has no such section. */
export function withSection(page: string, section: string): string {
  const begin = page.indexOf(BEGIN);
  const end = page.indexOf(END);
  if (begin < 0 || end < begin)
    throw new Error(`${PAGE} has no section between ${BEGIN} and ${END}`);
  return page.slice(0, begin) + section + page.slice(end + END.length);
}

function summary(folders: readonly Folder[]): string {
  const arrows = folders.reduce((sum, { imports }) => sum + imports.length, 0);
  const levels = Math.max(...folders.map(({ level }) => level));
  return `${folders.length} folders on ${levels} levels, ${arrows} imports between them, all pointing down.`;
}

function filesOf(root: string): string[] {
  return ROOTS.flatMap((folder) => sourcesIn(root, folder));
}

function sourcesIn(root: string, folder: string): string[] {
  return readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
    .filter((name) => /\.tsx?$/.test(name))
    .map((name) => join(folder, name));
}

function folderOf(file: string): string {
  const [top = '', second = ''] = file.split('/');
  return top === 'src' ? `${top}/${second}` : top;
}

/** All that RULES refuses in a file, one line each. */
export function refusedImports(file: string, text: string): string[] {
  const own = longest(Object.keys(RULES), file);
  const rule = own === undefined ? undefined : RULES[own];
  if (own === undefined || rule === undefined) return [`${file}: no rule of config/folders.ts`];
  return specifiersOf(file, text).flatMap((specifier) => {
    const isOwn = specifier.startsWith('.');
    const target = isOwn ? sourceOf(file, specifier) : specifier;
    const keepers = PACKAGES[target] ?? [file];
    const isRefused = isOwn
      ? !isIn(target, own) && !rule.may.some((path) => isIn(target, path))
      : (rule.not ?? []).some(
          (name) => target === name || (name.endsWith(':') && target.startsWith(name)),
        );
    if (isRefused) return [`${file} imports ${specifier}: ${rule.why}`];
    if (!keepers.some((keeper) => isIn(file, keeper)))
      return [`${file} imports ${specifier}: only ${keepers.join(' and ')} may`];
    return [];
  });
}

/** The path of what a relative specifier names. */
function sourceOf(file: string, specifier: string): string {
  return normalize(join(dirname(file), specifier)).replace(/\.js(x?)$/, '.ts$1');
}

function isIn(path: string, folder: string): boolean {
  if (folder.endsWith('/*')) return dirname(path) === dirname(folder);
  return path === folder || path.startsWith(`${folder}/`);
}

function longest(folders: readonly string[], file: string): string | undefined {
  return folders.filter((folder) => isIn(file, folder)).sort((a, b) => b.length - a.length)[0];
}

/** Specifiers of imports, including type imports and dynamic imports. */
function specifiersOf(file: string, text: string): string[] {
  const { body } = parseAst(text, { lang: file.endsWith('x') ? 'tsx' : 'ts' }, file);
  const fixed = body.flatMap((node) => ('source' in node && node.source ? node.source.value : []));
  const dynamic = Array.from(text.matchAll(/\bimport\('([^']+)'\)/g), ([, target = '']) => target);
  return [...fixed, ...dynamic];
}

function levelsOf(imports: ReadonlyMap<string, ReadonlySet<string>>): Map<string, number> {
  const levels = new Map<string, number>();
  const visit = (name: string, path: readonly string[]): number => {
    const known = levels.get(name);
    if (known !== undefined) return known;
    if (path.includes(name))
      throw new Error(`folders in a circle: ${[...path, name].join(' -> ')}`);
    const below = [...(imports.get(name) ?? [])].map((target) => visit(target, [...path, name]));
    const level = 1 + Math.max(0, ...below);
    levels.set(name, level);
    return level;
  };
  for (const name of imports.keys()) visit(name, []);
  return levels;
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  const root = projectDir();
  const folders = readFolders(root);
  if (process.argv.includes('--check')) {
    const refused = filesOf(root).flatMap((file) =>
      refusedImports(file, readFileSync(join(root, file), 'utf8')),
    );
    for (const line of refused) console.error(line);
    if (refused.length > 0) process.exitCode = 1;
    console.log(summary(folders));
  } else {
    const page = join(root, PAGE);
    writeFileSync(page, withSection(readFileSync(page, 'utf8'), foldersSection(folders)));
  }
}
