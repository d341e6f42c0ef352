// Reads bots and incidents that an earlier version stored, in a real LMDB file.

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { BotStore } from '../../../src/main/store/bot-store.js';
import { IncidentStore } from '../../../src/main/store/incident-store.js';
import { Store } from '../../../src/main/store/store.js';
import type { IncidentBot } from '../../../src/shared/contract/bots.js';

async function openStore(): Promise<Store> {
  const dir = mkdtempSync(path.join(tmpdir(), 'drover-test-'));
  onTestFinished(() => rmSync(dir, { recursive: true, force: true }));
  const store = await Store.open(path.join(dir, 'store.mdb'));
  onTestFinished(() => store.close());
  return store;
}

const SPEC = {
  kind: 'k',
  config: { note: 'n' },
  labels: { team: 'red' },
  desired: 'running' as const,
  restart: {
    policy: 'always' as const,
    max_restarts: 5,
    window_ms: 60_000,
    backoff_ms: 0,
    backoff_cap_ms: 0,
    healthy_ms: 5000,
  },
  dedicated: false,
};

it('a bot that was stored with `made` has it as its incarnation, also once it is stored again', async () => {
  const store = await openStore();
  const stored = [
    { id: 'oldest', ...SPEC },
    { id: 'old', ...SPEC, made: '0123456789abcdef' },
  ];
  await store.write(stored.map((value) => ({ table: 'bots', key: value.id, value })));
  const bots = new BotStore(store);
  const old = { id: 'old', ...SPEC, incarnation: '0123456789abcdef' };
  expect(bots.all()).toEqual([old, { id: 'oldest', ...SPEC }]);
  await bots.put({ ...old, labels: {} });
  expect(store.table('bots').get('old')).toEqual({ ...old, labels: {} });
  expect(bots.all()).toContainEqual({ ...old, labels: {} });
});

it('a bot that was given away stays so when it is stored again, until it is removed or taken back', async () => {
  const bots = new BotStore(await openStore());
  const spec = { id: 'a', ...SPEC };
  await bots.put(spec);
  expect(bots.isHandedOver('a')).toBe(false);
  await bots.setHandedOver('a', true);
  await bots.put({ ...spec, labels: {} });
  expect(bots.isHandedOver('a')).toBe(true);
  expect(bots.all()).toEqual([{ ...spec, labels: {} }]);
  await bots.setHandedOver('a', false);
  expect(bots.isHandedOver('a')).toBe(false);
  await bots.setHandedOver('a', true);
  await bots.remove('a');
  await bots.put(spec);
  expect(bots.isHandedOver('a')).toBe(false);
});

it('the bots of a stored incident keep their incarnation too', async () => {
  const store = await openStore();
  const incident = {
    id: '000000001-00000000',
    at_ms: 1,
    type: 'crash' as const,
    reason: 'it broke',
    suspect: 'a',
    host: 0,
    bots: ['a'],
    stack: null,
    heap: null,
    last_lines: [],
    last_commands: [],
  };
  const identities = [
    { id: 'a', made: '0123456789abcdef', labels: { team: 'red' } },
    { id: 'b', made: '', labels: {} },
  ];
  const value = { ...incident, identities };
  await store.write([{ table: 'incidents', key: incident.id, value }]);
  let shown: readonly IncidentBot[] = [];
  const listed = new IncidentStore(store).list(['a'], 10, (found, bots) => {
    shown = bots;
    return found;
  });
  const filled = {
    bot_count: 1,
    repeats: 0,
    repeated_at_ms: null,
    last_lines_at_ms: [],
    cause: expect.stringMatching(/^[0-9a-f]{16}$/),
  };
  expect(listed).toEqual([{ ...incident, ...filled }]);
  expect(shown).toEqual([
    { id: 'a', incarnation: '0123456789abcdef', labels: { team: 'red' } },
    { id: 'b', incarnation: '', labels: {} },
  ]);
});
