// Run by vitest. A host that hangs is ended also when nobody answers whom its dossier needs.

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { MessageChannel } from 'node:worker_threads';
import { expect, it, onTestFinished, vi } from 'vitest';
import { HostFaults } from '../../src/bots/host-faults.js';
import type { HostThread } from '../../src/bots/host-thread.js';
import { Incidents } from '../../src/bots/incidents.js';
import type { BotRegistry } from '../../src/bots/registry.js';
import { Separation } from '../../src/bots/separation.js';
import { ServiceEvents } from '../../src/bots/service-events.js';
import { Rpc } from '../../src/contract/rpc.js';
import type { BroadcasterMethods } from '../../src/contract/threads.js';
import { IncidentStore } from '../../src/store/bots.js';
import { Store } from '../../src/store/store.js';

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
    new Separation(),
    1000,
  );
  const kill = vi.fn();
  const host = { number: 0, threadId: GONE_THREAD, lastBot: 'a', commands: [], heap: null, kill };
  await faults.hung(host as unknown as HostThread, 1000);
  expect(kill).toHaveBeenCalledTimes(1);
}

it('the broadcaster does not answer: the dossier is written without last lines', async () => {
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
