import { expect, it, onTestFinished, vi } from 'vitest';
import {
  HostPool,
  type HostPoolOptions,
  type PoolListener,
} from '../../../src/main/bots/host-pool.js';
import { KindQuarantine } from '../../../src/main/bots/kind-quarantine.js';
import { KindVersions } from '../../../src/main/bots/kind-versions.js';
import { Quarantine } from '../../../src/main/bots/quarantine.js';
import type { HostState } from '../../../src/main/threads/host-life.js';
import type { HostedKind, HostThread } from '../../../src/main/threads/host-thread.js';
import { KindBrokeHost } from '../../../src/main/threads/kind-loading.js';
import type { LoadedKinds } from '../../../src/shared/contract/bots.js';
import { Deferred } from '../../../src/shared/deferred.js';
import { partial } from '../../harness/partial.js';
import { PATIENCE_MS } from '../../harness/patience.js';

const NO_KINDS = { modules: [], programs: {} };

class Host {
  readonly number: number;
  state: HostState = 'loading';
  readonly kinds = new Map<string, HostedKind>();
  readonly isolation = 'thread';
  readonly opened = new Deferred<LoadedKinds>();
  readonly #exit = new Deferred();
  readonly gone = this.#exit.promise;

  constructor(number: number) {
    this.number = number;
  }

  open(): Promise<LoadedKinds> {
    return this.opened.promise;
  }

  async readFiles(): Promise<null> {
    return null;
  }

  kill(): void {
    this.#exit.resolve();
  }

  async shutDown(): Promise<boolean> {
    this.opened.reject(new KindBrokeHost(['kind.js'], 'it ended its bot host'));
    this.#exit.resolve();
    return true;
  }
}

function poolOf(
  options: Partial<HostPoolOptions>,
  create: (number: number) => HostThread,
): HostPool {
  return new HostPool({
    options: partial<HostPoolOptions>(options),
    quarantine: new Quarantine(),
    kinds: new KindQuarantine(),
    versions: new KindVersions(),
    broadcaster: {} as never,
    create,
  });
}

it('a kind that is being loaded when the service shuts down is not reported as broken', async () => {
  const hosts: Host[] = [];
  const kindDropped = vi.fn();
  const options = { count: 2, maxDedicated: 0, graceMs: 1 };
  const pool = poolOf(options, (number) => {
    const host = new Host(number);
    hosts.push(host);
    return partial<HostThread>(host);
  });
  const started = pool.start(
    { modules: ['kind.js'], programs: {} },
    partial<PoolListener>({ kindDropped, awake() {}, ending() {} }),
  );
  hosts[0]?.opened.resolve({ kinds: [], failed: [] });
  await vi.waitFor(() => expect(hosts).toHaveLength(2), PATIENCE_MS);
  // The first of two tries on the second host.
  hosts[1]?.opened.reject(new KindBrokeHost(['kind.js'], 'the port is in use'));
  await vi.waitFor(() => expect(hosts).toHaveLength(3), { timeout: 10_000 });
  const refused = expect(started).rejects.toMatchObject({ code: 'unavailable' });
  await pool.stop();
  await refused;
  expect(kindDropped).not.toHaveBeenCalled();
});

it('a thread that does not end holds up only the bot whose native code it runs', async () => {
  vi.useFakeTimers();
  onTestFinished(() => void vi.useRealTimers());
  const host = Object.assign(new Host(0), {
    isLost: true,
    lastBot: 'culprit',
    whenFreeOf: () => new Promise(() => {}),
  });
  host.opened.resolve({ kinds: [], failed: [] });
  const options = { count: 1, maxDedicated: 0, graceMs: 1 };
  const pool = poolOf(options, () => partial<HostThread>(host));
  await pool.start(NO_KINDS, partial<PoolListener>({ awake() {}, ending() {}, lost() {} }));
  const other = pool.clear('other');
  await vi.advanceTimersByTimeAsync(10_000);
  expect(await other).toBe(0);
  host.state = 'lost';
  const culprit = expect(pool.clear('culprit')).rejects.toThrow(
    'an earlier run of bot culprit still runs in bot host 0, whose thread does not end',
  );
  await vi.advanceTimersByTimeAsync(60_000);
  await culprit;
});

it('a host on which a run ignores its signal is replaced when no other bot is there', async () => {
  vi.useFakeTimers();
  onTestFinished(() => void vi.useRealTimers());
  const hosts: (Host & { bots: number; someBot: string | null })[] = [];
  const overdue = vi.fn(async () => {});
  const options = { count: 1, maxDedicated: 0, graceMs: 1000 };
  const pool = poolOf(options, (number) => {
    const host = Object.assign(new Host(number), { bots: 0, someBot: null });
    host.opened.resolve({ kinds: [], failed: [] });
    // Its shutdown comes after it has loaded.
    host.opened.reject = () => {};
    hosts.push(host);
    return partial<HostThread>(host);
  });
  await pool.start(
    NO_KINDS,
    partial<PoolListener>({ awake() {}, ending() {}, retiring() {}, overdue }),
  );
  const [first] = hosts;
  if (!first) throw new Error('no host was started');
  const leave = (): void => {
    first.bots += 1;
    pool.leave(partial<HostThread>(first));
  };
  // The run ends within the grace time.
  first.someBot = 'slow';
  leave();
  first.someBot = null;
  await vi.advanceTimersByTimeAsync(1000);
  expect(first.state).toBe('shared');
  // Another bot has come meanwhile.
  first.someBot = 'deaf';
  leave();
  first.bots = 1;
  await vi.advanceTimersByTimeAsync(1000);
  expect(first.state).toBe('shared');
  expect(overdue).not.toHaveBeenCalled();
  pool.leave(partial<HostThread>(first));
  await vi.advanceTimersByTimeAsync(5000);
  expect(overdue).toHaveBeenCalledExactlyOnceWith(first, 'deaf');
  expect(first.state).toBe('gone');
  expect(hosts.map(({ state }) => state)).toEqual(['gone', 'shared']);
});
