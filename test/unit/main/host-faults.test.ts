// A stuck host is killed even if nobody answers whom its incident report needs. Time is mocked.

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import { HostFaults } from '../../../src/main/bots/host-faults.js';
import { Incidents } from '../../../src/main/bots/incidents.js';
import { OutOfMemory } from '../../../src/main/bots/memory-guard.js';
import { Quarantine } from '../../../src/main/bots/quarantine.js';
import type { BotRegistry } from '../../../src/main/bots/registry.js';
import { type BroadcasterPeer, ServiceEvents } from '../../../src/main/service-events.js';
import { IncidentStore } from '../../../src/main/store/incident-store.js';
import { Store } from '../../../src/main/store/store.js';
import type { HostThread } from '../../../src/main/threads/host-thread.js';

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
});
afterEach(() => {
  vi.useRealTimers();
});

async function hang(store: IncidentStore): Promise<void> {
  // A broadcaster that never answers.
  const peer = { call: () => new Promise(() => {}), tell() {} } as unknown as BroadcasterPeer;
  const events = new ServiceEvents({ peer, ready: Promise.resolve(peer) });
  const registry = { idsOn: () => ['a', 'b'] } as Partial<BotRegistry> as BotRegistry;
  const faults = new HostFaults(
    registry,
    new Incidents(store, events, () => undefined),
    new Quarantine(),
    1000,
    // Stuck in native code.
    async () => undefined,
  );
  const kill = vi.fn();
  const host = { number: 0, threadId: 1, lastBot: 'a', commands: [], heap: null, kill };
  const examined = faults.hung(host as unknown as HostThread, 1000);
  await vi.advanceTimersByTimeAsync(2000);
  await examined;
  expect(kill).toHaveBeenCalledTimes(1);
}

it('the broadcaster does not answer: the incident report is written without last lines', async () => {
  const dir = mkdtempSync(path.join(tmpdir(), 'drover-test-'));
  onTestFinished(() => rmSync(dir, { recursive: true, force: true }));
  const store = await Store.open(path.join(dir, 'store.mdb'));
  onTestFinished(() => store.close());
  const incidents = new IncidentStore(store);
  await hang(incidents);
  vi.useRealTimers();
  await vi.waitFor(() =>
    expect(incidents.list(null, 10)).toMatchObject([
      { type: 'hang', suspect: 'a', bots: ['a', 'b'], last_lines: [] },
    ]),
  );
});

it('the disk does not answer either: the host is killed nevertheless', async () => {
  await hang({ add: () => new Promise(() => {}) } as Partial<IncidentStore> as IncidentStore);
});

describe('who is blamed for a lost host', () => {
  const outOfMemory = Object.assign(new Error('heap'), { code: 'ERR_WORKER_OUT_OF_MEMORY' });

  it.each([
    ['V8 has run out of memory', outOfMemory, 'out_of_memory', 'last'],
    ['a blocked loop, out of memory', new OutOfMemory('', true), 'out_of_memory', 'last'],
    ['a loop that turns, out of memory', new OutOfMemory('', false), 'out_of_memory', 'only'],
    ['a thread that exits', new Error('worker exited with code: 1'), 'host_lost', 'last'],
    ['an error in the host', new Error('boom'), 'host_lost', null],
  ])('%s', async (_, error, type, suspect) => {
    const report = vi.fn<Incidents['report']>().mockResolvedValue();
    const hostLost = vi.fn();
    const registry = { idsOn: () => ['last', 'only'], hostLost };
    const faults = new HostFaults(
      registry as unknown as BotRegistry,
      { report } as unknown as Incidents,
      new Quarantine(),
      1000,
    );
    const host = { number: 0, lastBot: 'last', onlyBot: 'only' } as HostThread;
    await faults.lost(host, error);
    expect(report.mock.calls[0]?.[0]).toMatchObject({ type, suspect });
    expect(hostLost).toHaveBeenCalledExactlyOnceWith(host, expect.any(String), suspect);
  });
});
