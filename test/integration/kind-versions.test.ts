// Kinds that are read again while the service runs: versions side by side, and what a reload refuses.

import { mkdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, expect, it, onTestFinished } from 'vitest';
import type { ListedKind, ReloadedKinds } from '../../src/shared/contract/bots.js';
import type { HostList } from '../../src/shared/contract/hosts.js';
import { call, expectError } from '../harness/api.js';
import { create, invoke, lineFrom, snapshotFrom, watch } from '../harness/bots.js';
import { makeDir, removeDir, type Service, startService, stopClean } from '../harness/service.js';

let dir: string;
let kinds: string;
let service: Service;

/** Writes a kind whose command `version` says which one runs, in its module and in a file that it imports. */
function write(name: string, version: number, more = ''): void {
  writeFileSync(path.join(kinds, 'lib', `${name}.mjs`), `export const inLib = ${version};`);
  writeFileSync(
    path.join(kinds, `${name}.mjs`),
    `import { inLib } from './lib/${name}.mjs';
    ${more}
    export default {
      kind: '${name}', description: '', state() {},
      config: { type: 'object', properties: { a: { type: 'number' } }, additionalProperties: false },
      commands: { version: { description: '', args: {}, run: () => [inLib, ${version}] } },
      run: (ctx) => ctx.sleep(2 ** 30),
    };`,
  );
}

beforeAll(async () => {
  dir = makeDir();
  kinds = path.join(dir, 'kinds');
  mkdirSync(path.join(kinds, 'lib'), { recursive: true });
  write('first', 1);
  write('second', 1);
  const hosts = { count: 1, kind_load_ms: 3000, stop_grace_ms: 500 };
  service = await startService({ config: { kinds: [kinds], hosts } });
});

afterAll(async () => {
  await stopClean(service);
  removeDir(dir);
});

async function run(id: string): Promise<unknown> {
  return ((await invoke(service, id, 'version')).json as { result: unknown }).result;
}

async function reload(kind: string): Promise<ReloadedKinds['kinds'][number]> {
  const { status, json } = await call(service, 'POST', `/api/kinds/${kind}/reload`);
  expect(json).toMatchObject({ kinds: [{ kind }] });
  expect(status).toBe(200);
  return (json as ReloadedKinds).kinds[0] as ReloadedKinds['kinds'][number];
}

async function refused(kind: string): Promise<string> {
  const before = await listed(kind);
  const { status, json } = await call(service, 'POST', `/api/kinds/${kind}/reload`);
  expect(status).toBe(409);
  expect((await listed(kind)).versions).toEqual(before.versions);
  return (json as { error: string }).error;
}

async function listed(kind: string): Promise<ListedKind> {
  return (await call(service, 'GET', `/api/kinds/${kind}`)).json as ListedKind;
}

/** The bots on each host. */
async function loads(): Promise<Map<number, number>> {
  const { hosts } = (await call(service, 'GET', '/api/hosts')).json as HostList;
  return new Map(hosts.map(({ host, bots }) => [host, bots]));
}

it('a reload touches nothing that runs; what starts then runs the new version, on another host', async () => {
  await create(service, { id: 'a', kind: 'first' });
  await create(service, { id: 'b', kind: 'first' });
  await create(service, { id: 'other', kind: 'second' });
  const { versions } = await listed('first');
  expect(versions).toEqual([expect.objectContaining({ is_current: true, bots: 2 })]);
  write('first', 2, 'export const more = 1;');
  expect((await listed('first')).changed).toBe(true);
  const stream = await watch(service);
  onTestFinished(() => stream.close());
  const said = await reload('first');
  expect(said).toMatchObject({
    before: versions[0]?.version,
    files: { added: [], removed: [], changed: ['first.mjs', 'lib/first.mjs'] },
    bots: 2,
    released: 0,
  });
  const [now, before] = [said.version, said.before];
  await lineFrom(stream, 0, ({ message }) =>
    message.startsWith(`the bot kind first has version ${now} from now on, before it ${before}`),
  );
  expect((await listed('first')).changed).toBe(false);
  expect(await run('a')).toEqual([1, 1]);
  expect((await call(service, 'POST', '/api/bots/a/restart')).json).toMatchObject({ version: now });
  expect(await run('a')).toEqual([2, 2]);
  expect(await run('b')).toEqual([1, 1]);
  expect(await run('other')).toEqual([1, 1]);
  expect(await loads()).toEqual(
    new Map([
      [0, 2],
      [1, 1],
    ]),
  );
  expect((await listed('first')).versions.map(({ version, bots }) => [version, bots])).toEqual([
    [now, 1],
    [before, 1],
  ]);
  const found = await call(service, 'GET', `/api/bots?query=version:${now}`);
  expect(found.json).toMatchObject({ bots: [{ id: 'a' }] });
  // The host of the new version ends with its last bot.
  await call(service, 'POST', '/api/bots/a/stop');
  expect((await call(service, 'GET', '/api/bots/a')).json).toMatchObject({ version: null });
  await expect.poll(async () => [...(await loads()).keys()]).toEqual([0]);
});

it('dedicated bots, those of groups and in processes run the version with which they were started', async () => {
  await call(service, 'POST', '/api/bots/a/start');
  const own = { dedicated: true };
  const group = { host_group: 'ours' };
  const isolation = { isolation: 'process' };
  for (const [name, more] of Object.entries({ own, group, isolation })) {
    await create(service, { id: `${name}-2`, kind: 'first', ...more });
    expect(await run(`${name}-2`)).toEqual([2, 2]);
  }
  write('first', 3);
  await reload('first');
  for (const [name, more] of Object.entries({ own, group, isolation })) {
    await create(service, { id: `${name}-3`, kind: 'first', ...more });
    expect([await run(`${name}-2`), await run(`${name}-3`)]).toEqual([
      [2, 2],
      [3, 3],
    ]);
  }
  // They are quarantined with the code that they run, and a lost host does not change it.
  const { host } = (await call(service, 'GET', '/api/bots/group-2')).json as { host: number };
  expect(host).not.toBe((await call(service, 'GET', '/api/bots/group-3')).json);
});

it('an old version that is started again has the files that were read, not those on the disk', async () => {
  await create(service, { id: 'kept', kind: 'second', dedicated: true });
  write('second', 2);
  await call(service, 'POST', '/api/bots/kept/restart');
  expect(await run('kept')).toEqual([1, 1]);
  rmSync(path.join(kinds, 'second.mjs'));
  await call(service, 'POST', '/api/bots/kept/restart');
  expect(await run('kept')).toEqual([1, 1]);
  expect(await refused('second')).toMatch(/second\.mjs is not there any more$/);
  write('second', 1);
  expect(await reload('second')).toMatchObject({ bots: 0 });
});

const BAD: [string, string, RegExp][] = [
  ['a syntax error', 'export const x = ;', /\(.*first\.mjs:2:\d+\)$/],
  ['an error at import', "throw new Error('no luck')", /no luck/],
  ['a module that never loads', 'await new Promise(() => {});', /did not load within 3000 ms$/],
  ['a loop', 'for (;;);', /did not load within 3000 ms|ended its bot host/],
  ['a package that is missing', "import 'no-such-package';", /Cannot find package/],
];

it.each(BAD)('%s: nothing changes', async (_, code, reason) => {
  await create(service, { id: 'bad', kind: 'first' });
  write('first', 9, code);
  expect(await refused('first')).toMatch(reason);
  await call(service, 'POST', '/api/bots/bad/restart');
  expect(await run('bad')).toEqual([3, 3]);
  await call(service, 'DELETE', '/api/bots/bad');
  write('first', 3);
});

it('an error of syntax in a file that is imported is found there', async () => {
  writeFileSync(path.join(kinds, 'lib/first.mjs'), 'export const inLib = "open');
  expect(await refused('first')).toMatch(/\(.*lib\/first\.mjs:1:\d+\)$/);
  write('first', 3);
});

it('configurations that would not be valid any more are named, and nothing changes', async () => {
  for (const id of ['c1', 'c2', 'c3', 'c4']) {
    await create(service, { id, kind: 'second', config: { a: 1 }, desired: 'stopped' });
  }
  const file = path.join(kinds, 'second.mjs');
  writeFileSync(
    file,
    `export default { kind: 'second', description: '', state() {}, commands: {}, run() {},
      config: { type: 'object', properties: { b: {} }, required: ['b'], additionalProperties: false } };`,
  );
  expect(await refused('second')).toBe(
    'the bot kind second is not reloaded: configurations would not be valid any more: other: config.b is missing; kept: config.b is missing; c1: config.b is missing; unknown key config.a; and 3 more',
  );
  write('second', 1);
});

it('new kinds are found, one or all, and what is wrong in one is told', async () => {
  expectError(await call(service, 'POST', '/api/kinds/third/reload'), 404, 'no bot kind "third"');
  write('third', 1);
  expect(await reload('third')).toMatchObject({ before: null, bots: 0 });
  await create(service, { id: 'new', kind: 'third' });
  expect(await run('new')).toEqual([1, 1]);
  write('fourth', 1);
  write('third', 2);
  writeFileSync(path.join(kinds, 'broken.mjs'), 'throw new Error("broken")');
  const all = (await call(service, 'POST', '/api/kinds/reload')).json as ReloadedKinds;
  expect(all.kinds.map(({ kind }) => kind)).toEqual(['first', 'fourth', 'second', 'third']);
  expect(all.failed).toContainEqual({
    module: expect.stringMatching(/broken\.mjs$/),
    error: expect.stringMatching(/^broken/),
  });
  rmSync(path.join(kinds, 'broken.mjs'));
  // Of several, a known kind that does not load keeps all from changing.
  write('fourth', 2);
  renameSync(path.join(kinds, 'third.mjs'), path.join(kinds, 'third.txt'));
  expectError(
    await call(service, 'POST', '/api/kinds/reload'),
    409,
    /^the bot kind third is not reloaded: .*third\.mjs is not there any more$/,
  );
  await create(service, { id: 'four', kind: 'fourth' });
  expect(await run('four')).toEqual([1, 1]);
  renameSync(path.join(kinds, 'third.txt'), path.join(kinds, 'third.mjs'));
});

it('kinds that ship are part of Drover, and a limited token reloads nothing', async () => {
  expectError(
    await call(service, 'POST', '/api/kinds/synthetic/reload'),
    409,
    'the bot kind synthetic is part of Drover',
  );
  const body = { name: 'limited', scopes: ['control', 'read'], bots: ['a'] };
  const { token } = (await call(service, 'POST', '/api/tokens', { body })).json as {
    token: string;
  };
  expectError(
    await call(service, 'POST', '/api/kinds/first/reload', { token }),
    403,
    'this token is limited to some bots',
  );
  const { versions } = (await call(service, 'GET', '/api/kinds/first', { token }))
    .json as ListedKind;
  expect(versions.reduce((sum, { bots }) => sum + bots, 0)).toBe(1);
});

it('a new version ends the quarantine of its kind, and its bots start', async () => {
  const throws = `setTimeout(() => { throw new Error('of the module'); }, 300);`;
  write('third', 5, throws);
  const stream = await watch(service);
  onTestFinished(() => stream.close());
  await reload('third');
  await call(service, 'POST', '/api/bots/new/restart');
  await expect
    .poll(async () => (await listed('third')).quarantine, { timeout: 20_000 })
    .not.toBeNull();
  await snapshotFrom(stream, 0, 'new', ({ status }) => status === 'failed');
  const seen = stream.frames.length;
  write('third', 6);
  expect(await reload('third')).toMatchObject({ released: 1 });
  expect((await listed('third')).quarantine).toBeNull();
  await snapshotFrom(stream, seen, 'new', ({ status }) => status === 'starting');
  expect(await run('new')).toEqual([6, 6]);
});
