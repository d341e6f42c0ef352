// Kinds that fail to load: each is reported, and everything else starts.

import { mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
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
import { makeDir, removeDir, type Service, startService, stopClean } from '../harness/service.js';

const kind = (fields: string): string =>
  `export default { description: '', state() {}, commands: {}, run() {}, ${fields} };`;
const command = (fields: string): string =>
  kind(`kind: 'x', config: {}, commands: { c: { description: '', ${fields} } }`);

const BROKEN: Record<string, string> = {
  'syntax.mjs': 'export default {',
  'throws.mjs': `throw new Error('thrown at import')`,
  'throws-oddly.mjs': 'throw Object.create(null)',
  'no-default.mjs': 'export const kind = 1',
  'null-default.mjs': 'export default null',
  'imports-nothing.mjs': `import 'no-such-package-at-all'`,
  'no-run.mjs': `export default { kind: 'x', config: {}, commands: {}, state() {} }`,
  'no-commands.mjs': `export default { kind: 'x', config: {}, state() {}, run() {} }`,
  'no-schema.mjs': kind(`kind: 'no-schema', config: { type: 'nonsense' }`),
  'no-args-schema.mjs': command(`args: { type: 7 }, run() {}`),
  'cyclic-schema.mjs': `const config = {}; config.properties = { config };\n${kind(`kind: 'cyclic', config`)}`,
  'same-name.mjs': kind(`kind: 'synthetic', config: {}`),
  'loops.mjs': 'for (;;);',
  'never-loaded.mjs': 'await new Promise(() => {})',
  'exits.mjs': 'process.exit(0)',
  'hoards.mjs': 'const hoard = []; for (;;) hoard.push(new Array(100_000).fill(hoard));',
  'rejects-later.mjs': `await Promise.reject(new Error('rejected at import'))`,
};

let dir: string;
let service: Service;
beforeAll(async () => {
  dir = makeDir();
  const broken = path.join(dir, 'broken');
  mkdirSync(broken);
  for (const [name, text] of Object.entries(BROKEN)) writeFileSync(path.join(broken, name), text);
  writeFileSync(path.join(broken, 'notes.txt'), 'not a module');
  service = await startService({
    config: {
      kinds: [path.join(dir, 'no-such-directory'), 'no-such-package', broken, FIXTURE_KINDS],
      // Two of the kinds never finish loading and take this long.
      hosts: { count: 2, max_heap_mb: 64, kind_load_ms: 6000 },
    },
  });
});
afterAll(async () => {
  await stopClean(service);
  removeDir(dir);
});

it('a kind that loads only on the first host: the other hosts and their replacements run without it', async () => {
  const kinds = path.join(dir, 'second');
  mkdirSync(kinds);
  // The first host creates the file; on the others the kind finds it and exits.
  const taken = JSON.stringify(path.join(dir, 'taken'));
  const text = `import { existsSync, writeFileSync } from 'node:fs';
    if (existsSync(${taken})) process.exit(7);
    writeFileSync(${taken}, '');
    ${kind(`kind: 'single', config: {}`)}`;
  writeFileSync(path.join(kinds, 'single.mjs'), text);
  const other = await startService({
    config: { kinds: [kinds, FIXTURE_KINDS], hosts: { count: 2 }, restart: { backoff_ms: 20 } },
    env: { DROVER_DRILLS_ENABLED: 'true' },
  });
  const stream = await watch(other);
  try {
    for (const id of ['one', 'two']) {
      await create(other, { id, kind: 'faulty' });
      await statusFrom(stream, 0, id, 'online');
    }
    const from = stream.frames.length;
    await invoke(other, null, 'drill', { kill: 'host', host: 0, fault: 'crash' });
    const line = await lineFrom(stream, from, ({ message }) =>
      message.startsWith('bot host 0 runs without the bot kind '),
    );
    expect(line.message).toMatch(/single\.mjs: it ended its bot host while it was loaded/);
    const restarted = await snapshotFrom(stream, from, 'one', ({ restarts }) => restarts === 1);
    expect(restarted).toBeDefined();
  } finally {
    stream.close();
    await stopClean(other);
  }
});

it('a kind that loads too slowly on a replacement host is tried again, and its bots come back', async () => {
  const kinds = path.join(dir, 'slow');
  mkdirSync(kinds);
  // Loads 2, 3, 4 and 6 never finish.
  const count = JSON.stringify(path.join(dir, 'count'));
  const text = `import { appendFileSync, readFileSync } from 'node:fs';
    appendFileSync(${count}, '.');
    const times = readFileSync(${count}).length;
    if ([2, 3, 4, 6].includes(times)) await new Promise(() => {});
    export default { description: '', kind: 'slow', config: {}, commands: {}, state() {},
      run: (ctx) => (ctx.setStatus('online'), ctx.sleep(2 ** 30)) };`;
  writeFileSync(path.join(kinds, 'slow.mjs'), text);
  const other = await startService({
    config: {
      kinds: [kinds, FIXTURE_KINDS],
      hosts: { count: 1, kind_load_ms: 3000 },
      restart: { backoff_ms: 20, policy: 'never' },
    },
    env: { DROVER_DRILLS_ENABLED: 'true' },
  });
  const stream = await watch(other);
  try {
    for (const kind of ['slow', 'faulty']) {
      await create(other, { id: kind, kind });
      await statusFrom(stream, 0, kind, 'online');
    }
    let from = stream.frames.length;
    const back = (id: string): ReturnType<typeof snapshotFrom> =>
      snapshotFrom(stream, from, id, (s) => s.restarts > 0 && s.status === 'online', 40_000);
    await invoke(other, null, 'drill', { kill: 'host', host: 0, fault: 'crash' });
    expect(await back('faulty')).toMatchObject({ host: 0 });
    const line = await lineFrom(stream, from, ({ message }) =>
      message.includes(' runs without the bot kind '),
    );
    expect(line.message).toMatch(/slow\.mjs: it did not load within 3000 ms$/);
    // The host started for its bot cannot load it either; the next one can.
    const missing = /^no bot host has the bot kind slow: it did not load within 3000 ms$/;
    await lineFrom(stream, from, ({ message }) => missing.test(message));
    expect((await back('slow')).host).toBeGreaterThan(0);
    // The load was slow once, as on a busy machine: the next shared host has the kind again.
    from = stream.frames.length;
    await invoke(other, null, 'drill', { kill: 'host', host: 0, fault: 'crash' });
    await snapshotFrom(
      stream,
      from,
      'faulty',
      (s) => s.restarts > 1 && s.status === 'online',
      40_000,
    );
    expect(
      stream.frames
        .slice(from)
        .map(({ data }) => data)
        .join(),
    ).not.toContain('runs without the bot kind');
    await create(other, { id: 'another', kind: 'slow' });
    expect(await statusFrom(stream, from, 'another', 'online')).toMatchObject({ host: 0 });
  } finally {
    stream.close();
    await stopClean(other);
  }
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
  expectError(await create(service, { id: 'three', kind: 'no-schema' }), 400);
  stream.close();
});

it('/api/kinds and the stream report each broken kind with the reason', async () => {
  const { failed } = (await call(service, 'GET', '/api/kinds')).json as {
    failed: { module: string; error: string }[];
  };
  const now = await watch(service);
  await create(service, { id: 'waker', kind: 'faulty' });
  const { id = '' } = await now.waitFor((frame) => frame.id !== undefined);
  now.close();
  const stream = await watch(service, `?last_event_id=${id.split('-')[0]}-1`);
  const modules = Object.keys(BROKEN).map((name) => {
    if (name === 'no-schema.mjs') return 'no-schema';
    if (name === 'no-args-schema.mjs') return 'x';
    return name;
  });
  for (const module of [...modules, 'no-such-directory', 'no-such-package']) {
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
  expect(failed).toHaveLength(modules.length + 2);
  const reason = (module: string): string | undefined =>
    failed.find((one) => one.module.endsWith(module))?.error;
  expect(reason('throws.mjs')).toBe('thrown at import');
  expect(reason('loops.mjs')).toBe('it did not load within 6000 ms');
  expect(reason('never-loaded.mjs')).toBe('it did not load within 6000 ms');
  expect(reason('no-such-directory')).toMatch(/^there is no file, directory or package .*no-such-/);
  expect(reason('exits.mjs')).toMatch(/^it ended its bot host while it was loaded: .*exited/);
  expect(reason('hoards.mjs')).toMatch(/^it ended its bot host while it was loaded: .*memory/);
  stream.close();
});
