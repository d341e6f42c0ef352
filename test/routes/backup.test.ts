// Backup as docs/OPERATIONS.md describes it: copy the store of a running service, restore it in another directory.

import { copyFileSync, existsSync, mkdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { call } from '../harness/api.js';
import { inject } from '../harness/inject.js';
import { makeDir, removeDir } from '../harness/service.js';
import { makeToken } from '../harness/tokens.js';

it('a copy taken while the service runs can be restored', async () => {
  const home = makeDir();
  onTestFinished(() => removeDir(home));
  const [from, dir] = [path.join(home, 'old'), path.join(home, 'new')];
  for (const each of [from, dir]) mkdirSync(each, { mode: 0o700 });
  const old = await inject({ dir: from });
  const copy = path.join(from, 'store.mdb.copy');
  const made = await makeToken(old, { name: 'kept' });
  const bot = { id: 'kept-bot', kind: 'synthetic', config: { events_per_second: 1 } };
  expect((await call(old, 'POST', '/api/bots', { body: bot })).status).toBe(201);
  await expect
    .poll(() => existsSync(copy) && readFileSync(copy).includes(bot.id), { interval: 250 })
    .toBe(true);
  const backup = path.join(home, 'backup.mdb');
  copyFileSync(copy, backup);
  // Created after the copy, so not in the backup.
  const later = await makeToken(old, { name: 'later' });

  copyFileSync(backup, path.join(dir, 'store.mdb'));
  const restored = await inject({ dir });
  const { token } = made;
  expect((await call(restored, 'GET', '/api-info', { token })).status).toBe(200);
  const gone = await call(restored, 'GET', '/api-info', { token: later.token });
  expect(gone.status).toBe(401);
  const found = await call(restored, 'GET', `/api/bots/${bot.id}`, { token });
  expect(found.json).toMatchObject({ id: bot.id, desired: 'running' });
});
