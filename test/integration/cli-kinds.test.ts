// What the command line says of kinds that change or are quarantined while the service runs.

import { rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, expect, it } from 'vitest';
import { EXIT } from '../../src/cli/exit-codes.js';
import { startOperator } from '../harness/cli.js';
import { makeDir, removeDir } from '../harness/service.js';

const POLL = { timeout: 20_000 };
const kinds = makeDir();
afterAll(() => removeDir(kinds));
/** While it is there, bots of the kind `timed` break their host. */
const trap = path.join(kinds, 'trap');
const walker = (version: number): void =>
  writeFileSync(
    path.join(kinds, 'walker.mjs'),
    `export default {
      kind: 'walker', description: 'version ${version}', config: {}, commands: {}, state() {},
      run(ctx) { ctx.setStatus('walking'); return ctx.sleep(2 ** 30); },
    };`,
  );
walker(1);
writeFileSync(trap, '');
writeFileSync(
  path.join(kinds, 'timed.mjs'),
  `import { AsyncLocalStorage } from 'node:async_hooks';
  import { existsSync } from 'node:fs';
  // Runs code as that of this module, of no bot.
  const outside = AsyncLocalStorage.snapshot();
  export default {
    kind: 'timed', description: '', config: {}, commands: {}, state() {},
    run(ctx) {
      ctx.setStatus('online');
      if (existsSync(${JSON.stringify(trap)})) {
        outside(() => setTimeout(() => { throw new Error('the timer fails'); }, 1));
      }
      return ctx.sleep(2 ** 30);
    },
  };`,
);
const { drover, done } = await startOperator({
  config: { kinds: [kinds], hosts: { count: 1 }, restart: { backoff_ms: 10 } },
});

it('a restart runs the version that the service has read, and says so', async () => {
  const told =
    'drover: files of walker have changed: drover kinds reload walker makes bots start with them\n';
  for (const id of ['a', 'b']) await done(['bots', 'create', id, '--kind', 'walker']);
  await done(['bots', 'create', 'other', '--kind', 'synthetic']);
  // Nothing has changed yet: nothing is on standard error.
  await done(['bots', 'restart', 'a']);
  walker(2);
  const one = await drover(['bots', 'restart', 'a']);
  // It may be further by then.
  expect(one).toEqual({ code: EXIT.ok, stdout: expect.stringMatching(/^a \w+\n$/), stderr: told });
  const many = await drover(['bots', 'restart', 'a', 'b', 'other']);
  expect({ code: many.code, stderr: many.stderr }).toEqual({ code: EXIT.ok, stderr: told });
  expect((await drover(['kinds'])).stderr).toBe(told);
  // Bots of another kind, and bots that do not start, are not concerned.
  await done(['bots', 'restart', 'other']);
  await done(['bots', 'stop', 'a']);
});

it('kinds release starts the bots of a quarantined kind', async () => {
  await done(['bots', 'create', 'timed-1', '--kind', 'timed']);
  const waited = await drover(['wait', 'timed-1', '--status', 'never']);
  expect(waited.stderr).toMatch(/the bot kind timed is quarantined: the timer fails/);
  expect((await drover(['kinds'])).stderr).toMatch(
    /^drover: timed is quarantined since \S+: the timer fails; drover kinds release timed ends that$/m,
  );
  rmSync(trap);
  expect(await done(['kinds', 'release', 'timed'])).toBe('timed released; 1 bot starts\n');
  // `wait` would end at once: it may still see the status before the release.
  const online = async (): Promise<unknown> =>
    JSON.parse(await done(['bots', 'list', '--kind', 'timed', '--status', 'online', '--json']));
  await expect.poll(online, POLL).toMatchObject([{ id: 'timed-1' }]);
  expect((await drover(['kinds'])).stderr).not.toMatch(/quarantined/);
  expect((await drover(['kinds', 'release', 'timed'])).stderr).toMatch(/timed is not quarantined/);
});
