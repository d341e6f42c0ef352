// A token that is being created: test/conformance/streams/tokens.ts meets that moment only by chance.

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { SecurityEvents } from '../../../src/main/access/security-events.js';
import { TokenRegistry } from '../../../src/main/access/token-registry.js';
import { Store } from '../../../src/main/store/store.js';
import { TokenStore } from '../../../src/main/store/token-store.js';

it('nobody sees or revokes a token before all fronts accept it; a front that starts meanwhile gets it', async () => {
  const dir = mkdtempSync(path.join(tmpdir(), 'drover-test-'));
  const store = await Store.open(path.join(dir, 'store.mdb'));
  const accepted = new Set<string>();
  let answer = (): void => {};
  const answered = new Promise<void>((resolve) => {
    answer = resolve;
  });
  let asked = (_: string): void => {};
  const beingAdded = new Promise<string>((resolve) => {
    asked = resolve;
  });
  const holders = {
    addToken: async ({ id }: { id: string }) => {
      asked(id);
      await answered;
      accepted.add(id);
    },
    removeToken: async (id: string) => void accepted.delete(id),
  };
  const events = new SecurityEvents(
    () => {},
    () => {},
  );
  const registry = new TokenRegistry(new TokenStore(store), holders, events, {
    sign_in_days: 0,
  });
  registry.start();
  onTestFinished(async () => {
    events.stop();
    await registry.stop();
    await store.close();
    rmSync(dir, { recursive: true, force: true });
  });

  const expectPending = async (id?: string): Promise<void> => {
    expect(registry.list('')).toEqual([]);
    expect(registry.all().map((token) => token.id)).toEqual(id ? [id] : [expect.any(String)]);
    if (id) await expect(registry.revoke(id, 'nobody')).rejects.toThrow('no token');
  };
  const created = registry.create({ name: 'x', scopes: ['read'] }, 'nobody');
  // It is admitted at once: then it is pending while it is written, and while the fronts are told.
  await Promise.resolve();
  await expectPending();
  const id = await beingAdded;
  await expectPending(id);
  answer();
  expect((await created).info.id).toBe(id);
  expect(registry.list('').map((token) => token.id)).toEqual([id]);
  expect(accepted).toContain(id);
  await registry.revoke(id, 'nobody');
  expect(accepted).not.toContain(id);
});
