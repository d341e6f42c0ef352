// What a cluster does to the bots of a node: gives them, takes them, keeps them from running. With a fake host and store.

import { beforeEach, describe, expect, it } from 'vitest';
import { NO_OTHER_BOTS } from '../../../src/cluster/cluster.js';
import type { BotDependencies } from '../../../src/main/bots/bot.js';
import type { Incidents } from '../../../src/main/bots/incidents.js';
import { KindQuarantine } from '../../../src/main/bots/kind-quarantine.js';
import { KindSchemas } from '../../../src/main/bots/kind-schemas.js';
import { KindVersions } from '../../../src/main/bots/kind-versions.js';
import { BotRegistry } from '../../../src/main/bots/registry.js';
import { StartPace } from '../../../src/main/bots/start-pace.js';
import type { HostThread } from '../../../src/main/threads/host-thread.js';
import type { BotSpec, CreateBotBody, UpdateBotBody } from '../../../src/shared/contract/bots.js';
import type { Item } from '../../../src/shared/contract/events.js';
import type { Rights } from '../../../src/shared/contract/tokens.js';
import { Deferred } from '../../../src/shared/deferred.js';
import { DroverError } from '../../../src/shared/errors.js';
import { partial } from '../../harness/partial.js';
import { RESTART_AT_ONCE } from './restart-at-once.js';

const ADMIN: Rights = { scopes: ['admin'], reach: null };
let calls: string[];
/** Which bots run on without the lease, as hosts were told. */
let fences: string[];
let patches: object[];
let stored: Map<string, BotSpec>;
/** Until it is resolved, hosts do not answer to a start. */
let hostAnswers: Deferred;
let registry: BotRegistry;
/** Why the cluster does not permit a start. */
let refusal: string | null;
/** Nothing is stored. */
let isRefusing: boolean;

function spec(more: Partial<BotSpec> = {}): BotSpec {
  const rest = { labels: {}, desired: 'running' as const, dedicated: false, config: {} };
  return { id: 'a', kind: 'k', restart: RESTART_AT_ONCE, term: 3, ...rest, ...more };
}

beforeEach(() => {
  calls = [];
  fences = [];
  patches = [];
  refusal = null;
  isRefusing = false;
  stored = new Map();
  hostAnswers = new Deferred();
  hostAnswers.resolve();
  const host = partial<HostThread>({
    number: 0,
    startBot: async ({ id, stays }: { id: string; stays?: boolean }) => {
      calls.push(`start ${id}${stays ? ' without the lease' : ''}`);
      await hostAnswers.promise;
    },
    stopBot: async (id: string) => void calls.push(`stop ${id}`),
    exemptFromLease: (id: string, stays: boolean) => void fences.push(`${id} ${stays}`),
    forgetCommands: () => {},
  });
  const keep = (...items: Item[]): void => {
    for (const item of items) if (item.kind === 'session') patches.push(item.patch);
  };
  const dependencies = {
    hosts: {
      clear: async () => null,
      place: async () => host,
      leave: () => {},
      threads: () => [host],
    },
    pace: new StartPace({ total: null, byKind: {} }),
    events: { tell: keep, publish: async (...items: Item[]) => keep(...items) },
    restarted: () => {},
    graceMs: 1000,
    isolationOf: () => 'thread',
    cluster: {
      ...NO_OTHER_BOTS,
      checkPlace: () => {},
      shown: ({ term, failover = 'restart' }: BotSpec) => ({ node: 'h1', term, failover }),
      firstTerm: 7,
      refusal: () => refusal,
    },
  } as unknown as BotDependencies;
  const schemas = new KindSchemas();
  schemas.add([{ kind: 'k', description: '', config: { type: 'object' }, commands: {} }]);
  const store = {
    all: () => [...stored.values()],
    put: async (bot: BotSpec) => {
      if (isRefusing) throw new DroverError('unavailable');
      stored.set(bot.id, bot);
    },
    remove: async (id: string) => void stored.delete(id),
  };
  const incidents = { report: async () => {} } as unknown as Incidents;
  registry = new BotRegistry({
    bots: dependencies,
    schemas,
    versions: new KindVersions(),
    kinds: new KindQuarantine(),
    store,
    incidents,
    defaults: RESTART_AT_ONCE,
    noteStart: () => {},
  });
});

const body = (more: object = {}): CreateBotBody => ({
  id: 'a',
  kind: 'k',
  config: {},
  labels: {},
  dedicated: false,
  desired: 'running',
  ...more,
});
const last = (): object | undefined => patches.at(-1);
const forget = async (): Promise<void> => void stored.delete('a');

describe('a bot that the node is given', () => {
  it('is stored, shown with its place and started; each of its events has the term', async () => {
    await registry.adopt(spec());
    expect([calls, stored.get('a')?.term]).toEqual([['start a'], 3]);
    expect(patches[0]).toMatchObject({ id: 'a', node: 'h1', term: 3, failover: 'restart' });
    await registry.act('a', 'stop');
    expect(patches.every((patch) => 'term' in patch && patch.term === 3)).toBe(true);
    await expect(registry.adopt(spec())).rejects.toMatchObject({ code: 'conflict' });
  });

  it('is only shown when it is to be stopped', async () => {
    await registry.adopt(spec({ desired: 'stopped' }));
    expect([calls, last()]).toEqual([[], expect.objectContaining({ status: 'stopped' })]);
  });

  it('is stopped, shown as moved and forgotten when it goes to another', async () => {
    await registry.adopt(spec());
    await registry.release('a', forget);
    expect(calls).toEqual(['start a', 'stop a']);
    expect(last()).toMatchObject({ status: 'moved', term: 3 });
    expect([registry.has('a'), stored.size]).toEqual([false, 0]);
  });

  it('does not run, and stays known, when it cannot be forgotten', async () => {
    await registry.adopt(spec());
    const fails = async (): Promise<void> => Promise.reject(new Error('disk full'));
    await expect(registry.release('a', fails)).rejects.toThrow('disk full');
    await expect(registry.act('a', 'start')).rejects.toMatchObject({ code: 'unavailable' });
    expect(calls).toEqual(['start a', 'stop a']);
    expect(registry.has('a')).toBe(true);
  });
});

describe('a bot that is kept from running', () => {
  it('stops, starts when it is let go, and not because of anything before', async () => {
    await registry.adopt(spec());
    await registry.keepStopped('a', 'no lease');
    expect(last()).toMatchObject({ last_error: 'no lease' });
    const refused = { code: 'unavailable', message: 'bot a: no lease' };
    await expect(registry.act('a', 'restart')).rejects.toMatchObject(refused);
    expect(calls).toEqual(['start a', 'stop a']);
    await registry.allowStart('a');
    expect(calls).toEqual(['start a', 'stop a', 'start a']);
    expect(registry.snapshots([])[0]?.last_error).toBeNull();
    await registry.allowStart('a');
    expect(calls).toHaveLength(3);
  });

  it('stays stopped when that is wanted meanwhile, or was before', async () => {
    await registry.adopt(spec());
    await registry.keepStopped('a', 'no lease');
    await registry.act('a', 'stop');
    await registry.allowStart('a');
    await registry.keepStopped('a', 'no lease');
    await registry.allowStart('a');
    expect(calls).toEqual(['start a', 'stop a']);
  });

  it('does not run when its start was under way', async () => {
    hostAnswers = new Deferred();
    const adopted = registry.adopt(spec());
    await expect.poll(() => calls).toEqual(['start a']);
    const kept = registry.keepStopped('a', 'no lease');
    expect(calls).toEqual(['start a', 'stop a']);
    hostAnswers.resolve();
    await Promise.all([adopted, kept]);
    expect([calls, registry.running]).toEqual([['start a', 'stop a'], 0]);
  });

  it('waits at the start of the service, and starts when it is let go', async () => {
    stored.set('a', spec());
    await registry.show([]);
    void registry.keepStopped('a', 'not joined');
    await registry.begin(() => null);
    expect(calls).toEqual([]);
    await registry.allowStart('a');
    expect(calls).toEqual(['start a']);
  });
});

describe('a start that the cluster does not permit', () => {
  const NO_RECORD = 'the cluster has no record of it yet';
  const isKept = (): void => {
    expect(calls.filter((one) => one.startsWith('start'))).toEqual([]);
    const [shown] = registry.snapshots([]);
    expect(shown).toMatchObject({ status: 'stopped', desired: 'running', last_error: NO_RECORD });
  };
  const allowStart = async (): Promise<void> => {
    refusal = null;
    await registry.allowStart('a');
    expect(calls).toEqual(['start a']);
    expect(registry.snapshots([])[0]?.last_error).toBeNull();
  };
  beforeEach(() => {
    refusal = NO_RECORD;
  });

  it('of a new bot waits until it does', async () => {
    await registry.create(body());
    isKept();
    await allowStart();
  });

  it('of a bot of the disk waits', async () => {
    stored.set('a', spec());
    await registry.show([]);
    await registry.begin(() => null);
    isKept();
    await allowStart();
  });

  it('of a bot of the configuration that the cluster cannot record waits', async () => {
    isRefusing = true;
    await registry.show([body()]);
    await registry.begin(() => null);
    isKept();
    expect(stored.size).toBe(0);
    await allowStart();
  });

  it('of a bot that another node had waits', async () => {
    await registry.adopt(spec());
    isKept();
    await allowStart();
  });

  it('by request is refused, and nothing is stored', async () => {
    await registry.create(body({ desired: 'stopped' }));
    const refused = { code: 'unavailable', message: `bot a: ${NO_RECORD}` };
    for (const action of ['start', 'restart'] as const) {
      await expect(registry.act('a', action)).rejects.toMatchObject(refused);
    }
    expect(stored.get('a')?.desired).toBe('stopped');
    refusal = null;
    await registry.allowStart('a');
    expect(calls).toEqual([]);
  });

  it('by the restart policy waits', async () => {
    refusal = null;
    await registry.adopt(spec());
    calls.length = 0;
    refusal = NO_RECORD;
    const [id, host] = ['a', registry.hostOf('a')];
    registry.hostLost(host as HostThread, 'it is gone', null, null);
    await expect.poll(() => registry.snapshots([])[0]?.last_error).toBe(NO_RECORD);
    isKept();
    expect(registry.isRunning(id)).toBe(false);
    await allowStart();
  });
});

describe('where a bot is to run', () => {
  it('is stored and shown in its configuration; a new bot has its first term', async () => {
    await registry.create(body({ node: 'h1', failover: 'stay' }));
    expect(calls).toEqual(['start a without the lease']);
    expect(stored.get('a')).toMatchObject({ node: 'h1', failover: 'stay', term: 7 });
    expect(registry.config('a')).toMatchObject({ node: 'h1', failover: 'stay' });
    const change = { node: null, node_labels: { zone: 'eu' } } as UpdateBotBody;
    await registry.update('a', change, ADMIN);
    expect(stored.get('a')).not.toHaveProperty('node');
    expect(registry.config('a')).toMatchObject({ node_labels: { zone: 'eu' } });
    expect(calls).toHaveLength(1);
  });

  it('is a node or labels', async () => {
    const both = body({ node: 'h1', node_labels: { zone: 'eu' } });
    await expect(registry.create(both)).rejects.toMatchObject({ code: 'bad_request' });
    await registry.create(body({ node: 'h1' }));
    const change = { node_labels: { zone: 'eu' } } as UpdateBotBody;
    await expect(registry.update('a', change, ADMIN)).rejects.toMatchObject({
      code: 'bad_request',
    });
  });

  it('with another failover it runs on, and its host knows', async () => {
    await registry.create(body());
    await registry.update('a', { failover: 'stay' }, ADMIN);
    expect([calls, fences]).toEqual([['start a'], ['a true']]);
    expect(registry.snapshots([])[0]).toMatchObject({ failover: 'stay' });
  });
});
