// `drover start --watch`: a saved file of a kind runs at once, and what is wrong with it is shown.

import { mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { create, invoke } from '../harness/bots.js';
import { makeDir, removeDir, type Service, startService, stopClean } from '../harness/service.js';

let dir: string;
let service: Service;

function save(name: string, code: string): void {
  writeFileSync(path.join(dir, 'kinds', name), code);
}

const kind = (version: number, run = '', name = 'mine'): string =>
  `import { word } from './lib/word.mjs';
  export default { kind: '${name}', description: '', config: { type: 'object' }, state() {},
    commands: { version: { description: '', args: {}, run: () => [${version}, word] } },
    async run(ctx) { ${run} await ctx.sleep(2 ** 30); } };`;

beforeEach(async () => {
  dir = makeDir();
  mkdirSync(path.join(dir, 'kinds/lib'), { recursive: true });
  save('lib/word.mjs', "export const word = 'a'");
  save('mine.mjs', kind(1));
  const config = { kinds: [path.join(dir, 'kinds')], hosts: { count: 1, stop_grace_ms: 500 } };
  service = await startService({ config, args: ['--watch'] });
  for (const id of ['a', 'b']) await create(service, { id, kind: 'mine' });
});

afterEach(async () => {
  await stopClean(service);
  removeDir(dir);
});

async function running(): Promise<unknown[]> {
  return Promise.all(
    ['a', 'b'].map(
      async (id) => ((await invoke(service, id, 'version')).json as { result: unknown }).result,
    ),
  );
}

it('a file that is saved runs, also one that is imported, and a new kind is found', async () => {
  save('mine.mjs', kind(2));
  await expect.poll(running, { timeout: 20_000 }).toEqual([
    [2, 'a'],
    [2, 'a'],
  ]);
  await expect.poll(() => service.stdout()).toMatch(/^mine [0-9a-f]{8} runs \(bots: 2\)$/m);
  save('lib/word.mjs', "export const word = 'b'");
  await expect.poll(running, { timeout: 20_000 }).toEqual([
    [2, 'b'],
    [2, 'b'],
  ]);
  save('other.mjs', kind(1, '', 'other'));
  const made = async () => (await create(service, { id: 'c', kind: 'other' })).status;
  await expect.poll(made, { timeout: 20_000 }).toBe(201);
});

it('an error is shown, and the version before runs on', async () => {
  save('mine.mjs', 'export default {');
  await expect
    .poll(() => service.stderr(), { timeout: 20_000 })
    .toMatch(/the bot kind mine is not reloaded: .*mine\.mjs:1:\d+\)/);
  expect(await running()).toEqual([
    [1, 'a'],
    [1, 'a'],
  ]);
  save('mine.mjs', kind(3, 'await ctx.sleep(10); throw new Error("at run time");'));
  await expect
    .poll(() => service.stderr(), { timeout: 20_000 })
    .toMatch(/mine [0-9a-f]{8}: at run time; its bots go back$/m);
  await expect.poll(running, { timeout: 20_000 }).toEqual([
    [1, 'a'],
    [1, 'a'],
  ]);
  save('mine.mjs', kind(4));
  await expect.poll(running, { timeout: 20_000 }).toEqual([
    [4, 'a'],
    [4, 'a'],
  ]);
});
