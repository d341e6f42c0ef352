// Which kinds a host does without, and that its successors try them again.

import { expect, it } from 'vitest';
import { HostPlacement } from '../../../src/main/bots/host-placement.js';
import { HostStarter, type StartedHost } from '../../../src/main/bots/host-starter.js';
import { KindQuarantine } from '../../../src/main/bots/kind-quarantine.js';
import { type KindVersion, KindVersions } from '../../../src/main/bots/kind-versions.js';
import { NoHostError } from '../../../src/main/bots/no-host.js';
import { Quarantine } from '../../../src/main/bots/quarantine.js';
import type { HostedKind, HostThread, KindSet } from '../../../src/main/threads/host-thread.js';
import { KindBrokeHost } from '../../../src/main/threads/kind-loading.js';
import type { LoadedKinds } from '../../../src/shared/contract/bots.js';
import { Deferred } from '../../../src/shared/deferred.js';
import { partial } from '../../harness/partial.js';

const LATE = 'it did not load in time';

/** Hosts that load `steady.js`, and `shaky.js` except at the given loads, counted from 1 over all hosts. */
class Hosts {
  readonly all = new Set<HostThread>();
  readonly dropped: [number, string, string][] = [];
  readonly quarantine = new KindQuarantine();
  readonly versions = new KindVersions();
  readonly starter: HostStarter;
  readonly placement: HostPlacement;
  readonly #broken: readonly number[];
  #loads = 0;

  constructor(broken: readonly number[]) {
    this.#broken = broken;
    this.starter = new HostStarter({
      versions: this.versions,
      quarantine: this.quarantine,
      start: async (number, use, set) => this.#start(number, use, set),
      dropped: (...dropped) => this.dropped.push(dropped),
      discard: (host) => this.all.delete(host),
    });
    this.placement = new HostPlacement({ count: 1, most: 1, maxDedicated: 0 }, new Quarantine(), {
      hosts: () => this.all,
      share: () => {},
      start: (number, { kind }, isAlone) =>
        isAlone
          ? this.starter.startWith(number, this.version(kind))
          : this.starter.start(number, 'reserve'),
      leave: () => {},
    });
  }

  /** A shared host is lost, and replaced. */
  async replace(number: number): Promise<HostThread> {
    for (const host of this.all) if (host.number === number) this.all.delete(host);
    const host = await this.starter.start(number, 'share');
    this.placement.offer();
    return host;
  }

  async place(id: string, kind: string): Promise<number> {
    const version = this.version(kind).id;
    return (await this.placement.place({ id, kind, version, dedicated: false })).number;
  }

  version(kind: string): KindVersion {
    return this.versions.current(kind) as KindVersion;
  }

  startFirst(): Promise<LoadedKinds> {
    return this.starter.startFirst({ modules: ['steady.js', 'shaky.js'], programs: {} });
  }

  #start(number: number, use: 'share' | 'reserve', { modules, versions }: KindSet): StartedHost {
    const kinds = new Map<string, HostedKind>();
    for (const module of modules) {
      if (module === 'shaky.js' && this.#broken.includes(++this.#loads)) {
        throw new KindBrokeHost([module], LATE);
      }
      const version = versions.get(module) ?? '';
      kinds.set(module.replace('.js', ''), { module, version });
    }
    const state = use === 'share' ? 'shared' : 'reserved';
    const gone = new Deferred().promise;
    const readFiles = async () => null;
    const isolation = 'thread';
    const host = partial<HostThread>({
      ...{ number, state, bots: 0, kinds, gone, readFiles, isolation },
    });
    this.all.add(host);
    const loaded = [...kinds.keys()].map((kind) => ({
      ...{ kind, description: '', config: {}, commands: {} },
    }));
    return { host, loaded: { kinds: loaded, failed: [] } };
  }
}

it('what breaks the first host is not loaded again, and is reported with the reason', async () => {
  const hosts = new Hosts([1]);
  const { failed } = await hosts.startFirst();
  expect(failed).toEqual([{ module: 'shaky.js', error: LATE }]);
  for (const number of [1, 0]) {
    expect([...(await hosts.replace(number)).kinds.keys()]).toEqual(['steady']);
  }
  expect(hosts.dropped).toEqual([]);
});

it('what breaks a later host once is tried again, and is loaded', async () => {
  const hosts = new Hosts([2]);
  expect((await hosts.startFirst()).failed).toEqual([]);
  expect([...(await hosts.replace(0)).kinds.keys()]).toEqual(['steady', 'shaky']);
  expect(hosts.dropped).toEqual([]);
});

it('a kind that breaks replacement hosts is tried again by the next, and its bots have a host as soon as one loads it', async () => {
  const hosts = new Hosts([2, 3, 4, 6]);
  await hosts.startFirst();
  expect(await hosts.place('a', 'shaky')).toBe(0);
  // Twice on the replacement, which then does without it.
  const replacement = await hosts.replace(0);
  expect([...replacement.kinds.keys()]).toEqual(['steady']);
  expect(hosts.dropped).toEqual([[0, 'shaky.js', LATE]]);
  expect(await hosts.place('b', 'steady')).toBe(0);
  // The host started for its bot cannot load it either; the next one can.
  const refused = hosts.place('a', 'shaky');
  await expect(refused).rejects.toThrow(NoHostError);
  await expect(refused).rejects.toThrow(`no bot host has the bot kind shaky: ${LATE}`);
  expect(await hosts.place('a', 'shaky')).toBeGreaterThan(0);
  // Broken once more, as on a busy machine: the next shared host has the kind again.
  expect([...(await hosts.replace(0)).kinds.keys()]).toEqual(['steady', 'shaky']);
  expect(hosts.dropped).toHaveLength(1);
  expect(await hosts.place('another', 'shaky')).toBe(0);
});

it('a quarantined kind is not loaded until it is released', async () => {
  const hosts = new Hosts([]);
  await hosts.startFirst();
  for (let n = 0; n < 2; n++) hosts.quarantine.lost('shaky', 'its timer threw', n);
  expect([...(await hosts.replace(0)).kinds.keys()]).toEqual(['steady']);
  hosts.quarantine.release('shaky');
  // The shared host does without it, so its bots get their own host.
  expect(await hosts.place('a', 'shaky')).toBeGreaterThan(0);
  expect([...(await hosts.replace(0)).kinds.keys()]).toEqual(['steady', 'shaky']);
});
