// Backup as docs/OPERATIONS.md describes it: copy the store of a running service, restore it in another directory.

import { copyFileSync, existsSync, mkdirSync, statSync } from 'node:fs';
import path from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { call } from '../harness/api.js';
import { makeDir, removeDir, startService } from '../harness/service.js';
import { makeToken } from '../harness/tokens.js';

it('a copy taken while the service runs can be restored', async () => {
  const dir = makeDir();
  onTestFinished(() => removeDir(dir));
  const old = await startService({ dataDir: path.join(dir, 'old') });
  const copy = path.join(old.dataDir, 'store.mdb.copy');
  const made = await makeToken(old, { name: 'kept' });
  const bot = { id: 'kept', kind: 'synthetic', config: { events_per_second: 1 } };
  expect((await call(old, 'POST', '/api/bots', { body: bot })).status).toBe(201);
  const changed = Date.now();
  await expect.poll(() => existsSync(copy) && statSync(copy).mtimeMs >= changed).toBe(true);
  const backup = path.join(dir, 'backup.mdb');
  copyFileSync(copy, backup);
  // Created after the copy, so not in the backup.
  const later = await makeToken(old, { name: 'later' });
  await old.kill();

  const dataDir = path.join(dir, 'new');
  mkdirSync(dataDir, { mode: 0o700 });
  copyFileSync(backup, path.join(dataDir, 'store.mdb'));
  const restored = await startService({ dataDir });
  const { token } = made;
  expect((await call(restored, 'GET', '/api-info', { token })).status).toBe(200);
  const gone = await call(restored, 'GET', '/api-info', { token: later.token });
  expect(gone.status).toBe(401);
  const found = await call(restored, 'GET', '/api/bots/kept', { token });
  expect(found.json).toMatchObject({ id: 'kept', desired: 'running' });
  expect(await restored.stop()).toBe(0);
});
