// Kinds that fail to load: each is reported, and everything else starts. On later hosts: test/unit/main/host-starter.test.ts.

import { mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, expect, it, onTestFinished } from 'vitest';
import type { ListedKind } from '../../src/shared/contract/bots.js';
import { call, expectError } from '../harness/api.js';
import {
  create,
  FIXTURE_KINDS,
  invoke,
  lineFrom,
  snapshotFrom,
  statusFrom,
  watch,
} from '../harness/bots.js';
import { pastDownload } from '../harness/history.js';
import { makeDir, removeDir, type Service, startService, stopClean } from '../harness/service.js';

const kind = (fields: string): string =>
  `export default { description: '', state() {}, commands: {}, run() {}, ${fields} };`;
const command = (fields: string): string =>
  kind(`kind: 'x', config: {}, commands: { c: { description: '', ${fields} } }`);

const BROKEN: Record<string, string> = {
  'syntax.mjs': 'export default {',
  'throws.mjs': `throw new Error('thrown at import')`,
  'throws-oddly.mjs': 'throw Object.create(null)',
  'named-export.mjs': `export const bot = { kind: 'named', config: {}, commands: {}, state() {}, run() {} }`,
  'imports-broken.mjs': `import './syntax.mjs'`,
  'commonjs/kind.js': `import { defineBot } from 'drover/bot-sdk'`,
  'no-package.mjs': `import { defineBot } from 'drover/bot-sdk'`,
  'typo.mjs': `export default { kind: 'a typo', config: { url: {} }, command: {}, state: 1, commands: { say: { arg: {} } } }`,
  'imports-nothing.mjs': `import 'no-such-package-at-all'`,
  'no-run.mjs': `export default { kind: 'x', config: {}, commands: {}, state() {} }`,
  'no-commands.mjs': `export default { kind: 'x', config: {}, state() {}, run() {} }`,
  'no-schema.mjs': kind(`kind: 'no-schema', config: { type: 'nonsense' }`),
  'no-property-schema.mjs': kind(`kind: 'no-property-schema', config: { properties: { a: 7 } }`),
  'no-args-schema.mjs': command(`args: { properties: 7 }, run() {}`),
  'cyclic-schema.mjs': `const config = {}; config.properties = { config };\n${kind(`kind: 'cyclic', config`)}`,
  'same-name.mjs': kind(`kind: 'synthetic', config: {}`),
  // Blocks its thread as an endless loop does, but without a core's time.
  'blocks.mjs': 'Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0);',
  'never-loaded.mjs': 'await new Promise(() => {})',
  'exits.mjs': "globalThis[Symbol.for('drover.test.endThread')](0)",
  'refused-exit.mjs': 'process.exit(0)',
  'hoards.mjs': 'const hoard = []; for (;;) hoard.push(new Array(100_000).fill(hoard));',
  'rejects-later.mjs': `await Promise.reject(new Error('rejected at import'))`,
};

/** Files that load and are no kinds. */
const HELPERS: Record<string, string> = {
  'no-default.mjs': 'export const kind = 1',
  'null-default.mjs': 'export default null',
  'function-default.mjs': 'export default function help() {}',
};

let dir: string;
let service: Service;
beforeAll(async () => {
  dir = makeDir();
  const broken = path.join(dir, 'broken');
  mkdirSync(broken);
  mkdirSync(path.join(broken, 'commonjs'));
  writeFileSync(path.join(broken, 'commonjs/package.json'), '{"type":"commonjs"}');
  for (const [name, text] of Object.entries(BROKEN)) writeFileSync(path.join(broken, name), text);
  for (const [name, text] of Object.entries(HELPERS)) writeFileSync(path.join(broken, name), text);
  writeFileSync(path.join(broken, 'notes.txt'), 'not a module');
  writeFileSync(path.join(dir, 'alone.mjs'), 'export const help = 1');
  const config = `config: { properties: { url: { type: 'string', format: 'shoe-size' } } }`;
  const printer = kind(`kind: 'printer', ${config}, async run(ctx) {
    console.log('on the %s', 'console', { it: 'prints' });
    await null;
    process.stderr.write('on standard error\\n');
    await ctx.sleep(2 ** 30);
  }`);
  writeFileSync(path.join(dir, 'printer.mjs'), `console.warn('printed at import');\n${printer}`);
  service = await startService({
    config: {
      kinds: [
        path.join(dir, 'no-such-directory'),
        'no-such-package',
        broken,
        path.join(broken, 'commonjs'),
        path.join(dir, 'alone.mjs'),
        path.join(dir, 'printer.mjs'),
        FIXTURE_KINDS,
      ],
      // Two of the kinds never finish loading and take this long; all others must finish on a busy machine.
      hosts: { count: 2, max_heap_mb: 64, kind_load_ms: 10_000 },
      restart: { backoff_ms: 20 },
    },
  });
});
afterAll(async () => {
  await stopClean(service);
  removeDir(dir);
});

it('the other kinds are available and work', async () => {
  const { kinds } = (await call(service, 'GET', '/api/kinds')).json as {
    kinds: { kind: string }[];
  };
  const names = kinds.map((one) => one.kind);
  expect(names).toEqual(
    expect.arrayContaining(['demo', 'synthetic', 'guarded', 'faulty', 'mortal']),
  );
  expect(new Set(names).size).toBe(names.length);
  for (const broken of ['x', 'no-schema', 'cyclic']) expect(names).not.toContain(broken);
  const stream = await watch(service);
  for (const id of ['one', 'two']) {
    expect((await create(service, { id, kind: 'faulty' })).status).toBe(201);
    await statusFrom(stream, 0, id, 'online');
  }
  expectError(
    await create(service, { id: 'three', kind: 'throws' }),
    400,
    /^unknown kind "throws": file:.*throws.mjs did not load: thrown at import$/,
  );
  expectError(
    await create(service, { id: 'three', kind: 'nothing' }),
    400,
    /^unknown kind "nothing"; there are: demo, .* \(modules that did not load: \d+, see GET \/api\/kinds\)$/,
  );
  stream.close();
});

it('/api/kinds and the stream report each broken kind with the reason', async () => {
  const { failed } = (await call(service, 'GET', '/api/kinds')).json as {
    failed: { module: string; error: string; helper?: boolean }[];
  };
  // The epoch is that of any event now.
  const now = await watch(service);
  await invoke(service, null, 'ping');
  const { id = '' } = await now.waitFor((frame) => frame.id !== undefined);
  now.close();
  const stream = await watch(service, `?last_event_id=${id.split('-')[0]}-1`);
  const modules = [...Object.keys(BROKEN), 'alone.mjs', 'no-such-directory', 'no-such-package'];
  for (const module of modules) {
    const found = failed.find((one) => one.module.endsWith(module));
    expect(found, module).toBeDefined();
    expect(found?.error).toMatch(/./);
    expect(found?.error).not.toMatch(/[\r\n]/);
    const line = await lineFrom(stream, 0, ({ message }) =>
      message.startsWith(`the bot kind ${found?.module} does not load: `),
    );
    expect(line).toMatchObject({ level: 'error', scope: 'drover' });
    expect(line.message).toContain(found?.error);
    // The operator who started the service sees it on standard error as well.
    expect(service.stderr()).toContain(`drover: warning: ${line.message}\n`);
  }
  for (const module of Object.keys(HELPERS)) {
    const found = failed.find((one) => one.module.endsWith(module));
    expect(found).toMatchObject({ helper: true });
    const line = await lineFrom(stream, 0, ({ message }) =>
      message.startsWith(`${found?.module} is no`),
    );
    expect(line.level).toBe('info');
    expect(service.stderr()).not.toContain(module);
  }
  expect(failed).toHaveLength(modules.length + Object.keys(HELPERS).length);
  const reason = (module: string): string | undefined =>
    failed.find((one) => one.module.endsWith(module))?.error;
  expect(reason('throws.mjs')).toBe('thrown at import');
  // Its stack says so at once; on a busy machine it may have to be loaded again, alone.
  expect(reason('blocks.mjs')).toMatch(
    /^it did not load within 10000 ms(, and blocked its bot host)?$/,
  );
  expect(reason('never-loaded.mjs')).toBe('it did not load within 10000 ms');
  const file = (name: string): string => path.join(dir, 'broken', name);
  expect(reason('syntax.mjs')).toBe(`Unexpected end of input (${file('syntax.mjs')}:1:17)`);
  expect(reason('imports-broken.mjs')).toMatch(/^Unexpected end of input/);
  expect(reason('commonjs/kind.js')).toBe(
    `Cannot use import statement outside a module (${file('commonjs/kind.js')}:1:1): its package.json says that .js files are CommonJS; name the file .mjs, or set "type": "module" there`,
  );
  expect(reason('no-package.mjs')).toMatch(
    /^Cannot find package 'drover' imported from .*no-package.mjs: install it there, for example with: cd .*broken && npm install \/./,
  );
  expect(reason('typo.mjs')).toBe(
    'the name of the kind, "a typo", must be 1 to 64 letters, digits, dots, dashes or underscores, and begin with a letter or digit; config is no schema: wrap its keys in Type.Object({ … }); run is missing; unknown key command: did you mean commands?; state must be a function, not number; commands.say.args is missing; commands.say.run is missing; unknown key commands.say.arg: did you mean args?',
  );
  expect(reason('named-export.mjs')).toBe(
    'its kind is the export bot, and must be the default export',
  );
  expect(reason('alone.mjs')).toBe('it has no default export made by defineBot');
  expect(reason('no-run.mjs')).toBe('run is missing');
  expect(reason('no-commands.mjs')).toBe('it is not made by defineBot');
  expect(reason('same-name.mjs')).toMatch(/^the kind synthetic is in file:.*synthetic.js already$/);
  expect(reason('/no-schema.mjs')).toMatch(
    /^config must be the schema of an object, not of type nonsense/,
  );
  expect(reason('no-property-schema.mjs')).toMatch(/^config: schema is invalid/);
  expect(reason('no-args-schema.mjs')).toMatch(/^commands.c.args: schema is invalid/);
  expect(reason('no-such-directory')).toMatch(/^there is no file, directory or package .*no-such-/);
  expect(reason('exits.mjs')).toMatch(/^it ended its bot host while it was loaded: .*exited/);
  expect(reason('hoards.mjs')).toMatch(/^it ended its bot host while it was loaded: .*memory/);
  stream.close();
});

it('what a bot prints becomes its lines; what a kind prints while it loads does not', async () => {
  const stream = await watch(service);
  await create(service, { id: 'printer', kind: 'printer' });
  const of = (scope: string) => lineFrom(stream, 0, (log) => log.scope === scope);
  const [log, error] = [await of('console'), await of('stderr')];
  stream.close();
  expect(log).toMatchObject({ session_id: 'printer', level: 'info' });
  expect(log.message).toBe("on the console { it: 'prints' }");
  expect(error).toMatchObject({ session_id: 'printer', level: 'warn' });
  expect(error.message).toBe('on standard error');
  expect(service.stderr()).toContain('printed at import');
  expect(service.stderr()).toContain(
    'drover: warning: the bot kind printer: there is no format "shoe-size", use a pattern\n',
  );
  expect(service.stderr()).not.toContain('on standard error');
});

it('a kind that loads only on the first host: the other hosts and their replacements run without it', async () => {
  // The first host creates the file; on the others the kind finds it and exits.
  const taken = JSON.stringify(path.join(dir, 'taken'));
  const single = `import { existsSync, writeFileSync } from 'node:fs';
    if (existsSync(${taken})) globalThis[Symbol.for('drover.test.endThread')](7);
    writeFileSync(${taken}, '');
    ${kind(`kind: 'single', config: {}`)}`;
  writeFileSync(path.join(dir, 'single.mjs'), single);
  const own = await startService({
    config: {
      kinds: [path.join(dir, 'single.mjs'), FIXTURE_KINDS],
      hosts: { count: 2 },
      restart: { backoff_ms: 20 },
    },
    env: { DROVER_DRILLS_ENABLED: 'true' },
  });
  onTestFinished(() => stopClean(own));
  const broken = (host: number): RegExp =>
    new RegExp(
      `^bot host ${host} runs without the bot kind .*single\\.mjs: it ended its bot host while it was loaded`,
    );
  // The first event of all, so no stream has it.
  const past = await pastDownload(own);
  expect(past.filter(({ data }) => broken(1).test(data.message ?? ''))).toHaveLength(1);
  const stream = await watch(own);
  // A new bot goes to the host with the fewest bots, so these have different hosts.
  const shown = [];
  for (const id of ['drilled-1', 'drilled-2']) {
    await create(own, { id, kind: 'faulty' });
    shown.push(await statusFrom(stream, 0, id, 'online'));
  }
  const { id = '' } = shown.find(({ host }) => host === 0) ?? {};
  const from = stream.frames.length;
  await invoke(own, null, 'drill', { kill: 'host', host: 0, fault: 'crash' });
  await lineFrom(stream, from, ({ message }) => broken(0).test(message));
  await snapshotFrom(stream, from, id, (s) => s.restarts === 1 && s.status === 'online');
  stream.close();
});

it('a kind whose files change is told; new hosts run the version that was read', async () => {
  const kinds = path.join(dir, 'versions');
  mkdirSync(kinds);
  const write = (version: number): void => {
    writeFileSync(path.join(kinds, 'number.js'), `export const inHelper = ${version};`);
    const run = `run: () => [inHelper, ${version}]`;
    writeFileSync(
      path.join(kinds, 'versioned.mjs'),
      `import { inHelper } from './number.js';
      ${kind(`kind: 'versioned', config: {}, run: (ctx) => ctx.sleep(2 ** 30), commands: { version: { description: '', args: {}, ${run} } }`)}`,
    );
  };
  writeFileSync(path.join(kinds, 'package.json'), '{ "type": "module" }');
  write(1);
  const own = await startService({ config: { kinds: [kinds], hosts: { count: 1 } } });
  onTestFinished(() => stopClean(own));
  const hasChanged = async (): Promise<unknown> => {
    const all = (await call(own, 'GET', '/api/kinds')).json as { kinds: ListedKind[] };
    return all.kinds.find((one) => one.kind === 'versioned')?.changed;
  };
  const version = async (id: string): Promise<unknown> => {
    return ((await invoke(own, id, 'version')).json as { result: unknown }).result;
  };
  await create(own, { id: 'old', kind: 'versioned' });
  expect(await version('old')).toEqual([1, 1]);
  expect(await hasChanged()).toBe(false);
  writeFileSync(path.join(kinds, 'number.js'), 'export const inHelper = 2;');
  expect(await hasChanged()).toBe(true);
  write(2);
  await create(own, { id: 'new', kind: 'versioned', dedicated: true });
  expect(await version('new')).toEqual([1, 1]);
  expect(await version('old')).toEqual([1, 1]);
  write(1);
  expect(await hasChanged()).toBe(false);
});
