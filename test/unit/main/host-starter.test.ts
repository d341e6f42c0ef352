// Which kinds a host does without, and that its successors try them again.

import { expect, it } from 'vitest';
import { HostPlacement } from '../../../src/main/bots/host-placement.js';
import { HostStarter, type StartedHost } from '../../../src/main/bots/host-starter.js';
import { KindQuarantine } from '../../../src/main/bots/kind-quarantine.js';
import { NoHostError } from '../../../src/main/bots/no-host.js';
import { Quarantine } from '../../../src/main/bots/quarantine.js';
import type { HostThread } from '../../../src/main/threads/host-thread.js';
import { KindBrokeHost } from '../../../src/main/threads/kind-loading.js';
import { Deferred } from '../../../src/shared/deferred.js';
import { partial } from '../../harness/partial.js';

const LATE = 'it did not load in time';

/** Hosts that load `steady.js`, and `shaky.js` except at the given loads, counted from 1 over all hosts. */
class Hosts {
  readonly all = new Set<HostThread>();
  readonly dropped: [number, string, string][] = [];
  readonly quarantine = new KindQuarantine();
  readonly starter: HostStarter;
  readonly placement: HostPlacement;
  readonly #broken: readonly number[];
  #loads = 0;

  constructor(broken: readonly number[]) {
    this.#broken = broken;
    this.starter = new HostStarter(
      ['steady.js', 'shaky.js'],
      this.quarantine,
      async (number, use, modules) => this.#start(number, use, modules),
      (...dropped) => this.dropped.push(dropped),
      (host) => this.all.delete(host),
    );
    this.placement = new HostPlacement({ count: 1, most: 1, maxDedicated: 0 }, new Quarantine(), {
      hosts: () => this.all,
      share: () => {},
      start: (number, kind) =>
        kind === null
          ? this.starter.start(number, 'reserve')
          : this.starter.startWith(number, kind),
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
    return (await this.placement.place({ id, kind, dedicated: false })).number;
  }

  #start(number: number, use: 'share' | 'reserve', modules: readonly string[]): StartedHost {
    const kinds = new Map<string, string>();
    for (const module of modules) {
      if (module === 'shaky.js' && this.#broken.includes(++this.#loads)) {
        throw new KindBrokeHost([module], LATE);
      }
      kinds.set(module.replace('.js', ''), module);
    }
    const state = use === 'share' ? 'shared' : 'reserved';
    const gone = new Deferred().promise;
    const host = partial<HostThread>({ number, state, bots: 0, kinds, gone });
    this.all.add(host);
    return { host, loaded: { kinds: [], failed: [] } };
  }
}

it('what breaks the first host is not loaded again, and is reported with the reason', async () => {
  const hosts = new Hosts([1]);
  const { failed } = await hosts.starter.startFirst();
  expect(failed).toEqual([{ module: 'shaky.js', error: LATE }]);
  for (const number of [1, 0]) {
    expect([...(await hosts.replace(number)).kinds.keys()]).toEqual(['steady']);
  }
  expect(hosts.dropped).toEqual([]);
});

it('what breaks a later host once is tried again, and is loaded', async () => {
  const hosts = new Hosts([2]);
  expect((await hosts.starter.startFirst()).failed).toEqual([]);
  expect([...(await hosts.replace(0)).kinds.keys()]).toEqual(['steady', 'shaky']);
  expect(hosts.dropped).toEqual([]);
});

it('a kind that breaks replacement hosts is tried again by the next, and its bots have a host as soon as one loads it', async () => {
  const hosts = new Hosts([2, 3, 4, 6]);
  await hosts.starter.startFirst();
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
  await hosts.starter.startFirst();
  for (let n = 0; n < 2; n++) hosts.quarantine.lost('shaky', 'its timer threw', n);
  expect([...(await hosts.replace(0)).kinds.keys()]).toEqual(['steady']);
  hosts.quarantine.release('shaky');
  // The shared host does without it, so its bots get their own host.
  expect(await hosts.place('a', 'shaky')).toBeGreaterThan(0);
  expect([...(await hosts.replace(0)).kinds.keys()]).toEqual(['steady', 'shaky']);
});
