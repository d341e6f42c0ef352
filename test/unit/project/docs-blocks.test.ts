// Checks the documents: a test runs every block of commands or code word for word, or the block is listed below with the
// reason; and every file, link, script and key that they name exists. Tests take blocks with test/harness/docs.ts, so this
// test looks for calls of it.

import { existsSync, readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { expect, it } from 'vitest';
import { DEFAULTS } from '../../../src/shared/contract/config.js';
import { blocksOf, ROOT } from '../../harness/docs.js';

/** Languages that a reader can run. Others are data, drawings and output. */
const RUNNABLE = new Set(['sh', 'bash', 'console', 'js', 'ts']);

interface Excuse {
  file: string;
  words: string;
  why: string;
}

/** Blocks that no test runs. */
const NOT_RUN: readonly Excuse[] = [
  {
    file: 'README.md',
    words: 'npm ci --ignore-scripts && npm test',
    why: 'it runs this test, and .ci/run starts with it',
  },
  {
    file: 'docs/DEPENDENCIES.md',
    words: 'sha256sum node_modules/uWebSockets.js',
    why: 'its output is compared with a file of another project',
  },
  {
    file: 'CONTRIBUTING.md',
    words: 'npm run bench -- http --rounds 15',
    why: 'minutes under full load; .ci/run runs the short form of this bench',
  },
  {
    file: 'bench/README.md',
    words: 'npm run bench -- --short --guard',
    why: 'minutes for each under full load; .ci/run runs the short form of some',
  },
  {
    file: 'docs/OPERATIONS.md',
    words: 'systemctl daemon-reload && systemctl enable --now drover',
    why: 'changes the machine, which must run systemd; test/packaging/systemd.test.ts verifies the unit',
  },
  {
    file: 'docs/OPERATIONS.md',
    words: 'docker build -t drover .',
    why: 'needs a container runtime; test/packaging/docker.test.ts runs the steps of the Dockerfile in a directory',
  },
  {
    file: 'docs/SECURITY.md',
    words: 'testssl --protocols --std --fs --headers --vulnerable https://localhost:8090',
    why: 'more than a minute under full load; test/conformance/tls.test.ts offers what a service must refuse',
  },
  {
    file: 'docs/CLI.md',
    words: 'sudo /opt/drover/node_modules/.bin/drover tokens create operator --scope admin',
    why: 'needs sudo and a container runtime; test/routes/pin-off.test.ts creates tokens in a data directory',
  },
  {
    file: 'docs/CLI.md',
    words: 'runs=/var/lib/drover/runs',
    why: 'writes into a directory of the system; test/browser/dashboard-runs.test.ts opens runs of the service',
  },
  {
    file: 'docs/CLUSTER.md',
    words: 'drover cluster try',
    why: 'takes ports 8090 to 8092; test/cluster/try.test.ts runs it on free ones',
  },
  {
    file: 'docs/CLIENT.md',
    words: 'for await (const batch of stream.batches()) draw(batch);',
    why: 'one line of syntax; test/integration/client-stream.test.ts reads in batches',
  },
];

function filesIn(directory: string, end: string): string[] {
  const names = readdirSync(path.join(ROOT, directory), { recursive: true, encoding: 'utf8' });
  return names.filter((name) => name.endsWith(end)).map((name) => path.posix.join(directory, name));
}

const documents = [
  ...['README.md', 'CONTRIBUTING.md', 'CHANGELOG.md', 'bench/README.md'],
  ...filesIn('docs', '.md'),
];

interface Use {
  file: string;
  /** Words in one block, or the language of all blocks. */
  of: { words: string } | { language: string };
}

/** The blocks that tests run, found in their sources. */
const uses: Use[] = filesIn('test', '.ts').flatMap((source) => {
  const text = readFileSync(path.join(ROOT, source), 'utf8');
  const calls = text.matchAll(
    /\b(docBlock|everyBlock)\(\s*'([^']+)',\s*(?:'((?:[^'\\]|\\.)+)'|"((?:[^"\\]|\\.)+)"|(\w+))\s*,?\s*\)/g,
  );
  return [...calls].map(([, call, file = '', single, double, name]) => {
    const literal = single ?? double ?? constant(text, name ?? '');
    const words = literal.replaceAll('\\n', '\n').replace(/\\(.)/g, '$1');
    return { file, of: call === 'docBlock' ? { words } : { language: words } };
  });
});

/** The text of `const <name> = '…'` in a source. */
function constant(text: string, name: string): string {
  const [, single, double] =
    new RegExp(`const ${name} =\\s*(?:'((?:[^'\\\\]|\\\\.)+)'|"((?:[^"\\\\]|\\\\.)+)");`).exec(
      text,
    ) ?? [];
  return single ?? double ?? '';
}

function isUsed(file: string, { language, text }: { language: string; text: string }): boolean {
  return uses.some(
    (use) =>
      use.file === file &&
      ('words' in use.of ? text.includes(use.of.words) : use.of.language === language),
  );
}

it.each(documents)('%s: a test runs every block, or a reason is listed', (file) => {
  for (const block of blocksOf(file).filter(({ language }) => RUNNABLE.has(language))) {
    const excused = NOT_RUN.some((one) => one.file === file && block.text.includes(one.words));
    const [run, listed] = [isUsed(file, block), excused];
    expect(
      run !== listed,
      `${run ? 'run and listed' : 'neither run nor listed'}: ${block.text}`,
    ).toBe(true);
  }
});

it('the blocks that tests run and the listed ones exist', () => {
  expect(uses.length).toBeGreaterThan(15);
  for (const { file, of } of uses) {
    const found = blocksOf(file).filter(({ language, text }) =>
      'words' in of ? of.words !== '' && text.includes(of.words) : of.language === language,
    );
    expect([file, of, found.length > 0]).toEqual([file, of, true]);
  }
  for (const { file, words, why } of NOT_RUN) {
    expect([words, blocksOf(file).filter(({ text }) => text.includes(words)).length]).toEqual([
      words,
      1,
    ]);
    expect(why).not.toBe('');
  }
});

/** GitHub's anchor for a heading. */
const anchor = (heading: string): string =>
  heading
    .toLowerCase()
    .replace(/[^\w\- ]/g, '')
    .trim()
    .replaceAll(' ', '-');

/** A decision by its number. */
const DECISION = /^docs\/decisions\/\d{4}$/;
const decisions = new Set(
  filesIn('docs/decisions', '.md').map((file) => file.slice(0, 'docs/decisions/'.length + 4)),
);

it.each(documents)('%s: its links and the files that it names exist', (file) => {
  const text = readFileSync(path.join(ROOT, file), 'utf8');
  for (const [, link = ''] of text.matchAll(/\]\(([^)\s]+)\)/g)) {
    if (/^https?:/.test(link)) continue;
    const [to = '', heading] = link.split('#');
    const target = to === '' ? file : path.posix.join(path.dirname(file), to);
    expect(existsSync(path.join(ROOT, target)), link).toBe(true);
    if (heading === undefined) continue;
    const headings = readFileSync(path.join(ROOT, target), 'utf8').matchAll(/^#+ (.*)$/gm);
    expect([...headings].map(([, words = '']) => anchor(words))).toContain(heading);
  }
  const named = /(?<![\w/.-])(?:docs|src|test|bench|config|workers|dashboard)\/[\w./-]*\w/g;
  for (const [name] of text.matchAll(named)) {
    const found = DECISION.test(name) ? decisions.has(name) : existsSync(path.join(ROOT, name));
    expect(found, name).toBe(true);
  }
});

const sources = ['src', 'workers', 'bench', 'test'].flatMap((folder) => filesIn(folder, '.ts'));

it('sources name decisions that exist', () => {
  const named = sources.flatMap((file) => [
    ...readFileSync(path.join(ROOT, file), 'utf8').matchAll(/docs\/decisions\/\d{4}/g),
  ]);
  expect(named.length).toBeGreaterThan(5);
  expect(named.flatMap(([name]) => (decisions.has(name) ? [] : name))).toEqual([]);
});

it('docs/INTERFACE.md has the sections and rules that sources name', () => {
  const parts = readFileSync(path.join(ROOT, 'docs/INTERFACE.md'), 'utf8').split(/^##+ /m);
  const known = new Set(
    parts.flatMap((part) => {
      const [section = ''] = /^[\d.]+/.exec(part) ?? [];
      return [
        section,
        ...[...part.matchAll(/^(\d+)\. /gm)].map(([, rule]) => `${section}.${rule}`),
      ];
    }),
  );
  const named = sources.flatMap((file) =>
    [
      ...readFileSync(path.join(ROOT, file), 'utf8').matchAll(/docs\/INTERFACE\.md ([^\n]*)/g),
    ].flatMap(([, words = '']) =>
      [...words.matchAll(/§([\d.]*\d)/g)].map(([, at = '']) => `${file} §${at}`),
    ),
  );
  expect(named.length).toBeGreaterThan(30);
  expect(named.filter((one) => !known.has(one.split('§')[1] ?? ''))).toEqual([]);
});

it('docs/OWNERSHIP.md: the messages between threads that it names exist', () => {
  const read = (file: string): string => readFileSync(path.join(ROOT, file), 'utf8');
  const contract =
    read('src/shared/contract/threads.ts') +
    read('src/shared/contract/rule-messages.ts') +
    read('src/shared/pipe/messages.ts') +
    read('src/kinds/demo-world/messages.ts');
  const [, ports = ''] = /^## Ports$(.*?)^## /ms.exec(read('docs/OWNERSHIP.md')) ?? [];
  const names = [...ports.matchAll(/^\|(?:[^|]*\|){3}([^|]*)\|/gm)].flatMap(([, messages = '']) =>
    [...messages.matchAll(/`(\w+)`/g)].map(([, name = '']) => name),
  );
  expect(names.length).toBeGreaterThan(30);
  expect(names.filter((name) => !new RegExp(`\\b${name}\\b`).test(contract))).toEqual([]);
});

it.each(documents)('%s: the scripts, keys and variables that it names exist', (file) => {
  const text = readFileSync(path.join(ROOT, file), 'utf8');
  const { scripts } = JSON.parse(readFileSync(path.join(ROOT, 'package.json'), 'utf8')) as {
    scripts: Record<string, string>;
  };
  for (const [, name = ''] of text.matchAll(/\bnpm run ([\w:]+)/g)) {
    expect(Object.keys(scripts)).toContain(name);
  }
  const keys = new Set(KEYS);
  const sections = new Set(KEYS.filter((key) => key.includes('.')).map((key) => key.split('.')[0]));
  for (const [, key = '', section] of text.matchAll(/`(([a-z_]+)\.[a-z_.]+)`/g)) {
    if (sections.has(section) && !OF_BOTS.has(key)) expect(keys, key).toContain(key);
  }
  const variables = KEYS.map((key) => `DROVER_${key.toUpperCase().replaceAll('.', '_')}`);
  for (const [name] of text.matchAll(/\bDROVER_[A-Z_]*[A-Z]\b/g)) {
    if (name.startsWith('DROVER_TEST_')) expect(testVariables(), name).toContain(name);
    else expect([...variables, ...OF_OTHERS], name).toContain(name);
  }
});

/** Names of the bot SDK that look like keys of a section. */
const OF_BOTS = new Set(['log.wire']);

/** Variables that are not keys of the configuration. */
const OF_OTHERS = ['URL', 'TOKEN', 'PROFILE', 'BOT_ID', 'KIND', 'START'].map((n) => `DROVER_${n}`);

/** Variables that tests read. */
function testVariables(): string[] {
  const sources = [...filesIn('test', '.ts'), ...filesIn('test', '.mjs')].filter(
    (file) => !file.startsWith('test/unit/project/'),
  );
  return sources.flatMap((file) =>
    [...readFileSync(path.join(ROOT, file), 'utf8').matchAll(/\bDROVER_TEST_[A-Z_]*[A-Z]\b/g)].map(
      ([name]) => name,
    ),
  );
}

/** All keys of the configuration. */
const KEYS = keysOf(DEFAULTS);

function keysOf(value: object, before = ''): string[] {
  return Object.entries(value).flatMap(([name, inner]) => {
    const isSection = typeof inner === 'object' && inner !== null && !Array.isArray(inner);
    const key = `${before}${name}`;
    return isSection ? [key, ...keysOf(inner, `${key}.`)] : [key];
  });
}
