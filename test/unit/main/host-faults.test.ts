// A stuck host is killed even if nobody answers whom its incident report needs. Time is mocked.

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import { HostFaults } from '../../../src/main/bots/host-faults.js';
import { Incidents } from '../../../src/main/bots/incidents.js';
import { KindQuarantine } from '../../../src/main/bots/kind-quarantine.js';
import { OutOfMemory } from '../../../src/main/bots/memory-guard.js';
import { Quarantine } from '../../../src/main/bots/quarantine.js';
import type { BotRegistry } from '../../../src/main/bots/registry.js';
import { IncidentGroupStore } from '../../../src/main/store/incident-group-store.js';
import { IncidentStore } from '../../../src/main/store/incident-store.js';
import { Store } from '../../../src/main/store/store.js';
import type { HostThread } from '../../../src/main/threads/host-thread.js';
import { ServiceEvents } from '../../../src/main/threads/service-events.js';
import type { BroadcasterPeer } from '../../../src/shared/contract/threads.js';
import { partial } from '../../harness/partial.js';
import { PATIENCE_MS } from '../../harness/patience.js';

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
});
afterEach(() => {
  vi.useRealTimers();
});

async function hang(store: IncidentStore, groups: IncidentGroupStore): Promise<void> {
  // A broadcaster that never answers.
  const peer = partial<BroadcasterPeer>({ call: () => new Promise(() => {}), tell() {} });
  const events = new ServiceEvents({ peer, ready: Promise.resolve(peer) });
  const registry = { idsOn: () => ['a', 'b'] } as Partial<BotRegistry> as BotRegistry;
  const faults = new HostFaults(
    registry,
    new Incidents(store, groups, events),
    new Quarantine(),
    new KindQuarantine(),
    1000,
  );
  const kill = vi.fn();
  const host = {
    number: 0,
    // Stuck in native code.
    capture: async () => undefined,
    lastBot: 'a',
    commands: [],
    heap: null,
    kill,
    kinds: new Map(),
  };
  const examined = faults.hung(partial<HostThread>(host), 1000);
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
  await hang(incidents, new IncidentGroupStore(store));
  vi.useRealTimers();
  await vi.waitFor(
    () =>
      expect(incidents.list(null, 10)).toMatchObject([
        { type: 'hang', suspect: 'a', bots: ['a', 'b'], last_lines: [] },
      ]),
    PATIENCE_MS,
  );
});

it('the disk does not answer either: the host is killed nevertheless', async () => {
  const silent = { add: () => new Promise<void>(() => {}), all: () => [] };
  const groups: Partial<IncidentGroupStore> = { all: () => [] };
  await hang(silent as unknown as IncidentStore, groups as IncidentGroupStore);
});

describe('who is blamed for a lost host', () => {
  const outOfMemory = Object.assign(new Error('heap'), { code: 'ERR_WORKER_OUT_OF_MEMORY' });

  const ofKind = Object.assign(new Error('boom'), {
    stack: 'Error: boom\n    at Timeout._onTimeout (file:///kinds/a.mjs:3:1)',
  });

  it.each([
    ['V8 has run out of memory', outOfMemory, 'out_of_memory', 'last', null],
    ['a blocked loop, out of memory', new OutOfMemory('', true), 'out_of_memory', 'last', null],
    ['a loop that turns, out of memory', new OutOfMemory('', false), 'out_of_memory', null, null],
    ['the same with one bot', new OutOfMemory('', false), 'out_of_memory', 'only', 'only'],
    ['a thread that exits', new Error('worker exited with code: 1'), 'host_lost', 'last', null],
    ["an error in the host's own code", new Error('boom'), 'host_lost', null, 'only'],
    ['an error of a kind, of no run', ofKind, 'host_lost', null, null],
    ['the same with one bot', ofKind, 'host_lost', 'only', 'only'],
  ])('%s', async (_, error, type, suspect, onlyBot) => {
    const report = vi.fn<Incidents['report']>(() => ({ id: 'i-1', stored: Promise.resolve() }));
    const hostLost = vi.fn();
    const registry = { idsOn: () => ['last', 'only'], hostLost };
    const faults = new HostFaults(
      partial<BotRegistry>(registry),
      partial<Incidents>({ report }),
      new Quarantine(),
      new KindQuarantine(),
      1000,
    );
    const kinds = new Map([['a', { module: 'file:///kinds/a.mjs', version: '1' }]]);
    const host = partial<HostThread>({ number: 0, lastBot: 'last', onlyBot, kinds });
    await faults.lost(host, error);
    expect(report.mock.calls[0]?.[0]).toMatchObject({ type, suspect });
    expect(hostLost).toHaveBeenCalledExactlyOnceWith(host, expect.any(String), suspect, 'i-1');
  });
});

describe('who is blamed for a host that hangs', () => {
  const frames = [{ function: 'next', url: 'node:events', line: 1, column: 1 }];
  const kinds = new Map([['a', { module: 'file:///kinds/a.mjs', version: '1' }]]);

  it.each([
    ['the stack names a bot', { frames, bot: 'named' }, 'named', / in bot named$/],
    [
      'between two callbacks',
      { frames, bot: null },
      'last',
      /; the code of bot last ran last there$/,
    ],
    ['in native code', undefined, 'last', /; the code of bot last ran last there$/],
    [
      'in a loop of promises, which is the code of its kind but has no context',
      { frames: [{ function: 'next', url: 'file:///kinds/a.mjs', line: 1, column: 1 }], bot: null },
      'last',
      /; the code of bot last ran last there$/,
    ],
  ])('%s', async (_, captured, suspect, reason) => {
    const report = vi.fn<Incidents['report']>(() => ({ id: 'i-1', stored: Promise.resolve() }));
    const faults = new HostFaults(
      partial<BotRegistry>({ idsOn: () => ['last', 'named'] }),
      partial<Incidents>({ report }),
      new Quarantine(),
      new KindQuarantine(),
      1000,
    );
    const host = partial<HostThread>({
      number: 0,
      lastBot: 'last',
      onlyBot: null,
      kinds,
      capture: async () => captured,
      kill() {},
    });
    await faults.hung(host, 1000);
    expect(report.mock.calls[0]?.[0]).toMatchObject({ suspect });
    expect(report.mock.calls[0]?.[0].reason).toMatch(reason);
  });

  it('the code of no bot: bots of such a host are quarantined the second time', async () => {
    const report = vi.fn<Incidents['report']>(() => ({ id: 'i-1', stored: Promise.resolve() }));
    const quarantine = new Quarantine();
    const faults = new HostFaults(
      partial<BotRegistry>({ idsOn: () => ['a', 'b', 'c'] }),
      partial<Incidents>({ report }),
      quarantine,
      new KindQuarantine(),
      1000,
    );
    const host = partial<HostThread>({
      number: 0,
      lastBot: null,
      onlyBot: null,
      kinds,
      capture: async () => ({ frames, bot: null }),
      kill() {},
    });
    for (let n = 0; n < 2; n++) await faults.hung(host, 1000);
    expect(report.mock.calls.map(([{ suspect }]) => suspect)).toEqual([null, null]);
    expect(report.mock.calls[1]?.[0].reason).toMatch(
      /; which bot caused it is not known, and 3 bots .* are quarantined$/,
    );
    const groups = ['a', 'b', 'c'].map((id) => quarantine.groupOf(id, Date.now()));
    expect(new Set(groups).size).toBe(2);
  });
});

describe('code of a kind, outside of any bot, breaks hosts', () => {
  const url = 'file:///kinds/a.mjs';
  const frames = [{ function: 'onTimeout', url, line: 3, column: 1 }];
  const thrown = Object.assign(new Error('boom'), { stack: `Error: boom\n    at ${url}:3:1` });
  const common = Object.assign(new Error('boom'), { stack: 'at f (/kinds/a.mjs:3:1)' });

  it.each<[string, (faults: HostFaults, host: HostThread) => Promise<void>, RegExp]>([
    ['an error', (faults, host) => faults.lost(host, thrown), /boom/],
    ['an error in a CommonJS module', (faults, host) => faults.lost(host, common), /boom/],
    ['a loop', (faults, host) => faults.hung(host, 1000), /was blocked for 1000 ms/],
  ])(
    '%s: the second time the kind is quarantined, and no bot is blamed',
    async (name, fail, reason) => {
      const report = vi.fn<Incidents['report']>(() => ({ id: 'i-1', stored: Promise.resolve() }));
      const [bots, kinds] = [new Quarantine(), new KindQuarantine()];
      const faults = new HostFaults(
        partial<BotRegistry>({
          idsOn: () => ['x', 'y'],
          idsOfKind: () => ['x'],
          hostLost() {},
        }),
        partial<Incidents>({ report }),
        bots,
        kinds,
        1000,
      );
      const loaded = new Map([
        ['other', { module: 'file:///kinds/b.mjs', version: '1' }],
        ['a', { module: url, version: '1' }],
      ]);
      // An error is never blamed on the bot whose code ran last.
      const lastBot = name.startsWith('an error') ? 'y' : null;
      const capture = async () => ({ frames, bot: null });
      const host = { number: 0, lastBot, onlyBot: null, kinds: loaded, capture, kill() {} };
      for (let n = 0; n < 2; n++) await fail(faults, partial<HostThread>({ ...host }));
      const found = report.mock.calls.map(([{ type, suspect }, , on]) => ({ type, suspect, on }));
      expect(found).toContainEqual({ type: 'kind_quarantined', suspect: null, on: ['x'] });
      expect(found.filter(({ suspect }) => suspect !== null)).toEqual([]);
      expect(report.mock.calls.at(-1)?.[0].reason).toMatch(
        /; it was code of the bot kind a, of no bot, which is quarantined$/,
      );
      expect(kinds.holdOf('a')?.reason).toMatch(reason);
      expect(kinds.holdOf('other')).toBeNull();
      expect(bots.groupOf('x', Date.now())).toBeUndefined();
    },
  );
});
