// Run by vitest. A host that hangs is ended also when nobody answers whom its incident report needs.

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { MessageChannel } from 'node:worker_threads';
import { expect, it, onTestFinished, vi } from 'vitest';
import { HostFaults } from '../../../src/main/bots/host-faults.js';
import { Incidents } from '../../../src/main/bots/incidents.js';
import { Quarantine } from '../../../src/main/bots/quarantine.js';
import type { BotRegistry } from '../../../src/main/bots/registry.js';
import { ServiceEvents } from '../../../src/main/service-events.js';
import { IncidentStore } from '../../../src/main/store/incident-store.js';
import { Store } from '../../../src/main/store/store.js';
import type { HostThread } from '../../../src/main/threads/host-thread.js';
import { Rpc } from '../../../src/shared/contract/rpc.js';
import type { BroadcasterMethods } from '../../../src/shared/contract/threads.js';

const GONE_THREAD = 1_000_000;

async function hang(store: IncidentStore): Promise<void> {
  // A broadcaster that is there and never answers.
  const { port1, port2 } = new MessageChannel();
  onTestFinished(() => port1.close());
  const peer = new Rpc<never, BroadcasterMethods>(port2, {} as never);
  const events = new ServiceEvents({ peer, ready: Promise.resolve(peer) });
  const registry = { idsOn: () => ['a', 'b'] } as Partial<BotRegistry> as BotRegistry;
  const faults = new HostFaults(
    registry,
    new Incidents(store, events, () => undefined),
    new Quarantine(),
    1000,
  );
  const kill = vi.fn();
  const host = { number: 0, threadId: GONE_THREAD, lastBot: 'a', commands: [], heap: null, kill };
  await faults.hung(host as unknown as HostThread, 1000);
  expect(kill).toHaveBeenCalledTimes(1);
}

it('the broadcaster does not answer: the incident report is written without last lines', async () => {
  const dir = mkdtempSync(path.join(tmpdir(), 'drover-test-'));
  onTestFinished(() => rmSync(dir, { recursive: true, force: true }));
  const store = await Store.open(path.join(dir, 'store.mdb'));
  onTestFinished(() => store.close());
  const incidents = new IncidentStore(store);
  await hang(incidents);
  await vi.waitFor(() =>
    expect(incidents.list(null, 10)).toMatchObject([
      { type: 'hang', suspect: 'a', bots: ['a', 'b'], last_lines: [] },
    ]),
  );
}, 15_000);

it('the disk does not answer either: the host is ended all the same', async () => {
  // A disk that hangs cannot be had here.
  await hang({ add: () => new Promise(() => {}) } as Partial<IncidentStore> as IncidentStore);
}, 15_000);
