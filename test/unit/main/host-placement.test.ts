import { beforeEach, describe, expect, it } from 'vitest';
import { FULL_BOTS, type HostCount, hostCount } from '../../../src/main/bots/host-count.js';
import { HostPlacement } from '../../../src/main/bots/host-placement.js';
import { NoHostError } from '../../../src/main/bots/no-host.js';
import { OwnHosts } from '../../../src/main/bots/own-hosts.js';
import { Quarantine } from '../../../src/main/bots/quarantine.js';
import type { HostState } from '../../../src/main/threads/host-life.js';
import type { HostedKind, HostThread } from '../../../src/main/threads/host-thread.js';
import type { Isolation } from '../../../src/shared/contract/bots.js';
import { Deferred } from '../../../src/shared/deferred.js';
import { partial } from '../../harness/partial.js';
import { settled } from './thread-fixture.js';

const MAX_DEDICATED = 2;
const DEMO = { kind: 'demo', version: '1', dedicated: false };

/** The part of a host that placement sees. */
class Host {
  readonly number: number;
  state: HostState;
  bots = 0;
  readonly kinds: Map<string, HostedKind>;
  readonly exit = new Deferred();
  readonly gone = this.exit.promise;
  readonly isolation: Isolation;

  constructor(number: number, state: HostState, kinds: string[], isolation: Isolation = 'thread') {
    this.isolation = isolation;
    this.number = number;
    this.state = state;
    this.kinds = new Map(kinds.map((kind) => [kind, { module: `${kind}.js`, version: '1' }]));
  }
}

let hosts: Host[];
let left: number[];
let quarantine: Quarantine;
let placement: HostPlacement;

beforeEach(() => {
  hosts = [new Host(0, 'shared', ['demo']), new Host(1, 'shared', ['demo', 'irc'])];
  left = [];
  quarantine = new Quarantine();
  placement = placementOf({ count: 2, most: 2 });
});

function placementOf(count: HostCount): HostPlacement {
  return new HostPlacement({ ...count, maxDedicated: MAX_DEDICATED }, quarantine, {
    hosts: () => hosts as unknown as HostThread[],
    share(number) {
      hosts.push(new Host(number, 'loading', ['demo']));
    },
    async start(number, { kind, version }, isAlone, isolation) {
      if (kind === 'broken') throw new NoHostError('it does not load');
      const host = new Host(number, 'reserved', isAlone ? [kind] : ['demo', 'irc'], isolation);
      // What is asked for is loaded, except a kind that breaks its host.
      if (host.kinds.has(kind)) host.kinds.set(kind, { module: `${kind}.js`, version });
      hosts.push(host);
      return partial<HostThread>(host);
    },
    leave: (host) => {
      host.bots -= 1;
      left.push(host.number);
    },
  });
}

const place = async (id: string, kind: string, dedicated = false, version = '1'): Promise<number> =>
  (await placement.place({ id, kind, version, dedicated })).number;

describe('shared hosts', () => {
  it('a bot goes to the host with the fewest bots that has its kind', async () => {
    expect(await place('a', 'irc')).toBe(1);
    expect(await place('b', 'irc')).toBe(1);
    expect(await place('c', 'demo')).toBe(0);
    expect(await place('d', 'demo')).toBe(0);
    expect(hosts.map(({ bots }) => bots)).toEqual([2, 2]);
  });

  it.each<HostState>(['loading', 'retiring', 'stuck', 'ending', 'lost'])(
    'a host that is %s gets none',
    async (state) => {
      (hosts[0] as Host).state = state;
      (hosts[1] as Host).bots = 10;
      expect(await place('a', 'demo')).toBe(1);
    },
  );

  it('while a host is being replaced a bot waits for it, if no other has its kind', async () => {
    const [, second] = hosts as [Host, Host];
    second.state = 'lost';
    let placed: number | undefined;
    void place('a', 'irc').then((number) => {
      placed = number;
    });
    placement.offer();
    await settled();
    expect(placed).toBeUndefined();
    hosts[1] = new Host(1, 'shared', ['demo', 'irc']);
    placement.offer();
    await settled();
    expect(placed).toBe(1);
  });
});

describe('hosts that are started as bots come', () => {
  /** Places so many bots without waiting for them. */
  const come = (count: number): void => {
    for (let n = 0; n < count; n++) void placement.place({ ...DEMO, id: `${n}` });
  };
  const loads = () => hosts.map(({ bots }) => bots);
  const open = async (number: number): Promise<void> => {
    (hosts[number] as Host).state = 'shared';
    placement.offer();
    await settled();
  };
  beforeEach(() => {
    hosts = [new Host(0, 'shared', ['demo'])];
    placement = placementOf({ count: 1, most: 4 });
  });

  it('none before a host is full', async () => {
    come(FULL_BOTS);
    await settled();
    expect([loads(), placement.sharedCount]).toEqual([[FULL_BOTS], 1]);
  });

  it('bots wait for those that are started for them, so that no host has more than the others', async () => {
    come(3 * FULL_BOTS);
    await settled();
    expect([loads(), placement.sharedCount]).toEqual([[FULL_BOTS, 0, 0], 3]);
    await open(2);
    await open(1);
    expect(loads()).toEqual([FULL_BOTS, FULL_BOTS, FULL_BOTS]);
  });

  it('at the most that there may be they share all evenly', async () => {
    come(6 * FULL_BOTS);
    await settled();
    for (const number of [1, 2, 3]) await open(number);
    expect(loads()).toEqual(Array(4).fill(1.5 * FULL_BOTS));
    expect(placement.sharedCount).toBe(4);
  });

  it('those of a lost host wait for the one in its place', async () => {
    come(2 * FULL_BOTS);
    await settled();
    await open(1);
    Object.assign(hosts[1] as Host, { state: 'lost', bots: 0 });
    come(FULL_BOTS);
    await settled();
    expect(loads()).toEqual([FULL_BOTS, 0]);
    await open(1);
    expect(loads()).toEqual([FULL_BOTS, FULL_BOTS]);
  });

  it('a host that does not start keeps nobody waiting', async () => {
    come(FULL_BOTS + 10);
    await settled();
    expect(loads()).toEqual([FULL_BOTS, 0]);
    placement.offer(true);
    await settled();
    expect(loads()).toEqual([FULL_BOTS + 10, 0]);
    await open(1);
    come(1);
    await settled();
    expect(loads()).toEqual([FULL_BOTS + 10, 1]);
  });

  it('reserved hosts have other numbers', async () => {
    expect(await place('x', 'demo', true)).toBe(4);
  });

  it('those of the other isolation, too', async () => {
    const other = (id: string) => placement.place({ ...DEMO, id, isolation: 'process' });
    for (let n = 0; n < FULL_BOTS; n++) await other(`${n}`);
    expect(loads()).toEqual([0, FULL_BOTS]);
    for (let n = 0; n < FULL_BOTS; n++) await other(`more-${n}`);
    expect(loads()).toEqual([0, FULL_BOTS, FULL_BOTS]);
  });

  it('a configured number stays', async () => {
    placement = placementOf({ count: 1, most: 1 });
    come(3 * FULL_BOTS);
    await settled();
    expect(loads()).toEqual([3 * FULL_BOTS]);
  });
});

it.each([
  [null, 1, { count: 1, most: 8 }],
  [null, 2, { count: 1, most: 8 }],
  [null, 8, { count: 6, most: 8 }],
  [null, 64, { count: 62, most: 62 }],
  [3, 2, { count: 3, most: 3 }],
])('hosts.count %s on %s cores', (configured, cores, expected) => {
  expect(hostCount(configured, cores)).toEqual(expected);
});

describe('reserved hosts', () => {
  it('bots of a kind that no shared host has share a host with that kind alone', async () => {
    const numbers = await Promise.all([place('a', 'rare'), place('b', 'rare')]);
    expect(numbers).toEqual([2, 2]);
    expect([...(hosts[2] as Host).kinds.keys()]).toEqual(['rare']);
    expect((hosts[2] as Host).bots).toBe(2);
  });

  it('such a host that has ended is not used again', async () => {
    await place('a', 'rare');
    (hosts[2] as Host).state = 'ending';
    expect(await place('b', 'rare')).toBe(3);
  });

  it('a kind that does not load is refused, and tried again by the next bot', async () => {
    await expect(place('a', 'broken')).rejects.toThrow(NoHostError);
    await expect(place('b', 'broken')).rejects.toThrow('it does not load');
  });

  it('there are 64 such kinds and versions at most', async () => {
    for (let n = 0; n < 64; n++)
      await place(`a${n}`, n % 2 === 0 ? 'demo' : 'rare', false, `v${n}`);
    const refused = 'no bot host has the bot kind rare: too many versions of kinds run already';
    await expect(place('b', 'rare', false, 'v64')).rejects.toThrow(refused);
    (hosts[2] as Host).state = 'gone';
    expect(await place('b', 'rare', false, 'v64')).toBe(66);
  });

  it('bots of another version than that of the shared hosts are on hosts with that version alone', async () => {
    expect(await place('a', 'demo')).toBe(0);
    expect(await place('b', 'demo', false, '2')).toBe(2);
    expect(await place('c', 'demo', false, '2')).toBe(2);
    expect(await place('d', 'demo')).toBe(1);
    // One that has the version with it takes precedence.
    (hosts[1] as Host).kinds.set('demo', { module: 'demo.js', version: '2' });
    expect(await place('e', 'demo', false, '2')).toBe(1);
  });

  it('many bots of such a version are spread over as many hosts as there are shared ones', async () => {
    placement = placementOf({ count: 2, most: 3 });
    for (let n = 0; n < 200; n++) await place(`a${n}`, 'demo', false, '2');
    expect(hosts.slice(2).map(({ bots }) => bots)).toEqual([67, 67, 66]);
  });

  it('the two halves of quarantined bots are on two hosts, away from all others', async () => {
    for (const now of [Date.now(), Date.now()]) quarantine.lost(['a', 'b', 'c', 'd'], now);
    const numbers = await Promise.all(['a', 'b', 'c', 'd', 'e'].map((id) => place(id, 'demo')));
    expect(numbers).toEqual([2, 2, 3, 3, 0]);
  });

  it('a place on a host that lost its kind is given back', async () => {
    quarantine.lost(['a', 'b'], Date.now());
    quarantine.lost(['a', 'b'], Date.now());
    // Both the host of the quarantined bots, which has no others yet, and the one that was started for this kind.
    await expect(place('a', 'rare')).rejects.toThrow('it did not load on bot host 3');
    expect(left).toEqual([2, 3]);
  });
});

describe('dedicated hosts', () => {
  it('each bot has its own, up to the limit', async () => {
    expect(await place('a', 'demo', true)).toBe(2);
    expect(await place('b', 'demo', true)).toBe(3);
    await expect(place('c', 'demo', true)).rejects.toThrow(
      'limit of dedicated hosts and hosts of groups reached (hosts.max_dedicated is 2)',
    );
    placement.withdraw(hosts[2] as unknown as HostThread);
    expect(await place('c', 'demo', true)).toBe(4);
  });

  it('one that does not start does not count', async () => {
    for (let n = 0; n < 3; n++)
      await expect(place('a', 'broken', true)).rejects.toThrow(NoHostError);
    expect(await place('b', 'demo', true)).toBe(5);
  });

  it('bots that want one are admitted up to the limit, whether they have it already or not', () => {
    expect(() => placement.own.admit(1)).not.toThrow();
    expect(() => placement.own.admit(2)).toThrow(NoHostError);
  });

  it('suspects have at most half of what others leave, and wait for more', async () => {
    const suspect = (id: string) => placement.place({ ...DEMO, id, isSuspect: true });
    expect((await suspect('a')).number).toBe(2);
    await expect(suspect('b')).rejects.toThrow(NoHostError);
    expect(() => placement.own.admitSuspect()).toThrow(
      '1 bots that broke their hosts have their own, which is their share (hosts.max_dedicated is 2)',
    );
    expect(await place('c', 'demo', true)).toBe(3);
    placement.withdraw(hosts[2] as unknown as HostThread);
    expect((await suspect('b')).number).toBe(4);
    // A limit of one is for the first that comes.
    const single = new OwnHosts(1);
    expect(() => single.admitSuspect()).not.toThrow();
  });
});

describe('hosts that are not what the shared ones are', () => {
  const other = (id: string, kind = 'demo') =>
    placement.place({
      ...DEMO,
      id,
      kind,
      isolation: 'process',
    }) as unknown as Promise<Host>;

  it('there are as many as shared hosts, started when they are needed', async () => {
    const placed = await Promise.all(['a', 'b', 'c', 'd'].map((id) => other(id)));
    expect(placed.map(({ number }) => number).sort()).toEqual([2, 2, 3, 3]);
    expect(placed.every(({ isolation }) => isolation === 'process')).toBe(true);
    expect(hosts.slice(0, 2).map(({ bots }) => bots)).toEqual([0, 0]);
  });

  it('one that is lost is replaced for the next bot', async () => {
    const first = await other('a');
    first.state = 'lost';
    const next = await other('a');
    expect(next.number).not.toBe(first.number);
    expect(next.state).toBe('reserved');
  });

  it('a kind that it lacks has its own, and it stays for the others', async () => {
    const first = await other('a');
    await other('b');
    const own = await other('c', 'rare');
    expect([...own.kinds.keys()]).toEqual(['rare']);
    expect(own.isolation).toBe('process');
    await expect(other('c', 'broken')).rejects.toThrow(NoHostError);
    expect((await other('d')).number).toBe(first.number);
  });
});

describe('groups', () => {
  const member = (id: string, group: string, isolation: Isolation = 'thread') =>
    placement.place({ ...DEMO, id, isolation, group });

  it('bots of one share a host, those of another isolation another', async () => {
    const [a, b] = await Promise.all([member('a', 'ours'), member('b', 'ours')]);
    expect(a).toBe(b);
    const c = await member('c', 'ours', 'process');
    expect(c.number).not.toBe(a.number);
    expect(c.isolation).toBe('process');
  });

  it('bots of another version have another host, as long as both versions run', async () => {
    const a = await member('a', 'ours');
    const next = (id: string) =>
      placement.place({ ...DEMO, id, version: '2', group: 'ours' }) as Promise<HostThread>;
    const b = await next('b');
    expect(b.number).not.toBe(a.number);
    expect(await next('c')).toBe(b);
    expect(await member('d', 'ours')).toBe(a);
    expect([a.bots, b.bots]).toEqual([2, 2]);
  });

  it('a quarantined bot stays with its group', async () => {
    const a = await member('a', 'ours');
    for (let n = 0; n < 2; n++) quarantine.lost(['a', 'b'], Date.now());
    expect(await member('a', 'ours')).toBe(a);
  });

  it('they count for the limit of dedicated hosts', async () => {
    await member('a', 'one');
    await place('b', 'demo', true);
    await expect(member('c', 'two')).rejects.toThrow(
      `limit of dedicated hosts and hosts of groups reached (hosts.max_dedicated is ${MAX_DEDICATED})`,
    );
  });
});
